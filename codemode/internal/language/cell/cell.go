// Package cell confines a process that becomes an interpreter of the machine: a root with nothing in it but what the
// interpreter needs and a workspace, namespaces without another process or a network, no rights, and a filter of
// system calls.
//
// What belongs here: how a process builds its cell and becomes the interpreter. Not here: a language, and which
// files and arguments its interpreter needs; the pool of such processes (package sandbox).
package cell

import (
	"encoding/json"
	"io/fs"
	"os"
	"syscall"

	"github.com/koan-go/koan/codemode/internal/wire"
	"github.com/koan-go/koan/codemode/worker"
)

const (
	// Home is the folder of the interpreter's side in the root, with configFile in it.
	Home = "/koan"
	// configFile is the file in Home that has what the interpreter's side is told, in JSON.
	configFile = "config.json"
	// Workspace is the folder of scripts, the only one that can be written to.
	Workspace = "/workspace"
	// statm is the descriptor by which the interpreter knows how much memory it has mapped.
	statm = 3
	// framesIn and framesOut are the descriptors of the frames if a cell has them apart (Cell.Apart).
	framesIn, framesOut = 4, 5
)

// Cell is a process that confines itself and becomes an interpreter.
type Cell struct {
	Path  string   // of the executable
	Args  []string // behind its name
	Env   []string
	Shown []string // files and folders that it sees at their own places, to be read
	// Placed are folders that it sees elsewhere, to be read, by their places in the root.
	Placed map[string]string
	Side   fs.FS          // the interpreter's side, which is put into Home
	Told   map[string]any // beside `ready`, the frame with which it says that it is ready
	// Seal installs the filter of system calls, which lets the process start the program whose path is at an address,
	// once it has become it. nil: the interpreter installs a filter itself.
	Seal func(path uintptr) error
	// Apart moves the frames from standard input and output to framesIn and framesOut.
	Apart bool

	rootless bool // the host is not root: the process is root of a user namespace of its own instead
}

// told is what the process is told.
type told struct {
	Rootless bool            `json:"rootless"`
	Data     json.RawMessage `json:"data"`
}

// Layers are the layers of isolation that a cell has, all of them or none at all: its root takes the place of Landlock.
func Layers() []string { return []string{worker.LayerSeccomp, worker.LayerNamespaces} }

// Attributes returns the attributes with which to start such a process.
func Attributes() *syscall.SysProcAttr { return attributes() }

// Arguments returns the arguments with which this executable is started again as the process of a language, whose
// Main is given plain data.
func Arguments(language string, data any) []string {
	raw, err := json.Marshal(data)
	if err == nil {
		raw, err = json.Marshal(told{os.Getuid() != 0, raw})
	}
	if err != nil {
		panic("cell: what a process is told is plain data: " + err.Error())
	}
	return []string{marker(language), string(raw)}
}

func marker(language string) string { return "--koan-codemode-" + language + "=1" }

// Main confines this process and becomes the interpreter of a language if the command line says so, and otherwise
// returns at once. of returns its cell for the data of Arguments. A program calls Main in the initialisation of a
// package, so that every binary which links that package can be started again for this, whatever its main function does.
func Main[D any](language string, of func(D) (*Cell, error)) {
	if len(os.Args) != 3 || os.Args[1] != marker(language) {
		return
	}
	var from told
	var data D
	var c *Cell
	err := json.Unmarshal([]byte(os.Args[2]), &from)
	if err == nil {
		err = json.Unmarshal(from.Data, &data)
	}
	if err == nil {
		c, err = of(data)
	}
	if err == nil {
		c.rootless = from.Rootless
		err = c.become()
	}
	_, _ = os.Stderr.WriteString("koan: " + language + " was not started: " + err.Error() + "\n")
	os.Exit(exitBroken)
}

// exitBroken is the exit status where the cell could not be built; what failed is on standard error.
const exitBroken = 5

// ready is the frame with which the interpreter says that it is ready, but for its size.
func ready() wire.Ready {
	return wire.Ready{Protocol: wire.Protocol, Build: worker.Build(), Isolation: worker.Isolation(Layers())}
}
