package cli

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/koan-go/koan/framework/catalog"
	"github.com/koan-go/koan/framework/fault"
	"github.com/koan-go/koan/framework/internal/config"
	"github.com/koan-go/koan/framework/internal/install"
	"github.com/koan-go/koan/framework/journal"
	"github.com/koan-go/koan/framework/regular"
)

// clientFileKey is the setting with the file of other servers.
const clientFileKey = "mcp-config"

// installFlags are the flags of `install`.
type installFlags struct {
	name, url, token                       string
	env                                    []string
	project, gateway, remove, print, agree bool
}

func (c *installer) install() *cobra.Command {
	var f installFlags
	ids := strings.Join(install.Clients(), "|")
	cmd := &cobra.Command{
		Use:   "install CLIENT",
		Short: "Write the app into the configuration of an MCP client, or take it out",
		Long: "Writes an entry for the app into the configuration file of CLIENT (" + ids + "),\n" +
			"shows the change first, asks, and keeps a copy of the file beside it. Everything else in the file stays as it is.\n" +
			"The entry starts this program with this configuration: the flags given here, the configuration file, the working\n" +
			"folder. Variables of the environment are named, and their values are not written.\n\n" +
			"--gateway moves the servers that the client has to a file of Koan's, so that the client sees the app alone and\n" +
			"scripts reach all of them. --remove takes out the entry and returns them.",
		Example: "  " + c.app.Command + " install cursor\n  " + c.app.Command + " install claude-code --project --yes\n" +
			"  " + c.app.Command + " install vscode --gateway --print\n  " + c.app.Command + " install cursor --remove",
		ValidArgs: install.Clients(),
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				return fmt.Errorf("name the client, one of %s: %s", ids, cmd.UseLine())
			}
			return exactArgs(1)(cmd, args)
		},
		RunE: func(_ *cobra.Command, args []string) error {
			o, err := c.installation(args[0], f)
			if err == nil {
				err = install.Run(o, c.app.Stdout)
			}
			switch {
			case err == nil:
				return nil
			case errors.As(err, new(*exit)):
				return err
			case fault.CodeOf(err) == fault.InvalidPayload:
				return usage(withCauseAndHint(err))
			}
			return failed(withCauseAndHint(err))
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&f.name, "name", "", "name of the entry (default "+c.app.Entry+")")
	flags.StringVar(&f.url, "url", "", "write this URL of the app served over HTTP, in place of a command")
	flags.StringVar(&f.token, "token-env", "", "with --url: the variable that has the bearer token")
	flags.StringSliceVar(&f.env, "env", nil, "`NAME` of a variable that the app's own code reads, and that the entry passes on; may be repeated")
	flags.BoolVar(&f.project, "project", false, "write the file of the project in the working folder, not your own")
	flags.BoolVar(&f.gateway, "gateway", false, "move the client's own servers behind the app")
	flags.BoolVar(&f.remove, "remove", false, "take out the entry, and return servers that were moved")
	flags.BoolVar(&f.print, "print", false, "show the change and write nothing")
	flags.BoolVar(&f.agree, "yes", false, "do not ask")
	return cmd
}

// installation returns what the flags and the app's configuration amount to.
func (c *installer) installation(client string, f installFlags) (install.Options, error) {
	if err := install.CheckClient(client); err != nil {
		return install.Options{}, err
	}
	home, err := os.UserHomeDir()
	if err != nil {
		return install.Options{}, failed(err)
	}
	o := install.Options{
		Client: client, Gateway: f.gateway, Remove: f.remove, Print: f.print, Now: time.Now(),
		Machine: install.Machine{OS: runtime.GOOS, Home: home, Env: c.variable},
	}
	if f.project {
		if o.Dir, err = os.Getwd(); err != nil {
			return o, failed(err)
		}
	}
	if o.Entry.Name = f.name; f.name == "" {
		o.Entry.Name = c.app.Entry
	}
	if !f.print && !f.agree {
		if !onTerminal(c.app.Stdin) || !onTerminal(c.app.Stdout) {
			return o, usage(errors.New("there is no terminal to ask on: --yes writes the change, --print only shows it"))
		}
		o.Agree = func() (bool, error) { return c.ask("\nWrite this change? [y/N] ") }
	}
	switch {
	case f.remove && f.url != "":
		return o, usage(errors.New("--remove takes the entry out, whatever its URL is: leave out --url"))
	case f.remove:
		o.Gateway = false // what was moved says so itself
		if o.Entry.Command, err = program(); err != nil {
			return o, failed(err)
		}
		return o, nil
	case f.token != "" && f.url == "":
		return o, usage(errors.New("--token-env goes with --url"))
	case f.gateway && f.url != "":
		return o, usage(errors.New("--gateway needs a server that the client starts: leave out --url"))
	case len(f.env) > 0 && f.url != "":
		return o, usage(errors.New("--env is for a server that the client starts: leave out --url"))
	case f.url != "":
		u, err := url.Parse(f.url)
		if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" || u.User != nil {
			return o, usage(errors.New("--url must be one of http or https without a password, such as http://127.0.0.1:8080/mcp"))
		}
		o.Entry.URL, o.Entry.Token = f.url, f.token
		return o, nil
	}
	if f.gateway && c.flags[clientFileKey] != "" {
		return o, usage(errors.New("--gateway makes the file of --" + clientFileKey + " itself: give one of them"))
	}
	host, err := c.app.Configure(c.source(warnings))
	if err != nil {
		return o, usage(err)
	}
	o.Check = func(servers []byte) error { return c.app.CheckServers(host.Settings(), servers) }
	o.Entry.OwnEnv = slices.Concat(c.app.OwnEnv, f.env)
	o.Entry.Env = slices.Clone(o.Entry.OwnEnv)
	if i := slices.IndexFunc(f.env, func(name string) bool { return !variableName.MatchString(name) }); i >= 0 {
		return o, usage(fmt.Errorf("--env takes the name of a variable, which %q is not: the value is not written", f.env[i]))
	}
	return o, c.startedBy(&o.Entry)
}

// variableName matches the names of variables that clients pass on.
var variableName = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)

// maxNaming bounds a file whose variables an entry names, in bytes; a longer one is refused by the
// program itself.
const maxNaming = 1 << 20

// startedBy fills in how a client starts this program with this configuration.
func (c *installer) startedBy(e *install.Entry) error {
	var err error
	if e.Command, err = program(); err != nil {
		return failed(err)
	}
	if isTemporary(e.Command) {
		return fault.New(fault.CapabilityUnsupported, "`go run` removes the program when it ends, so that a client could not start it").
			WithHint("Build it first (go build), and install from the binary.")
	}
	dir, err := os.Getwd()
	if err != nil {
		return failed(err)
	}
	e.Args = slices.Clone(c.app.ServeArgs)
	e.Env = append(e.Env, c.variables()...)
	var texts string
	src := c.source(nil)
	if raw, err := regular.ReadFile(src.File, maxNaming); err == nil {
		texts += string(raw)
		if info, err := os.Stat(src.File); err == nil && !info.Mode().IsRegular() {
			return usage(fmt.Errorf("--config is %s, which the client could not read later: name a file", regular.Kind(info.Mode())))
		}
		file, err := filepath.Abs(src.File)
		if err != nil {
			return failed(err)
		}
		e.Args = append(e.Args, "--dir", dir, "--config", file)
	} else if len(c.flags)+len(e.Env) > 0 {
		e.Args = append(e.Args, "--dir", dir)
	}
	for _, key := range slices.Sorted(maps.Keys(c.flags)) {
		value := c.flags[key]
		if c.isSecret(key, value) {
			return usage(fmt.Errorf("--%s has a secret, which install never writes: set it in the configuration file (${env:NAME}, ${file:PATH}) or in the environment", key))
		}
		if key == clientFileKey {
			if value, err = filepath.Abs(value); err != nil {
				return failed(err)
			}
		}
		e.Args = append(e.Args, "--"+key, value)
	}
	if file := c.clientFile(); file != "" {
		if raw, err := regular.ReadFile(file, maxNaming); err == nil {
			texts += string(raw)
		}
	}
	e.Env = append(e.Env, install.Variables(texts)...)
	slices.Sort(e.Env)
	e.Env = slices.Compact(e.Env)
	return nil
}

// clientFile is the file of other servers, as the configuration names it.
func (c *installer) clientFile() string {
	if file := c.flags[clientFileKey]; file != "" {
		return file
	}
	return c.variable("KOAN_MCP_CONFIG")
}

// variables are the names of those of the environment that set a key. One that a flag sets too changes nothing.
func (c *invocation) variables() []string {
	isFlag := func(s catalog.Setting) bool { _, given := c.flags[s.Key]; return given }
	return config.Variables(slices.DeleteFunc(slices.Clone(c.app.Settings), isFlag), c.app.Env)
}

// isSecret reports whether a key's value has a password, is a secret of the server, or is one of
// the members of another server that usually are secret. The key may have lost its case.
func (c *invocation) isSecret(key, value string) bool {
	if u, err := url.Parse(value); err == nil && u.User != nil {
		if _, has := u.User.Password(); has {
			return true
		}
	}
	if slices.ContainsFunc(c.app.Settings, func(s catalog.Setting) bool { return strings.EqualFold(s.Key, key) && s.Secret }) {
		return true
	}
	if !strings.HasPrefix(key, "upstreams.") {
		return false
	}
	if _, secrets := journal.RedactCommand([]string{value}); len(secrets) > 0 {
		return true
	}
	return (strings.Contains(key, ".env.") || strings.Contains(key, ".headers.")) && !strings.Contains(value, "${")
}

// variable returns a variable of the app's environment.
func (c *invocation) variable(name string) string {
	for _, kv := range slices.Backward(c.app.Env) {
		if key, value, ok := strings.Cut(kv, "="); ok && key == name {
			return value
		}
	}
	return ""
}

// isTemporary reports whether a program is one that `go run` has built.
func isTemporary(path string) bool {
	return strings.Contains(path, "go-build") && filepath.Base(filepath.Dir(path)) == "exe"
}

// program is the absolute path under which this program was started, where it still is it:
// a link that leads to another version later is what a client should know.
func program() (string, error) {
	self, err := os.Executable()
	if err != nil {
		return "", err
	}
	named, err := exec.LookPath(os.Args[0])
	if err != nil {
		return self, nil //nolint:nilerr // it was started by another name
	}
	if named, err = filepath.Abs(named); err != nil {
		return "", err
	}
	a, errA := os.Stat(named)
	b, errB := os.Stat(self)
	if errA != nil || errB != nil || !os.SameFile(a, b) {
		return self, nil //nolint:nilerr // see above
	}
	return named, nil
}

// ask asks the person at the terminal.
func (c *invocation) ask(question string) (bool, error) {
	fmt.Fprint(c.app.Stdout, question)
	answer, err := bufio.NewReader(c.app.Stdin).ReadString('\n')
	if err != nil && !errors.Is(err, io.EOF) {
		return false, err
	}
	answer = strings.ToLower(strings.TrimSpace(answer))
	return answer == "y" || answer == "yes", nil
}
