// Package cli has the commands that every app has.
//
// What belongs here: reading the command line, printing results, exit codes. Not here:
// the work of a command, which is an operation or a document of the catalog.
package cli

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/signal"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/koan-go/koan/framework/auth"
	"github.com/koan-go/koan/framework/catalog"
	"github.com/koan-go/koan/framework/exposure"
	"github.com/koan-go/koan/framework/fault"
	"github.com/koan-go/koan/framework/internal/config"
	"github.com/koan-go/koan/framework/internal/mcpserver"
	"github.com/koan-go/koan/framework/internal/site"
	"github.com/koan-go/koan/framework/journal"
	"github.com/koan-go/koan/framework/manual"
	"github.com/koan-go/koan/framework/run"
	"github.com/koan-go/koan/framework/run/approve"
	"github.com/koan-go/koan/framework/run/replay"
)

// Exit statuses (CONTRACT section 1).
const (
	exitOK    = 0
	exitFail  = 1
	exitUsage = 2
)

// stopTime bounds how long stopping may take after the work is done.
const stopTime = 10 * time.Second

// Instance is a running app, as the commands need it.
type Instance interface {
	Snapshot() *catalog.Snapshot
	View(p auth.Principal, c exposure.Client) *catalog.View
	Mode() exposure.Mode
	Negotiated() bool
	Engine() *run.Engine
	Plans() *approve.Guard
	Values() catalog.Values
	Log() *slog.Logger
	MCP() (*mcpserver.Server, error)
	Site(at Address) (*site.Site, error)
	Report() []string
	Reload(ctx context.Context) error
	Refresh(ctx context.Context) error
	OnReload(fn func(next catalog.Values) (apply func(), err error))
	Runs(ctx context.Context, q journal.Query) (*journal.Page, error)
	Replay(ctx context.Context, run string, data bool, plugins ...string) (*replay.Replayed, error)
	ActionOf(ctx context.Context, name, run string) (file string, text []byte, err error)
	Stop(ctx context.Context) error
}

// App is what the commands need to know of an app.
type App struct {
	Name string
	// Command is how the user calls it: messages and help name the program by it.
	Command     string
	Version     string
	Description string
	Settings    []catalog.Setting
	Boot        func(ctx context.Context, src config.Source, how Start) (Instance, error)
	// Diagnose returns the checks of `doctor`, also of an app that does not start.
	Diagnose func(ctx context.Context, src config.Source) ([]catalog.Check, error)
	// Commands are the providers' own; Configure checks the configuration for them
	// without starting the app.
	Commands  []*catalog.Command
	Configure func(src config.Source) (catalog.Host, error)
	Install
	// CheckServers reports why the app would not read a file of --mcp-config.
	CheckServers func(v catalog.Values, servers []byte) error
	Process
}

// Start is how a command starts the app.
type Start struct {
	OneShot bool          // for this command alone
	Again   catalog.Again // for hints that name another command of the app
}

// Install is how clients are told of an app.
type Install struct {
	Entry     string   // the name of its entry
	ServeArgs []string // with which the program serves it
	OwnEnv    []string // the variables that its own code reads
}

// Process is what the commands read and write. What is nil is the process's own.
type Process struct {
	Stdin  io.Reader
	Stdout io.Writer
	Stderr io.Writer
	Env    []string
}

// exit is an error with a status; its text, if any, is printed.
type exit struct {
	status int
	err    error
}

func (e *exit) Error() string {
	if e.err == nil {
		return ""
	}
	return e.err.Error()
}

func (e *exit) Unwrap() error { return e.err }

func usage(err error) error { return &exit{exitUsage, err} }

func failed(err error) error { return &exit{exitFail, err} }

// failedIf is failed, of what may be no error.
func failedIf(err error) error {
	if err == nil {
		return nil
	}
	return failed(err)
}

// Main runs the command line and returns the exit status. SIGINT and SIGTERM end
// the work gracefully.
func Main(app App, args []string) int {
	if app.Stdin == nil {
		app.Stdin = os.Stdin
	}
	if app.Stdout == nil {
		app.Stdout = os.Stdout
	}
	if app.Stderr == nil {
		app.Stderr = os.Stderr
	}
	if app.Env == nil {
		app.Env = os.Environ()
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	c := &command{&invocation{app: app}}
	root := c.root()
	var err error
	if manual.Completes(args) {
		for _, s := range app.Settings { // each is a flag of every command, which config.Flags takes out below
			root.PersistentFlags().String(s.Key, "", s.Help)
		}
	} else if args, c.flags, err = config.Flags(app.Settings, args); err != nil {
		fmt.Fprintf(app.Stderr, "%s: %v\n", app.Command, err)
		return exitUsage
	}
	root.SetArgs(args)
	help := bufio.NewWriter(app.Stdout) // cobra drops what goes wrong with its texts
	root.SetOut(help)
	err = root.ExecuteContext(ctx)
	if unwritten := cmp.Or(c.unwritten, help.Flush()); err == nil && unwritten != nil {
		err = failed(unwritten)
	}
	return c.status(err)
}

// printer prints to standard output.
func (c *invocation) printer() printer { return printer{c.app.Stdout, &c.unwritten} }

// status prints an error and returns its exit status.
func (c *invocation) status(err error) int {
	if err == nil {
		return exitOK
	}
	if text := err.Error(); text != "" {
		fmt.Fprintf(c.app.Stderr, "%s: %s\n", c.app.Command, text)
	}
	var e *exit
	if errors.As(err, &e) {
		return e.status
	}
	return exitUsage // cobra's own: unknown command, wrong flags
}

// invocation is one call of the program: what it was called with, the app that it starts, and what it prints.
type invocation struct {
	app    App
	flags  map[string]string
	config string
	dir    string

	unwritten error // what kept a printer from writing
}

// The commands, by what they work on.
type (
	command        struct{ *invocation } // the root, and what shows something of the app
	actionCommands struct{ *invocation } // actions
	approvals      struct{ *invocation } // plans and grants
	installer      struct{ *invocation } // entries in clients' files
	server         struct{ *invocation } // what serves clients
	scripts        struct{ *invocation } // runs of scripts, and runs that were
)

func (c *command) root() *cobra.Command {
	root := &cobra.Command{
		Use: c.app.Name, Short: c.app.Description, Long: c.long(), Version: c.app.Version,
		Annotations:   map[string]string{cobra.CommandDisplayNameAnnotation: c.app.Command},
		SilenceErrors: true, SilenceUsage: true,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) > 0 {
				return fmt.Errorf("unknown command %q; see --help", args[0])
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, _ []string) error {
			cmd.SetOut(c.app.Stderr)
			_ = cmd.Help()
			return usage(nil)
		},
	}
	root.SetErr(c.app.Stderr)
	root.SetFlagErrorFunc(c.wrongFlag)
	root.PersistentFlags().StringVar(&c.config, "config", "", "configuration file (default koan.yaml, if it exists)")
	root.PersistentFlags().StringVar(&c.dir, "dir", "", "work in this folder, as if started there")
	root.PersistentPreRunE = func(*cobra.Command, []string) error {
		if c.dir == "" {
			return nil
		}
		return os.Chdir(c.dir)
	}
	scripts := &scripts{c.invocation}
	root.AddCommand(
		(&server{c.invocation}).serve(), scripts.run(), c.runs(), scripts.undo(), scripts.export(), scripts.importCommand(), c.validate(), c.sdk(), c.tools(), (&actionCommands{c.invocation}).action(),
		scripts.replay(), c.doctor(), c.keys(), (&approvals{c.invocation}).approve(), (&installer{c.invocation}).install(),
	)
	for _, p := range c.app.Commands {
		root.AddCommand(c.providerCommand(p))
	}
	manual.Add(root, failedIf)
	return root
}

// long is the help text that holds for all commands.
func (c *invocation) long() string {
	about := "Every configuration key is also a flag of every command, such as --database; `" + c.app.Command + " keys` lists them."
	if c.app.Description == "" {
		return about
	}
	return c.app.Description + "\n\n" + about
}

// exactArgs rejects any other number of arguments, and shows the command's usage.
func exactArgs(n int) cobra.PositionalArgs { return rangeArgs(n, n) }

// argsOf accepts arguments by their names: those in brackets at the end may be left out.
func argsOf(names []string) cobra.PositionalArgs {
	least := len(names)
	for least > 0 && strings.HasPrefix(names[least-1], "[") {
		least--
	}
	return rangeArgs(least, len(names))
}

func rangeArgs(least, most int) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if len(args) >= least && len(args) <= most {
			return nil
		}
		plural := "s"
		if len(args) == 1 {
			plural = ""
		}
		return fmt.Errorf("%d argument%s given; use it as: %s", len(args), plural, cmd.UseLine())
	}
}

// unknownFlag suggests the flag that an unknown one may have meant: one of the
// command's own, or a key of the configuration.
func (c *command) wrongFlag(cmd *cobra.Command, err error) error {
	var invalid *pflag.InvalidValueError
	if errors.As(err, &invalid) && invalid.GetFlag().Value.Type() == "bool" {
		return fmt.Errorf("--%s must be true or false, not %q", invalid.GetFlag().Name, invalid.GetValue())
	}
	var missing *pflag.NotExistError
	if !errors.As(err, &missing) {
		return err
	}
	var names []string
	cmd.Flags().VisitAll(func(f *pflag.Flag) { names = append(names, f.Name) })
	for _, s := range c.app.Settings {
		names = append(names, s.Key)
	}
	return fmt.Errorf("%w%s", err, likelyFlag(missing.GetSpecifiedName(), names))
}

// likelyFlag suggests a flag for one that is not there: the nearest, or one with which it begins.
func likelyFlag(word string, names []string) string {
	near := fault.Nearest(word, names)
	if near == "" {
		if i := slices.IndexFunc(names, func(n string) bool { return len(n) > 2 && strings.HasPrefix(word, n) }); i >= 0 {
			near = names[i]
		}
	}
	if near == "" {
		return ""
	}
	return `; did you mean "--` + near + `"?`
}

// startOnce starts the app for a command that prints one thing and ends: it logs
// warnings only, unless the configuration asks for more.
func (c *invocation) startOnce(ctx context.Context) (Instance, func(), error) {
	return c.boot(ctx, warnings, true)
}

// warnings are the defaults of commands that print one thing and end.
var warnings = map[string]string{"log.level": "warn"}

// runOnce returns the function of a command that starts the app, does its work and stops.
func (c *invocation) runOnce(work func(cmd *cobra.Command, i Instance) error) func(*cobra.Command, []string) error {
	return func(cmd *cobra.Command, _ []string) error {
		i, stop, err := c.startOnce(cmd.Context())
		if err != nil {
			return err
		}
		defer stop()
		return work(cmd, i)
	}
}

// source returns the sources of the configuration.
func (c *invocation) source(defaults map[string]string) config.Source {
	src := config.Source{File: c.config, Must: c.config != "", Env: c.app.Env, Flags: c.flags, Defaults: defaults}
	if src.File == "" {
		src.File = "koan.yaml"
	}
	return src
}

// boot starts the app with the configuration of the command line.
func (c *invocation) boot(ctx context.Context, defaults map[string]string, oneShot bool) (Instance, func(), error) {
	i, err := c.app.Boot(ctx, c.source(defaults), Start{OneShot: oneShot, Again: c.again(oneShot)})
	if err != nil {
		return nil, nil, startFailure(err)
	}
	stop := func() {
		ctx, cancel := context.WithTimeout(context.Background(), stopTime)
		defer cancel()
		if err := i.Stop(ctx); err != nil {
			i.Log().Warn("the app did not stop cleanly", "error", err)
		}
	}
	return i, stop, nil
}

// startFailure is the exit of an app that does not start: wrong use if its configuration
// is invalid, also where only a provider can see that.
func startFailure(err error) error {
	var problems config.Problems
	switch {
	case errors.As(err, &problems):
		return usage(err)
	case fault.CodeOf(err) == fault.InvalidPayload:
		return usage(explain(err))
	}
	return failed(withCauseAndHint(err))
}

// readScript reads a FILE argument, "-" for standard input.
func (c *invocation) readScript(name string) (string, error) {
	if name == "-" {
		raw, err := io.ReadAll(io.LimitReader(c.app.Stdin, maxScript))
		if err != nil {
			return "", failed(err)
		}
		return string(raw), nil
	}
	raw, err := readGiven(name)
	if err != nil {
		return "", usage(err)
	}
	return string(raw), nil
}

// readGiven reads a file that whoever types the command names: of any kind, since a person may wait
// for the writer of a pipe.
func readGiven(name string) ([]byte, error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return io.ReadAll(io.LimitReader(f, maxScript))
}

// maxScript bounds what is read of a script, in bytes; sandbox.maxCodeLength is
// the limit that callers see.
const maxScript = 16 << 20
