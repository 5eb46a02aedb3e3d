// Package codemode turns scripts into runs: the code operations of each face, and
// the provider that puts them into the catalog.
//
// What belongs here: inputs and results of a face, and how a script's attempts map onto
// run.Run. Not here: JavaScript engines and processes (packages sandbox and
// worker), or knowledge of any provider except through the catalog.
package codemode
