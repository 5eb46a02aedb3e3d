// Package sandbox is the host's half of code mode: it keeps a pool of confined
// worker processes, gives each job one of its caller, serves its calls, and ends it
// when a limit is passed.
//
// What belongs here: processes, the host's end of the frames, limits that hold
// against a worker that no longer obeys. What must never: a JavaScript engine in
// the host's process (but for tests), or what a call means.
package sandbox
