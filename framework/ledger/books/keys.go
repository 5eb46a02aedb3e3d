package books

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"sync"
	"time"

	"github.com/koan-go/koan/framework/database"
	"github.com/koan-go/koan/framework/fault"
	"github.com/koan-go/koan/framework/ledger"
	"github.com/koan-go/koan/framework/run/once"
	"github.com/koan-go/koan/framework/run/store"
)

// Keys is the ledger of runs with an idempotency key, over the app's own tables
// and the receipts of its sets. The tables are made when the first key comes.
type Keys struct {
	data    store.Store
	backend database.Backend // of the data
	owner   database.Owner
	commits *ledger.Commits // nil where data and receipts are committed together
	log     *slog.Logger

	mu      sync.Mutex
	opened  *ledger.Keys
	tidied  time.Time
	stop    context.CancelFunc // of tidying up
	tidying sync.WaitGroup
}

var _ once.Ledger = (*Keys)(nil)

// open opens the tables at their first use.
func (k *Keys) open(ctx context.Context) (*ledger.Keys, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.opened != nil {
		return k.opened, nil
	}
	d := k.owner.Dialect()
	db, err := k.owner.Own(ctx, slices.Concat(ledger.KeyTables(d), ledger.PlanTables(d), ledger.GrantTables(), ledger.SecretTables(), ledger.SignInTables()))
	if err != nil {
		return nil, k.fault(err)
	}
	k.opened = ledger.NewKeys(db, d)
	return k.opened, nil
}

// close closes the tables, if they were ever opened.
func (k *Keys) close() error {
	k.mu.Lock()
	if k.stop != nil {
		k.stop()
	}
	k.mu.Unlock()
	k.tidying.Wait()
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.opened == nil {
		return nil
	}
	return k.opened.Close()
}

// Keeps implements once.Ledger.
func (k *Keys) Keeps(s store.Store) bool {
	if c, ok := s.(store.Continued); ok {
		s = c.Origin()
	}
	return s == k.data
}

// fault is what an error of the tables means: a fault where the database failed.
func (k *Keys) fault(err error) error { return database.Fault(k.owner, database.Ledger, err) }

// Claim implements once.Ledger.
func (k *Keys) Claim(ctx context.Context, c once.Claim) (standing once.Standing, err error) {
	err = k.with(ctx, func(l *ledger.Keys) error {
		if err := k.forget(ctx, l, c.Retention, 1, &c); err != nil {
			return err
		}
		k.forgetOldSometimes(l, c.Retention)
		if standing, err = l.Claim(ctx, c); err != nil || standing.State != once.Ended {
			return err
		}
		lost, err := k.reopenLost(ctx, l, standing.Run, standing.Sets, standing.Receipts)
		if err == nil && lost {
			standing, err = l.Claim(ctx, c)
		}
		return err
	})
	return standing, err
}

// reopenLost has a run that ended with so many receipts be one that was cut off, where its sets
// have fewer now: a loss of power took them, or a backup from before has been restored.
func (k *Keys) reopenLost(ctx context.Context, l *ledger.Keys, run string, sets []string, receipts int) (lost bool, err error) {
	if receipts == 0 {
		return false, nil
	}
	found, err := k.Receipts(ctx, run, sets)
	if fault.CodeOf(err) == fault.OutcomeUnknown {
		return false, nil
	}
	if err != nil || len(found) >= receipts {
		return false, err
	}
	k.log.WarnContext(ctx, "the data has lost what a run committed; its key can be used again", "run", run, "sets", sets)
	return true, l.Reopen(ctx, run)
}

// How often runs are looked for that are older than the retention, and how many
// are forgotten at once.
const (
	tidyEvery = 10 * time.Minute
	tidyMost  = 200
)

// forgetOldSometimes removes what is older than the retention, now and then, in the
// background.
func (k *Keys) forgetOldSometimes(l *ledger.Keys, retention time.Duration) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if time.Since(k.tidied) < tidyEvery {
		return
	}
	if k.stop != nil {
		k.stop()
	}
	k.tidied = time.Now()
	ctx, stop := context.WithCancel(context.Background())
	k.stop = stop
	k.tidying.Go(func() {
		if err := k.forget(ctx, l, retention, tidyMost, nil); err != nil && ctx.Err() == nil {
			k.log.WarnContext(ctx, "expired results of runs could not be removed", "error", err)
		}
	})
}

// forget removes runs that nobody has touched for the retention: first what their sets
// keep of them, so that no reply is left without a key.
func (k *Keys) forget(ctx context.Context, l *ledger.Keys, retention time.Duration, most int, only *once.Claim) error {
	stale, err := l.Stale(ctx, retention, most, only)
	if err != nil {
		return err
	}
	for _, s := range stale {
		for _, set := range s.Sets {
			if err := k.forgetReply(ctx, set, s.Run); err != nil {
				return err
			}
		}
		if err := l.Forget(ctx, s.Run, retention); err != nil {
			return err
		}
	}
	return nil
}

// forgetReply takes a reply out of a set, waiting for its turn like every writer.
func (k *Keys) forgetReply(ctx context.Context, set, id string) error {
	d, gone, release, err := k.use(ctx, set)
	if err != nil || gone {
		return err
	}
	defer release()
	tx, err := d.Begin(ctx, nil, true)
	if err != nil {
		return err
	}
	if err := ledger.ForgetReply(ctx, k.backend.Dialect(), tx, id); err != nil {
		_ = tx.Rollback(context.WithoutCancel(ctx))
		return err
	}
	return tx.Commit(ctx)
}

// use returns a set that was written to once. gone reports that it does not exist any
// more: looking for a receipt makes no set.
func (k *Keys) use(ctx context.Context, set string) (d database.Database, gone bool, release func(), err error) {
	there, err := database.Has(ctx, k.backend, set)
	if err != nil {
		return nil, false, nil, err
	}
	if !there {
		return nil, true, nil, nil
	}
	d, _, release, err = k.backend.Use(ctx, set)
	return d, false, release, err
}

// Renew implements once.Ledger.
func (k *Keys) Renew(ctx context.Context, h once.Hold) error {
	return k.with(ctx, func(l *ledger.Keys) error { return l.Renew(ctx, h) })
}

// Intend implements once.Ledger.
func (k *Keys) Intend(ctx context.Context, h once.Hold, i once.Intent) error {
	return k.with(ctx, func(l *ledger.Keys) error { return l.Intend(ctx, h, i) })
}

// Settle implements once.Ledger.
func (k *Keys) Settle(ctx context.Context, h once.Hold, i once.Intent) error {
	return k.with(ctx, func(l *ledger.Keys) error { return l.Settle(ctx, h, i) })
}

// Commits implements once.Ledger.
func (k *Keys) Commits(ctx context.Context, h once.Hold, sets, scope []string) error {
	return k.with(ctx, func(l *ledger.Keys) error { return l.Commits(ctx, h, sets, scope) })
}

// End implements once.Ledger.
func (k *Keys) End(ctx context.Context, h once.Hold, e once.Ending) error {
	return k.with(ctx, func(l *ledger.Keys) error { return l.End(ctx, h, e) })
}

func (k *Keys) with(ctx context.Context, fn func(*ledger.Keys) error) error {
	l, err := k.open(ctx)
	if err != nil {
		return err
	}
	return k.fault(fn(l))
}

// Receipts implements once.Ledger. A set that is not there any more has none.
func (k *Keys) Receipts(ctx context.Context, id string, sets []string) ([]store.Receipt, error) {
	if k.commits != nil {
		switch open, err := k.commits.Unsettled(ctx, id); {
		case err != nil:
			return nil, k.fault(err)
		case len(open) > 0:
			return nil, ledger.UnknownOutcome(open[0])
		}
	}
	var out []store.Receipt
	for _, set := range sets {
		d, gone, release, err := k.use(ctx, set)
		if err != nil {
			return nil, err
		}
		if gone {
			continue
		}
		found, err := k.receipts(ctx, d, id)
		release()
		if err != nil {
			var known *fault.Fault
			if err = database.Fault(k.backend, set, err); errors.As(err, &known) {
				return nil, err
			}
			return nil, fault.New(fault.ServiceUnavailable, "the receipts of the set "+set+" cannot be read").Because(err)
		}
		out = append(out, found...)
	}
	return out, nil
}

// receipts returns the receipts of a run in one set, the reply with the first.
func (k *Keys) receipts(ctx context.Context, d database.Database, id string) ([]store.Receipt, error) {
	found, err := ledger.Receipts(ctx, k.backend.Dialect(), d.DB(), id)
	if err != nil || len(found) == 0 {
		return nil, err
	}
	found[0].Reply, err = ledger.Reply(ctx, k.backend.Dialect(), d.DB(), id)
	return found, err
}
