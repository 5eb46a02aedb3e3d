package python

import (
	"io/fs"
	"slices"

	"github.com/koan-go/koan/codemode/internal/language/cell"
)

// process is what the process that becomes the interpreter is told.
type process struct {
	Interpreter
	Modules []string `json:"modules"`
}

// Arguments returns the arguments with which this executable becomes the interpreter, as a worker that has some modules
// loaded.
func (i *Interpreter) Arguments(modules []string) []string {
	return cell.Arguments(Names[0], process{*i, modules})
}

// Main becomes the interpreter in its cell if the command line says so (cell.Main).
func Main() { cell.Main(Names[0], process.cell) }

// cell returns the cell of the interpreter. It installs its own filters: that of a script is stricter than that of
// the process which forks for it.
func (p process) cell() (*cell.Cell, error) {
	side, err := fs.Sub(runtimeFiles, "runtime")
	if err != nil {
		return nil, err
	}
	shown := p.Library
	if len(p.Modules) > 0 {
		shown = slices.Concat(shown, p.Sites, p.Data)
	}
	return &cell.Cell{
		Path: p.Path, Shown: shown, Side: side, Apart: true,
		Args: []string{"-s", "-S", "-B", "-X", "utf8", "-c", "import sys; sys.path.insert(0, '" + cell.Home + "'); from koan_runtime.zygote import main; main()"},
		Env: []string{
			"PYTHONHASHSEED=0", "PYTHONSAFEPATH=1", "TZ=UTC", "HOME=" + cell.Workspace, "TMPDIR=" + cell.Workspace, "LC_ALL=C.UTF-8", "LANG=C.UTF-8",
			"OPENBLAS_NUM_THREADS=1", "OMP_NUM_THREADS=1", "MKL_NUM_THREADS=1",
		},
		Told: map[string]any{"filters": filters(), "vocabulary": newTold(p.Modules), "modulePath": p.Sites},
	}, nil
}
