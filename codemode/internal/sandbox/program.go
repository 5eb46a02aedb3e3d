package sandbox

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"

	"github.com/koan-go/koan/codemode/worker"
)

// binaryName is the worker binary that may stand beside an app's executable
// (cmd/koan-worker). It links nothing that an app does, so it starts sooner.
const binaryName = "koan-worker"

// program is an executable that workers are made of.
type program struct {
	path string
	exec string // what is started: path, or a name for it that stays
	self bool
	open *os.File // behind exec; may be nil
}

// programs are what to try, the best first.
func programs(given string) ([]program, error) {
	if given != "" {
		return []program{{path: given, exec: given}}, nil
	}
	own, err := os.Executable()
	if err != nil {
		return nil, fmt.Errorf("sandbox: %w", err)
	}
	self := program{path: own, exec: selfExecutable(own), self: true}
	if !worker.Stamped() {
		return []program{self}, nil
	}
	if path := beside(own, binaryName); path != "" {
		return []program{hold(path), self}, nil
	}
	return []program{self}, nil
}

// beside returns the path of a program beside an executable, "" if there is none.
func beside(executable, name string) string {
	if target, err := filepath.EvalSymlinks(executable); err == nil {
		executable = target
	}
	if runtime.GOOS == "windows" {
		name += ".exe"
	}
	path := filepath.Join(filepath.Dir(executable), name)
	if info, err := os.Stat(path); err != nil || !info.Mode().IsRegular() {
		return ""
	}
	return path
}

func (p program) close() {
	if p.open != nil {
		_ = p.open.Close()
	}
}
