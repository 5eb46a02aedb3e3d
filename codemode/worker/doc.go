// Package worker is the child process's half of code mode: it runs the scripts of one caller,
// one after the other, each in a runtime of its own.
//
// What belongs here: the worker's entry point, the confinement of its own process, the frames
// to and from the host, and the limits of a script's time and memory. Not here: a
// language; databases, gRPC, plugins, MCP, knowledge of any provider.
package worker
