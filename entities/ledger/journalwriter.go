package ledger

import (
	"context"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/koan-go/koan/framework/journal"
)

// How much waits to be written, how long a run waits where no more may, and how
// long records are gathered for one transaction.
const (
	queued     = 1024
	patience   = 50 * time.Millisecond
	gathering  = 50 * time.Millisecond
	maxBatch   = 512
	writeAgain = 200 * time.Millisecond
	writeTime  = 10 * time.Second
)

// Writer writes a journal beside the runs: one goroutine, in batches. A run waits
// only where the queue is full, and not for long; what is dropped then is counted,
// and the next record says it.
type Writer struct {
	open func(ctx context.Context) (*Journal, error)
	log  *slog.Logger
	beat time.Duration
	idle func(ctx context.Context, j *Journal) // at each beat

	queue  chan item
	lost   atomic.Int64 // dropped, and not said in a record yet
	said   atomic.Int64 // dropped, in all
	ended  sync.WaitGroup
	cancel context.CancelFunc
	ctx    context.Context

	closing sync.RWMutex
	closed  bool
}

// item is a record, or somebody who waits until what came before is written.
type item struct {
	record journal.Record
	begun  bool
	flush  chan struct{}
}

var _ journal.Sink = (*Writer)(nil)

// NewWriter starts a writer. open gives the journal, and is called until it does;
// idle is called beside the writing, at the start and then at each beat.
func NewWriter(open func(ctx context.Context) (*Journal, error), beat time.Duration, idle func(ctx context.Context, j *Journal), log *slog.Logger) *Writer {
	w := &Writer{open: open, log: log, beat: beat, idle: idle, queue: make(chan item, queued)}
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
	batch := []item{first}
	if first.flush != nil {
		return batch
	}
	wait := time.NewTimer(gathering)
	defer wait.Stop()
	for len(batch) < maxBatch {
		select {
		case i, ok := <-w.queue:
			if !ok {
				return batch
			}
			batch = append(batch, i)
			if i.flush != nil {
				return batch
			}
		case <-wait.C:
			return batch
		}
	}
	return batch
}

// write writes a batch, as often as it takes.
func (w *Writer) write(j *Journal, items []item) {
	b := Batch{}
	ended := map[string]bool{}
	for _, i := range items {
		if i.flush == nil && !i.begun {
			b.Ended = append(b.Ended, i.record)
			ended[i.record.Run] = true
		}
	}
	for _, i := range items {
		if i.begun && !ended[i.record.Run] {
			b.Begun = append(b.Begun, i.record)
		}
		if i.flush != nil {
			defer close(i.flush)
		}
	}
	if n := w.said.Swap(0); n > 0 {
		b.Lost = true
		w.log.Warn("the journal could not be written in time; records are lost, but receipts are not", "records", n)
	}
	for first := true; ; first = false {
		ctx, stop := context.WithTimeout(w.ctx, writeTime)
		err := j.Write(ctx, b)
		stop()
		if err == nil {
			return
		}
		if first && w.ctx.Err() == nil {
			w.log.Warn("the journal cannot be written; it is tried again", "error", err)
		}
		if !w.again() {
			w.log.Error("records are not in the journal", "records", len(b.Ended), "error", err)
			return
		}
	}
}
