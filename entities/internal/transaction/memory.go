package transaction

import (
	"context"

	"github.com/koan-go/koan/entities/internal/read"
	"github.com/koan-go/koan/framework/run/store"
)

// KeyBytes is for an id that is read.
const KeyBytes = 64

// Memory counts what the host keeps for a transaction's run.
type Memory struct {
	Attempt store.Attempt
	Passing int // bytes that are counted for the call that is being served
}

// HoldUntilCallEnds counts memory that is kept until the call ends.
func (t *Memory) HoldUntilCallEnds(n int) error {
	if err := t.Attempt.Hold(n); err != nil {
		return err
	}
	t.Passing += n
	return nil
}

// HoldKey is holdUntilCallEnds for an id that was read. It fails when the context is
// done.
func (t *Memory) HoldKey(ctx context.Context) read.Admit {
	return func() error {
		if err := ctx.Err(); err != nil {
			return err
		}
		return t.HoldUntilCallEnds(KeyBytes)
	}
}

// Passed releases what a call has counted with holdUntilCallEnds; before is what was
// counted by the calls around it.
func (t *Memory) Passed(before int) {
	t.Attempt.Release(t.Passing - before)
	t.Passing = before
}
