package plugins

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/koan-go/koan/plugins/internal/egress"
	"github.com/koan-go/koan/plugins/internal/jail"
	"github.com/koan-go/koan/plugins/internal/operator"
)

// isolation is what is configured of what a plugin's process may reach.
type isolation struct {
	Mode     string   // confined or trusted; "" is confined where the system can
	Hosts    []string // that a confined one may connect to, as host:port
	Read     []string // files and folders that a confined one may read
	MemoryMb int      // of it and its children; 0 is defaultMemoryMb
	StateMb  int      // in the folder of its state; 0 is defaultStateMb
}

const (
	confined = "confined" // in a jail
	trusted  = "trusted"  // as the app's own user

	defaultMemoryMb = 512
	defaultStateMb  = 1024
	maxMb           = 1 << 20
	tempMb          = 64 // that a confined plugin may keep in its /tmp
)

// isolationKeys are the keys of isolation.
var isolationKeys = map[string]func(i *isolation, value string) error{
	"isolation": func(i *isolation, v string) error {
		if i.Mode = v; v != confined && v != trusted {
			return errors.New("must be confined or trusted")
		}
		return nil
	},
	"hosts": func(i *isolation, v string) (err error) {
		if i.Hosts, err = operator.Strings(v); err == nil {
			_, err = egress.Parse(i.Hosts)
		}
		if err != nil {
			return fmt.Errorf("must be a list of host:port: %w", err)
		}
		return nil
	},
	"read":     func(i *isolation, v string) (err error) { i.Read, err = operator.Strings(v); return err },
	"memoryMb": func(i *isolation, v string) (err error) { i.MemoryMb, err = megabytes(v); return err },
	"stateMb":  func(i *isolation, v string) (err error) { i.StateMb, err = megabytes(v); return err },
}

func megabytes(v string) (int, error) {
	n, err := strconv.Atoi(v)
	if err != nil || n < 1 || n > maxMb {
		return 0, fmt.Errorf("must be a whole number from 1 to %d (MB)", maxMb)
	}
	return n, nil
}

// set sets one key, and reports whether it is one of isolationKeys, whatever its case.
func (i *isolation) set(key, value string) (known bool, err error) {
	for name, set := range isolationKeys {
		if strings.EqualFold(key, name) {
			return true, set(i, value)
		}
	}
	return false, nil
}

// memoryBytes is how much a plugin's processes may hold.
func (i *isolation) memoryBytes() int64 {
	if i.MemoryMb == 0 {
		return defaultMemoryMb << 20
	}
	return int64(i.MemoryMb) << 20
}

// stateBytes is how much the folder of a plugin's state may hold.
func (i *isolation) stateBytes() int64 {
	if i.StateMb == 0 {
		return defaultStateMb << 20
	}
	return int64(i.StateMb) << 20
}

// machine is the one that the app runs on.
var machine jails

// jails finds out once whether a machine has jails.
type jails struct {
	once    sync.Once
	missing error
}

// checkTime is how long a machine may take to build a jail, which takes it some milliseconds.
const checkTime = 30 * time.Second

// check returns why there are no jails, nil where there are. What it finds out holds for all plugins of the
// process, so the end of the start that asks first does not end it.
func (j *jails) check(ctx context.Context) error {
	j.once.Do(func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), checkTime)
		defer cancel()
		root, err := os.MkdirTemp("", "koan-jail-")
		if err == nil {
			err = errors.Join(jail.Check(ctx, root), os.Remove(root))
		}
		j.missing = err
	})
	return j.missing
}

// place is where a plugin's process runs.
type place struct {
	jail   *jail.Jail // nil for a trusted one
	shared string     // the folder that both sides see
	state  string     // the folder of its state that a confined one may write to, "" for none
	proxy  *egress.Proxy
	why    string // it is trusted although nobody said so
}

// newPlace returns where a process of a plugin is to run. folder is the process's own.
func newPlace(ctx context.Context, pl *plugin, folder string, on *jails) (*place, error) {
	i, key := &pl.configured.isolation, keyOpen+"."+pl.name
	if i.Mode == trusted {
		return &place{}, nil
	}
	switch err := on.check(ctx); {
	case err != nil && i.Mode == confined:
		return nil, &configurationError{why: fmt.Sprintf("%s.isolation: plugins cannot be confined on this system: %v", key, err)}
	case err != nil:
		pl.log.Warn("the plugin is not confined: it can read and do what the app can", "reason", err, "key", key+".isolation")
		return &place{why: err.Error()}, nil
	}
	p := &place{jail: &jail.Jail{Root: filepath.Join(folder, "root"), TempMb: tempMb}, state: pl.stateDir}
	var err error
	if p.jail.Dir, err = os.Getwd(); err != nil { // a relative path means the same to both
		return nil, err
	}
	if own := filepath.Dir(pl.path); own != p.jail.Dir && own != "/" && own != "." { // unless it is the app's, too
		if err := p.show([]string{own}); err != nil {
			return nil, err
		}
	}
	if err := p.show(i.Read); err != nil {
		return nil, &configurationError{why: key + ".read: " + err.Error()}
	}
	if err := p.show(pl.folders); err != nil {
		return nil, &configurationError{why: key + ".settings: " + err.Error()}
	}
	if err := os.Mkdir(p.jail.Root, 0o700); err != nil {
		return nil, err
	}
	hosts, err := egress.Parse(i.Hosts)
	if err == nil && len(hosts) > 0 {
		p.proxy = egress.New(pl.name, hosts, pl.log)
	}
	return p, err
}

// show lets the plugin read files and folders, by their paths and by what these are behind links.
func (p *place) show(paths []string) error {
	for _, path := range paths {
		path, err := filepath.Abs(path)
		if err != nil {
			return err
		}
		real, err := filepath.EvalSymlinks(path)
		if err != nil {
			return err
		}
		if real == "/" {
			return errors.New("/ is everything that the plugin is to be kept from: name folders, or have isolation be trusted")
		}
		p.jail.Read = append(p.jail.Read, path, real)
	}
	return nil
}

// command returns the command that runs an executable in the place, with the environment that it gets. shared is
// the folder in which it makes its socket.
func (p *place) command(path, shared string, env []string) (*exec.Cmd, error) {
	if p.jail == nil {
		cmd := exec.Command(path)
		cmd.Env = env
		tie(cmd)
		return cmd, nil
	}
	p.jail.Program, p.jail.Write, p.shared = path, []string{shared}, shared
	if p.state != "" {
		p.jail.Write = append(p.jail.Write, p.state)
	}
	if p.proxy != nil {
		if err := p.serveProxy(filepath.Join(shared, "proxy")); err != nil {
			return nil, err
		}
		for _, key := range []string{"HTTP_PROXY", "HTTPS_PROXY", "http_proxy", "https_proxy"} {
			env = append(env, key+"="+jail.ProxyURL)
		}
	}
	cmd, err := p.jail.Command()
	if err != nil {
		return nil, err
	}
	cmd.Env = append(cmd.Env, env...)
	cmd.Env = append(cmd.Env, "HOME=/tmp", "TMPDIR=/tmp")
	return cmd, nil
}

// serveProxy has the proxy listen at a socket that the plugin sees.
func (p *place) serveProxy(socket string) error {
	l, err := net.Listen("unix", socket)
	if err != nil {
		return err
	}
	p.jail.Proxy = socket
	go func() { _ = p.proxy.Serve(l) }()
	return os.Chmod(socket, 0o666) // the folder is closed to others
}

// checkAddress refuses the address of a confined plugin that is not a socket of its own.
func (p *place) checkAddress(network, addr string) error {
	if p.jail == nil {
		return nil
	}
	info, err := os.Lstat(addr)
	switch {
	case network != "unix" || filepath.Dir(addr) != p.shared:
		return fmt.Errorf("a confined plugin listens in the folder of PLUGIN_UNIX_SOCKET_DIR, and not at %s %s", network, addr)
	case err != nil:
		return err
	case info.Mode().Type() != fs.ModeSocket:
		return fmt.Errorf("%s is not a socket", addr)
	}
	return nil
}

func (p *place) close() {
	if p.proxy != nil {
		_ = p.proxy.Close()
	}
}

// String says in a word or two how a process is isolated.
func (p *place) String() string {
	switch {
	case p.jail != nil:
		return confined
	case p.why != "":
		return "not confined (" + p.why + ")"
	}
	return trusted
}
