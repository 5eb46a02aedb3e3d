package engine

import (
	"context"

	"github.com/koan-go/koan/entities/internal/changes"
	"github.com/koan-go/koan/entities/internal/rules"
	"github.com/koan-go/koan/entities/internal/transaction"
	"github.com/koan-go/koan/framework/ledger"
	"github.com/koan-go/koan/framework/run"
)

// account is what a transaction has changed.
type account struct {
	*transaction.Tx
	tables   tables
	log      changes.Log
	past     history // for an undo
	weighing weighing
	reader   *rules.View // of who gets what the run reports; nil before the first call
	touched  bool        // something was written, exposed or not
	ahead    int         // bytes that are counted for what rows become, where the run records

	logs         bool           // the set has a change log
	logged       ledger.Changes // for it
	irreversible string         // why an undo could not restore all of it, as of Images
}

// newAccount returns the account of a transaction in which nothing has been written.
func newAccount(t *transaction.Tx, tables tables, logs bool) *account {
	a := &account{Tx: t, tables: tables, logs: logs}
	a.past = history{Tx: t, tables: tables, log: &a.log}
	a.weighing = weighing{Tx: t, tables: tables, log: &a.log, past: &a.past}
	return a
}

// Savepoint implements store.Tx. Rolling back forgets the writes since.
func (t *account) Savepoint(ctx context.Context, read bool) (func(ok bool) error, error) {
	end, err := t.SQL.Savepoint(ctx, read)
	if err != nil {
		return nil, t.Verdict(err)
	}
	mark, touched, unnamed := t.log.Len(), t.touched, t.past.unnamed
	dropAfter := run.RollBackAfterCommit(ctx)
	return func(ok bool) error {
		if !ok {
			t.undo(mark)
			dropAfter()
			t.touched, t.past.unnamed = touched, unnamed
		}
		return t.Verdict(end(ok))
	}, nil
}

// undo takes back the writes since mark.
func (t *account) undo(mark int) {
	t.releaseWrites(t.log.Len() - mark)
	t.log.Undo(mark)
}
