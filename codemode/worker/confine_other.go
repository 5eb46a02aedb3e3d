//go:build !linux

package worker

import (
	"io"
	"os"

	"github.com/koan-go/koan/codemode/wire"
)

// Isolations, as a worker reports them.
const (
	IsolationProcess = "process"
	IsolationSeccomp = "process+seccomp"
)

// Outside of Linux a worker is a process of its own with an empty environment,
// watched and killed; nothing takes system calls from it.

func closeInherited() {}

func pipes() (io.Reader, io.Writer) { return os.Stdin, os.Stdout }

func memorySizes() (data, size int64) { return 0, 0 }

func confine() (string, error) { return IsolationProcess, nil }

func probe() []wire.Check { return nil }
