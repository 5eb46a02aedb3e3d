package plugins

import (
	"context"
	"errors"
	"io"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"sync"
	"time"

	"github.com/hashicorp/go-hclog"
	goplugin "github.com/hashicorp/go-plugin"
	"github.com/hashicorp/go-plugin/runner"
	"google.golang.org/grpc"
	"google.golang.org/grpc/connectivity"

	"github.com/koan-go/koan/plugins/wire"
)

// process is one running plugin process.
type process struct {
	client   *goplugin.Client
	conn     *wire.Connection
	child    *child
	manifest *wire.Manifest
	started  time.Time
	folder   string // of its socket

	once sync.Once
	gone chan struct{} // closed when the process is known to be useless
}

// stopGrace is how long a process may take to leave when it is asked to.
const stopGrace = 3 * time.Second

// launch starts an executable and shakes hands.
func launch(path string, timeout time.Duration, log hclog.Logger) (*process, error) {
	p := &process{started: time.Now(), gone: make(chan struct{})}
	var err error
	// go-plugin leaves its own folder behind when the executable cannot be run.
	if p.folder, err = os.MkdirTemp("", "koan-plugin-"); err != nil {
		return nil, err
	}
	p.client = goplugin.NewClient(&goplugin.ClientConfig{
		HandshakeConfig:  wire.Handshake,
		VersionedPlugins: wire.Plugins(nil),
		AllowedProtocols: []goplugin.Protocol{goplugin.ProtocolGRPC},
		// The socket lies in a folder that only this user may enter. Where there are
		// only TCP ports, certificates keep others out.
		AutoMTLS:         runtime.GOOS == "windows",
		UnixSocketConfig: &goplugin.UnixSocketConfig{TempDir: p.folder},
		SkipHostEnv:      true,
		StartTimeout:     timeout,
		Logger:           log,
		SyncStdout:       newLines(log, "stdout"),
		SyncStderr:       newLines(log, "stderr"),
		GRPCDialOptions:  []grpc.DialOption{grpc.WithIdleTimeout(0)},
		RunnerFunc: func(_ hclog.Logger, cmd *exec.Cmd, _ string) (runner.Runner, error) {
			var err error
			p.child, err = newChild(path, cmd.Env)
			return p.child, err
		},
	})
	protocol, err := p.client.Client()
	if err != nil {
		p.stop()
		return nil, err
	}
	service, err := protocol.Dispense(wire.Service)
	if err != nil {
		p.stop()
		return nil, err
	}
	p.conn = service.(*wire.Connection)
	go func() {
		select {
		case <-p.child.exited:
			p.discard()
		case <-p.gone:
		}
	}()
	return p, nil
}

// ready tells whether a call has a chance: nobody has given the process up, the
// connection stands, and the process has not ended a moment ago.
func (p *process) ready() bool {
	select {
	case <-p.gone:
		return false
	default:
		return p.conn.Conn.GetState() == connectivity.Ready && !p.child.over()
	}
}

// discard marks the process as useless; whoever watches it stops it.
func (p *process) discard() { p.once.Do(func() { close(p.gone) }) }

// kill ends the process at once.
func (p *process) kill() {
	if p.child != nil {
		_ = p.child.Kill(context.Background())
	}
}

// stop asks the process to leave, and kills it when it does not. Nothing of it
// is left when stop returns.
func (p *process) stop() {
	p.discard()
	done := make(chan struct{})
	go func() {
		p.client.Kill()
		close(done)
	}()
	select {
	case <-done:
	case <-time.After(stopGrace):
	}
	p.kill() // also what the plugin itself has started
	<-done
	_ = os.RemoveAll(p.folder)
}

// environment is all that a plugin gets of the app's: what programs need to
// find their temporary folder, time zone and certificates, and no secrets.
func environment() []string {
	var env []string
	for _, key := range []string{"PATH", "HOME", "TMPDIR", "TMP", "TEMP", "TZ", "LANG", "SYSTEMROOT", "SSL_CERT_FILE", "SSL_CERT_DIR"} {
		if v, ok := os.LookupEnv(key); ok {
			env = append(env, key+"="+v)
		}
	}
	return env
}

// child is the operating system's side of a plugin process, as go-plugin wants
// it. Differently from go-plugin's own it does not inherit standard input, which
// is the MCP client's, dies with the app, and takes its children along.
type child struct {
	cmd    *exec.Cmd
	stdout io.ReadCloser
	stderr io.ReadCloser
	exited chan struct{}

	mu     sync.Mutex
	pid    int
	reaped bool
}

var _ runner.Runner = (*child)(nil)

func newChild(path string, handshake []string) (*child, error) {
	cmd := exec.Command(path)
	cmd.Env = append(environment(), handshake...)
	confine(cmd)
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	stderr, err := cmd.StderrPipe()
	if err != nil {
		return nil, err
	}
	return &child{cmd: cmd, stdout: stdout, stderr: stderr, exited: make(chan struct{})}, nil
}

// Start starts the process.
func (c *child) Start(context.Context) error {
	if err := onStarter(c.cmd.Start); err != nil {
		close(c.exited)
		return err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.pid = c.cmd.Process.Pid
	return nil
}

// Wait waits for the end of the process. go-plugin calls it once.
func (c *child) Wait(context.Context) error {
	state, err := c.cmd.Process.Wait()
	c.mu.Lock()
	c.reaped = true
	c.mu.Unlock()
	close(c.exited)
	_ = c.stdout.Close()
	_ = c.stderr.Close()
	if err == nil && !state.Success() {
		err = &exec.ExitError{ProcessState: state}
	}
	return err
}

// Kill ends the process and what it has started. An ended one is no error.
func (c *child) Kill(context.Context) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.pid == 0 || c.reaped {
		return nil
	}
	if err := killTree(c.cmd.Process); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return err
	}
	return nil
}

// over tells whether the process has ended, also before Wait has noticed.
func (c *child) over() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.reaped || ended(c.pid)
}

// Diagnose adds what may be wrong with an executable that says nothing.
func (c *child) Diagnose(context.Context) string {
	return "(it is no Koan plugin, or was built for another system, or ended before the handshake)"
}

func (c *child) Stdout() io.ReadCloser { return c.stdout }

func (c *child) Stderr() io.ReadCloser { return c.stderr }

func (c *child) Name() string { return c.cmd.Path }

// ID is the process id.
func (c *child) ID() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.pid == 0 {
		return ""
	}
	return strconv.Itoa(c.pid)
}

// PluginToHost and HostToPlugin: both live on the same machine.
func (c *child) PluginToHost(network, addr string) (string, string, error) {
	return network, addr, nil
}

func (c *child) HostToPlugin(network, addr string) (string, string, error) {
	return network, addr, nil
}

// starter runs process starts on one thread that lives as long as the app: the
// signal that Linux sends at a parent's death is sent at the death of the
// thread that started the child (golang/go#27505).
var starter struct {
	once sync.Once
	jobs chan func()
}

func onStarter(start func() error) error {
	starter.once.Do(func() {
		starter.jobs = make(chan func())
		go func() {
			runtime.LockOSThread()
			for job := range starter.jobs {
				job()
			}
		}()
	})
	done := make(chan error, 1)
	starter.jobs <- func() { done <- start() }
	return <-done
}
