// Package script turns what a user sent into something that can be run: it takes
// off a code fence, finds out which shape the script has, compiles it once, and
// keeps the way back to the user's lines and columns.
//
// Three shapes exist, tried in this order. A plain script is compiled as it
// stands. One with a top-level return or await becomes the body of an async
// function. Of TypeScript and modules what goja cannot parse is left out (package
// strip); what that does not know (async generators, decorators, ...) goes through
// esbuild first.
//
// What belongs here: source text, syntax trees, compiled programs, positions.
// What must never: running a program, bindings, processes.
package script
