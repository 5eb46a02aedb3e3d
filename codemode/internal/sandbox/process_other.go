//go:build !linux

package sandbox

import (
	"fmt"
	"os"
	"runtime"
	"syscall"

	"github.com/koan-go/koan/codemode/internal/wire"
)

func selfExecutable(path string) string { return path }

func hold(path string) program { return program{path: path, exec: path} }

// ground is nothing here.
type ground struct{ attr *syscall.SysProcAttr }

func prepare(_ program, layers []string) (*ground, error) {
	if len(layers) > 0 {
		return nil, fmt.Errorf("%s: not on %s", layers[0], runtime.GOOS)
	}
	return &ground{}, nil
}

func (g *ground) dir() string { return "/" }

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
