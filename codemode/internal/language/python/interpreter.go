package python

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os/exec"
	"strings"
	"time"

	"github.com/koan-go/koan/framework/fault"
)

// Interpreter is a Python of this machine.
type Interpreter struct {
	Path    string   `json:"path"`    // of the executable
	Version string   `json:"version"` // "3.11.2"
	Library []string `json:"library"` // the folders of the standard library
	Sites   []string `json:"sites"`   // the folders of other modules
	Data    []string `json:"data"`    // what a distribution keeps of the modules that were asked for elsewhere
	Minor   int      `json:"minor"`
	Missing []string `json:"missing"` // of the modules that were asked for
}

// oldest is the oldest minor version of Python 3 that scripts run in.
const oldest = 11

// findTimeout bounds how long an interpreter takes to describe itself.
const findTimeout = 20 * time.Second

// describe has an interpreter describe itself.
const describe = `
import json, importlib.util, site, sys, sysconfig, os
paths = sysconfig.get_paths()
dirs = [paths["stdlib"], paths["platstdlib"], sysconfig.get_config_var("DESTSHARED"), sysconfig.get_config_var("LIBDIR")]
sites = [p for p in [*site.getsitepackages(), paths["purelib"], paths["platlib"]] if os.path.isdir(p)]
missing = [m for m in sys.argv[1:] if importlib.util.find_spec(m) is None]
names = dict.fromkeys(m.partition(".")[0] for m in sys.argv[1:])
data = [p for m in names for p in ["/usr/share/" + m, "/etc/" + m + "rc"] if os.path.exists(p)]
print(json.dumps({
    "path": os.path.realpath(sys.executable), "version": "%d.%d.%d" % sys.version_info[:3], "minor": sys.version_info[1] if sys.version_info[0] == 3 else 0,
    "library": [d for d in dict.fromkeys(dirs) if d and os.path.isdir(d)], "sites": list(dict.fromkeys(sites)), "data": data, "missing": missing,
}))
`

// Find returns the interpreter with a name on the PATH, or a path, that has some modules. The fault is
// capability_unsupported and says what is missing.
func Find(ctx context.Context, name string, modules []string) (*Interpreter, error) {
	path, err := exec.LookPath(name)
	if err != nil {
		return nil, fault.Newf(fault.CapabilityUnsupported, "there is no Python here: no program %q", name).
			WithHint("Install Python 3.%d or newer, name it in codeMode.python, or take python out of codeMode.languages.", oldest)
	}
	ctx, cancel := context.WithTimeout(ctx, findTimeout)
	defer cancel()
	cmd := exec.CommandContext(ctx, path, append([]string{"-c", describe}, modules...)...)
	cmd.WaitDelay = time.Second
	out, err := cmd.Output()
	var found Interpreter
	if err == nil {
		err = json.Unmarshal(out, &found)
	}
	if err != nil {
		var failed *exec.ExitError
		why := ""
		if errors.As(err, &failed) {
			lines := strings.Split(strings.TrimSpace(string(failed.Stderr)), "\n")
			why = ": " + fault.Clip(lines[len(lines)-1], 200)
		}
		return nil, fault.Newf(fault.CapabilityUnsupported, "the Python %q does not describe itself%s", name, why).
			WithHint("Name a Python 3.%d or newer in codeMode.python, or take python out of codeMode.languages.", oldest).Because(err)
	}
	switch {
	case found.Minor < oldest:
		return nil, fault.Newf(fault.CapabilityUnsupported, "the Python %q is %s: scripts need 3.%d or newer", name, found.Version, oldest).
			WithHint("Name a newer one in codeMode.python, or take python out of codeMode.languages.")
	case len(found.Missing) > 0:
		return nil, fault.Newf(fault.CapabilityUnsupported, "the Python %q lacks modules of codeMode.pythonModules: %s", name, strings.Join(found.Missing, ", ")).
			WithHint("Install them for this Python, or take them out of codeMode.pythonModules.")
	}
	return &found, nil
}

// String names the interpreter: "Python 3.11.2 (/usr/bin/python3.11)".
func (i *Interpreter) String() string { return fmt.Sprintf("Python %s (%s)", i.Version, i.Path) }
