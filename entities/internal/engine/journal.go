package engine

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	"entgo.io/ent/dialect"
	"github.com/google/uuid"

	"github.com/koan-go/koan/entities/internal/appdb"
	"github.com/koan-go/koan/entities/internal/backend"
	"github.com/koan-go/koan/entities/internal/ledger"
	"github.com/koan-go/koan/entities/internal/ledger/records"
	"github.com/koan-go/koan/entities/internal/read"
	"github.com/koan-go/koan/entities/internal/write"
	"github.com/koan-go/koan/framework/catalog"
	"github.com/koan-go/koan/framework/journal"
	"github.com/koan-go/koan/framework/run/record"
)

// Keys of the configuration.
const (
	settingJournal   = "journal.enabled"
	settingExpose    = "journal.expose"
	settingRetention = "journal.retentionDays"
	settingMaxMb     = "journal.maxMb"
	settingLease     = "journal.leaseMs"
)

func journalSettings() []catalog.Setting {
	return []catalog.Setting{
		{Key: settingJournal, Default: true, Help: "keep every run and call in the journal"},
		{Key: settingExpose, Default: false, Help: "offer the journal as the entities KoanRun and KoanCall to callers with the scope koan:journal"},
		{Key: settingRetention, Default: 90, Min: 1, Max: 36500, Unit: "days", Help: "how long the journal keeps a run"},
		{Key: settingMaxMb, Default: 512, Min: 1, Max: 1 << 20, Unit: "MB", Help: "maximum size of the journal; beyond it the oldest runs are removed, of callers with more than an even share"},
		{Key: settingLease, Default: 15000, Min: 500, Max: 600000, Unit: "ms", Help: "how long after its last heartbeat a process counts as dead, and its runs as cut off"},
	}
}

// runJournal keeps the journal of an app in the app's own database.
type runJournal struct {
	store  *store
	owner  backend.Owner
	log    *slog.Logger
	writer *ledger.Writer
	tapes  *tapes // which it writes, too
	lease  time.Duration
	keep   time.Duration
	most   int64 // bytes

	pruned time.Time // when it was last looked at, by the housekeeping alone
	warned string
	seen   *Provider // serves KoanRun and KoanCall; nil where they are not exposed
}

var _ record.Keeper = (*Provider)(nil)

// Journal implements record.Keeper. An app that opens its databases itself has
// no place for data outside the sets: its journal is lines in the log.
func (p *Provider) Journal() journal.Sink {
	if p.journal == nil {
		return nil
	}
	return p.journal.writer
}

// startJournal opens the journal beside the start, and offers it where that is
// wanted. Tests of scripts have it only if they ask for it.
func (p *Provider) startJournal(ctx context.Context, host catalog.Host, owner backend.Owner) error {
	s := host.Settings()
	if !s.Bool(settingJournal) || host.Testing() && !s.IsSet(settingJournal) && !s.IsSet(settingExpose) {
		return nil
	}
	c := &runJournal{
		store: p.store, owner: owner, log: host.Log(), tapes: p.tapes, lease: s.Duration(settingLease),
		keep: time.Duration(s.Int(settingRetention)) * 24 * time.Hour, most: int64(s.Int(settingMaxMb)) << 20,
	}
	if s.Bool(settingExpose) {
		// Readers need the tables before anything is written.
		j, err := c.open(ctx)
		if err != nil {
			return err
		}
		if err := j.Close(); err != nil {
			return err
		}
		if err := c.expose(ctx); err != nil {
			return err
		}
		offer := c.seen.Offer()
		p.offer.Operations = append(p.offer.Operations, offer.Operations...)
		p.offer.Resources = append(p.offer.Resources, offer.Resources...)
	}
	c.writer = ledger.NewWriter(c.open, c.lease/3, c.housekeep, c.log)
	p.journal, p.tapes.writer = c, c.writer
	p.offer.Documents = append(p.offer.Documents, c.reportDocument())
	return nil
}

// journalConns are for what is written, and for the housekeeping beside it.
const journalConns = 2

func (c *runJournal) open(ctx context.Context) (*ledger.Journal, error) {
	d := c.store.backend.Dialect()
	db, err := c.owner.Own(ctx, append(ledger.JournalTables(d), ledger.TapeTables(d)...))
	if err != nil {
		return nil, err
	}
	db.SetMaxOpenConns(journalConns)
	return ledger.NewJournal(db, d, ledger.Marked(uuid.NewString()), c.lease), nil
}

// close writes what is left.
func (c *runJournal) close(ctx context.Context) error {
	c.writer.Close(ctx)
	if c.seen == nil {
		return nil
	}
	return c.seen.store.backend.Close()
}

// expose makes the provider of the journal's own entities: the same engine over
// the place where the journal lies.
func (c *runJournal) expose(ctx context.Context) error {
	p := Provide(records.Entities(), Options{})
	s := &store{app: p.app, engine: p.engine}
	err := s.open(func(schema backend.Schema) (backend.Backend, error) {
		open := func(ctx context.Context, set string) (dialect.Driver, error) {
			if err := checkSet(&p.app.Graph.Entities[0].Resource, set); err != nil {
				return nil, err
			}
			return c.owner.Observe(ctx)
		}
		nothing := func(context.Context, dialect.Driver) error { return nil }
		b, err := appdb.New(ctx, open, defaultSet, schema, nothing)
		if err != nil {
			return nil, err
		}
		return flushingBackend{b, c}, nil
	})
	if err != nil {
		return err
	}
	p.engine.reader = read.New(s.backend.Dialect())
	p.engine.writer = write.New(p.engine.reader)
	p.store = s
	c.seen = p
	return nil
}

// flushingBackend shows readers of the journal every run that ended before they began
// to read.
type flushingBackend struct {
	backend.Backend
	c *runJournal
}

// flushTime bounds how long readers wait for what is not written yet.
const flushTime = time.Second

func (f flushingBackend) Use(ctx context.Context, set string) (d backend.Database, attached any, release func(), err error) {
	if f.c.writer != nil {
		wait, stop := context.WithTimeout(ctx, flushTime)
		f.c.writer.Flush(wait)
		stop()
	}
	return f.Backend.Use(ctx, set)
}

// housekeep marks runs that were cut off, repairs missing records, and removes what is
// too old, tapes included.
func (c *runJournal) housekeep(ctx context.Context, j *ledger.Journal) {
	err := c.repair(ctx, j)
	if err == nil {
		err = c.prune(ctx, j)
	}
	if err == nil {
		err = c.tapes.trim(ctx)
	}
	switch {
	case err == nil || ctx.Err() != nil:
		c.warned = ""
	case err.Error() != c.warned:
		c.warned = err.Error()
		c.log.WarnContext(ctx, "the journal could not be tidied; retrying", "error", err)
	}
}

// How often the journal's size is looked at, how much is taken out at once, and how
// long runs have the database to themselves in between.
const (
	pruneEvery = 10 * time.Second
	pruneMost  = 500
	pruneRest  = 50 * time.Millisecond
)

// prune removes runs that are too old and, if there is too much, the oldest runs of
// those callers who have more than their share.
func (c *runJournal) prune(ctx context.Context, j *ledger.Journal) error {
	if time.Since(c.pruned) < pruneEvery {
		return nil
	}
	c.pruned = time.Now()
	size, err := j.Size(ctx)
	if err != nil {
		return err
	}
	if before := firstRunSince(time.Now().Add(-c.keep)); size.First != "" && size.First < before {
		err := inPortions(ctx, func() (int, error) { return j.Expire(ctx, before, pruneMost) })
		if err != nil {
			return err
		}
		if size, err = j.Size(ctx); err != nil {
			return err
		}
	}
	if size.Bytes <= c.most {
		return nil
	}
	excess, err := j.Excess(ctx, c.most-c.most/20) // some room, so that it is not every time
	if err != nil {
		return err
	}
	for _, e := range excess {
		err := inPortions(ctx, func() (int, error) {
			runs, bytes, err := j.Prune(ctx, e.Subject, e.Bytes, pruneMost)
			e.Bytes -= bytes
			return runs, err
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// inPortions removes runs until there are fewer than a portion.
func inPortions(ctx context.Context, remove func() (runs int, err error)) error {
	for {
		runs, err := remove()
		if err != nil || runs < pruneMost {
			return err
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(pruneRest):
		}
	}
}

// firstRunSince is less than the ids of all runs that started at a time or later, and
// greater than those of all before.
func firstRunSince(t time.Time) string {
	var id uuid.UUID
	ms := uint64(max(t.UnixMilli(), 0))
	for i := range 6 {
		id[i] = byte(ms >> (40 - 8*i))
	}
	id[6] = 0x70
	return id.String()
}

// slack is by how much a run may have begun before its process was last heard of,
// where its start was not noted: single calls, whose time is bounded.
const slack = time.Hour

// repair records what is known of the runs of dead processes: those with a receipt have
// committed, others were cut off.
func (c *runJournal) repair(ctx context.Context, j *ledger.Journal) error {
	dead, err := j.Dead(ctx)
	if err != nil || dead == nil {
		return err
	}
	from := firstRunSince(dead.Since.Add(-slack))
	begun := map[string]journal.Record{}
	for _, r := range dead.Begun {
		begun[r.Run] = r
		from = min(from, r.Run)
	}
	found := map[string]journal.Record{}
	sets, err := c.store.backend.Sets(ctx)
	if err != nil {
		return err
	}
	d := c.store.backend.Dialect()
	for _, set := range sets {
		err := c.store.backend.Look(ctx, set, func(ctx context.Context, drv dialect.Driver) error {
			return ledger.EachCommitted(ctx, d, drv, from, func(r ledger.Committed) {
				if !dead.Alive[r.Run] {
					recordOfReceipt(begun, found, set, r)
				}
			})
		})
		if err != nil {
			return fmt.Errorf("the receipts of %s: %w", set, err)
		}
	}
	var all []journal.Record
	for id, r := range begun {
		if _, ok := found[id]; !ok {
			r.Outcome, r.Repaired = journal.CutOff, true
			all = append(all, r)
		}
	}
	for _, r := range found {
		all = append(all, r)
	}
	return j.Bury(ctx, dead, all)
}

// recordOfReceipt makes a record from a receipt and the note of the run's start.
func recordOfReceipt(begun, found map[string]journal.Record, set string, r ledger.Committed) {
	rec, ok := found[r.Run]
	if !ok {
		if rec, ok = begun[r.Run]; !ok {
			rec = journal.Record{
				Run: r.Run, Started: r.At, Subject: r.Subject, Set: set, CodeDigest: r.CodeDigest, Keyed: r.IdempotencyKey != "",
				CatalogVersion: r.CatalogVersion, Atomic: r.Sequence == 0,
			}
		}
	}
	rec.Repaired, rec.Committed, rec.Outcome = true, true, journal.OK
	if !rec.Atomic {
		rec.Outcome = journal.CutOff // some of its calls have committed, and nobody knows of the others
		if rec.CodeDigest == "" {
			rec.Outcome = journal.OK
		}
	}
	rec.Attempts = max(rec.Attempts, r.Attempt)
	rec.ResultBytes = max(rec.ResultBytes, r.ResultBytes)
	found[r.Run] = rec
}

// check is the journal's line of `doctor`.
func (c *runJournal) check(ctx context.Context) catalog.Check {
	out := catalog.Check{Name: "journal"}
	j, err := c.open(ctx)
	if err == nil {
		defer func() { _ = j.Close() }()
		var size ledger.Size
		if size, err = j.Size(ctx); err == nil {
			out.OK = true
			out.Detail = fmt.Sprintf("%s: %d runs, %s; kept for %d days, at most %d MB", c.owner.OwnPlace(), size.Runs, formatBytes(size.Bytes), int(c.keep/(24*time.Hour)), c.most>>20)
			if id, err := uuid.Parse(size.First); err == nil {
				s, ns := id.Time().UnixTime()
				out.Detail += "; since " + time.Unix(s, ns).UTC().Format(time.DateOnly)
			}
			return out
		}
	}
	out.Detail, out.Hint = err.Error(), "Check that it can be written; runs continue without the journal."
	return out
}

// noJournal is the same where nothing is kept.
func (p *Provider) noJournal() catalog.Check {
	why := "not kept: journal.enabled is false"
	if p.opts.Open != nil {
		why = "only debug lines in the log: the app opens its databases itself"
	}
	return catalog.Check{Name: "journal", OK: true, Detail: why}
}
