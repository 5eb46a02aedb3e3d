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
	// maxStack bounds the Go stack of one goroutine, in bytes: the engine recurses
	// on some inputs, and its parser always does.
	maxStack = 16 << 20
	// maxJob bounds the first frame, in bytes.
	maxJob = 64 << 20
	// collectAt is how far the heap may grow before it is collected, in percent of
	// what was in use: most scripts end before it is worth while, and for the others
	// there is the limit of memory.
	collectAt = 400
	// tidyAbove is how much a job may leave to the collector, in bytes.
	tidyAbove = 16 << 20
	// bufferBytes is the buffer in front of the pipe.
	bufferBytes = 64 << 10
)

// The exit statuses of a worker.
const (
	exitDone    = 0
	exitOrphan  = 3 // the host went away
	exitBroken  = 4 // the host does not keep to the protocol
	exitConfine = 5 // the confinement could not be put on
)

// serve is a worker's whole life: confine, say ready, run the jobs of one caller, one
// after the other. Nothing that a script could influence happens before the confinement
// holds.
func serve(layers []string) int {
	closeInherited()
	debug.SetMaxStack(maxStack)
	debug.SetGCPercent(collectAt)
	time.Local = time.UTC // a script's local time is the same everywhere
	in, out := pipes()
	spareThreads(threads)
	s, err := prepare()
	if err != nil {
		fmt.Fprintln(os.Stderr, "worker: prepare:", err)
		return exitBroken
	}
	ready := wire.Ready{Protocol: wire.Protocol, Build: Build(), Isolation: Isolation(layers)}
	if ready.DataBytes, ready.SizeBytes = memorySizes(); ready.DataBytes > 0 {
		ready.DataBytes += mapped
	}
	if err = confine(layers); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return exitConfine
	}
	h := &host{r: wire.NewReader(bufio.NewReaderSize(in, bufferBytes), maxJob), w: wire.NewWriter(out)}
	if h.w.WriteJSON(wire.KindReady, 0, ready) != nil {
		return exitOrphan
	}
	return h.jobs(s, layers)
}

// jobs runs jobs until the host kills or has enough. Each has an engine of its own: s is
// the first one's, and the next is made while the host has its answer already.
func (h *host) jobs(s *session, layers []string) int {
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
				h.compiled.forget()
			}
			s.members(bindings)
			continue
		case wire.KindProbe:
			last, err = true, h.w.WriteJSON(wire.KindReport, 0, probe(layers))
		case wire.KindJob:
			if err = h.w.Write(wire.KindAccepted, f.ID); err == nil {
				last, err = h.job(s, f.Payload, memory)
			}
		default:
			return exitBroken
		}
		if err != nil {
			return exitOrphan
		}
		if last {
			_, _ = h.r.Read() // the host looks at what it used, and kills
			return exitDone
		}
		if memory.used() > tidyAbove {
			debug.FreeOSMemory()
		}
		if s, err = prepare(); err != nil {
			return exitBroken
		}
		s.members(bindings)
	}
}

// spareThreads has the runtime start threads and keep them (threads).
func spareThreads(n int) {
	var started, ended sync.WaitGroup
	release := make(chan struct{})
	for range n {
		started.Add(1)
		ended.Go(func() {
			runtime.LockOSThread() // nobody else runs on it until it is given back
			defer runtime.UnlockOSThread()
			started.Done()
			<-release
		})
	}
	started.Wait()
	close(release)
	ended.Wait()
}

// host is the worker's end of the pipes.
type host struct {
	r        *wire.Reader
	w        *wire.Writer
	call     uint32 // of the job
	compiled compiled
}

// job runs one job, and reports whether it was the last one.
func (h *host) job(s *session, payload []byte, memory *meter) (last bool, err error) {
	var job wire.Job
	if err := json.Unmarshal(payload, &job); err != nil {
		return false, err
	}
	h.call = 0
	h.r.SetMax(job.Limits.MaxCallBytes + wire.FrameSlack)
	memory.bound(job.Limits.MemoryBytes)
	h.compiled.bound(job.Limits.MemoryBytes)
	job.Bindings = s.bound
	result := s.run(&job, h, Gauges{Full: memory.full, CPU: cpuGauge()}, &h.compiled)
	return result.Last, h.w.WriteJSON(wire.KindResult, 0, result)
}

// Call implements Port.
func (h *host) Call(operation string, input []byte) Reply {
	h.call++
	if err := h.w.Write(wire.KindCall, h.call, wire.EncodeCall(operation), input); err != nil {
		os.Exit(exitOrphan)
	}
	ref, r := h.answer()
	if ref != h.call {
		os.Exit(exitBroken)
	}
	return r
}

// Start implements Port.
func (h *host) Start(ref uint32, operation string, input []byte) {
	if h.w.Write(wire.KindStart, ref, wire.EncodeCall(operation), input) != nil {
		os.Exit(exitOrphan)
	}
}

// Await implements Port.
func (h *host) Await(most time.Duration) (uint32, Reply) {
	if h.w.Write(wire.KindAwait, 0, wire.EncodeAwait(most)) != nil {
		os.Exit(exitOrphan)
	}
	return h.answer()
}

// answer reads the host's answer to a call or to an await.
func (h *host) answer() (uint32, Reply) {
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
func (h *host) Log(l wire.Log) { h.send(wire.KindLog, l) }

// Progress implements Port.
func (h *host) Progress(p wire.Progress) { h.send(wire.KindProgress, p) }

// Emit implements Port.
func (h *host) Emit(value []byte) {
	if h.w.Write(wire.KindEmit, 0, value) != nil {
		os.Exit(exitOrphan)
	}
}

func (h *host) send(k wire.Kind, v any) {
	b, err := wire.Marshal(v)
	if err != nil {
		return // a NaN in progress
	}
	if h.w.Write(k, 0, b) != nil {
		os.Exit(exitOrphan)
	}
}

var _ Port = (*host)(nil)
