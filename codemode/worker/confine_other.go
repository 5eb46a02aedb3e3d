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

func pipes() (*inbound, io.Writer) { return &inbound{Reader: os.Stdin}, os.Stdout }

// inbound reads from the host; it never spins here.
type inbound struct {
	io.Reader
	spin Spin
}

func memorySizes() (data, size int64) { return 0, 0 }

func confine() (string, error) { return IsolationProcess, nil }

func probe() []wire.Check { return nil }
