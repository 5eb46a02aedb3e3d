package run

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/koan-go/koan/framework/fault"
)

const (
	// tapeBatch is how many tapes are written in one transaction at most.
	tapeBatch = 64
	// tapeBacklog bounds what waits to be written, in runs and in bytes.
	tapeBacklog      = 512
	tapeBacklogBytes = 64 << 20
	// tapeGathering is how long runs are gathered for one transaction: the cores are
	// for the next run first.
	tapeGathering = 50 * time.Millisecond
	// trimEvery is how often old tapes are looked for.
	trimEvery = time.Minute
	// shelfTimeout bounds one transaction of the shelf.
	shelfTimeout = 10 * time.Second
)

// taking is a run whose tape is going to be written. Encoding and compressing it is
// left to the taper, beside the runs.
type taking struct {
	kept    *KeptRun
	tape    Tape
	script  recorded
	failure error
	size    int // about, in bytes
}

// taper writes tapes down, one batch at a time. A run never waits for it: what comes
// while too much waits already is left out, and said in the log.
type taper struct {
	shelf Shelf
	opts  TapeOptions
	log   *slog.Logger
	pack  packer
	quit  chan struct{}
	done  chan struct{}

	mu      sync.Mutex
	waiting []*taking
	bytes   int
	left    int // runs that were left out since it was last said
	news    chan struct{}
	closed  bool
}

func newTaper(s Shelf, o TapeOptions, log *slog.Logger) *taper {
	t := &taper{shelf: s, opts: o, log: log, quit: make(chan struct{}), done: make(chan struct{}), news: make(chan struct{}, 1)}
	go t.run()
	return t
}

func (t *taper) take(k *taking) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.closed {
		return
	}
	if len(t.waiting) >= tapeBacklog || t.bytes+k.size > tapeBacklogBytes {
		t.left++
		return
	}
	t.waiting = append(t.waiting, k)
	t.bytes += k.size
	select {
	case t.news <- struct{}{}:
	default: // it is known
	}
}

// run writes until the end, and then what still waits.
func (t *taper) run() {
	defer close(t.done)
	trimmed := time.Time{}
	for last := false; !last; {
		select {
		case <-t.news:
			select {
			case <-time.After(tapeGathering):
			case <-t.quit:
				last = true
			}
		case <-t.quit:
			last = true
		}
		for t.write() {
			if time.Since(trimmed) > trimEvery {
				trimmed = time.Now()
				t.trim()
			}
		}
	}
}

// write writes one batch; more is false where nothing waited.
func (t *taper) write() (more bool) {
	t.mu.Lock()
	n := min(len(t.waiting), tapeBatch)
	batch := t.waiting[:n:n]
	t.waiting = t.waiting[n:]
	left := t.left
	t.left = 0
	t.mu.Unlock()
	if left > 0 {
		t.log.Warn("runs came faster than they could be kept for a replay", "left", left)
	}
	if n == 0 {
		return false
	}
	tapes := make([]KeptTape, n)
	size := 0
	for i, k := range batch {
		tapes[i] = t.packed(k)
		size += k.size
	}
	ctx, cancel := context.WithTimeout(context.Background(), shelfTimeout)
	defer cancel()
	if err := t.shelf.Put(ctx, tapes); err != nil {
		t.log.Warn("runs are not kept for a replay", "runs", n, "error", err)
	}
	t.mu.Lock()
	t.bytes -= size
	t.mu.Unlock()
	return true
}

// packed is a run as the shelf has it.
func (t *taper) packed(k *taking) KeptTape {
	out := KeptTape{Run: k.kept.Run, At: k.kept.Started, Operation: k.kept.Operation, Outcome: k.kept.Outcome, Bytes: k.size}
	if k.size > t.opts.MaxRunBytes {
		out.Why = fmt.Sprintf("what it took and gave has more than replay.maxRunBytes (%d)", t.opts.MaxRunBytes)
		return out
	}
	err := k.fill()
	if err == nil {
		out.Body, out.Bytes, err = t.pack.body(k.kept)
	}
	switch {
	case err != nil:
		out.Body, out.Why = nil, fault.From(err).Message
		t.log.Warn("a run cannot be kept for a replay", "run", k.kept.Run, "error", err)
	case out.Bytes > t.opts.MaxRunBytes:
		out.Body, out.Why = nil, fmt.Sprintf("it takes %d bytes, and replay.maxRunBytes is %d", out.Bytes, t.opts.MaxRunBytes)
	}
	return out
}

func (k *taking) fill() (err error) {
	if k.failure != nil {
		if k.kept.Fault, err = json.Marshal(fault.From(k.failure)); err != nil {
			return err
		}
	}
	if k.kept.Tape, err = freezeValues(k.tape); err != nil {
		return err
	}
	if k.script.encode != nil {
		k.kept.Script, err = k.script.encode()
	}
	return err
}

func (t *taper) trim() {
	ctx, cancel := context.WithTimeout(context.Background(), shelfTimeout)
	defer cancel()
	if err := t.shelf.Trim(ctx, time.Now().Add(-t.opts.Retention), t.opts.MaxBytes); err != nil {
		t.log.Warn("old runs are still kept for a replay", "error", err)
	}
}

// close writes what waits, until ctx ends.
func (t *taper) close(ctx context.Context) error {
	t.mu.Lock()
	first := !t.closed
	t.closed = true
	t.mu.Unlock()
	if first {
		close(t.quit)
	}
	select {
	case <-t.done:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// KeepTapes gives the engine a shelf for what is kept of runs, before the first
// call. The engine's Close writes what is on its way there.
func (e *Engine) KeepTapes(s Shelf) {
	e.shelf = s
	if k := e.opts.Tapes.Keep; k != "" && k != KeepNone {
		e.taper = newTaper(s, e.opts.Tapes, e.opts.Log)
	}
}

// Close ends what the engine does beside the runs, once they have ended.
func (e *Engine) Close(ctx context.Context) error {
	if e.taper == nil {
		return nil
	}
	return e.taper.close(ctx)
}
