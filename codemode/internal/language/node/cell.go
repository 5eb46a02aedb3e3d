package node

import (
	"io/fs"
	"strconv"

	"github.com/koan-go/koan/codemode/internal/language/cell"
	"github.com/koan-go/koan/codemode/internal/language/vocabulary"
)

// packages is where scripts find codeMode.nodeModules in the root.
const packages = "/node_modules"

// process is what the process that becomes the interpreter is told.
type process struct {
	Interpreter
	Limits
}

// Limits are those that a script has at most. A job may have lower ones, which the host watches alone.
type Limits struct {
	MemoryMb int `json:"memoryMb"` // the engine frees what it can before its heap reaches it
	CPUMs    int `json:"cpuMs"`
}

// Arguments returns the arguments with which this executable becomes the interpreter, as a worker with some limits.
func (i *Interpreter) Arguments(l Limits) []string { return cell.Arguments(Names[0], process{*i, l}) }

// Main becomes the interpreter in its cell if the command line says so (cell.Main).
func Main() { cell.Main(Names[0], process.cell) }

func (p process) cell() (*cell.Cell, error) {
	side, err := fs.Sub(runtimeFiles, "runtime")
	if err != nil {
		return nil, err
	}
	c := &cell.Cell{
		Path: p.Path, Shown: p.Library, Side: side, Seal: p.seal, Apart: true,
		Args: []string{
			"--no-warnings", "--no-deprecation", "--max-old-space-size=" + strconv.Itoa(p.MemoryMb), "--max-semi-space-size=4", "--v8-pool-size=1",
			cell.Home + "/main.mjs",
		},
		Env:  []string{"TZ=UTC", "HOME=" + cell.Workspace, "TMPDIR=" + cell.Workspace, "LC_ALL=C.UTF-8", "LANG=C.UTF-8", "UV_THREADPOOL_SIZE=2", "UV_USE_IO_URING=0"},
		Told: map[string]any{"vocabulary": vocabulary.New()},
	}
	if p.Modules != "" {
		c.Placed = map[string]string{packages: p.Modules}
	}
	return c, nil
}
