package engine

import (
	"context"
	"sync/atomic"

	"github.com/koan-go/koan/entities/internal/account"
	"github.com/koan-go/koan/entities/internal/changelog"
	"github.com/koan-go/koan/entities/internal/model"
	"github.com/koan-go/koan/entities/internal/transaction"
	"github.com/koan-go/koan/framework/catalog"
	"github.com/koan-go/koan/framework/database"
	"github.com/koan-go/koan/framework/ledger"
	"github.com/koan-go/koan/framework/run/follow"
	"github.com/koan-go/koan/framework/run/store"
)

// logsChanges reports whether sets have a change log: those of an app that opens its databases
// itself have one where the app wants it.
func (e *Engine) logsChanges() bool { return e.way != nil || e.Log.InData }

// writeReceipt keeps the receipt of a commit, and what it changed where the set has a change log.
func (t *tx) writeReceipt(ctx context.Context, r store.Receipt) error {
	if t.engine.Commits != nil {
		return t.engine.Commits.Intend(ctx, r)
	}
	if !t.engine.logsChanges() {
		return ledger.Write(ctx, t.Backend.Dialect(), t.SQL, r)
	}
	return t.engine.Log.Write(ctx, t.SQL, r, t.Logged, !t.Attempt.KeepsImages())
}

// logData is what the change log asks of the engine that serves now.
type logData struct{ engine atomic.Pointer[Engine] }

var _ changelog.Data = (*logData)(nil)

// Backend implements changelog.Data.
func (d *logData) Backend() database.Backend { return d.engine.Load().data.Backend }

// Seen implements changelog.Data.
func (d *logData) Seen(v *catalog.View) *model.Model {
	return d.engine.Load().As(v.At(catalog.SurfaceREST))
}

// ReadPast implements changelog.Data.
func (d *logData) ReadPast(ctx context.Context, set string, r follow.Reader, fn func(context.Context, account.PastView) error) error {
	e := d.engine.Load()
	t := e.newTx(transaction.NewReading(), set)
	db, client, release, err := e.data.Backend.Use(ctx, set)
	if err == nil {
		err = t.Begin(ctx, db, client, release, false)
	}
	if err != nil {
		return err
	}
	defer func() { _ = t.Rollback(context.WithoutCancel(ctx)) }()
	t.caller = e.rules.OfFollower(ctx, t.Tx, r.View, r.Principal)
	if e.rules.Viewer != nil {
		if ctx, err = t.caller.Context(); err != nil {
			return err
		}
	}
	return t.Verdict(fn(ctx, account.PastView{Tx: t.Tx, Tables: t.Tables, By: t.caller}))
}
