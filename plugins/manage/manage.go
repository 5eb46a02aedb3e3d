// Package manage is the command line for plugins, `koan plugin`: it begins, checks, calls, adds, upgrades and
// removes them.
//
// What belongs here: what a person does with plugins beside a running app. Not here: anything that an app
// needs to run; apps do not link this package.
package manage

import (
	"bufio"
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/mattn/go-isatty"

	"github.com/koan-go/koan/framework/catalog"
	"github.com/koan-go/koan/framework/fault"
	"github.com/koan-go/koan/plugins/internal/lock"
)

// Provider provides commands, and no operations.
type Provider struct{}

var (
	_ catalog.Provider  = (*Provider)(nil)
	_ catalog.Commander = (*Provider)(nil)
)

// Name is "plugin commands".
func (*Provider) Name() string { return "plugin commands" }

// Start does nothing.
func (*Provider) Start(context.Context, catalog.Host) error { return nil }

// Offer is empty.
func (*Provider) Offer() catalog.Offer { return catalog.Offer{} }

// Stop does nothing.
func (*Provider) Stop(context.Context) error { return nil }

// The flags of several commands.
var (
	settingFlag = catalog.CommandFlag{Name: "set", Default: []string{}, Help: "a key below plugins.NAME of an app's configuration: --set settings.city=Berlin (several times)"}
	yesFlag     = catalog.CommandFlag{Name: "yes", Default: false, Help: "do not ask"}
	openFlag    = catalog.CommandFlag{Name: "unconfined", Default: false, Help: "let it describe itself on a system that cannot confine it: it can read and do what you can"}
	digestFlag  = catalog.CommandFlag{Name: "digest", Default: "", Help: "the digest that it must have, sha256:..."}
)

// Commands are `plugin new`, `check`, `run`, `add`, `list`, `upgrade` and `remove`.
func (*Provider) Commands() []*catalog.Command {
	return []*catalog.Command{{
		Name: "plugin", Short: "Write, check, run, add and upgrade plugins",
		Sub: []*catalog.Command{
			newCommand(),
			{
				Name: "check", Args: []string{"PATH"}, Short: "Check a plugin against the protocol, as an app would start and call it",
				Long:  "Starts the plugin, reads its description, and calls its read-only functions that have an example. The status is 1 where something is wrong.",
				Flags: []catalog.CommandFlag{settingFlag, {Name: "json", Default: false, Help: "print the findings as one line of JSON"}},
				Run:   check, Example: "plugin check bin/plugins/dice --set settings.seed=7",
			},
			{
				Name: "run", Args: []string{"PATH", "FUNCTION"}, Short: "Start a plugin and call one of its functions",
				Long:  "Calls a function as the person at the app's machine, and prints its output. Reports and logs go to standard error.",
				Flags: []catalog.CommandFlag{{Name: "input", Default: "{}", Help: "the input: JSON, @FILE, or - for standard input"}, settingFlag},
				Run:   call, Example: `plugin run bin/plugins/dice roll --input '{"sides": 6}'`,
			},
			{
				Name: "add", Args: []string{"[SOURCE]"}, Short: "Bring a plugin into the app's plugins, and write it into koan.lock",
				Long: `SOURCE is a file, a folder, or an https URL of one of these: an executable, or a .tar.gz or .zip with one.
The plugin describes itself, confined, and what it would be able to do is shown before it is added.
Without SOURCE it brings the plugins that koan.lock lists and that are missing, with the digests that it lists.`,
				Flags: []catalog.CommandFlag{digestFlag, {Name: "name", Default: "", Help: "the plugin's name where SOURCE does not tell it"}, yesFlag, openFlag},
				Run:   add, Example: "plugin add https://plugins.example/weather.tar.gz",
			},
			{Name: "list", Short: "Show the app's plugins, and whether their files are those of koan.lock", Run: list, Example: "plugin list"},
			{
				Name: "upgrade", Args: []string{"NAME", "[SOURCE]"}, Short: "Replace a plugin by a new build, and show what it declares that it did not",
				Long:  "Without SOURCE it comes from where the plugin came from. Where effects, scopes, schemas or needs widen, it asks; approvals of its functions that were given for good end.",
				Flags: []catalog.CommandFlag{digestFlag, yesFlag, openFlag},
				Run:   upgrade, Example: "plugin upgrade weather https://plugins.example/weather-1.3.tar.gz",
			},
			{Name: "remove", Args: []string{"NAME"}, Short: "Remove a plugin that was added", Run: remove, Example: "plugin remove weather"},
		},
	}}
}

// place is the app whose plugins are managed.
type place struct {
	dir  string // its plugins
	lock string // its koan.lock
}

// keyDir is the key of the plugins' folder.
const keyDir = "plugins.dir"

// placeOf returns the app that the configuration in the working directory is of.
func placeOf(host catalog.Host) (place, error) {
	p := place{lock: lock.Beside(host.ConfigFile())}
	if p.dir = host.Settings().String(keyDir); p.dir == "" {
		if info, err := os.Stat("bin"); err != nil || !info.IsDir() {
			return p, fault.New(fault.InvalidPayload, "it is not known which folder the app's plugins are in").
				WithHint("Run this in the app's folder and set %s in koan.yaml or with --%s; without it, it is `bin/plugins` where there is a folder `bin`.", keyDir, keyDir)
		}
		p.dir = filepath.Join("bin", "plugins")
	}
	var err error
	p.dir, err = filepath.Abs(p.dir)
	return p, err
}

// find returns the path of a plugin in the app's folder, its file or its folder; "" where there is none.
func (p place) find(name string) string {
	for _, file := range []string{name, name + ".exe"} {
		if _, err := os.Lstat(filepath.Join(p.dir, file)); err == nil {
			return filepath.Join(p.dir, file)
		}
	}
	return ""
}

// keys reads the flag --set.
func keys(in *catalog.Invocation) (map[string]string, error) {
	out := map[string]string{}
	for _, one := range in.Lists[settingFlag.Name] {
		key, value, ok := strings.Cut(one, "=")
		if !ok || key == "" {
			return nil, fault.Newf(fault.InvalidPayload, "--set wants KEY=VALUE, not %q", one)
		}
		out[key] = value
	}
	return out, nil
}

// agreed asks the person at the terminal, unless --yes was given.
func agreed(in *catalog.Invocation, question string) error {
	if in.Bools[yesFlag.Name] {
		return nil
	}
	if f, ok := in.In.(*os.File); !ok || !isatty.IsTerminal(f.Fd()) {
		return fault.New(fault.InvalidPayload, "nobody can be asked here").WithHint("Read what is above, and repeat the command with --yes.")
	}
	in.Err.Printf("%s [y/N] ", question)
	answer, err := bufio.NewReader(in.In).ReadString('\n')
	if err != nil && !errors.Is(err, io.EOF) {
		return err
	}
	switch strings.ToLower(strings.TrimSpace(answer)) {
	case "y", "yes":
		return nil
	}
	in.Err.Printf("Nothing was changed.\n")
	return catalog.ErrNotice
}

// count says how many of something there are.
