package engine

import (
	"context"

	"github.com/koan-go/koan/framework/fault"
	"github.com/koan-go/koan/framework/run/store"
)

// Commits keeps the receipts of commits apart from the data. It is called by the goroutine that commits.
type Commits interface {
	// Intend is called when all of a commit is written, before the database is asked to commit. An error
	// keeps it from that.
	Intend(ctx context.Context, r store.Receipt) error
	// Settle is called once it is known whether the database has committed; where that is never known, it
	// is not called.
	Settle(ctx context.Context, r store.Receipt, committed bool) error
}

// settle says how a commit ended that was intended, and returns its error. What the database has committed
// stays so, whatever becomes of the receipt.
func (t *tx) settle(ctx context.Context, r store.Receipt, err error) error {
	if t.engine.Commits == nil || !t.Touched || fault.CodeOf(err) == fault.OutcomeUnknown {
		return err
	}
	if failed := t.engine.Commits.Settle(context.WithoutCancel(ctx), r, err == nil); failed != nil {
		t.engine.Log.Logger.ErrorContext(ctx, "the ledger could not be told how a commit ended", "set", t.Set, "run", r.Run, "committed", err == nil, "error", failed)
	}
	return err
}
