package sandbox

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/koan-go/koan/codemode/internal/wire"
	"github.com/koan-go/koan/codemode/worker"
)

const (
	// maxStderr is how much of the beginning of a worker's stderr is kept, in bytes.
	maxStderr = 4 << 10
	// readyBytes bounds a worker's first frame.
	readyBytes = 64 << 10
)

// cause is why the host killed a worker.
type cause int

const (
	notKilled cause = iota
	killedDone
	killedCPU
	killedMemory
	killedThreads
	killedContext
	killedClose
)

// process is one worker. It is started (launch), becomes ready (await), runs the scripts of
// one owner, and is killed (end).
type process struct {
	proc  *os.Process
	state *os.ProcessState // set before exited is closed
	pipes
	ready     wire.Ready
	isolation string
	bound     []byte // the bindings sent last, in JSON
	base      int64  // resident bytes without a job
	exited    chan struct{}
	meter     *meter
	offspring
	// interpreter is what the worker has become; nil for one of this build
	interpreter *Interpreter
	use

	mu     sync.Mutex
	cause  cause
	stderr []byte
}

// pipes are the ways to a worker.
type pipes struct {
	in  *os.File // the worker's stdin
	out *os.File // the worker's stdout
	r   *wire.Reader
	w   *wire.Writer
}

// use is what a worker was used for, as the pool keeps it.
type use struct {
	owner      owner
	scripts    uint32        // sent to it so far
	idleSince  time.Time     // when the last script ended
	cpuAtIdle  time.Duration // CPU time used by then
	peakBefore int64         // the largest resident set of the scripts so far, in bytes
}

// errLauncher means that the launcher failed to start a worker, and that the next attempt
// will not use it.
var errLauncher = errors.New("sandbox: the launcher failed")

// launch starts a worker (worker.Args) without waiting until it is ready. It must be called
// on the spawner's goroutine.
func launch(program program, layers []string, from *spawner, log *slog.Logger) (*process, error) {
	inR, inW, err := pipe()
	if err != nil {
		return nil, err
	}
	outR, outW, err := pipe()
	if err != nil {
		closeAll(inR, inW)
		return nil, err
	}
	errR, errW, err := os.Pipe()
	if err != nil {
		closeAll(inR, inW, outR, outW)
		return nil, err
	}
	proc, err := from.start(program, layers, [3]*os.File{inR, outW, errW}, log)
	closeAll(inR, outW, errW)
	if err != nil {
		closeAll(inW, outR, errR)
		return nil, fmt.Errorf("sandbox: start a worker: %w", err)
	}
	p := &process{interpreter: from.interpreter, isolation: worker.Isolation(layers), proc: proc, pipes: pipes{in: inW, out: outR}, exited: make(chan struct{}), meter: newMeter(proc.Pid)}
	p.r = wire.NewReader(bufio.NewReaderSize(outR, 64<<10), readyBytes)
	p.w = wire.NewWriter(inW)
	go p.reap(errR)
	return p, nil
}

// startProcess starts a worker directly from this process.
func startProcess(program program, args []string, files [3]*os.File, dir string, attr *syscall.SysProcAttr) (*os.Process, error) {
	return os.StartProcess(program.exec, append([]string{program.exec}, args...), &os.ProcAttr{
		Dir: dir, Env: worker.Environment(), Files: files[:], Sys: attr,
	})
}

func closeAll(files ...*os.File) {
	for _, f := range files {
		_ = f.Close()
	}
}

// reap keeps the beginning of the worker's stderr, and reaps the worker when it exits.
func (p *process) reap(stderr *os.File) {
	b := make([]byte, 1024)
	for {
		n, err := stderr.Read(b)
		p.mu.Lock()
		p.stderr = append(p.stderr, b[:min(n, maxStderr-len(p.stderr))]...)
		p.mu.Unlock()
		if err != nil {
			break
		}
	}
	_ = stderr.Close()
	p.state, _ = p.proc.Wait()
	close(p.exited)
}

// forks reports whether the worker runs each script in a child of its own.
func (p *process) forks() bool { return p.interpreter != nil && p.interpreter.Forks }

// bind sends the bindings of a job, in JSON, unless they were the last ones sent.
func (p *process) bind(bindings []byte) error {
	if bytes.Equal(p.bound, bindings) {
		return nil
	}
	p.bound = bindings
	return p.w.Write(wire.KindBindings, 0, bindings)
}

// await waits up to limit until the worker is ready, and checks its build and isolation. If
// it fails the worker is killed.
func (p *process) await(limit time.Duration) error {
	timer := time.AfterFunc(limit, func() { p.kill(killedClose) })
	defer timer.Stop()
	f, err := p.r.Read()
	if err == nil && f.Kind != wire.KindReady {
		err = wire.ErrFrame
	}
	if err == nil {
		err = json.Unmarshal(f.Payload, &p.ready)
	}
	switch {
	case err != nil:
	case p.ready.Protocol != wire.Protocol || p.ready.Build != worker.Build():
		err = errOtherBuild
	case p.ready.Isolation != p.isolation:
		err = fmt.Errorf("its isolation is %.60s, not %s", p.ready.Isolation, p.isolation)
	}
	p.base = p.meter.resident()
	if err == nil {
		err = p.awaitNext()
	}
	if err != nil {
		p.end(killedClose)
		return &notReady{err, strings.TrimSpace(p.stderrText())}
	}
	return nil
}

// errOtherBuild means that a worker's executable is not of this build.
var errOtherBuild = errors.New("the worker is another build")

// notReady is the error of a worker that did not become ready, with its stderr.
type notReady struct {
	cause  error
	stderr string
}

func (e *notReady) Error() string {
	return fmt.Sprintf("sandbox: the worker did not become ready: %v; stderr %q", e.cause, e.stderr)
}

func (e *notReady) Unwrap() error { return e.cause }

// kill kills the worker. The cause of the first kill is kept.
func (p *process) kill(why cause) {
	p.mu.Lock()
	if p.cause == notKilled {
		p.cause = why
	}
	p.mu.Unlock()
	_ = p.proc.Kill() // fails only if it has exited
}

// why returns the cause of the first kill, notKilled if there was none.
func (p *process) why() cause {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.cause
}

// stderrText returns the first maxStderr bytes of the worker's stderr.
func (p *process) stderrText() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return string(p.stderr)
}

// end kills the worker, waits until it is reaped, and closes the host's files.
func (p *process) end(why cause) {
	p.kill(why)
	<-p.exited
	p.release()
}

// release closes the host's ends of the pipes and the meter.
func (p *process) release() {
	closeAll(p.in, p.out)
	p.meter.close()
	if p.next != nil {
		p.next.meter.close()
	}
}

// hasExited reports whether the worker has been reaped.
func (p *process) hasExited() bool {
	select {
	case <-p.exited:
		return true
	default:
		return false
	}
}
