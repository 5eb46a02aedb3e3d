// Package worker is the child's half of code mode: what runs the scripts of one caller,
// one after the other, each in an engine of its own. Its init recognises a worker's command line and never returns, so every
// binary that links it can be started again as a worker.
//
// What belongs here: the entry, the confinement of the own process, the runtime
// with its bindings, and what turns a script's end into a result. What must
// never: databases, gRPC, plugins, MCP, knowledge of any provider; work at
// package initialisation beyond looking at the command line.
package worker
