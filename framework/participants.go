package framework

import (
	"cmp"
	"context"
	"time"

	"github.com/koan-go/koan/framework/fault"
	"github.com/koan-go/koan/framework/internal/console"
	"github.com/koan-go/koan/framework/internal/feed"
	"github.com/koan-go/koan/framework/journal"
	"github.com/koan-go/koan/framework/ledger/books"
	"github.com/koan-go/koan/framework/run"
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
	reader   journal.Reader  // of the journal, nil without
	feed     *feed.Hub       // of what runs commit; it takes part in none
	signIns  console.SignIns // takes part in none either
}

// newParticipants has the participants join an engine. In every phase of a run they are asked in
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
func newParticipants(s *setup, engine *run.Engine) participants {
	retention := time.Duration(s.values.Int("run.keyRetentionHours")) * time.Hour
	p := participants{
		tapes:    replay.New(engine, s.tapeOptions()),
		keys:     once.New(once.Options{Lease: s.values.Duration("run.keyLeaseMs"), Retention: retention, ReplyBytes: s.values.Int("run.keyMaxBytes"), Log: s.log}),
		guard:    approve.New(engine, approve.Options{Settings: approvals(s.values), Command: cmp.Or(s.app.Command, s.app.Name), KeyRetention: retention, Log: s.log}),
		undos:    &undo.Undos{},
		journal:  record.New(record.Options{Redactor: s.redactor, ToolVersion: s.app.Version}).Add(journal.Log{Logger: s.log}),
		underway: live.New(),
		feed:     feed.New(feed.Options{Log: s.log}),
	}
	engine.Join(p.tapes, p.keys, p.guard, p.undos, s.app.files.References(), p.journal, p.underway)
	return p
}

// keepIn has the participants keep what they know in an app's books. Plans are kept where keys are: a
// plan that is applied holds one.
func (p *participants) keepIn(s *setup, b *books.Books) {
	p.tapes.Use(b.Tapes)
	p.keys.Use(b.Keys)
	p.guard.Use(b.Keys.Plans(), b.Keys.Grants())
	p.signIns = b.Keys.SignIns()
	s.tags.secret = b.Keys.Secret
	if b.ChangeLog != nil {
		p.feed.Use(b.ChangeLog)
	}
	j := b.Journal
	if j == nil {
		return
	}
	p.journal.Add(j.Sink())
	if j.KeepsChanges() {
		p.journal.KeepChanges()
	} else {
		p.journal.OmitChanges()
	}
	p.reader = j
	s.app.files.KeepWith(j)
	p.undos.Use(j)
}

// Plans has people decide about what runs do.
func (p *participants) Plans() *approve.Guard { return p.guard }

// Runs lists runs that the caller of ctx (auth.With) may know of, as the journal keeps them.
// Without a journal it ends in fault.CapabilityUnsupported.
func (p *participants) Runs(ctx context.Context, q journal.Query) (*journal.Page, error) {
	if p.reader == nil {
		return nil, fault.New(fault.CapabilityUnsupported, "this app keeps no journal of its runs").WithHint("Set journal.enabled to true, which it is by default. An app without entities keeps none, unless framework.App says Ledger.")
	}
	return p.reader.Runs(ctx, q)
}
