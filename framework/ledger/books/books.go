package books

import (
	"context"
	"errors"
	"log/slog"

	"github.com/koan-go/koan/framework/catalog"
	"github.com/koan-go/koan/framework/database"
	"github.com/koan-go/koan/framework/ledger"
	"github.com/koan-go/koan/framework/run/follow"
	"github.com/koan-go/koan/framework/run/store"
)

// Books are all that an app keeps of its runs beside the data. Package framework hands each
// participant of runs its part.
type Books struct {
	// Keys keeps runs with an idempotency key and, beside them, plans, grants and the secret by which
	// rows are digested.
	Keys *Keys
	// Tapes keeps what replays need.
	Tapes *Tapes
	// Journal keeps what ran; nil where the settings want none: then runs are lines in the log.
	Journal *Journal
	// ChangeLog keeps what commits changed, for those who follow them; nil where it is not kept. It
	// lies with the data, so its provider sets it.
	ChangeLog follow.Log
}

// Keeper is a provider that keeps an app's books. Books is called once it has started.
type Keeper interface{ Books() *Books }

// Options say where books are kept, and of which data.
type Options struct {
	Settings catalog.Values
	Testing  bool             // tests have a journal only if their settings ask for it
	Data     store.Store      // whose receipts say what runs have committed
	Backend  database.Backend // of that data
	Owner    database.Owner   // of the place of the books
	Commits  *ledger.Commits  // nil where data and receipts are committed together
	KeyFile  string           // of the key by which secret values in the journal are sealed; "" where there is no place for it
	Log      *slog.Logger
}

// New returns the books of an app. Nothing is opened before its first use.
func New(o Options) *Books {
	b := &Books{
		Keys:  &Keys{data: o.Data, backend: o.Backend, owner: o.Owner, commits: o.Commits, log: o.Log},
		Tapes: &Tapes{owner: o.Owner, log: o.Log},
	}
	if wantsJournal(o.Settings, o.Testing) {
		b.Journal = newJournal(o, b.Keys, b.Tapes)
	}
	return b
}

// Start repairs the journal after a process that ended without a goodbye, and begins to write it.
func (b *Books) Start(ctx context.Context) {
	if b.Journal != nil {
		b.Journal.recover(ctx)
		b.Journal.start()
	}
}

// Documents are those that the books offer.
func (b *Books) Documents() []*catalog.Document {
	if b.Journal == nil {
		return nil
	}
	return []*catalog.Document{b.Journal.reportDocument()}
}

// Checks are the books' lines of `doctor`.
func (b *Books) Checks(ctx context.Context) []catalog.Check {
	last := catalog.Check{Name: "journal", OK: true, Detail: "not kept: journal.enabled is false"}
	if b.Journal != nil {
		last = b.Journal.check(ctx)
	}
	return []catalog.Check{b.Tapes.check(ctx), last}
}

// Close writes what is left, and closes what was opened. It is called after Start only.
func (b *Books) Close(ctx context.Context) error {
	if b.Journal != nil {
		b.Journal.close(ctx)
	}
	return errors.Join(b.Keys.close(), b.Tapes.close(ctx))
}
