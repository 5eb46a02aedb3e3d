package ledger

import (
	"context"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/koan-go/koan/framework/journal"
	"github.com/koan-go/koan/framework/run"
)

// How much waits to be written, how long a run waits where no more may, how long
// records are gathered for one transaction, and for how long what is written may be
// lost with the power. Tapes leave half of the queue to records.
const (
	queued     = 1024
	tapesWait  = 64 << 20 // bytes of tapes
	patience   = 50 * time.Millisecond
	gathering  = 50 * time.Millisecond
	maxBatch   = 512
	batchTapes = 4 << 20 // bytes of them
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

	queue  chan item
	lost   atomic.Int64 // dropped, and not said in a record yet
	said   atomic.Int64 // dropped, in all
	taking atomic.Int64 // bytes of tapes that wait
	left   atomic.Int64 // tapes that were dropped
	tidy   chan struct{}
	ended  sync.WaitGroup
	cancel context.CancelFunc
	ctx    context.Context

	closing sync.RWMutex
	closed  bool

	// The goroutine's own.
	noted  map[string]bool // runs under way whose start is written
	pack   run.Packer
	synced time.Time // when all that was written was safe from a loss of power
	fresh  bool      // something was written since
}

// item is a record, a tape, or somebody who waits until what came before is written.
type item struct {
	record journal.Record
	begun  bool
	tape   *run.Taken
	flush  chan struct{}
}

// ended tells whether the item is the record of a run that has ended.
func (i *item) ended() bool { return i.flush == nil && i.tape == nil && !i.begun }

var _ journal.Sink = (*Writer)(nil)

// NewWriter starts a writer. open gives the journal, and is called until it does;
// idle is called beside the writing, at the start, at each beat, and after Tidy.
func NewWriter(open func(ctx context.Context) (*Journal, error), beat time.Duration, idle func(ctx context.Context, j *Journal), log *slog.Logger) *Writer {
	w := &Writer{
		open: open, log: log, beat: beat, idle: idle, queue: make(chan item, queued), tidy: make(chan struct{}, 1),
		noted: map[string]bool{},
	}
	w.ctx, w.cancel = context.WithCancel(context.Background())
	w.ended.Go(w.work)
	return w
}

// Begin implements journal.Sink.
func (w *Writer) Begin(_ context.Context, r journal.Record) { w.put(item{record: r, begun: true}) }

// Append implements journal.Sink.
func (w *Writer) Append(_ context.Context, r journal.Record) {
	r.Lost = int(w.lost.Swap(0))
	if !w.put(item{record: r}) {
		w.lost.Add(int64(r.Lost) + 1)
		w.said.Add(1)
	}
}

// Take has a tape written. It is left out where too much waits.
func (w *Writer) Take(t *run.Taken) {
	w.closing.RLock()
	defer w.closing.RUnlock()
	if w.closed {
		return
	}
	size := int64(t.Size())
	if w.taking.Add(size) <= tapesWait && len(w.queue) < queued/2 {
		select {
		case w.queue <- item{tape: t}:
			return
		default:
		}
	}
	w.taking.Add(-size)
	w.left.Add(1)
}

// Tidy has idle called soon.
func (w *Writer) Tidy() {
	select {
	case w.tidy <- struct{}{}:
	default: // it will be
	}
}

// put queues an item, and waits a little where the queue is full.
func (w *Writer) put(i item) bool {
	w.closing.RLock()
	defer w.closing.RUnlock()
	if w.closed {
		return false
	}
	select {
	case w.queue <- i:
		return true
	default:
	}
	wait, stop := context.WithTimeout(context.Background(), patience)
	defer stop()
	return w.wait(wait, i)
}

// wait queues an item as soon as there is room.
func (w *Writer) wait(ctx context.Context, i item) bool {
	select {
	case w.queue <- i:
		return true
	case <-ctx.Done():
		return false
	}
}

// Flush waits until what was put before is written, or ctx is over.
func (w *Writer) Flush(ctx context.Context) {
	done := make(chan struct{})
	w.closing.RLock()
	put := !w.closed && w.wait(ctx, item{flush: done})
	w.closing.RUnlock()
	if !put {
		return
	}
	select {
	case <-done:
	case <-ctx.Done():
	}
}

// Close writes what is queued, within ctx, and ends the writer. The journal says
// goodbye and is closed.
func (w *Writer) Close(ctx context.Context) {
	w.closing.Lock()
	if w.closed {
		w.closing.Unlock()
		return
	}
	w.closed = true
	close(w.queue)
	w.closing.Unlock()
	stop := context.AfterFunc(ctx, w.cancel)
	defer stop()
	w.ended.Wait()
	w.cancel()
}

// work is the writer's goroutine.
func (w *Writer) work() {
	j := w.opened()
	if j == nil {
		return
	}
	defer func() { _ = j.Close() }()
	w.write(j, nil)
	defer w.housekeeping(j)()
	tick := time.NewTicker(w.beat)
	defer tick.Stop()
	for {
		var sync <-chan time.Time
		if w.fresh {
			sync = time.After(syncing - time.Since(w.synced))
		}
		select {
		case i, ok := <-w.queue:
			if ok {
				w.write(j, w.gather(i))
				continue
			}
			if err := j.Leave(w.ctx); err != nil && w.ctx.Err() == nil {
				w.log.Warn("the journal keeps this process as one that was cut off", "error", err)
			}
			return
		case <-tick.C:
			w.write(j, nil)
		case <-sync:
			w.write(j, nil)
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

// opened opens the journal, as long as it takes.
func (w *Writer) opened() *Journal {
	for first := true; ; first = false {
		j, err := w.open(w.ctx)
		if err == nil {
			return j
		}
		if first && w.ctx.Err() == nil {
			w.log.Warn("the journal cannot be opened; it is tried again", "error", err)
		}
		if !w.again() {
			w.log.Error("the journal was never opened; what ran is not in it", "error", err)
			return nil
		}
	}
}

// again waits before something is tried again. It gives false when nothing is any
// more.
func (w *Writer) again() bool {
	select {
	case <-w.ctx.Done():
		return false
	case <-time.After(writeAgain):
	}
	return true
}

// gather takes what comes soon after the first item.
func (w *Writer) gather(first item) []item {
	batch, tapes := []item{first}, 0
	if first.flush != nil {
		return batch
	}
	if first.tape != nil {
		tapes = first.tape.Size()
	}
	wait := time.NewTimer(gathering)
	defer wait.Stop()
	for len(batch) < maxBatch && tapes < batchTapes {
		select {
		case i, ok := <-w.queue:
			if !ok {
				return batch
			}
			batch = append(batch, i)
			if i.flush != nil {
				return batch
			}
			if i.tape != nil {
				tapes += i.tape.Size()
			}
		case <-wait.C:
			return batch
		}
	}
	return batch
}

// write writes a batch, as often as it takes. The first in a while is safe from
// a loss of power at once, those soon after it with the next.
func (w *Writer) write(j *Journal, items []item) {
	b := w.batch(items)
	b.Synced = len(items) == 0 || time.Since(w.synced) >= syncing
	if n := w.said.Swap(0); n > 0 {
		b.Lost = true
		w.log.Warn("the journal could not be written in time; records are lost, but receipts are not", "records", n)
	}
	if n := w.left.Swap(0); n > 0 {
		w.log.Warn("runs came faster than they could be kept for a replay", "left", n)
	}
	defer flushed(items)
	for first := true; ; first = false {
		ctx, stop := context.WithTimeout(w.ctx, writeTime)
		err := j.Write(ctx, b)
		stop()
		if err == nil {
			w.wrote(b)
			return
		}
		if first && w.ctx.Err() == nil {
			w.log.Warn("the journal cannot be written; it is tried again", "error", err)
		}
		if n := len(b.Tapes); n > 0 { // they must not keep records from being written
			w.log.Warn("runs are not kept for a replay", "runs", n, "error", err)
			b.Tapes = nil
		}
		if !w.again() {
			w.log.Error("records are not in the journal", "records", len(b.Ended), "error", err)
			return
		}
	}
}

// batch is what some items are to the journal. The start of a run that has ended
// already is nothing.
func (w *Writer) batch(items []item) (b Batch) {
	ended := map[string]bool{}
	for i := range items {
		it := &items[i]
		switch {
		case it.tape != nil:
			b.Tapes = append(b.Tapes, it.tape.Pack(&w.pack))
			w.taking.Add(-int64(it.tape.Size()))
		case it.ended():
			b.Ended = append(b.Ended, it.record)
			ended[it.record.Run] = true
			if w.noted[it.record.Run] || goneOn(&it.record) {
				b.Noted = append(b.Noted, it.record.Run)
			}
		}
	}
	for i := range items {
		if it := &items[i]; it.begun && !ended[it.record.Run] {
			b.Begun = append(b.Begun, it.record)
		}
	}
	return b
}

// wrote notes what is written.
func (w *Writer) wrote(b Batch) {
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

// flushed wakes those who wait for some items.
func flushed(items []item) {
	for i := range items {
		if items[i].flush != nil {
			close(items[i].flush)
		}
	}
}
