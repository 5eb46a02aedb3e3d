package ledger

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/koan-go/koan/framework/journal"
	"github.com/koan-go/koan/framework/run/replay"
)

// How much waits to be written, how long a run waits where no more may, and how long
// records and tapes are gathered for one transaction. Tapes take longer: to pack several at
// once is much cheaper, and who loses one misses no more than a replay.
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
)

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
	return n + i.record.Images.Size()
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

// queue is what waits to be written.
type queue struct {
	mu      sync.Mutex
	waiting []item
	size    int // bytes of them
	tapes   tapeQueue
	due     *time.Timer   // wakes the writer, which no run does by itself
	now     chan struct{} // wakes it at once
	room    chan struct{} // is closed when there is some
	flushes []chan struct{}
	closed  bool
}

// tapeQueue are the tapes of a queue, under its lock.
type tapeQueue struct {
	waiting []*replay.PendingTape
	bytes   int       // of those that are not packed yet
	since   time.Time // when the first of them came
	left    int       // that were dropped
}

// Take has a tape written. It is left out where too much waits.
func (q *queue) Take(t *replay.PendingTape) {
	q.mu.Lock()
	defer q.mu.Unlock()
	switch {
	case q.closed:
	case len(q.tapes.waiting) >= tapesWait || q.tapes.bytes+t.Size() > tapesBytes:
		q.tapes.left++
	default:
		if len(q.tapes.waiting) == 0 {
			q.tapes.since = time.Now()
			if len(q.waiting) == 0 {
				q.due.Reset(collecting)
			}
		}
		q.tapes.waiting, q.tapes.bytes = append(q.tapes.waiting, t), q.tapes.bytes+t.Size()
		if q.tapes.bytes >= batchTapes {
			q.wake()
		}
	}
}

// wake has the goroutine write what waits.
func (q *queue) wake() {
	select {
	case q.now <- struct{}{}:
	default: // it will
	}
}

// put queues an item, and waits a little where the queue is full.
func (q *queue) put(i item) bool {
	var patient <-chan time.Time
	for {
		ok, room := q.add(i)
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

// add queues an item, or returns a channel that is closed when there is room.
func (q *queue) add(i item) (ok bool, room <-chan struct{}) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.closed {
		return false, nil
	}
	size := i.size()
	if len(q.waiting) >= queued || len(q.waiting) > 0 && q.size+size > queueBytes {
		return false, q.room
	}
	if len(q.waiting) == 0 {
		q.due.Reset(gathering)
	}
	q.waiting, q.size = append(q.waiting, i), q.size+size
	if len(q.waiting) == maxBatch || q.size >= batchBytes && q.size-size < batchBytes {
		q.wake()
	}
	return true, nil
}

// Flush waits until what was put before is written, or ctx is over.
func (q *queue) Flush(ctx context.Context) {
	done := make(chan struct{})
	q.mu.Lock()
	if q.closed {
		q.mu.Unlock()
		return
	}
	q.flushes = append(q.flushes, done)
	q.wake()
	q.mu.Unlock()
	select {
	case <-done:
	case <-ctx.Done():
	}
}

// take takes what is to be written at once: the records, and the tapes where they
// have waited long enough. Those who flush wait for all that was there.
func (q *queue) take() (l batchLoad) {
	q.mu.Lock()
	defer q.mu.Unlock()
	n, size := 0, 0
	for n < min(len(q.waiting), maxBatch) && size < batchBytes {
		size += q.waiting[n].size()
		n++
	}
	q.size -= size
	l.items, q.waiting = slices.Clone(q.waiting[:n]), slices.Delete(q.waiting, 0, n)
	if q.closed || len(q.flushes) > 0 || q.tapes.bytes >= batchTapes || len(q.tapes.waiting) > 0 && time.Since(q.tapes.since) >= collecting {
		taken := 0
		for taken < len(q.tapes.waiting) && l.bytes < batchTapes {
			l.bytes += q.tapes.waiting[taken].Size()
			taken++
		}
		// A copy: what the queue has given away it must not hold, and a tape holds all of its run.
		l.tapes, q.tapes.waiting = slices.Clone(q.tapes.waiting[:taken]), slices.Delete(q.tapes.waiting, 0, taken)
	}
	l.left, q.tapes.left = q.tapes.left, 0
	l.more = len(q.waiting) > 0 || len(l.tapes) > 0 && len(q.tapes.waiting) > 0
	if !l.more {
		l.flushes, q.flushes = q.flushes, nil
		if len(q.tapes.waiting) > 0 {
			q.due.Reset(collecting - time.Since(q.tapes.since))
		}
	}
	l.last = q.closed && !l.more
	close(q.room)
	q.room = make(chan struct{})
	return l
}

// isClosing reports whether the writer is being closed.
func (q *queue) isClosing() bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.closed
}

// packed counts the bytes of tapes that wait no longer.
func (q *queue) packed(bytes int) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.tapes.bytes -= bytes
}

// close refuses what comes later, and has what waits written.
func (q *queue) close() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.closed = true
	q.wake()
}
