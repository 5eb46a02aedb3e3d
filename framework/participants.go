package framework

import (
	"cmp"
	"time"

	"github.com/koan-go/koan/framework/internal/feed"
	"github.com/koan-go/koan/framework/journal"
	"github.com/koan-go/koan/framework/run"
	"github.com/koan-go/koan/framework/run/approve"
	"github.com/koan-go/koan/framework/run/follow"
	"github.com/koan-go/koan/framework/run/live"
	"github.com/koan-go/koan/framework/run/once"
	"github.com/koan-go/koan/framework/run/record"
	"github.com/koan-go/koan/framework/run/replay"
	"github.com/koan-go/koan/framework/run/undo"
	"github.com/koan-go/koan/framework/seal"
)

// participants take part in every run of an instance.
type participants struct {
	tapes    *replay.Tapes
	keys     *once.Keys
	guard    *approve.Guard
	undos    *undo.Undos
	journal  *record.Journal
	underway *live.Runs
	reader   journal.Reader // of the journal, nil without
}

// takePart has the participants join the engine. In every phase of a run they are asked in
// this order:
//
//   - replay first: it decides whether the run is a dry one, for which keys and approvals do
//     not count;
//   - once before approve: a run is claimed before a plan is noted as being applied, and a
//     reply that is too large to be kept is refused before anybody is asked about the run.
//     When a run is released, which happens in the reverse order, the plan is concluded while
//     the key still keeps others from applying it;
//   - files keep what a run refers to once nobody refuses its commit any more;
//   - undo anywhere: it takes part in no run, and is found by who undoes one;
//   - record after them: what the others did belongs into the journal;
//   - live last: a run is under way until the journal has it.
func (i *Instance) takePart() {
	retention := time.Duration(i.values.Int("run.keyRetentionHours")) * time.Hour
	i.participants = participants{
		tapes:    replay.New(i.engine, i.tapeOptions()),
		keys:     once.New(once.Options{Lease: i.values.Duration("run.keyLeaseMs"), Retention: retention, ReplyBytes: i.values.Int("run.keyMaxBytes"), Log: i.log}),
		guard:    approve.New(i.engine, approve.Options{Settings: approvals(i.values), Command: cmp.Or(i.app.Command, i.app.Name), KeyRetention: retention, Log: i.log}),
		undos:    &undo.Undos{},
		journal:  record.New(record.Options{Redactor: i.redactor, ToolVersion: i.app.Version}).Add(journal.Log{Logger: i.log}),
		underway: live.New(),
	}
	i.feed = feed.New(feed.Options{Log: i.log}) // which takes part in no run, and follows what they commit
	i.engine.Join(i.tapes, i.keys, i.guard, i.undos, i.app.files.References(), i.journal, i.underway)
}

// keepIn has the participants keep in a provider, which has started, what it offers to keep. Plans
// are kept where keys are: a plan that is applied holds one.
func (i *Instance) keepIn(p Provider) {
	if d, ok := p.(run.Data); ok {
		i.engine.UseData(d)
	}
	if k, ok := p.(replay.Keeper); ok {
		if s := k.Shelf(); s != nil {
			i.tapes.Use(s)
		}
	}
	if k, ok := p.(once.Keeper); ok {
		if l := k.Ledger(); l != nil {
			i.keys.Use(l)
		}
	}
	if k, ok := p.(approve.Keeper); ok && i.keys.Kept() {
		if plans := k.Plans(); plans != nil {
			i.guard.Use(plans, k.Grants())
		}
	}
	if k, ok := p.(record.Keeper); ok {
		if s := k.Journal(); s != nil {
			i.journal.Add(s)
			if k.Changes() {
				i.journal.KeepChanges()
			} else {
				i.journal.OmitChanges()
			}
		}
	}
	if k, ok := p.(journal.ReadKeeper); ok {
		if r := k.Reader(); r != nil {
			i.reader = r
			i.app.files.KeepWith(r)
		}
	}
	if k, ok := p.(follow.Keeper); ok {
		if log := k.ChangeLog(); log != nil {
			i.feed.Use(log)
		}
	}
	if k, ok := p.(seal.Keeper); ok {
		i.tags.keeper = k
	}
	if k, ok := p.(undo.Keeper); ok {
		if a := k.Archive(); a != nil {
			i.undos.Use(a)
		}
	}
}

// Plans has people decide about what runs do.
func (i *Instance) Plans() *approve.Guard { return i.guard }
