package ledger

import (
	"context"
	"log/slog"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/koan-go/koan/framework/fault"
	"github.com/koan-go/koan/framework/journal"
	"github.com/koan-go/koan/framework/run/replay"
)

// How much waits to be written, how long a run waits where no more may, how long
// records and tapes are gathered for one transaction, and for how long what is written
// may be lost with the power. Tapes take longer: to pack several at once is much
// cheaper, and who loses one misses no more than a replay.
const (
	queued     = 1024
	queueBytes = 16 << 20 // of records
	tapesWait  = 512
	tapesBytes = 16 << 20 // of them
	patience   = 50 * time.Millisecond
	gathering  = 50 * time.Millisecond
	collecting = 250 * time.Millisecond
	maxBatch   = 512
	batchBytes = 4 << 20 // of records
	batchTapes = 4 << 20 // of tapes
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

	mu      sync.Mutex
	waiting []item
	queued  int // bytes of them
	tapes   []*replay.PendingTape
	bytes   int           // of tapes that wait
	since   time.Time     // when the first of them came
	left    int           // tapes that were dropped
	due     *time.Timer   // wakes the goroutine, which no run does by itself
	now     chan struct{} // wakes it at once
	room    chan struct{} // is closed when there is some
	flushes []chan struct{}
	closed  bool

	// The goroutine's own.
	noted  map[string]bool // runs under way whose start is written
	pack   replay.Packer
	synced time.Time // when all that was written was safe from a loss of power
	fresh  bool      // something was written since
}

// item is the record of a run that has begun, or has ended.
type item struct {
	record *journal.Record
	begun  bool
}

// callSize is about how much a call in a record takes besides its texts.
const callSize = 256

// size is about how many bytes a record takes while it waits.
func (i *item) size() int {
	n := 2<<10 + len(i.record.Code) + len(i.record.Message)
	for c := range i.record.Trail {
		n += callSize + len(i.record.Trail[c].Position)
	}
	for c := range i.record.Images {
		n += i.record.Images[c].Size()
	}
	return n
}

// batchLoad is what is written at once, with those who wait for it.
type batchLoad struct {
	items   []item
	tapes   []*replay.PendingTape
	bytes   int
	flushes []chan struct{}
	left    int  // tapes that were dropped before
	more    bool // waits already
	last    bool
}

var _ journal.Sink = (*Writer)(nil)

// NewWriter starts a writer. open returns the journal, and is called until it does;
// idle is called beside the writing, at the start, at each beat, and after Tidy.
func NewWriter(open func(ctx context.Context) (*Journal, error), beat time.Duration, idle func(ctx context.Context, j *Journal), log *slog.Logger) *Writer {
	w := &Writer{
		open: open, log: log, beat: beat, idle: idle, tidy: make(chan struct{}, 1), noted: map[string]bool{},
		due: time.NewTimer(time.Hour), now: make(chan struct{}, 1), room: make(chan struct{}),
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

// Take has a tape written. It is left out where too much waits.
func (w *Writer) Take(t *replay.PendingTape) {
	w.mu.Lock()
	defer w.mu.Unlock()
	switch {
	case w.closed:
	case len(w.tapes) >= tapesWait || w.bytes+t.Size() > tapesBytes:
		w.left++
	default:
		if len(w.tapes) == 0 {
			w.since = time.Now()
			if len(w.waiting) == 0 {
				w.due.Reset(collecting)
			}
		}
		w.tapes, w.bytes = append(w.tapes, t), w.bytes+t.Size()
		if w.bytes >= batchTapes {
			w.wake()
		}
	}
}

// wake has the goroutine write what waits.
func (w *Writer) wake() {
	select {
	case w.now <- struct{}{}:
	default: // it will
	}
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
	var patient <-chan time.Time
	for {
		ok, room := w.queue(i)
		if room == nil {
			return ok
		}
		if patient == nil {
			patient = time.After(patience)
		}
		select {
		case <-room:
		case <-patient:
			return false
		}
	}
}

// queue queues an item, or returns a channel that is closed when there is room.
func (w *Writer) queue(i item) (ok bool, room <-chan struct{}) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.closed {
		return false, nil
	}
	size := i.size()
	if len(w.waiting) >= queued || len(w.waiting) > 0 && w.queued+size > queueBytes {
		return false, w.room
	}
	if len(w.waiting) == 0 {
		w.due.Reset(gathering)
	}
	w.waiting, w.queued = append(w.waiting, i), w.queued+size
	if len(w.waiting) == maxBatch || w.queued >= batchBytes && w.queued-size < batchBytes {
		w.wake()
	}
	return true, nil
}

// Flush waits until what was put before is written, or ctx is over.
func (w *Writer) Flush(ctx context.Context) {
	done := make(chan struct{})
	w.mu.Lock()
	if w.closed {
		w.mu.Unlock()
		return
	}
	w.flushes = append(w.flushes, done)
	w.wake()
	w.mu.Unlock()
	select {
	case <-done:
	case <-ctx.Done():
	}
}

// Close writes what is queued, within ctx, and ends the writer. The journal says
// goodbye and is closed.
func (w *Writer) Close(ctx context.Context) {
	w.mu.Lock()
	w.closed = true
	w.wake()
	w.mu.Unlock()
	stop := context.AfterFunc(ctx, w.cancel)
	defer stop()
	w.ended.Wait()
	w.cancel()
}

// take takes what is to be written at once: the records, and the tapes where they
// have waited long enough. Those who flush wait for all that was there.
func (w *Writer) take() (l batchLoad) {
	w.mu.Lock()
	defer w.mu.Unlock()
	n, size := 0, 0
	for n < min(len(w.waiting), maxBatch) && size < batchBytes {
		size += w.waiting[n].size()
		n++
	}
	w.queued -= size
	l.items, w.waiting = slices.Clone(w.waiting[:n]), slices.Delete(w.waiting, 0, n)
	if w.closed || len(w.flushes) > 0 || w.bytes >= batchTapes || len(w.tapes) > 0 && time.Since(w.since) >= collecting {
		taken := 0
		for taken < len(w.tapes) && l.bytes < batchTapes {
			l.bytes += w.tapes[taken].Size()
			taken++
		}
		// A copy: what the queue has given away it must not hold, and a tape holds all of its run.
		l.tapes, w.tapes = slices.Clone(w.tapes[:taken]), slices.Delete(w.tapes, 0, taken)
	}
	l.left, w.left = w.left, 0
	l.more = len(w.waiting) > 0 || len(l.tapes) > 0 && len(w.tapes) > 0
	if !l.more {
		l.flushes, w.flushes = w.flushes, nil
		if len(w.tapes) > 0 {
			w.due.Reset(collecting - time.Since(w.since))
		}
	}
	l.last = w.closed && !l.more
	close(w.room)
	w.room = make(chan struct{})
	return l
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

// isClosing reports whether the writer is being closed.
func (w *Writer) isClosing() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.closed
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
	w.mu.Lock()
	w.bytes -= l.bytes
	w.mu.Unlock()
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
