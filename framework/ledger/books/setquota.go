package books

import (
	"context"
	"log/slog"
	"slices"
	"sync"

	"github.com/koan-go/koan/framework/auth"
	"github.com/koan-go/koan/framework/catalog"
	"github.com/koan-go/koan/framework/database"
	"github.com/koan-go/koan/framework/fault"
	"github.com/koan-go/koan/framework/ledger"
)

// SettingSets is the key of the bound of SetQuota.
const SettingSets = "sets.perCaller"

// SetSettings are those of SetQuota.
func SetSettings() []catalog.Setting {
	return []catalog.Setting{{
		Key: SettingSets, Default: 1000, Min: 0, Max: 10_000_000,
		Help: "sets that one caller may create by writing to them; 0 for no limit",
	}}
}

// SetQuota bounds how many sets one caller creates. Who created a set is kept in the
// app's own database, so the bound holds across processes and restarts.
type SetQuota struct {
	backend database.Backend
	owner   database.Owner
	most    int
	log     *slog.Logger

	mu     sync.Mutex
	makers *ledger.Makers // nil until somebody makes a set
}

// NewSetQuota lets each caller create at most so many sets.
func NewSetQuota(b database.Backend, owner database.Owner, most int, log *slog.Logger) *SetQuota {
	return &SetQuota{backend: b, owner: owner, most: most, log: log}
}

func (q *SetQuota) open(ctx context.Context) (*ledger.Makers, error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.makers == nil {
		db, err := q.owner.Own(ctx, ledger.MakerTables)
		if err != nil {
			return nil, err
		}
		q.makers = ledger.NewMakers(db, q.owner.Dialect())
	}
	return q.makers, nil
}

// Admit refuses a caller who has created as many sets as allowed. Sets that no longer
// exist do not count. A nil quota admits everybody.
func (q *SetQuota) Admit(ctx context.Context, set string) error {
	if q == nil || q.most == 0 {
		return nil
	}
	m, err := q.open(ctx)
	if err != nil {
		return err
	}
	made, err := m.MadeBy(ctx, auth.From(ctx).Subject)
	if err != nil {
		return err
	}
	if len(made) < q.most {
		return nil
	}
	there, err := q.backend.Sets(ctx)
	if err != nil {
		return err
	}
	made = slices.DeleteFunc(made, func(set string) bool { return !slices.Contains(there, set) })
	if len(made) < q.most {
		return nil
	}
	return fault.Newf(fault.Forbidden, "the set %q does not exist, and this caller has already created %d sets, the most allowed", set, len(made)).
		WithHint("Write to a set that exists, or have whoever runs the server raise %s.", SettingSets).WithPath("/set")
}

// RecordMaker keeps who made a set. The set exists whatever becomes of that.
func (q *SetQuota) RecordMaker(ctx context.Context, set string) {
	if q == nil || q.most == 0 {
		return
	}
	m, err := q.open(ctx)
	if err == nil {
		err = m.Note(ctx, set, auth.From(ctx).Subject)
	}
	if err != nil {
		q.log.WarnContext(ctx, "the creator of a set could not be recorded in the ledger", "set", set, "error", err)
	}
}

// Close closes what keeps who made the sets.
func (q *SetQuota) Close() error {
	if q == nil || q.makers == nil {
		return nil
	}
	return q.makers.Close()
}
