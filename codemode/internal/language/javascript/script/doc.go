// Package script compiles a user's script: it removes a code fence, detects the script's
// shape, compiles it once, and maps positions back to the user's lines and columns.
//
// There are two ways. A script that the engine understands runs unchanged: in the global
// scope, or, with a top-level return or await, as the body of an async function.
// Everything else (TypeScript, imports and exports, syntax that the engine lacks) is
// compiled by esbuild, and runs as the body of an async function too.
//
// What belongs here: source text, syntax trees, compiled programs, positions.
// Not here: running a program, bindings, processes.
package script
