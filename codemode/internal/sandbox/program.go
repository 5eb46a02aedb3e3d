package sandbox

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"

	"github.com/koan-go/koan/codemode/worker"
)

// binaryName is the name of the worker binary that may be installed beside an app's
// executable (cmd/koan-worker). It links none of the app's packages, so it starts faster.
const binaryName = "koan-worker"

// program is an executable that can run as a worker.
type program struct {
	path string
	exec string   // the name to start it by: path, or one that stays valid if the file is replaced
	self bool     // it is this executable
	open *os.File // the file that exec refers to; may be nil
}

// programs returns the programs to try, the best first. given is Options.Program.
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
		return []program{pin(path), self}, nil
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
