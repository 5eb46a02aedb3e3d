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
func serve(layers []string) int {
	closeInherited()
	debug.SetMaxStack(maxStack)
	debug.SetGCPercent(gcPercent)
	time.Local = time.UTC // a script's local time is the same everywhere
	in, out := pipes()
	prestartThreads(prestartedThreads)
	s, err := prepare()
	if err != nil {
		fmt.Fprintln(os.Stderr, "worker: prepare:", err)
		return exitBroken
	}
	ready := wire.Ready{Protocol: wire.Protocol, Build: Build(), Isolation: Isolation(layers)}
	if ready.DataBytes, ready.SizeBytes = memorySizes(); ready.DataBytes > 0 {
		ready.DataBytes += runtimeDataBytes()
	}
	if err = confine(layers); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return exitConfine
	}
	h := &pipePort{r: wire.NewReader(bufio.NewReaderSize(in, bufferBytes), maxJob), w: wire.NewWriter(out)}
	if h.w.WriteJSON(wire.KindReady, 0, ready) != nil {
		return exitOrphan
	}
	return h.runJobs(s, layers)
}

// runJobs runs jobs until the host closes the pipe or kills the worker. Each job has an engine
// of its own: s is that of the first job, and the next one is prepared after the result has
// been sent.
func (h *pipePort) runJobs(s *session, layers []string) int {
	memory := newMeter()
	var bindings wire.Bindings
	for {
		h.r.SetMax(maxJob)
		f, err := h.r.Read()
		if err != nil {
			return exitOrphan
		}
		last := false
		switch f.Kind {
		case wire.KindBindings:
			imports := len(bindings.Servers) > 0
			bindings = wire.Bindings{}
			if json.Unmarshal(f.Payload, &bindings) != nil {
				return exitBroken
			}
			if imports || len(bindings.Servers) > 0 {
				h.programs.clear()
			}
			s.buildSDK(bindings)
			continue
		case wire.KindProbe:
			last, err = true, h.w.WriteJSON(wire.KindReport, 0, probe(layers))
		case wire.KindJob:
			if err = h.w.Write(wire.KindAccepted, f.ID); err == nil {
				last, err = h.runJob(s, f.Payload, memory)
			}
		default:
			return exitBroken
		}
		if err != nil {
			return exitOrphan
		}
		if last {
			_, _ = h.r.Read() // stay alive until the host has measured the worker and kills it
			return exitDone
		}
		if memory.used() > freeAbove {
			debug.FreeOSMemory()
		}
		if s, err = prepare(); err != nil {
			return exitBroken
		}
		s.buildSDK(bindings)
	}
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

// pipePort is the Port over the worker's ends of the pipes.
type pipePort struct {
	r        *wire.Reader
	w        *wire.Writer
	lastCall uint32 // the number of the job's last call
	programs programCache
}

// runJob runs one job. last reports whether the worker must not run another one.
func (h *pipePort) runJob(s *session, payload []byte, memory *meter) (last bool, err error) {
	var job wire.Job
	if err := json.Unmarshal(payload, &job); err != nil {
		return false, err
	}
	h.lastCall = 0
	h.r.SetMax(job.Limits.MaxCallBytes + wire.FrameSlack)
	memory.setLimits(job.Limits.MemoryBytes, job.CollectBytes)
	h.programs.setLimit(job.Limits.MemoryBytes)
	job.Bindings = s.bound
	result := s.run(&job, h, Gauges{Full: memory.full, CPU: cpuGauge()}, &h.programs)
	return result.Last || job.Last, h.w.WriteJSON(wire.KindResult, 0, result)
}

// Call implements Port.
func (h *pipePort) Call(operation string, input []byte) Reply {
	h.lastCall++
	if err := h.w.Write(wire.KindCall, h.lastCall, wire.EncodeCall(operation), input); err != nil {
		os.Exit(exitOrphan)
	}
	ref, r := h.readReply()
	if ref != h.lastCall {
		os.Exit(exitBroken)
	}
	return r
}

// Start implements Port.
func (h *pipePort) Start(ref uint32, operation string, input []byte) {
	if h.w.Write(wire.KindStart, ref, wire.EncodeCall(operation), input) != nil {
		os.Exit(exitOrphan)
	}
}

// Await implements Port.
func (h *pipePort) Await(most time.Duration) (uint32, Reply) {
	if h.w.Write(wire.KindAwait, 0, wire.EncodeAwait(most)) != nil {
		os.Exit(exitOrphan)
	}
	return h.readReply()
}

// readReply reads the host's reply to a call or an await.
func (h *pipePort) readReply() (uint32, Reply) {
	f, err := h.r.Read()
	if err != nil {
		os.Exit(exitOrphan)
	}
	status, now, body, err := wire.DecodeReturn(f.Payload)
	if err != nil || f.Kind != wire.KindReturn {
		os.Exit(exitBroken)
	}
	r := Reply{NowMs: now}
	if status == wire.StatusOK {
		r.Out = body
		return f.ID, r
	}
	if r.Fault, err = fault.Decode(body); err != nil {
		os.Exit(exitBroken)
	}
	r.Ends = status == wire.StatusEnds
	return f.ID, r
}

// Log implements Port.
func (h *pipePort) Log(l wire.Log) { h.send(wire.KindLog, l) }

// Progress implements Port.
func (h *pipePort) Progress(p wire.Progress) { h.send(wire.KindProgress, p) }

// Emit implements Port.
func (h *pipePort) Emit(value []byte) {
	if h.w.Write(wire.KindEmit, 0, value) != nil {
		os.Exit(exitOrphan)
	}
}

func (h *pipePort) send(k wire.Kind, v any) {
	b, err := wire.Marshal(v)
	if err != nil {
		return // NaN in progress has no JSON
	}
	if h.w.Write(k, 0, b) != nil {
		os.Exit(exitOrphan)
	}
}

var _ Port = (*pipePort)(nil)
