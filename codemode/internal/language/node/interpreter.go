package node

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/koan-go/koan/framework/fault"
)

// Interpreter is a Node of this machine.
type Interpreter struct {
	Path    string   `json:"path"`    // of the executable
	Version string   `json:"version"` // "20.11.1"
	Major   int      `json:"major"`
	Library []string `json:"library"` // folders with shared libraries that are in none of the system's places
	Modules string   `json:"modules"` // the folder of npm packages, "" for none
}

// oldest is the oldest major version that scripts run in.
const oldest = 20

// findTimeout bounds how long an interpreter takes to describe itself.
const findTimeout = 20 * time.Second

// describe has an interpreter describe itself.
const describe = `
const fs = require("fs"), path = require("path");
const file = fs.realpathSync(process.execPath);
const lib = path.join(path.dirname(path.dirname(file)), "lib");
console.log(JSON.stringify({
  path: file, version: process.versions.node, major: Number(process.versions.node.split(".")[0]),
  library: process.config.variables.node_shared && fs.existsSync(lib) ? [lib] : [],
}));
`

// Find returns the interpreter with a name on the PATH, or a path. modules is a folder of npm packages, "" for none.
// The fault is capability_unsupported and says what is missing.
func Find(ctx context.Context, name, modules string) (*Interpreter, error) {
	path, err := exec.LookPath(name)
	if err != nil {
		return nil, fault.Newf(fault.CapabilityUnsupported, "there is no Node here: no program %q", name).
			WithHint("Install Node %d or newer, name it in codeMode.node, or take node out of codeMode.languages.", oldest)
	}
	ctx, cancel := context.WithTimeout(ctx, findTimeout)
	defer cancel()
	cmd := exec.CommandContext(ctx, path, "-e", describe)
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
		return nil, fault.Newf(fault.CapabilityUnsupported, "the Node %q does not describe itself%s", name, why).
			WithHint("Name a Node %d or newer in codeMode.node, or take node out of codeMode.languages.", oldest).Because(err)
	}
	if found.Major < oldest {
		return nil, fault.Newf(fault.CapabilityUnsupported, "the Node %q is %s: scripts need %d or newer", name, found.Version, oldest).
			WithHint("Name a newer one in codeMode.node, or take node out of codeMode.languages.")
	}
	found.Modules, err = packagesIn(modules)
	return &found, err
}

// packagesIn returns the folder with the npm packages of codeMode.nodeModules: the folder itself, or node_modules in
// the folder of a project.
func packagesIn(folder string) (string, error) {
	if folder == "" {
		return "", nil
	}
	path, err := filepath.Abs(folder)
	if err == nil {
		path, err = filepath.EvalSymlinks(path)
	}
	if err == nil {
		if info, serr := os.Stat(filepath.Join(path, "node_modules")); serr == nil && info.IsDir() {
			path = filepath.Join(path, "node_modules")
		}
		if info, serr := os.Stat(path); serr != nil || !info.IsDir() {
			err = errors.New("it is not a folder")
		}
	}
	if err != nil {
		return "", fault.Newf(fault.CapabilityUnsupported, "the folder %q of codeMode.nodeModules cannot be read", folder).
			WithHint("Name a folder of npm packages, or one with node_modules in it.").Because(err)
	}
	return path, nil
}

// String names the interpreter: "Node 20.11.1 (/usr/bin/node)".
func (i *Interpreter) String() string { return fmt.Sprintf("Node %s (%s)", i.Version, i.Path) }
