//go:build !linux

package sandbox

import (
	"fmt"
	"log/slog"
	"os"
	"runtime"

	"github.com/koan-go/koan/codemode/internal/wire"
	"github.com/koan-go/koan/codemode/worker"
)

func pipe() (r, w *os.File, err error) { return os.Pipe() }

func selfExecutable(path string) string { return path }

func pin(path string) program { return program{path: path, exec: path} }

// spawner starts workers without confinement here.
type spawner struct{ interpreter *Interpreter }

func newSpawner(_ program, layers []string, of *Interpreter) (*spawner, error) {
	if len(layers) > 0 {
		return nil, fmt.Errorf("%s: not on %s", layers[0], runtime.GOOS)
	}
	return &spawner{of}, nil
}

func (*spawner) start(program program, layers []string, files [3]*os.File, _ *slog.Logger) (*os.Process, error) {
	return startProcess(program, worker.Args(layers), files, "/", nil)
}

func (*spawner) close() {}

// limit does nothing here: the worker's own watchdog and the host's kill are the only
// limits, and Isolation says so.
func (p *process) limit(wire.Limits) error { return nil }

// scriptsOf returns nothing here: no worker forks.
func scriptsOf(int) ([]int, error) { return nil, nil }

// meter measures nothing here: another process's memory is not available.
type meter struct{}

func newMeter(int) *meter { return &meter{} }

func (m *meter) close() {}

func (m *meter) resident() int64 { return 0 }

func (m *meter) peak() int64 { return 0 }

func (m *meter) threads() int { return 0 }

func (m *meter) sleeping() bool { return false }

// endOf returns endUnknown: limit sets no limits here.
func endOf(*os.ProcessState) processEnd { return endUnknown }
