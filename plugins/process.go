package plugins

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/google/uuid"
	"github.com/hashicorp/go-hclog"
	goplugin "github.com/hashicorp/go-plugin"
	"github.com/hashicorp/go-plugin/runner"
	"google.golang.org/grpc"
	"google.golang.org/grpc/connectivity"

	"github.com/koan-go/koan/plugins/internal/wire"
)

// process is one running plugin process.
type process struct {
	client   *goplugin.Client
	conn     *wire.Connection
	child    *child
	output   *pluginLog
	manifest *wire.Manifest
	started  time.Time
	folder   string // of its socket
	place    *place

	once sync.Once
	gone chan struct{} // closed when the process is known to be useless
	used atomic.Bool   // a call was sent to it

	heard  atomic.Bool // it has answered something since the last beat
	missed atomic.Int32
	hung   atomic.Bool
}

// stopGrace is how long a process may take to exit when it is asked to.
const stopGrace = 3 * time.Second

// launch starts the plugin's executable and makes the handshake, until ctx ends.
func (pl *plugin) launch(ctx context.Context) (*process, error) {
	p := &process{started: time.Now(), gone: make(chan struct{}), output: newPluginLog(pl.log)}
	var err error
	// go-plugin leaves its own folder behind when the executable cannot be run.
	if p.folder, err = os.MkdirTemp("", "koan-plugin-"); err != nil {
		return nil, err
	}
	if p.place, err = newPlace(ctx, pl, p.folder, &machine); err != nil {
		return nil, errors.Join(err, os.RemoveAll(p.folder))
	}
	p.child = newChild(pl.path, p.place, p.output)
	defer context.AfterFunc(ctx, p.kill)()
	p.client = goplugin.NewClient(&goplugin.ClientConfig{
		HandshakeConfig:  wire.Handshake,
		VersionedPlugins: wire.Plugins(nil),
		AllowedProtocols: []goplugin.Protocol{goplugin.ProtocolGRPC},
		// The socket lies in a folder that only this user may enter. Where there are
		// only TCP ports, certificates keep others out.
		AutoMTLS:         runtime.GOOS == "windows",
		UnixSocketConfig: &goplugin.UnixSocketConfig{TempDir: p.folder},
		SkipHostEnv:      true,
		StartTimeout:     pl.provider.opts.StartTimeout,
		Logger:           logger(pl.log),
		SyncStdout:       p.output.stream("stdout"),
		SyncStderr:       p.output.stream("stderr"),
		GRPCDialOptions:  []grpc.DialOption{grpc.WithIdleTimeout(0)},
		RunnerFunc: func(_ hclog.Logger, cmd *exec.Cmd, shared string) (runner.Runner, error) {
			return p.child, p.child.prepare(cmd.Env, shared)
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
	go p.watch(pl.configured.isolation.memoryBytes(), pl.log)
	return p, nil
}

// memoryInterval is how often the memory of a process and its children is looked at.
const memoryInterval = 500 * time.Millisecond

// watch discards the process when it has ended, and when it holds more memory than it may.
func (p *process) watch(most int64, log *slog.Logger) {
	defer p.discard()
	pid, err := strconv.Atoi(p.child.ID())
	if err != nil {
		return
	}
	tick := time.NewTicker(memoryInterval)
	defer tick.Stop()
	for {
		select {
		case <-p.child.exited:
			return
		case <-p.gone:
			return
		case <-tick.C:
			if why := p.excess(pid, most); why != "" {
				log.Error("the plugin "+why+"; it is replaced", "pid", pid)
				p.kill()
				return
			}
		}
	}
}

// excess says what a process has taken that it may not, "" where it keeps to its bounds: most is what it and those
// that it starts may hold in memory.
func (p *process) excess(pid int, most int64) string {
	if n := residentBytes(pid); n > most {
		return fmt.Sprintf("holds %d MB and may hold %d (memoryMb)", n>>20, most>>20)
	}
	if n := bytesIn(p.folder); p.place.jail != nil && n > maxShared {
		return fmt.Sprintf("has written %d MB into the folder of its socket", n>>20)
	}
	return ""
}

// maxShared is how many bytes a confined plugin may write to the folder of its socket, which is the machine's disk.
const maxShared = 1 << 20

// bytesIn returns what the files in a folder take.
func bytesIn(folder string) (n int64) {
	_ = filepath.WalkDir(folder, func(_ string, d fs.DirEntry, err error) error {
		if err != nil {
			return nil // it has gone meanwhile
		}
		if info, err := d.Info(); err == nil && info.Mode().IsRegular() {
			n += info.Size()
		}
		return nil
	})
	return n
}

// ready reports whether calls can be sent: the process was not discarded, the connection
// is open, and the process has not just exited.
func (p *process) ready() bool {
	select {
	case <-p.gone:
		return false
	default:
		return p.conn.Conn.GetState() == connectivity.Ready && !p.child.hasExited()
	}
}

// discard marks the process as unusable; the goroutine that watches it stops it.
func (p *process) discard() { p.once.Do(func() { close(p.gone) }) }

// kill ends the process at once, or keeps it from being started.
func (p *process) kill() { _ = p.child.Kill(context.Background()) }

// stop asks the process to exit, and kills it if it does not. Nothing of it is left when
// stop returns.
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
	p.kill()
	<-done
	p.child.drain()
	p.output.close()
	p.place.close()
	_ = os.RemoveAll(p.folder)
}

// environment is the part of the app's environment that a plugin gets: variables by which
// programs find their temporary folder, time zone and certificates, and no secrets.
func environment() []string {
	var env []string
	for _, key := range []string{"PATH", "HOME", "TMPDIR", "TMP", "TEMP", "TZ", "LANG", "SYSTEMROOT", "SSL_CERT_FILE", "SSL_CERT_DIR"} {
		if v, ok := os.LookupEnv(key); ok {
			env = append(env, key+"="+v)
		}
	}
	return env
}

// child is the operating system's side of a plugin process, for go-plugin. Unlike
// go-plugin's own implementation it does not inherit standard input, which is the MCP
// client's, dies with the app, and kills the processes that it has started, however it
// ends.
type child struct {
	path   string // of its executable
	place  *place
	cmd    *exec.Cmd // nil until prepare
	mark   string    // in the environment of the process and of those that it starts
	output *pluginLog
	stdout io.ReadCloser
	stderr io.ReadCloser
	exited chan struct{}
	read   chan struct{} // closed when its standard error has been read

	mu     sync.Mutex
	pid    int
	killed bool // also before it was started
	reaped bool
	ended  error // how it ended
}

var _ runner.Runner = (*child)(nil)

// markKey is the environment variable by which the processes of a plugin are found, also
// those that have left its process group.
const markKey = "KOAN_PLUGIN_PROCESS"

func newChild(path string, in *place, out *pluginLog) *child {
	return &child{path: path, place: in, mark: markKey + "=" + uuid.NewString(), output: out, exited: make(chan struct{}), read: make(chan struct{})}
}

// prepare makes the child ready for Start. shared is the folder in which it makes its socket.
func (c *child) prepare(handshake []string, shared string) (err error) {
	if c.cmd, err = c.place.command(c.path, shared, append(append(environment(), c.mark), handshake...)); err != nil {
		return err
	}
	if c.stdout, err = c.cmd.StdoutPipe(); err != nil {
		return err
	}
	c.stderr, err = c.cmd.StderrPipe()
	return err
}

// Start starts the process.
func (c *child) Start(context.Context) error {
	if err := onStarter(c.cmd.Start); err != nil {
		close(c.exited)
		close(c.read)
		return err
	}
	go func() {
		defer close(c.read)
		c.output.readStderr(c.stderr)
	}()
	c.mu.Lock()
	defer c.mu.Unlock()
	c.pid = c.cmd.Process.Pid
	go c.reap(c.cmd.Process)
	if c.killed {
		return killTree(c.cmd.Process)
	}
	return nil
}

// drainTime is how long the output of a process is read after its end, if another process
// still has its pipes open.
const drainTime = time.Second

// reap waits for the end of the process, and kills the processes that it has left behind.
func (c *child) reap(process *os.Process) {
	unreaped := awaitEnd(process.Pid)
	if unreaped { // its id is still its own, and that of its group
		c.mu.Lock()
		_ = killTree(process)
	}
	state, err := process.Wait()
	if !unreaped {
		c.mu.Lock()
	}
	if err == nil && !state.Success() {
		err = &exec.ExitError{ProcessState: state}
	}
	c.ended, c.reaped = err, true
	c.mu.Unlock()
	sweep(c.mark)
	close(c.exited)
	time.Sleep(drainTime)
	_ = c.stdout.Close()
	_ = c.stderr.Close()
}

// Wait waits for the end of the process.
func (c *child) Wait(context.Context) error {
	<-c.exited
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.ended
}

// Kill ends the process and what it has started. An ended one is no error.
func (c *child) Kill(context.Context) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.killed = true
	if c.pid == 0 || c.reaped {
		return nil
	}
	if err := killTree(c.cmd.Process); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return err
	}
	return nil
}

// hasExited reports whether the process has ended, also before Wait has noticed.
func (c *child) hasExited() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.reaped || hasEnded(c.pid)
}

// Diagnose says what is or may be wrong with an executable that prints nothing.
func (c *child) Diagnose(ctx context.Context) string {
	select {
	case <-c.read: // it has ended
	case <-time.After(drainTime):
	case <-ctx.Done():
	}
	if why := c.output.notStarted(); why != "" {
		return "(" + why + ")"
	}
	return "(it is not a Koan plugin, was built for another system, or exited before the handshake)"
}

// Stdout is the line of the handshake. Later output is logged.
func (c *child) Stdout() io.ReadCloser { return c.output.handshake(c.stdout) }

// Stderr is empty: the child reads the plugin's log itself, since go-plugin panics at
// entries that it does not expect.
func (c *child) Stderr() io.ReadCloser { return io.NopCloser(strings.NewReader("")) }

// drain waits until the output of an ended process has been read.
func (c *child) drain() {
	c.mu.Lock()
	started := c.pid != 0
	c.mu.Unlock()
	if started {
		<-c.read
	}
}

func (c *child) Name() string { return c.path }

// ID is the process id.
func (c *child) ID() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.pid == 0 {
		return ""
	}
	return strconv.Itoa(c.pid)
}

// PluginToHost and HostToPlugin: both live on the same machine. A confined plugin must not have the app connect to
// what it cannot reach itself.
func (c *child) PluginToHost(network, addr string) (string, string, error) {
	return network, addr, c.place.checkAddress(network, addr)
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
