// Package sandbox is the host's half of code mode: it keeps a pool of confined worker
// processes, runs each job in a worker of the job's caller, serves the job's calls, and
// kills the worker when a limit is exceeded.
//
// What belongs here: processes, the host's end of the wire protocol, limits that hold even
// against a compromised worker. Not here: a JavaScript engine in the host's process
// (except in tests), or the meaning of calls.
package sandbox
