// Package node is Node as a language of scripts: the machine's own interpreter, confined, with a program of ours in it
// that speaks the frames of a worker. A process runs one script and ends; others wait, warm, for the next ones.
//
// What belongs here: which interpreter there is, what its cell shows it, and what its side has to know of SDK; its side
// itself is JavaScript, in the folder runtime. Not here: the confinement that it shares with other interpreters
// (package cell); the pool of such processes and their limits as the host sees them (package sandbox); the meaning of
// calls.
package node

import (
	"embed"

	"github.com/koan-go/koan/codemode/internal/language/node/source"
)

// Names are the names of the language, the first one its own.
var Names = []string{source.Name}

// runtimeFiles is the interpreter's side. Its folder vendor has acorn (MIT licence), which reads scripts.
//
//go:embed runtime/*.mjs runtime/vendor/*
var runtimeFiles embed.FS
