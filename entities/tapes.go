package entities

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/koan-go/koan/entities/backend"
	"github.com/koan-go/koan/entities/ledger"
	"github.com/koan-go/koan/framework/catalog"
	"github.com/koan-go/koan/framework/run"
)

// tapes is the shelf of what is kept of runs for a replay, in the app's own tables,
// which are made when the first run is kept.
type tapes struct {
	store *store
	owner backend.Owner

	mu     sync.Mutex
	opened *ledger.Tapes
}

var (
	_ run.Shelf      = (*tapes)(nil)
	_ run.TapeKeeper = (*Provider)(nil)
)

// Shelf implements run.TapeKeeper. An app that opens its databases itself has no
// place for what is no set's.
func (p *Provider) Shelf() run.Shelf {
	if p.tapes == nil {
		return nil
	}
	return p.tapes
}

func (t *tapes) open(ctx context.Context) (*ledger.Tapes, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.opened != nil {
		return t.opened, nil
	}
	d := t.store.backend.Dialect()
	db, err := t.owner.Own(ctx, ledger.TapeTables(d))
	if err != nil {
		return nil, err
	}
	t.opened = ledger.NewTapes(db, d)
	return t.opened, nil
}

func (t *tapes) close() error {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.opened == nil {
		return nil
	}
	return t.opened.Close()
}

// Put implements run.Shelf.
func (t *tapes) Put(ctx context.Context, kept []run.KeptTape) error {
	l, err := t.open(ctx)
	if err != nil {
		return err
	}
	return l.Put(ctx, kept)
}

// Get implements run.Shelf.
func (t *tapes) Get(ctx context.Context, id string) (*run.KeptTape, error) {
	l, err := t.open(ctx)
	if err != nil {
		return nil, err
	}
	return l.Get(ctx, id)
}

// Trim implements run.Shelf.
func (t *tapes) Trim(ctx context.Context, before time.Time, most int64) error {
	l, err := t.open(ctx)
	if err != nil {
		return err
	}
	return l.Trim(ctx, before, most)
}

// room says how much a number of bytes is, to people.
func room(bytes int64) string {
	if bytes < 1<<20 {
		return fmt.Sprintf("%d KB", (bytes+1<<10-1)>>10)
	}
	return fmt.Sprintf("%.1f MB", float64(bytes)/(1<<20))
}

// check says on `doctor` how much is kept.
func (t *tapes) check(ctx context.Context) catalog.Check {
	c := catalog.Check{Name: "replay"}
	l, err := t.open(ctx)
	if err == nil {
		var runs int
		var bytes int64
		if runs, bytes, err = l.Size(ctx); err == nil {
			c.OK, c.Detail = true, fmt.Sprintf("%d runs are kept, in %s", runs, room(bytes))
			return c
		}
	}
	c.Detail, c.Hint = "what is kept of runs cannot be read: "+err.Error(), "See whether the database can be written."
	return c
}
