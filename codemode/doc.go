// Package codemode turns scripts into runs: the code operations of each face, and
// the provider that puts them into the catalog.
//
// What belongs here: what a face accepts and answers, and how a script's attempts
// map onto run.Run. What must never: JavaScript engines and processes (package
// sandbox and worker), or knowledge of any provider but through the catalog.
package codemode
