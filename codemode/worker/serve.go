package worker

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"runtime"
	"runtime/debug"
	"sync"
	"time"

	"github.com/koan-go/koan/codemode/internal/language"
	"github.com/koan-go/koan/codemode/internal/wire"
	"github.com/koan-go/koan/framework/fault"
)

const (
	// maxStack bounds the Go stack of a goroutine, in bytes: the parser is recursive, and so
	// is the engine for some inputs.
	maxStack = 16 << 20
	// maxJob bounds the frames of bindings and jobs, in bytes.
	maxJob = 64 << 20
	// gcPercent is GOGC for workers: most scripts end before collecting is worth it, and the
	// memory limit takes care of the others (meter).
	gcPercent = 400
	// freeAbove is how much memory may stay in use after a job before the worker returns what
	// is free to the system, in bytes.
	freeAbove = 16 << 20
	// bufferBytes is the size of the read buffer of the pipe.
	bufferBytes = 64 << 10
)

// The exit statuses of a worker.
const (
	exitDone    = 0
	exitOrphan  = 3 // the host has exited
	exitBroken  = 4 // the host violated the protocol, or the worker cannot start
	exitConfine = 5 // the confinement failed
)

// serve confines the process, reports that it is ready, and runs jobs until the host has no
// more. It returns the exit status. Nothing that a script could influence happens before the
// confinement is complete.
func serve(layers []string, languages []language.Language) int {
	closeInherited()
	debug.SetMaxStack(maxStack)
	debug.SetGCPercent(gcPercent)
	time.Local = time.UTC // a script's local time is the same everywhere
	in, out := pipes()
	prestartThreads(prestartedThreads)
	p := &process{layers: layers, languages: languages}
	if err := p.prepare(languages[0]); err != nil {
		fmt.Fprintln(os.Stderr, "worker: prepare:", err)
		return exitBroken
	}
	ready := wire.Ready{Protocol: wire.Protocol, Build: Build(), Isolation: Isolation(layers)}
	if ready.DataBytes, ready.SizeBytes = memorySizes(); ready.DataBytes > 0 {
		ready.DataBytes += runtimeDataBytes()
	}
	if err := confine(layers); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return exitConfine
	}
	p.port = &pipePort{r: wire.NewReader(bufio.NewReaderSize(in, bufferBytes), maxJob), w: wire.NewWriter(out)}
	if p.port.w.WriteJSON(wire.KindReady, 0, ready) != nil {
		return exitOrphan
	}
	p.memory = newMeter()
	return p.runJobs()
}

// process is a worker that is ready: it runs one job after the other, each in a runtime of its own, which is
// prepared after the result of the job before it has been sent.
type process struct {
	layers    []string
	languages []language.Language
	port      *pipePort
	memory    *meter
	bindings  wire.Bindings

	language language.Language // the one that is prepared: that of the job before
	runtime  language.Runtime
}

// prepare prepares a runtime of a language.
func (p *process) prepare(l language.Language) (err error) {
	p.language = l
	p.runtime, err = l.Prepare()
	return err
}

// runJobs runs jobs until the host closes the pipe or kills the worker.
func (p *process) runJobs() int {
	for {
		p.port.r.SetMax(maxJob)
		f, err := p.port.r.Read()
		if err != nil {
			return exitOrphan
		}
		last := false
		switch f.Kind {
		case wire.KindBindings:
			p.bindings = wire.Bindings{}
			if json.Unmarshal(f.Payload, &p.bindings) != nil {
				return exitBroken
			}
			p.language.Bind(p.bindings)
			continue
		case wire.KindProbe:
			last, err = true, p.port.w.WriteJSON(wire.KindReport, 0, probe(p.layers))
		case wire.KindJob:
			if err = p.port.w.Write(wire.KindAccepted, f.ID); err == nil {
				last, err = p.runJob(f.Payload)
			}
		default:
			return exitBroken
		}
		if err != nil {
			return exitOrphan
		}
		if last {
			_, _ = p.port.r.Read() // stay alive until the host has measured the worker and kills it
			return exitDone
		}
		if p.memory.used() > freeAbove {
			debug.FreeOSMemory()
		}
		if p.prepare(p.language) != nil {
			return exitBroken
		}
	}
}

// runJob runs one job. last reports whether the worker must not run another one.
func (p *process) runJob(payload []byte) (last bool, err error) {
	var job wire.Job
	if err := json.Unmarshal(payload, &job); err != nil {
		return false, err
	}
	p.port.lastCall = 0
	p.port.r.SetMax(job.Limits.MaxCallBytes + wire.FrameSlack)
	p.memory.setLimits(job.Limits.MemoryBytes, job.CollectBytes)
	job.Bindings = p.bindings
	if err := p.use(job.Language); err != nil {
		return true, p.port.w.WriteJSON(wire.KindResult, 0, &wire.Result{Last: true, Fault: fault.From(err)})
	}
	result := execute(p.runtime, &job, p.port, Gauges{Full: p.memory.full, CPU: cpuGauge()})
	return result.Last || job.Last, p.port.w.WriteJSON(wire.KindResult, 0, result)
}

// use prepares the language that a job names, unless it is prepared.
func (p *process) use(name string) error {
	l, ok := language.Of(p.languages, name)
	switch {
	case !ok:
		return unknownLanguage(name)
	case l == p.language:
		return nil
	}
	l.Bind(p.bindings)
	return p.prepare(l)
}

// prestartThreads makes the runtime start n threads, which it keeps (prestartedThreads).
func prestartThreads(n int) {
	var started, ended sync.WaitGroup
	release := make(chan struct{})
	for range n {
		started.Add(1)
		ended.Go(func() {
			runtime.LockOSThread() // so that each goroutine needs a thread of its own
			defer runtime.UnlockOSThread()
			started.Done()
			<-release
		})
	}
	started.Wait()
	close(release)
	ended.Wait()
}
