package engine

import (
	"context"

	"github.com/koan-go/koan/entities/internal/read"
	"github.com/koan-go/koan/framework/run/store"
)

// keyBytes is for an id that is read.
const keyBytes = 64

// memory counts what the host keeps for a transaction's run.
type memory struct {
	attempt store.Attempt
	passing int // bytes that are counted for the call that is being served
}

// holdUntilCallEnds counts memory that is kept until the call ends.
func (t *memory) holdUntilCallEnds(n int) error {
	if err := t.attempt.Hold(n); err != nil {
		return err
	}
	t.passing += n
	return nil
}

// holdKey is holdUntilCallEnds for an id that was read. It fails when the context is
// done.
func (t *memory) holdKey(ctx context.Context) read.Admit {
	return func() error {
		if err := ctx.Err(); err != nil {
			return err
		}
		return t.holdUntilCallEnds(keyBytes)
	}
}

// passed releases what a call has counted with holdUntilCallEnds; before is what was
// counted by the calls around it.
func (t *memory) passed(before int) {
	t.attempt.Release(t.passing - before)
	t.passing = before
}
