//go:build !linux

package sandbox

import (
	"fmt"
	"log/slog"
	"os"
	"runtime"

	"github.com/koan-go/koan/codemode/internal/wire"
)

func selfExecutable(path string) string { return path }

func hold(path string) program { return program{path: path, exec: path} }

// ground is nothing here.
type ground struct{}

func prepare(_ program, layers []string) (*ground, error) {
	if len(layers) > 0 {
		return nil, fmt.Errorf("%s: not on %s", layers[0], runtime.GOOS)
	}
	return &ground{}, nil
}

func (g *ground) start(program program, layers []string, files [3]*os.File, _ *slog.Logger) (*os.Process, error) {
	return startProcess(program, layers, files, "/", nil)
}

func (g *ground) close() {}

// limit has nothing to do here: the worker's own watch and the host's kill are
// all there is, and Isolation says so.
func (p *process) limit(wire.Limits) error { return nil }

// meter cannot read another process's memory here.
type meter struct{}

func newMeter(int) *meter { return &meter{} }

func (m *meter) close() {}

func (m *meter) resident() int64 { return 0 }

func (m *meter) peak() int64 { return 0 }

func (m *meter) threads() int { return 0 }

// signalled knows nothing here: no limit of the kernel is set.
func signalled(*os.ProcessState) bySignal { return byNothing }
