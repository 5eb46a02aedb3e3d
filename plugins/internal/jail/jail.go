// Package jail starts a program that may be a stranger's where it sees only itself, the system's libraries
// and the folders that it is given: no other process, no other file, no network except one proxy.
//
// What belongs here: the jail, from both sides. Not here: what runs in it and why, which package
// plugins knows, or what the proxy lets through (package egress).
package jail

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"slices"
	"strings"
)

// Jail is what a program in it has.
type Jail struct {
	Program string   // path of the executable
	Args    []string // its arguments, without the name
	Read    []string // files and folders that it may read, by their absolute paths
	Write   []string // folders that it may write to
	Dir     string   // the folder in which it starts, which is empty but for what else is here
	TempMb  int      // how much its own /tmp may hold
	Proxy   string   // the socket of a proxy that ProxyURL leads to; "" for no network at all
	Root    string   // an empty folder, in which nothing is ever stored
}

// ProxyURL is where a program in a jail finds its proxy.
const ProxyURL = "http://127.0.0.1:3128"

const proxyAddress = "127.0.0.1:3128"

// errUnsupported says that this system has no jails.
var errUnsupported = errors.New("plugins are confined on Linux only")

// marker is the first argument of the process that builds a jail and starts the program in it.
const marker = "--koan-plugin-jail=1"

// Command returns the command that runs the program. Its environment and its pipes are the program's, and the
// end of the process is the end of all that the program has started.
func (j *Jail) Command() (*exec.Cmd, error) {
	if err := j.prepare(); err != nil {
		return nil, err
	}
	text, err := json.Marshal(j)
	if err != nil {
		return nil, err
	}
	cmd := exec.Command(self, marker, string(text))
	cmd.Env = []string{} // nil would be all of the app's
	confine(cmd)
	return cmd, nil
}

// Check reports why this system has no jails, nil where it has: it builds one in an empty folder, and runs nothing
// in it.
func Check(ctx context.Context, root string) error {
	text, err := json.Marshal(&Jail{Root: root, TempMb: 1})
	if err != nil {
		return err
	}
	if self == "" {
		return errUnsupported
	}
	cmd := exec.CommandContext(ctx, self, marker, string(text))
	cmd.Env = []string{}
	confine(cmd)
	if said, err := cmd.CombinedOutput(); err != nil {
		if text := strings.TrimPrefix(strings.TrimSpace(string(said)), FailurePrefix); text != "" {
			return errors.New(text)
		}
		return err
	}
	return nil
}

// init builds a jail, runs the program in it and exits as it does, if the command line says so: every binary that
// links the package can be started again for this, whatever its main function does. The package depends on little,
// so that this comes before most of what such a binary initialises.
func init() {
	if len(os.Args) != 3 || os.Args[1] != marker {
		return
	}
	var j Jail
	if err := json.Unmarshal([]byte(os.Args[2]), &j); err != nil {
		fail("read what it is to be", err)
	}
	os.Exit(j.run())
}

// exitBroken is the exit status where the jail could not be built; what failed is on standard error.
const exitBroken = 125

// FailurePrefix begins the line on standard error that says why a program was not started.
const FailurePrefix = "koan: the plugin was not started: "

// fail ends the process that builds a jail.
func fail(what string, err error) {
	_, _ = os.Stderr.WriteString(FailurePrefix + what + ": " + err.Error() + "\n")
	os.Exit(exitBroken)
}

// clean sorts paths so that folders stand before what is in them, each once.
func clean(paths []string) []string {
	slices.Sort(paths)
	return slices.Compact(paths)
}
