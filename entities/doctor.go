package entities

import (
	"context"
	"errors"
	"fmt"

	"github.com/koan-go/koan/entities/internal/engine"
	"github.com/koan-go/koan/entities/internal/filter"
	"github.com/koan-go/koan/entities/internal/migrations"
	"github.com/koan-go/koan/entities/internal/model"
	"github.com/koan-go/koan/framework/catalog"
	"github.com/koan-go/koan/framework/database"
	"github.com/koan-go/koan/framework/database/postgres"
	"github.com/koan-go/koan/framework/fault"
	"github.com/koan-go/koan/framework/position"
)

// maxChecked bounds how many sets `doctor` looks at.
const maxChecked = 20

// Checks implements catalog.Checker. Sets are looked at as they lie there: a check
// creates and migrates nothing.
func (p *Provider) Checks(ctx context.Context) []catalog.Check {
	data := catalog.Check{Name: "database", Detail: "not started"}
	if !p.started {
		return []catalog.Check{data}
	}
	sets, err := p.engine.Backend().Sets(ctx)
	if err != nil {
		data.Detail, data.Hint = err.Error(), fault.From(err).Hint
		return []catalog.Check{data}
	}
	data.OK, data.Detail = true, p.engine.Backend().Place()+", "+migrations.CountSets(len(sets))
	if len(sets) > 0 {
		data.Detail += ": " + migrations.ListSome(sets)
	}
	switch p.sync {
	case "full":
		data.Detail += "; database.sync is full: each acknowledged commit survives a power cut"
	case "normal":
		data.Detail += "; database.sync is normal: a power cut may lose the last acknowledged commits"
	}
	checked := sets[:min(len(sets), maxChecked)]
	if err := p.examine(ctx, checked); errors.Is(err, context.DeadlineExceeded) {
		data.Detail += fmt.Sprintf("; not all of it could be read within %s", examineTime)
	} else if err != nil {
		f := fault.From(err)
		data.OK, data.Detail, data.Hint = false, f.Message, f.Hint
	}
	out := p.checkScans(data)
	if p.schema != nil {
		out = append(append(p.lostSets(ctx), data), checkReplicaStates(ctx, p.engine.Backend())...)
		out = append(out, p.schema.CheckTables(ctx, p.engine.Backend(), p.engine.Way(), checked, len(sets)))
	}
	if p.ledger.intents != nil {
		out = append(out, p.ledger.intents.check(ctx))
	}
	return append(out, p.books.Checks(ctx)...)
}

// checkReplicaStates says where replicas are. One that does not serve is no trouble of the app's, which
// asks the server with the data then.
func checkReplicaStates(ctx context.Context, b database.Backend) (out []catalog.Check) {
	k, ok := b.(position.Keeper)
	if !ok {
		return nil
	}
	replicas, ok := k.Positions().(*postgres.Replicas)
	if !ok {
		return nil
	}
	for _, r := range replicas.States(ctx) {
		c := catalog.Check{Name: "replica", OK: r.Problem == nil, Detail: fmt.Sprintf("%s, %d bytes of the log behind", r.Address, r.Behind)}
		if r.Problem != nil {
			c.Detail, c.Hint = r.Address+": "+r.Problem.Error(), "Reads go to the other replicas, or to the server with the data. docs/howto/cluster.md says what a replica needs."
		}
		out = append(out, c)
	}
	return out
}

// lostSets names the sets whose data is gone, also those that no entity names and nobody has asked for
// since.
func (d *databases) lostSets(ctx context.Context) (out []catalog.Check) {
	lost, err := migrations.LostSets(ctx, d.engine.Backend())
	if err != nil {
		lost = append(lost, fault.From(err))
	}
	for _, f := range lost {
		out = append(out, catalog.Check{Name: "set", Detail: f.Message, Hint: f.Hint})
	}
	return out
}

// Diagnose implements catalog.Diagnoser. The sets that can be opened are looked at all the
// same.
func (p *Provider) Diagnose(ctx context.Context, host catalog.Host, failure error) []catalog.Check {
	f := fault.From(migrations.WithDatabaseMessage(model.DefaultSet, failure))
	const unstarted = "not checked, because the database did not start"
	out := []catalog.Check{{Name: "database", Detail: f.Message, Hint: f.Hint}}
	if p.opts.Open != nil {
		return out
	}
	schema := catalog.Check{Name: "schema", Detail: unstarted}
	e := engine.New(p.app, p.opts.Viewer)
	if err := p.open(ctx, host, e); err == nil {
		b := e.Backend()
		defer func() { _ = b.Close() }() // nothing was written
		if sets, err := b.Sets(ctx); err == nil {
			schema = p.schema.CheckTables(ctx, b, e.Way(), sets[:min(len(sets), maxChecked)], len(sets))
		}
	}
	return append(out, schema, catalog.Check{Name: "replay", Detail: unstarted}, catalog.Check{Name: "journal", Detail: unstarted})
}

// Ready implements catalog.Readier.
func (p *Provider) Ready(ctx context.Context) error {
	far, ok := p.engine.Backend().(database.Reacher)
	if !ok { // the app's own databases are the app's to watch, the ledger is not
		if far, ok = p.ledger.place.(database.Reacher); !ok {
			return nil
		}
	}
	return far.Reach(ctx)
}

// checkScans names the entities whose searches read all rows, since an app's own
// database gets no word index.
func (d *databases) checkScans(checks ...catalog.Check) []catalog.Check {
	var searched []string
	for _, e := range d.app.Graph.Entities {
		if filter.Index(e) != nil {
			searched = append(searched, e.Resource.Name)
		}
	}
	if len(searched) == 0 {
		return checks
	}
	return append(checks, catalog.Check{
		Name: "search", OK: true,
		Detail: "q reads all rows of " + migrations.ListSome(searched) + ": an app that opens its own database has no word index",
	})
}

// Report implements catalog.Reporter.
func (p *Provider) Report(catalog.Boot) []string {
	sets, err := p.engine.Backend().Sets(context.Background())
	if err != nil {
		return nil // the first call says it
	}
	line := fmt.Sprintf("Database: dialect=%s sets=%d", p.engine.Backend().Dialect().Name(), len(sets))
	if p.schema != nil {
		line += fmt.Sprintf(" migrations=%s schema=%08x", p.schema.Mode, uint32(p.schema.Hash()))
	}
	out := []string{line}
	if p.unused {
		out = append(out, "Database: `database` is not used here: an app without entities has no data, and keeps its ledger where `ledger.database` says; `koan serve` serves a database")
	}
	return out
}
