package plugins

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"google.golang.org/grpc"

	"github.com/koan-go/koan/framework/catalog"
	"github.com/koan-go/koan/plugins/internal/lock"
)

// Single is one process of a plugin that no app supervises: what a developer's tool starts, examines and
// calls. It runs as the process of an app's plugin does, confined where the system can.
type Single struct {
	plugin *plugin
	proc   *process
	state  string // the folder that its state is kept beside, "" while it keeps none
}

// SingleOptions say how a Single runs.
type SingleOptions struct {
	// Keys are those below plugins.<domain> of an app's configuration: "isolation", "settings.city".
	Keys map[string]string
	// Log gets what an app's log would have: what the process prints, and what is wrong with it.
	Log *slog.Logger
	// App and Version are what the plugin is told of the app.
	App, Version string
	// StartTimeout bounds the handshake, and what follows until the process takes calls; 0 is 10 s.
	StartTimeout time.Duration
}

// ErrRefused is the error of Admit for a plugin that no app takes, whatever its settings are.
var ErrRefused = errors.New("refused")

// Is makes a refusal be ErrRefused.
func (r *refusal) Is(target error) bool { return target == ErrRefused }

// StartSingle starts an executable and makes the handshake. path names it, or a folder in which one of the folder's
// name lies. The caller calls Stop.
func StartSingle(ctx context.Context, path string, o SingleOptions) (*Single, error) {
	e, err := executableAt(path)
	if err != nil {
		return nil, err
	}
	c := newConfiguration(e.name, &lock.File{})
	if err := c.parse(o.Keys); err != nil {
		return nil, err
	}
	s := &Single{}
	p := Provide(Options{StartTimeout: o.StartTimeout, Beside: s.besideState})
	p.host = &toolHost{app: o.App, version: o.Version, log: o.Log}
	s.plugin = newPlugin(e, c, p)
	if s.proc, err = s.plugin.launch(ctx, func() {}); err != nil {
		return nil, explain(err)
	}
	return s, nil
}

// Names returns the names of the plugins in a folder, sorted. The error is that of a folder that cannot be read.
func Names(dir string) ([]string, error) {
	found, _, err := discover(dir)
	return slices.Sorted(slices.Values(names(found))), err
}

// executableAt returns the plugin at a path, by the rules of discover.
func executableAt(path string) (executable, error) {
	path, err := filepath.Abs(path)
	if err != nil {
		return executable{}, err
	}
	folder := ""
	info, err := os.Stat(path)
	if err == nil && info.IsDir() {
		folder = path
		if path, info = inFolder(folder, filepath.Base(folder)); info == nil {
			return executable{}, fmt.Errorf("%s has no file %s, which would be the plugin", folder, filepath.Base(folder))
		}
	}
	if err != nil {
		return executable{}, err
	}
	file := filepath.Base(path)
	name := strings.TrimSuffix(file, ".exe")
	switch {
	case !info.Mode().IsRegular():
		return executable{}, fmt.Errorf("%s is not a regular file", path)
	case !isExecutable(file, info):
		return executable{}, fmt.Errorf("%s is not executable (chmod +x makes it so)", path)
	case !validName(name):
		return executable{}, fmt.Errorf("the name %q is not lower-case kebab", file)
	case slices.Contains(reserved, name):
		return executable{}, fmt.Errorf("the name %q is reserved", file)
	}
	return executable{name: name, path: path, folder: folder, info: info}, nil
}

// besideState makes a temporary folder for what the plugin keeps, which ends with the process; "" where it cannot.
func (s *Single) besideState() string {
	if s.state == "" {
		s.state, _ = os.MkdirTemp("", "koan-state-")
	}
	return s.state
}

// Name is the plugin's, by its file.
func (s *Single) Name() string { return s.plugin.name }

// Isolation says in a word or two how the process is isolated.
func (s *Single) Isolation() string { return s.proc.place.String() }

// Conn is the connection to the process. Admit may replace it, since a process is shown the folders of its settings
// at its start.
func (s *Single) Conn() *grpc.ClientConn { return s.proc.conn.Conn }

// Admit does what an app does before the first call: it has the plugin describe itself, checks that, and configures it.
// Its error is ErrRefused where the description is wrong, else about settings or the process.
func (s *Single) Admit(ctx context.Context) error {
	err := s.plugin.admit(ctx, s.proc)
	if !errors.Is(err, errMoreFolders) {
		return err
	}
	s.proc.stop()
	proc, err := s.plugin.start(ctx, func() {})
	if err == nil {
		s.proc = proc
	}
	return err
}

// Describe has the plugin describe itself, and checks that. Its error is ErrRefused where the description is wrong.
func (s *Single) Describe(ctx context.Context) (*Description, error) {
	ctx, cancel := context.WithTimeout(ctx, s.plugin.provider.opts.StartTimeout)
	defer cancel()
	m, err := s.plugin.describe(ctx, s.proc)
	if err != nil {
		return nil, err
	}
	return descriptionOf(m), nil
}

// Offer returns the plugin's functions as an app would offer them. There are none before Admit.
func (s *Single) Offer() catalog.Offer {
	now := s.plugin.state()
	if now.manifest == nil {
		return catalog.Offer{}
	}
	return catalog.Offer{Operations: now.operations, Owners: []*catalog.Owner{ownerOf(now.manifest)}}
}

// Stop ends the process as an app does, and reports how it ended, and whether it did so in time and by itself. It may
// be called again.
func (s *Single) Stop() (how string, inTime bool) {
	if !s.proc.child.hasExited() {
		s.proc.askToExit()
	}
	if inTime = s.proc.child.hasExited(); inTime {
		<-s.proc.child.exited
		how = s.proc.child.exitedByItself()
	}
	s.proc.kill()
	<-s.proc.child.exited
	s.proc.stop()
	if s.state != "" {
		_ = os.RemoveAll(s.state)
	}
	return how, inTime
}

// toolHost is the host of a plugin that is in no app.
type toolHost struct {
	app, version string
	log          *slog.Logger
}

var _ catalog.Host = (*toolHost)(nil)

func (h *toolHost) App() string               { return h.app }
func (h *toolHost) Command() string           { return h.app }
func (h *toolHost) Version() string           { return h.version }
func (*toolHost) Settings() catalog.Values    { return nothing{} }
func (*toolHost) Snapshot() *catalog.Snapshot { return nil }
func (*toolHost) ConfigFile() string          { return "" }
func (*toolHost) Changed()                    {}
func (*toolHost) Testing() bool               { return false }
func (*toolHost) OneShot() bool               { return true }
func (h *toolHost) Log() *slog.Logger {
	if h.log == nil {
		return slog.New(slog.DiscardHandler)
	}
	return h.log
}

// nothing is a configuration in which nothing is set.
type nothing struct{}

var _ catalog.Values = nothing{}

func (nothing) Bool(string) bool               { return false }
func (nothing) Int(string) int                 { return 0 }
func (nothing) String(string) string           { return "" }
func (nothing) Strings(string) []string        { return nil }
func (nothing) Duration(string) time.Duration  { return 0 }
func (nothing) Under(string) map[string]string { return nil }
func (nothing) IsSet(string) bool              { return false }
