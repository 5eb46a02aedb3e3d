package entities

import (
	"context"
	"errors"
	"fmt"
	"log/slog"

	"entgo.io/ent/dialect"
	entsql "entgo.io/ent/dialect/sql"
	"github.com/google/uuid"

	"github.com/koan-go/koan/entities/internal/engine"
	"github.com/koan-go/koan/framework/catalog"
	"github.com/koan-go/koan/framework/database"
	"github.com/koan-go/koan/framework/database/appdb"
	"github.com/koan-go/koan/framework/fault"
	"github.com/koan-go/koan/framework/ledger"
	"github.com/koan-go/koan/framework/run/store"
)

// A database that belongs to another program gets no table and no lasting setting of the system, unless
// the setting ledger.inData asks for it. What else would be written in the transaction of a commit
// stands in the ledger then: as an intent before the commit, as a receipt after it.

// intents keeps the receipts of such a database.
type intents struct {
	commits  *ledger.Commits
	receipts *appdb.Sets // as those see them who look for the receipts of a set
	log      *slog.Logger
}

var _ engine.Commits = (*intents)(nil)

// openIntents opens the tables in the ledger, and names the commits of which nobody knows whether they
// happened.
func openIntents(ctx context.Context, host catalog.Host, owner database.Owner, set string) (*intents, error) {
	db, err := owner.Own(ctx, ledger.CommitTables)
	if err != nil {
		return nil, database.Fault(owner, database.Ledger, err)
	}
	i := &intents{commits: ledger.NewCommits(db, owner.Dialect(), uuid.NewString()), log: host.Log()}
	open := func(ctx context.Context, name string) (dialect.Driver, error) {
		if name != set {
			return nil, fault.Newf(fault.UnknownSet, "there is no set %q", name)
		}
		own, err := owner.Own(ctx, nil) // who holds a connection of it never waits for a commit
		if err != nil {
			return nil, err
		}
		return entsql.OpenDB(owner.Dialect().Name(), own), nil
	}
	nothing := func(context.Context, dialect.Driver) error { return nil }
	i.receipts, err = appdb.New(ctx, open, set, database.Schema{Attach: func(database.Database) (any, error) { return nil, nil }}, nothing)
	if err != nil {
		return nil, errors.Join(err, i.commits.Close())
	}
	if err := i.report(ctx); err != nil {
		return nil, errors.Join(err, i.close())
	}
	return i, nil
}

func (i *intents) close() error { return errors.Join(i.receipts.Close(), i.commits.Close()) }

// report names in the log what earlier processes have left open.
func (i *intents) report(ctx context.Context) error {
	open, err := i.commits.Unsettled(ctx, "")
	for _, u := range open {
		i.log.WarnContext(ctx, ledger.UnknownOutcome(u).Message, "code", fault.OutcomeUnknown, "run", u.Run, "idempotencyKey", u.IdempotencyKey, "subject", u.Subject, "at", u.At)
	}
	return err
}

// Intend implements engine.Commits.
func (i *intents) Intend(ctx context.Context, r store.Receipt) error { return i.commits.Intend(ctx, r) }

// Settle implements engine.Commits.
func (i *intents) Settle(ctx context.Context, r store.Receipt, committed bool) error {
	if committed {
		return i.commits.Settle(ctx, r)
	}
	return i.commits.Withdraw(ctx, r)
}

// check is the line of `doctor`.
func (i *intents) check(ctx context.Context) catalog.Check {
	out := catalog.Check{Name: "commits"}
	open, err := i.commits.Unsettled(ctx, "")
	switch {
	case err != nil:
		out.Detail, out.Hint = err.Error(), "Check that the ledger can be read."
	case len(open) > 0:
		f := ledger.UnknownOutcome(open[0])
		out.Detail, out.Hint = fmt.Sprintf("%d with an unknown outcome: %s", len(open), f.Message), f.Hint
	default:
		out.OK, out.Detail = true, "none with an unknown outcome"
	}
	return out
}
