package plugins

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/google/uuid"
	"github.com/hashicorp/go-hclog"
	goplugin "github.com/hashicorp/go-plugin"
	"github.com/hashicorp/go-plugin/runner"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/connectivity"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/emptypb"

	"github.com/koan-go/koan/plugins/internal/wire"
)

// process is one running plugin process.
type process struct {
	client   *goplugin.Client
	conn     *wire.Connection
	child    *child
	output   *pluginLog
	manifest *wire.Manifest
	digest   string // of the plugin's files before it was started
	started  time.Time
	folder   string // of its socket
	place    *place

	once sync.Once
	gone chan struct{} // closed when the process is known to be useless
	used atomic.Bool   // a call was sent to it
	vitals
}

// vitals are how a process does.
type vitals struct {
	heard  atomic.Bool // it has answered something since the last beat
	missed atomic.Int32
	hung   atomic.Bool
	took   atomic.Value // the text of excess that ended it
}

// stopGrace is how long a process may take to exit when it is asked to.
const stopGrace = 3 * time.Second

// launch starts the plugin's executable and makes the handshake, until ctx ends. idle is called if the process
// does nothing, and is not ready either.
func (pl *plugin) launch(ctx context.Context, idle func()) (*process, error) {
	p := &process{started: time.Now(), gone: make(chan struct{}), output: newPluginLog(pl.log)}
	var err error
	// go-plugin leaves its own folder behind when the executable cannot be run.
	if p.folder, err = makeFolder(); err != nil {
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
	unwatch := p.child.watchIdle(idle)
	protocol, err := p.client.Client()
	unwatch()
	if err != nil {
		p.stop()
		return nil, p.startError(err)
	}
	service, err := protocol.Dispense(wire.Service)
	if err != nil {
		p.stop()
		return nil, err
	}
	p.conn = service.(*wire.Connection)
	go p.watch(&pl.configured.isolation, pl.log)
	return p, nil
}

const (
	// usageInterval is how often is looked at what a process and its children hold.
	usageInterval = 500 * time.Millisecond
	// maxProcesses is how many a plugin may be, with those that it starts.
	maxProcesses = 256
)

// watch discards the process when it has ended, and when it holds more than it may.
func (p *process) watch(i *isolation, log *slog.Logger) {
	defer p.discard()
	pid, err := strconv.Atoi(p.child.ID())
	if err != nil {
		return
	}
	tick := time.NewTicker(usageInterval)
	defer tick.Stop()
	for {
		select {
		case <-p.child.exited:
			return
		case <-p.gone:
			return
		case <-tick.C:
			if why := p.excess(pid, i); why != "" {
				log.Error("the plugin "+why+"; it is replaced", "pid", pid)
				p.took.Store(why)
				p.kill()
				return
			}
		}
	}
}

// excess says what a process and those that it starts have taken that they may not, "" where they keep to their bounds.
func (p *process) excess(pid int, i *isolation) string {
	switch n, processes := usage(pid); {
	case n > i.memoryBytes():
		return fmt.Sprintf("holds %d MB and may hold %d (memoryMb)", n>>20, i.memoryBytes()>>20)
	case processes > maxProcesses:
		return fmt.Sprintf("is %d processes and may be %d", processes, maxProcesses)
	}
	if n := bytesIn(p.folder); p.place.jail != nil && n > maxShared {
		return fmt.Sprintf("has written %d MB into the folder of its socket", n>>20)
	}
	return ""
}

// startError is the error of a handshake, with what the process said of it.
func (p *process) startError(err error) error {
	words := p.output.lastWords()
	if words == "" {
		return err
	}
	why := oneLine(err)
	if how := p.child.exitedByItself(); how != "" {
		why = "it ended before it was ready (" + how + ")"
	}
	return fmt.Errorf("%s; its last words: %s", why, words)
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
	if p.conn != nil && !p.child.hasExited() {
		p.askToExit()
	}
	p.kill()
	p.client.Kill() // what go-plugin keeps of it
	p.child.drain()
	p.output.close()
	p.place.close()
	_ = os.RemoveAll(p.folder)
}

// shutdown is go-plugin's own method to end a plugin. Those that are not made with go-plugin need
// not have it: they get SIGTERM.
const shutdown = "/plugin.GRPCController/Shutdown"

// askToExit asks a process to exit, and waits for that as long as it may take.
func (p *process) askToExit() {
	ctx, cancel := context.WithTimeout(context.Background(), stopGrace)
	defer cancel()
	go func() {
		if err := p.conn.Conn.Invoke(ctx, shutdown, &emptypb.Empty{}, &emptypb.Empty{}); status.Code(err) == codes.Unimplemented {
			p.child.terminate()
		}
	}()
	select {
	case <-p.child.exited:
	case <-ctx.Done():
		p.output.log.Warn("the plugin has not ended when it was asked to; it is killed", "after", stopGrace)
	}
}

// environment is the part of the app's environment that a plugin gets: variables by which
// programs find their temporary folder, time zone and certificates, and no secrets.
func environment() []string {
	env := []string{"PYTHONDONTWRITEBYTECODE=1"} // what it would write changes the plugin's digest
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
	return &child{path: path, place: in, mark: markKey + "=" + owner() + "-" + uuid.NewString(), output: out, exited: make(chan struct{}), read: make(chan struct{})}
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

// exitedByItself says how the process ended, "" if it runs or was killed from here.
func (c *child) exitedByItself() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.reaped {
		return ""
	}
	var ended *exec.ExitError
	switch {
	case c.ended == nil:
		return "exit status 0"
	case errors.As(c.ended, &ended) && !ended.Exited() && c.killed: // by the signal
		return ""
	}
	return c.ended.Error()
}

// terminate asks the process to exit, by a signal.
func (c *child) terminate() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.pid != 0 && !c.reaped {
		_ = c.cmd.Process.Signal(syscall.SIGTERM)
	}
}

// watchIdle calls idle once if the process does nothing for a while, until stop is called.
func (c *child) watchIdle(idle func()) (stop func()) {
	over := make(chan struct{})
	go func() {
		look := time.NewTicker(idleAfter / idleLooks)
		defer look.Stop()
		var last activity
		for quiet := 0; quiet < idleLooks; {
			select {
			case <-over:
				return
			case <-c.exited:
				return
			case <-look.C:
			}
			c.mu.Lock()
			now := activityOf(c.pid)
			c.mu.Unlock()
			if quiet++; now.busy || now != last {
				quiet, last = 0, now
			}
		}
		idle()
	}()
	return func() { close(over) }
}

// A process that is not ready and has done nothing for so long waits for something, or is no plugin.
const (
	idleAfter = 2 * time.Second
	idleLooks = 20
)

// activity is what a process has done until now.
type activity struct {
	busy bool   // it runs, or waits for the processor or the disk
	time uint64 // of the processor that it has used
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

// Diagnose says what may be wrong with an executable that prints nothing.
func (c *child) Diagnose(context.Context) string {
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
