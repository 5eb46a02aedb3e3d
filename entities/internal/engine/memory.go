package engine

import (
	"context"

	"github.com/koan-go/koan/entities/internal/changes"
	"github.com/koan-go/koan/entities/internal/model"
	"github.com/koan-go/koan/entities/internal/read"
)

// What the host keeps of a run's writes, in bytes, until its changes are known:
// estimates of the structures of package changes.
const (
	// writeBytes is for a write to a row: the write itself, what became of the row, its change.
	writeBytes = 224
	// beforeBytes is for a row in a run that records, besides its images.
	beforeBytes = 640
	// linkBytes is for a link of a many-to-many edge, which both of its sides know.
	linkBytes = 640
	// keyBytes is for an id that is read.
	keyBytes = 64
)

// holdWrites counts writes to so many rows before they are recorded.
func (t *tx) holdWrites(n int) error {
	each := writeBytes
	if t.attempt.Records() {
		each += beforeBytes
	}
	return t.attempt.Hold(n * each)
}

// releaseWrites releases the memory counted for writes that a savepoint has undone.
func (t *tx) releaseWrites(n int) { t.attempt.Release(n * writeBytes) }

// holdUntilCallEnds counts memory that is kept until the call ends.
func (t *tx) holdUntilCallEnds(n int) error {
	if err := t.attempt.Hold(n); err != nil {
		return err
	}
	t.passing += n
	return nil
}

// holdKey is holdUntilCallEnds for an id that was read. It fails when the context is
// done.
func (t *tx) holdKey(ctx context.Context) read.Admit {
	return func() error {
		if err := ctx.Err(); err != nil {
			return err
		}
		return t.holdUntilCallEnds(keyBytes)
	}
}

// passed releases what a call has counted with holdUntilCallEnds; before is what was
// counted by the calls around it.
func (t *tx) passed(before int) {
	t.attempt.Release(t.passing - before)
	t.passing = before
}

// holdImage counts, if the run records, that a written row takes n bytes now, so that a
// run which cannot keep its changes ends before it has made all of them.
func (t *tx) holdImage(k *model.Kind, id any, n int) error {
	if !t.attempt.Records() {
		return nil
	}
	at := changes.RowOf(k, id)
	b, known := t.log.Before(at)
	if !known {
		return nil
	}
	if err := t.attempt.Hold(max(n-b.Ahead, 0)); err != nil {
		return err
	}
	if b.Ahead > n {
		t.attempt.Release(b.Ahead - n)
	}
	t.ahead += n - b.Ahead
	b.Ahead = n
	t.log.SetBefore(at, b)
	return nil
}
