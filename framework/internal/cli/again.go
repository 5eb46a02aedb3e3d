package cli

import (
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"github.com/koan-go/koan/framework/catalog"
)

// again is how another command of the app is typed so that it works on what this one does. Whoever typed a
// command for one thing stands in its folder, with its environment. One that serves may have been started by an
// MCP client or at the machine's start, so that whoever types the other one is somewhere else.
func (c *invocation) again(oneShot bool) (a catalog.Again) {
	a.Program = calledBy(c.app.Command, oneShot && c.dir == "")
	if c.config != "" {
		a.Flags = append(a.Flags, "--config", c.config)
	}
	for _, key := range slices.Sorted(maps.Keys(c.flags)) {
		a.Flags = append(a.Flags, "--"+key, c.shown(key, c.flags[key]))
	}
	if oneShot {
		if c.dir != "" {
			a.Flags = append(a.Flags, "--dir", c.dir)
		}
		return a
	}
	for _, name := range c.variables() {
		key := strings.ReplaceAll(strings.TrimPrefix(strings.ToLower(name), "koan_"), "_", ".")
		a.Variables = append(a.Variables, name+"="+c.shown(key, c.variable(name)))
	}
	if dir, err := os.Getwd(); err == nil && (len(a.Flags)+len(a.Variables) > 0 || exists(c.source(nil).File)) {
		a.Flags = append(a.Flags, "--dir", dir)
	}
	return a
}

// shown is the value of a key for a hint. Who has the secret puts it in.
func (c *invocation) shown(key, value string) string {
	if c.isSecret(key, value) {
		return "SECRET"
	}
	return value
}

// calledBy is the word by which this program can be called: its name where a shell finds it, and otherwise its
// path; as it was given, if whoever types the other command stands where it was. "" is the name, also of an app
// in another program.
func calledBy(command string, here bool) string {
	name, _, _ := strings.Cut(command, " ")
	called := os.Args[0]
	if _, err := exec.LookPath(name); err == nil || filepath.Base(called) != name || !strings.Contains(called, "/") {
		return ""
	}
	if here {
		return called
	}
	path, err := program()
	if err != nil {
		return ""
	}
	return path
}
