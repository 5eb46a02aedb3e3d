// Package script turns what a user sent into something that can be run: it takes
// off a code fence, finds out which shape the script has, compiles it once, and
// keeps the way back to the user's lines and columns.
//
// There are two ways. A script that the engine understands runs as it stands: in the
// global scope, or where it has a top-level return or await, as the body of an async
// function. Everything else (TypeScript, imports and exports, syntax that the engine
// lacks) runs as what esbuild makes of it, which is the body of an async function too.
//
// What belongs here: source text, syntax trees, compiled programs, positions.
// What must never: running a program, bindings, processes.
package script
