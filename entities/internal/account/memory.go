package account

import (
	"github.com/koan-go/koan/entities/internal/changes"
	"github.com/koan-go/koan/entities/internal/model"
)

// What the host keeps of a run's writes, in bytes, until its changes are known:
// estimates of the structures of package changes.
const (
	// writeBytes is for a write to a row: the write itself, what became of the row, its change.
	writeBytes = 224
	// beforeBytes is for a row in a run that records, besides its images.
	beforeBytes = 640
	// listBytes is for a row whose links are known from one side, besides them.
	listBytes = 112
	// linkBytes is for a link of a many-to-many edge, which both of its sides know.
	linkBytes = 640
)

// HoldWrites counts writes to so many rows before they are recorded.
func (t *Account) HoldWrites(n int) error {
	each := writeBytes
	if t.Attempt.Records() {
		each += beforeBytes
	}
	return t.Attempt.Hold(n * each)
}

// ReleaseWrites releases the memory counted for writes that a savepoint has undone.
func (t *Account) ReleaseWrites(n int) { t.Attempt.Release(n * writeBytes) }

// HoldImage counts, if the run records, that a written row takes n bytes now, so that a
// run which cannot keep its changes ends before it has made all of them.
func (t *Account) HoldImage(k *model.Kind, id any, n int) error {
	if !t.Attempt.Records() {
		return nil
	}
	at := changes.RowOf(k, id)
	b, known := t.Log.Before(at)
	if !known {
		return nil
	}
	if err := t.Attempt.Hold(max(n-b.Ahead, 0)); err != nil {
		return err
	}
	if b.Ahead > n {
		t.Attempt.Release(b.Ahead - n)
	}
	t.ahead += n - b.Ahead
	b.Ahead = n
	t.Log.SetBefore(at, b)
	return nil
}
