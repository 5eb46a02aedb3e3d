// Package account is what a transaction has changed: its writes in their order, what it found of rows and
// links before the first one (History), which of them nobody could read (Weighing), and from these the
// changes that a run reports, the images that an undo needs, and what the change log keeps.
//
// What belongs here: the account, and what it reads to complete itself. Not here: a decision who may
// see what, which it asks a view of package rules for, and carrying out operations.
package account

import (
	"context"

	"github.com/koan-go/koan/entities/internal/changes"
	"github.com/koan-go/koan/entities/internal/model"
	"github.com/koan-go/koan/entities/internal/rules"
	"github.com/koan-go/koan/entities/internal/transaction"
	"github.com/koan-go/koan/framework/ledger"
	"github.com/koan-go/koan/framework/run"
	"github.com/koan-go/koan/framework/run/store"
)

// Account is what a transaction has changed.
type Account struct {
	*transaction.Tx
	Tables     Tables
	Log        changes.Log
	Past       History // for an undo
	Weighing   Weighing
	ReportedTo *rules.View // of who gets what the run reports; nil before the first call
	Touched    bool        // something was written, exposed or not
	ahead      int         // bytes that are counted for what rows become, where the run records

	logs         bool           // the set has a change log
	Logged       ledger.Changes // for it
	irreversible string         // why an undo could not restore all of it, as of Images
}

// New returns the account of a transaction in which nothing has been written.
func New(t *transaction.Tx, tables Tables, logs bool) *Account {
	a := &Account{Tx: t, Tables: tables, logs: logs}
	a.Past = History{Tx: t, tables: tables, log: &a.Log}
	a.Weighing = Weighing{Tx: t, tables: tables, log: &a.Log, past: &a.Past}
	return a
}

// Savepoint implements store.Tx. Rolling back forgets the writes since.
func (t *Account) Savepoint(ctx context.Context, read bool) (func(ok bool) error, error) {
	end, err := t.SQL.Savepoint(ctx, read)
	if err != nil {
		return nil, t.Verdict(err)
	}
	mark, touched, unnamed := t.Log.Len(), t.Touched, t.Past.Unnamed
	dropAfter := run.RollBackAfterCommit(ctx)
	return func(ok bool) error {
		if !ok {
			t.Undo(mark)
			dropAfter()
			t.Touched, t.Past.Unnamed = touched, unnamed
		}
		return t.Verdict(end(ok))
	}, nil
}

// Undo takes back the writes since mark.
func (t *Account) Undo(mark int) {
	t.ReleaseWrites(t.Log.Len() - mark)
	t.Log.Undo(mark)
}

// RecordCreated records a row that was created.
func (t *Account) RecordCreated(k *model.Kind, id any) {
	t.Touched = true
	t.Log.Begin(changes.Write{Kind: k, ID: id, Action: store.Create})
	t.Past.KeepCreated(k, id)
	if !t.Attempt.Records() {
		return
	}
	at := changes.RowOf(k, id)
	if _, known := t.Log.Before(at); !known {
		t.Log.SetBefore(at, changes.Before{})
	}
}

// RecordUpdated records a row that was changed.
func (t *Account) RecordUpdated(k *model.Kind, id any) {
	t.Touched = true
	t.Log.Begin(changes.Write{Kind: k, ID: id, Action: store.Update})
}
