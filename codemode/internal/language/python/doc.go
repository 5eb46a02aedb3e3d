// Package python is Python as a language of scripts: the machine's own interpreter, confined, with a program of ours
// in it that speaks the frames of a worker.
//
// What belongs here: which interpreter there is, the confinement that it starts in, and what its side has to know of
// SDK; its side itself is Python, in the folder runtime. Not here: the pool of such processes and their limits
// as the host sees them (package sandbox); the meaning of calls.
package python

import "embed"

// Names are the names of the language, the first one its own.
var Names = []string{"python"}

// runtimeFiles is the interpreter's side.
//
//go:embed runtime/*.py runtime/koan/*.py runtime/koan_runtime/*.py
var runtimeFiles embed.FS
