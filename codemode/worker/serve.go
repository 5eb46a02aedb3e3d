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

	"github.com/koan-go/koan/codemode/wire"
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

// serve is a worker's whole life: rehearse, confine, say ready, run one job, end.
// Nothing that a script could influence happens before the confinement holds.
func serve(layers []string, rehearsed bool) int {
	closeInherited()
	debug.SetMaxStack(maxStack)
	debug.SetGCPercent(collectAt)
	time.Local = time.UTC // a script's local time is the same everywhere
	in, out := pipes()
	spareThreads(threads)
	s, err := prepare()
	if err == nil && rehearsed {
		err = rehearse()
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "worker: prepare:", err)
		return exitBroken
	}
	ready := wire.Ready{Protocol: wire.Protocol, Build: Build(), Isolation: Isolation(layers)}
	ready.DataBytes, ready.SizeBytes = memorySizes()
	if err = confine(layers); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return exitConfine
	}
	h := &host{r: wire.NewReader(bufio.NewReaderSize(in, bufferBytes), maxJob), w: wire.NewWriter(out), spin: &in.spin}
	if h.w.WriteJSON(wire.KindReady, 0, ready) != nil {
		return exitOrphan
	}
	for {
		f, err := h.r.Read()
		if err != nil {
			return exitOrphan
		}
		switch f.Kind {
		case wire.KindWake:
			h.look = min(time.Duration(f.ID)*time.Microsecond, SpinFor)
			h.spin.Allow(min(time.Duration(f.ID)*time.Microsecond, wakeFor))
			continue
		case wire.KindBindings:
			if s.prebind(f.Payload) != nil {
				return exitBroken
			}
			continue
		case wire.KindProbe:
			err = h.w.WriteJSON(wire.KindReport, 0, probe(layers))
		case wire.KindJob:
			if err = h.w.Write(wire.KindAccepted, 0); err == nil {
				err = h.job(s, f.Payload)
			}
		default:
			return exitBroken
		}
		if err != nil {
			return exitOrphan
		}
		_, _ = h.r.Read() // the host looks at what it used, and kills
		return exitDone
	}
}

// wakeFor bounds how long a worker that was woken looks for its job.
const wakeFor = time.Millisecond

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
	r    *wire.Reader
	w    *wire.Writer
	spin *Spin         // of what r reads from
	look time.Duration // how long one wait may look for an answer
	call uint32
}

func (h *host) job(s *session, payload []byte) error {
	var job wire.Job
	if err := json.Unmarshal(payload, &job); err != nil {
		return err
	}
	h.r.SetMax(job.Limits.MaxCallBytes + wire.FrameSlack)
	job.Bindings = s.bound
	h.spin.Allow(h.look)
	result := s.run(&job, h, Gauges{Memory: meter(job.Limits.MemoryBytes), CPU: cpuGauge(h.spin)})
	h.spin.Allow(0)
	return h.w.WriteJSON(wire.KindResult, 0, result)
}

// Begin implements Port.
func (h *host) Begin(made *wire.Lowered) wire.Occasion {
	if made != nil && h.w.WriteJSON(wire.KindLowered, 0, made) != nil {
		os.Exit(exitOrphan)
	}
	f, err := h.r.Read()
	if err != nil {
		os.Exit(exitOrphan)
	}
	var o wire.Occasion
	if f.Kind != wire.KindBegin || json.Unmarshal(f.Payload, &o) != nil {
		os.Exit(exitBroken)
	}
	return o
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
