package books

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"github.com/koan-go/koan/framework/database"
	"github.com/koan-go/koan/framework/ledger"
)

const (
	// maxBeginnings bounds what is kept of sets that were read and never written to.
	maxBeginnings = 256 << 20 // bytes
	// keepMade is how long the beginning of a set is kept that exists by now.
	keepMade = time.Hour
)

// Beginnings keeps how sets begin that were read before they exist, so that they come into
// being as they were read. It is safe for concurrent use, by several processes too.
type Beginnings struct {
	backend database.Backend
	owner   database.Owner
	log     *slog.Logger

	mu   sync.Mutex
	kept *ledger.Beginnings // nil until such a set is read
}

// NewBeginnings returns what keeps how sets begin.
func NewBeginnings(b database.Backend, owner database.Owner, log *slog.Logger) *Beginnings {
	return &Beginnings{backend: b, owner: owner, log: log}
}

func (b *Beginnings) open(ctx context.Context) (*ledger.Beginnings, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.kept == nil {
		db, err := b.owner.Own(ctx, ledger.BeginningTables(b.owner.Dialect()))
		if err != nil {
			return nil, err
		}
		b.kept = ledger.NewBeginnings(db, b.owner.Dialect())
	}
	return b.kept, nil
}

// Of returns how a set of a schema's version begins: as it was kept first, else as build
// returns it, which is kept. nil is a set that begins empty.
func (b *Beginnings) Of(ctx context.Context, set string, version int32, build func() ([]byte, error)) ([]byte, error) {
	kept, err := b.open(ctx)
	if err != nil {
		return nil, err
	}
	image, err := kept.Get(ctx, set, version)
	if err != nil || image != nil {
		return image, err
	}
	built, err := build()
	if err != nil || built == nil {
		return nil, err
	}
	if err := kept.Keep(ctx, set, version, built); err != nil {
		return nil, err
	}
	image, err = kept.Get(ctx, set, version) // somebody else may have kept one first
	if err != nil {
		return nil, err
	}
	if err := kept.Prune(ctx, keepMade.Milliseconds(), maxBeginnings); err != nil {
		b.log.WarnContext(ctx, "what is kept of sets that do not exist could not be pruned", "error", err)
	}
	return image, nil
}

// Made notes that a set exists. It exists whatever becomes of that. A nil Beginnings has
// nothing to note.
func (b *Beginnings) Made(ctx context.Context, set string) {
	if b == nil {
		return
	}
	kept, err := b.open(ctx)
	if err == nil {
		err = kept.Made(ctx, set)
	}
	if err != nil {
		b.log.WarnContext(ctx, "it could not be noted in the ledger that a set exists now", "set", set, "error", err)
	}
}

// Close closes what keeps them.
func (b *Beginnings) Close() error {
	if b == nil || b.kept == nil {
		return nil
	}
	return b.kept.Close()
}
