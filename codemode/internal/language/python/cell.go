package python

import (
	"encoding/json"
	"os"
	"syscall"

	"github.com/koan-go/koan/codemode/worker"
)

// marker is the first argument of the process that confines itself and becomes the interpreter.
const marker = "--koan-codemode-python=1"

// cell is what that process is told.
type cell struct {
	Interpreter
	Modules []string `json:"modules"`
	// Rootless says that the host is not root: the process is root of a user namespace of its own instead.
	Rootless bool `json:"rootless"`
}

// Layers are the layers of isolation that a cell has, all of them or none at all: the root with nothing in it but
// libraries and a workspace takes the place of Landlock.
func Layers() []string { return []string{worker.LayerSeccomp, worker.LayerNamespaces} }

// Arguments returns the arguments with which this executable becomes the interpreter, as a worker that has some modules
// loaded.
func (i *Interpreter) Arguments(modules []string) []string {
	raw, err := json.Marshal(cell{*i, modules, os.Getuid() != 0})
	if err != nil {
		panic("python: a cell is plain data: " + err.Error())
	}
	return []string{marker, string(raw)}
}

// Attributes returns the attributes with which to start it.
func Attributes() *syscall.SysProcAttr { return attributes() }

// Main confines this process and becomes the interpreter if the command line says so, and otherwise returns at once.
// A program calls it in the initialisation of a package, so that every binary which links that package can be started
// again for this, whatever its main function does.
func Main() {
	if len(os.Args) != 3 || os.Args[1] != marker {
		return
	}
	var c cell
	err := json.Unmarshal([]byte(os.Args[2]), &c)
	if err == nil {
		err = c.become()
	}
	_, _ = os.Stderr.WriteString("koan: Python was not started: " + err.Error() + "\n")
	os.Exit(exitBroken)
}

// exitBroken is the exit status where the cell could not be built; what failed is on standard error.
const exitBroken = 5
