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
	// maxStderr is how much of a worker's last words is kept, in bytes.
	maxStderr = 4 << 10
	// readyBytes bounds a worker's first frame.
	readyBytes = 64 << 10
)

// cause says why the host killed a worker.
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

// process is one worker: it is started, says ready, runs the scripts of one owner, and
// is ended.
type process struct {
	proc      *os.Process
	state     *os.ProcessState // once it has exited
	in        *os.File         // to the worker
	out       *os.File         // from it
	r         *wire.Reader
	w         *wire.Writer
	ready     wire.Ready
	isolation string
	bound     []byte // the bindings that it has, in JSON
	base      int64  // resident bytes without a job
	exited    chan struct{}
	meter     *meter

	// Of its scripts (pool).
	owner      owner
	scripts    uint32        // that it was given
	rests      time.Time     // since when it has waited for the next one
	usedAtRest time.Duration // CPU time, at that time
	highest    int64         // the most resident bytes of the scripts so far

	mu     sync.Mutex
	cause  cause
	stderr []byte
}

// errLauncher says that a worker was not started, and that the next one starts in
// another way.
var errLauncher = errors.New("sandbox: the launcher failed")

// launch starts a worker and does not wait for it to be ready (worker.Args). It is
// called on the spawner's goroutine.
func launch(program program, layers []string, on *ground, log *slog.Logger) (*process, error) {
	inR, inW, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	outR, outW, err := os.Pipe()
	if err != nil {
		closeAll(inR, inW)
		return nil, err
	}
	errR, errW, err := os.Pipe()
	if err != nil {
		closeAll(inR, inW, outR, outW)
		return nil, err
	}
	started, err := on.start(program, layers, [3]*os.File{inR, outW, errW}, log)
	closeAll(inR, outW, errW)
	if err != nil {
		closeAll(inW, outR, errR)
		return nil, fmt.Errorf("sandbox: start a worker: %w", err)
	}
	p := &process{isolation: worker.Isolation(layers), proc: started, in: inW, out: outR, exited: make(chan struct{}), meter: newMeter(started.Pid)}
	p.r = wire.NewReader(bufio.NewReaderSize(outR, 64<<10), readyBytes)
	p.w = wire.NewWriter(inW)
	go p.attend(errR)
	return p, nil
}

// startProcess starts a worker from this process.
func startProcess(program program, layers []string, files [3]*os.File, dir string, attr *syscall.SysProcAttr) (*os.Process, error) {
	return os.StartProcess(program.exec, append([]string{program.exec}, worker.Args(layers)...), &os.ProcAttr{
		Dir: dir, Env: worker.Environment(), Files: files[:], Sys: attr,
	})
}

func closeAll(files ...*os.File) {
	for _, f := range files {
		_ = f.Close()
	}
}

// attend keeps the worker's last words and reaps it.
func (p *process) attend(stderr *os.File) {
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

// bind sends the worker the bindings of its job, in JSON, unless it knows them.
func (p *process) bind(bindings []byte) error {
	if bytes.Equal(p.bound, bindings) {
		return nil
	}
	p.bound = bindings
	return p.w.Write(wire.KindBindings, 0, bindings)
}

// await waits until the worker is ready, and checks that it is this build.
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
		err = fmt.Errorf("it is isolated by %.60s, not by %s", p.ready.Isolation, p.isolation)
	}
	p.base = p.meter.resident()
	if err != nil {
		p.end(killedClose)
		return &notReady{err, strings.TrimSpace(p.lastWords())}
	}
	return nil
}

// errOtherBuild says that an executable is not of this build.
var errOtherBuild = errors.New("the worker is another build")

// notReady is why a worker did not start, with its last words.
type notReady struct {
	cause error
	words string
}

func (e *notReady) Error() string {
	return fmt.Sprintf("sandbox: the worker did not get ready: %v; it said %q", e.cause, e.words)
}

func (e *notReady) Unwrap() error { return e.cause }

// kill ends the worker; the first cause counts.
func (p *process) kill(why cause) {
	p.mu.Lock()
	if p.cause == notKilled {
		p.cause = why
	}
	p.mu.Unlock()
	_ = p.proc.Kill() // fails only where it is gone
}

func (p *process) why() cause {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.cause
}

func (p *process) lastWords() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return string(p.stderr)
}

// end kills the worker, waits until it is reaped, and closes what is left.
func (p *process) end(why cause) {
	p.kill(why)
	<-p.exited
	p.release()
}

// release closes the host's ends of the pipes.
func (p *process) release() {
	closeAll(p.in, p.out)
	p.meter.close()
}

// gone reports whether the worker has ended.
func (p *process) gone() bool {
	select {
	case <-p.exited:
		return true
	default:
		return false
	}
}
