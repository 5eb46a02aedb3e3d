package ledger

import (
	"context"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/koan-go/koan/framework/fault"
	"github.com/koan-go/koan/framework/journal"
	"github.com/koan-go/koan/framework/run/replay"
)

// For how long what is written may be lost with the power, how long one write may take, and how
// soon it is tried again.
const (
	syncing    = time.Second
	writeAgain = 200 * time.Millisecond
	writeTime  = 10 * time.Second
)

// Writer writes what ran, and what a replay needs of it, beside the runs: one
// goroutine, in batches, one transaction for each. A run waits only where the queue
// is full, and not for long; what is dropped then is counted, and the next record
// says it. A tape never waits.
type Writer struct {
	open func(ctx context.Context) (*Journal, error)
	log  *slog.Logger
	beat time.Duration
	idle func(ctx context.Context, j *Journal) // at each beat

	lost   atomic.Int64 // dropped, and not said in a record yet
	said   atomic.Int64 // dropped, in all
	tidy   chan struct{}
	ended  sync.WaitGroup
	cancel context.CancelFunc
	ctx    context.Context

	queue
	written // the goroutine's own
}

// written is what a writer knows of what it has written.
type written struct {
	noted  map[string]bool // runs under way whose start is written
	pack   replay.Packer
	synced time.Time // when all that was written was safe from a loss of power
	fresh  bool      // something was written since
}

var _ journal.Sink = (*Writer)(nil)

// NewWriter starts a writer. open returns the journal, and is called until it does;
// idle is called beside the writing, at the start, at each beat, and after Tidy.
func NewWriter(open func(ctx context.Context) (*Journal, error), beat time.Duration, idle func(ctx context.Context, j *Journal), log *slog.Logger) *Writer {
	w := &Writer{
		open: open, log: log, beat: beat, idle: idle, tidy: make(chan struct{}, 1), written: written{noted: map[string]bool{}},
		queue: queue{due: time.NewTimer(time.Hour), now: make(chan struct{}, 1), room: make(chan struct{})},
	}
	w.ctx, w.cancel = context.WithCancel(context.Background())
	w.ended.Go(w.work)
	return w
}

// Begin implements journal.Sink.
func (w *Writer) Begin(_ context.Context, r journal.Record) { w.put(item{record: &r, begun: true}) }

// Append implements journal.Sink.
func (w *Writer) Append(_ context.Context, r journal.Record) {
	r.Lost = int(w.lost.Swap(0))
	if !w.put(item{record: &r}) {
		w.lost.Add(int64(r.Lost) + 1)
		w.said.Add(1)
	}
}

// Tidy has idle called soon.
func (w *Writer) Tidy() {
	select {
	case w.tidy <- struct{}{}:
	default: // it will be
	}
}

// Close writes what is queued, within ctx, and ends the writer. The journal says
// goodbye and is closed.
func (w *Writer) Close(ctx context.Context) {
	w.queue.close()
	stop := context.AfterFunc(ctx, w.cancel)
	defer stop()
	w.ended.Wait()
	w.cancel()
}

// work is the writer's goroutine.
func (w *Writer) work() {
	j := w.openJournal()
	if j == nil {
		return
	}
	defer func() { _ = j.Close() }()
	w.write(j, batchLoad{})
	defer w.housekeeping(j)()
	tick := time.NewTicker(w.beat)
	defer tick.Stop()
	for {
		var exposed <-chan time.Time // to a loss of power, for as long as that may be
		if w.fresh {
			exposed = time.After(syncing - time.Since(w.synced))
		}
		select {
		case <-w.due.C:
		case <-w.now:
		case <-tick.C:
			w.write(j, batchLoad{})
		case <-exposed:
			w.write(j, batchLoad{})
		}
		if w.writeQueued(j) {
			if err := j.Leave(w.ctx); err != nil && w.ctx.Err() == nil {
				w.log.Warn("the journal recorded this process as cut off", "error", err)
			}
			return
		}
	}
}

// writeQueued writes what waits. It reports whether that was the last.
func (w *Writer) writeQueued(j *Journal) (last bool) {
	for {
		l := w.take()
		if len(l.items) > 0 || len(l.tapes) > 0 || l.left > 0 {
			w.write(j, l)
		}
		for _, done := range l.flushes {
			close(done)
		}
		if !l.more {
			return l.last
		}
	}
}

// housekeeping calls idle until stop, which waits for its end.
func (w *Writer) housekeeping(j *Journal) (stop func()) {
	ctx, cancel := context.WithCancel(w.ctx)
	var ended sync.WaitGroup
	ended.Go(func() {
		for {
			w.idle(ctx, j)
			select {
			case <-ctx.Done():
				return
			case <-time.After(w.beat):
			case <-w.tidy:
			}
		}
	})
	return func() {
		cancel()
		ended.Wait()
	}
}

// openJournal opens the journal, as long as it takes. A writer that is being closed does not
// wait for a disk or a file to be mended.
func (w *Writer) openJournal() *Journal {
	for first := true; ; first = false {
		j, err := w.open(w.ctx)
		if err == nil {
			return j
		}
		if first && w.ctx.Err() == nil {
			w.log.Warn("the journal cannot be opened; retrying", "error", err)
		}
		if w.isClosing() && fault.CodeOf(err) == fault.ServiceUnavailable || !w.waitToRetry() {
			w.log.Error("the journal was never opened; the runs of this process are not in it", "error", err)
			return nil
		}
	}
}

// waitToRetry waits before something is tried again. It returns false when nothing is any
// more.
func (w *Writer) waitToRetry() bool {
	select {
	case <-w.ctx.Done():
		return false
	case <-time.After(writeAgain):
	}
	return true
}

// write writes a batch, as often as it takes. The first in a while is safe from
// a loss of power at once, those soon after it with the next.
func (w *Writer) write(j *Journal, l batchLoad) {
	b := w.batch(l)
	b.Synced = len(l.items)+len(l.tapes) == 0 || time.Since(w.synced) >= syncing
	if n := w.said.Swap(0); n > 0 {
		b.Lost = true
		w.log.Warn("the journal could not be written in time; records are lost, but receipts are not", "records", n)
	}
	if l.left > 0 {
		w.log.Warn("runs arrived faster than their tapes could be written; some cannot be replayed", "left", l.left)
	}
	for first := true; ; first = false {
		ctx, stop := context.WithTimeout(w.ctx, writeTime)
		err := j.Write(ctx, b)
		stop()
		if err == nil {
			w.noteWritten(b)
			return
		}
		if first && w.ctx.Err() == nil {
			w.log.Warn("the journal cannot be written; retrying", "error", err)
		}
		if n := len(b.Tapes); n > 0 { // they must not keep records from being written
			w.log.Warn("tapes cannot be written; these runs cannot be replayed", "runs", n, "error", err)
			b.Tapes = nil
		}
		if !w.waitToRetry() {
			w.log.Error("records are missing from the journal", "records", len(b.Ended), "error", err)
			return
		}
	}
}

// batch is what a load is to the journal. The start of a run that has ended already
// is nothing.
func (w *Writer) batch(l batchLoad) (b Batch) {
	for _, t := range l.tapes {
		b.Tapes = append(b.Tapes, t.Pack(&w.pack))
	}
	w.packed(l.bytes)
	ended := make(map[string]bool, len(l.items))
	b.Ended = make([]journal.Record, 0, len(l.items))
	for i := range l.items {
		r := l.items[i].record
		if l.items[i].begun {
			continue
		}
		b.Ended = append(b.Ended, *r)
		ended[r.Run] = true
		if w.noted[r.Run] || mayContinue(r) {
			b.Noted = append(b.Noted, r.Run)
		}
	}
	for i := range l.items {
		if it := &l.items[i]; it.begun && !ended[it.record.Run] {
			b.Begun = append(b.Begun, *it.record)
		}
	}
	return b
}

// noteWritten notes what is written.
func (w *Writer) noteWritten(b Batch) {
	for _, id := range b.Noted {
		delete(w.noted, id)
	}
	for i := range b.Begun {
		w.noted[b.Begun[i].Run] = true
	}
	w.fresh = !b.Synced
	if b.Synced {
		w.synced = time.Now()
	}
}
