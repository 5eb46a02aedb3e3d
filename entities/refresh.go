package entities

import (
	"context"
	"os"

	"github.com/koan-go/koan/entities/internal/derive"
	"github.com/koan-go/koan/entities/internal/dynamic"
	"github.com/koan-go/koan/entities/internal/engine"
	"github.com/koan-go/koan/framework/catalog"
	"github.com/koan-go/koan/framework/fault"
)

// Refresh implements catalog.Refresher: it looks at the tables of the database anew. Runs that are under way keep the
// tables that they began with; a table that is gone is a fault to them.
func (e *Existing) Refresh(ctx context.Context) error {
	if e.schemas != nil {
		e.host.Log().InfoContext(ctx, "ent schemas are loaded at the start; `koan serve --watch` takes changed ones")
		return nil
	}
	v := e.host.Settings()
	overlay, err := derive.ParseOverlay(v.Under(derive.Section))
	if err != nil {
		return err
	}
	db, err := inspectDatabase(ctx, v.String(settingDatabase), e.readOnly)
	if err != nil {
		return err
	}
	if err := db.pool.Close(); err != nil { // calls go on through the pool that is open
		return err
	}
	if db.file != nil && !os.SameFile(db.file, e.file) {
		return fault.Newf(fault.ServiceUnavailable, "%s is another file than the one that is served", db.place).WithPath("/database").
			WithHint("Start the server again: it keeps the file that it has opened until then.")
	}
	found, err := derive.Graph(db.found, derive.Options{ReadOnly: v.Bool(settingReadOnly), Overlay: overlay})
	if err != nil {
		return err
	}
	next := e.databases // its databases, with other tables
	next.app = dynamic.App(found.Graph, dynamic.Options{Tables: found.Tables, Foreign: e.place})
	next.engine = engine.New(next.app, nil)
	if err := next.open(ctx, e.host, next.engine); err != nil {
		return err
	}
	next.engine.Replace(e.engine)
	offer := e.addTo(next.engine.Offer())
	e.mu.Lock()
	e.databases, e.offer, e.found = next, offer, found
	e.mu.Unlock()
	e.host.Changed()
	for _, line := range e.Report(catalog.Boot{}) {
		e.host.Log().InfoContext(ctx, "the database was looked at anew", "now", line)
	}
	return nil
}

// served returns what is served now.
func (e *Existing) served() (*Provider, *derive.Derived) {
	e.mu.RLock()
	defer e.mu.RUnlock()
	now := *e.Provider
	return &now, e.found
}

// Offer implements catalog.Provider.
func (e *Existing) Offer() catalog.Offer {
	now, _ := e.served()
	return now.Offer()
}

// Enter implements run.Data.
func (e *Existing) Enter(ctx context.Context, set string) (context.Context, error) {
	now, _ := e.served()
	return now.Enter(ctx, set)
}

// Ready implements catalog.Readier.
func (e *Existing) Ready(ctx context.Context) error {
	now, _ := e.served()
	return now.Ready(ctx)
}
