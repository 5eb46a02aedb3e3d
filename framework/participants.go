package framework

import (
	"cmp"
	"time"

	"github.com/koan-go/koan/framework/internal/feed"
	"github.com/koan-go/koan/framework/journal"
	"github.com/koan-go/koan/framework/ledger/books"
	"github.com/koan-go/koan/framework/run/approve"
	"github.com/koan-go/koan/framework/run/live"
	"github.com/koan-go/koan/framework/run/once"
	"github.com/koan-go/koan/framework/run/record"
	"github.com/koan-go/koan/framework/run/replay"
	"github.com/koan-go/koan/framework/run/undo"
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

// keepIn has the participants keep what they know in an app's books. Plans are kept where keys are: a
// plan that is applied holds one.
func (i *Instance) keepIn(b *books.Books) {
	i.tapes.Use(b.Tapes)
	i.keys.Use(b.Keys)
	i.guard.Use(b.Keys.Plans(), b.Keys.Grants())
	i.tags.secret = b.Keys.Secret
	if b.ChangeLog != nil {
		i.feed.Use(b.ChangeLog)
	}
	j := b.Journal
	if j == nil {
		return
	}
	i.journal.Add(j.Sink())
	if j.KeepsChanges() {
		i.journal.KeepChanges()
	} else {
		i.journal.OmitChanges()
	}
	i.reader = j
	i.app.files.KeepWith(j)
	i.undos.Use(j)
}

// Plans has people decide about what runs do.
func (i *Instance) Plans() *approve.Guard { return i.guard }
