// Package worker is the child process's half of code mode: it runs the scripts of one caller,
// one after the other, each in an engine of its own. If the command line is that of a worker,
// the package's init runs the worker and exits, so that every binary that links the package
// can be started again as a worker.
//
// What belongs here: the worker's entry point, the confinement of its own process, the
// JavaScript runtime with its bindings, and the conversion of outcomes into results. What must
// never: databases, gRPC, plugins, MCP, knowledge of any provider; other work at package
// initialisation than checking the command line.
package worker
