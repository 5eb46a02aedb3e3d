// Package books keeps what is true of runs and sets besides the data, in the app's own
// database: idempotency keys with the replies of their runs, plans, tapes, the journal,
// and who created which set. Books are all of it; package framework takes them once and hands
// each participant of runs its part.
//
// What belongs here: when that is opened, written, tidied up and closed. Not here:
// its tables and statements (package ledger), or the app's entities.
package books

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	"entgo.io/ent/dialect"
	"github.com/google/uuid"

	"github.com/koan-go/koan/framework/catalog"
	"github.com/koan-go/koan/framework/database"
	"github.com/koan-go/koan/framework/journal"
	"github.com/koan-go/koan/framework/ledger"
)

// Keys of the configuration.
const (
	settingJournal   = "journal.enabled"
	settingExpose    = "journal.expose"
	settingChanges   = "journal.changes"
	settingRetention = "journal.retentionDays"
	settingMaxMb     = "journal.maxMb"
	settingLease     = "journal.leaseMs"
)

// JournalSettings are those of Journal.
func JournalSettings() []catalog.Setting {
	return []catalog.Setting{
		{Key: settingJournal, Default: true, Help: "keep every run and call in the journal"},
		{Key: settingExpose, Default: false, Help: "offer the journal as the entities KoanRun and KoanCall to callers with the scope koan:journal"},
		{Key: settingChanges, Default: true, Help: "keep in the journal what an undo of a run needs: each changed row before and after; sensitive fields are sealed"},
		{Key: settingRetention, Default: 90, Min: 1, Max: 36500, Unit: "days", Help: "how long the journal keeps a run"},
		{Key: settingMaxMb, Default: 512, Min: 1, Max: 1 << 20, Unit: "MB", Help: "maximum size of the journal; beyond it the oldest runs are removed, of callers with more than an even share"},
		{Key: settingLease, Default: 15000, Min: 500, Max: 600000, Unit: "ms", Help: "how long after its last heartbeat a process counts as dead, and its runs as cut off"},
	}
}

// Journal keeps the journal of an app in the app's own database.
type Journal struct {
	backend database.Backend
	owner   database.Owner
	log     *slog.Logger
	writer  *ledger.Writer
	tapes   *Tapes // which it writes, too
	keys    *Keys
	lease   time.Duration
	keep    time.Duration
	most    int64 // bytes
	key     *imageKey
	changes bool // it keeps what an undo needs
	exposed bool // as entities

	pruned time.Time // when it was last looked at, by the housekeeping alone
	warned string
}

// wantsJournal reports whether the settings ask for a journal. Tests of scripts have it
// only if they ask for it.
func wantsJournal(s catalog.Values, testing bool) bool {
	return s.Bool(settingJournal) && (!testing || s.IsSet(settingJournal) || s.IsSet(settingExpose))
}

// newJournal returns the journal, which writes the tapes from its start on.
func newJournal(o Options, keys *Keys, tapes *Tapes) *Journal {
	s := o.Settings
	return &Journal{
		backend: o.Backend, owner: o.Owner, log: o.Log, keys: keys, tapes: tapes, lease: s.Duration(settingLease),
		keep: time.Duration(s.Int(settingRetention)) * 24 * time.Hour, most: int64(s.Int(settingMaxMb)) << 20,
		key:     &imageKey{file: o.KeyFile, secrets: s.Strings("server.secret")},
		changes: s.Bool(settingChanges), exposed: s.Bool(settingExpose),
	}
}

// KeepsChanges reports whether it keeps what an undo needs.
func (j *Journal) KeepsChanges() bool { return j.changes }

// Exposed reports whether it is offered as entities.
func (j *Journal) Exposed() bool { return j.exposed }

// CreateTables creates what is missing of the journal's tables: readers need them before
// anything is written.
func (j *Journal) CreateTables(ctx context.Context) error {
	rows, err := j.open(ctx)
	if err != nil {
		return err
	}
	return rows.Close()
}

// start begins to write. It does not wait for the database.
func (j *Journal) start() {
	j.writer = ledger.NewWriter(j.open, j.lease/3, j.housekeep, j.log)
	j.tapes.writer = j.writer
}

// Sink is where runs are recorded.
func (j *Journal) Sink() journal.Sink { return j.writer }

// journalConns are for what is written, and for the housekeeping beside it.
const journalConns = 2

func (j *Journal) open(ctx context.Context) (*ledger.Journal, error) {
	d := j.owner.Dialect()
	db, err := j.owner.Own(ctx, append(ledger.JournalTables(d), ledger.TapeTables(d)...))
	if err != nil {
		return nil, err
	}
	db.SetMaxOpenConns(journalConns)
	rows := ledger.NewJournal(db, d, ledger.Marked(uuid.NewString()), j.lease)
	rows.SealWith(j.key.sealer)
	return rows, nil
}

// close writes what is left.
func (j *Journal) close(ctx context.Context) { j.writer.Close(ctx) }

// flushTime bounds how long readers wait for what is not written yet.
const flushTime = time.Second

// Flush writes what readers may expect to find: the runs that ended before.
func (j *Journal) Flush(ctx context.Context) {
	if j.writer == nil {
		return
	}
	wait, stop := context.WithTimeout(ctx, flushTime)
	defer stop()
	j.writer.Flush(wait)
}

// housekeep marks runs that were cut off, repairs missing records, and removes what is
// too old, tapes included.
func (j *Journal) housekeep(ctx context.Context, rows *ledger.Journal) {
	err := j.repair(ctx, rows)
	if err == nil {
		err = j.prune(ctx, rows)
	}
	if err == nil {
		err = j.tapes.trim(ctx)
	}
	switch {
	case err == nil || ctx.Err() != nil:
		j.warned = ""
	case err.Error() != j.warned:
		j.warned = err.Error()
		j.log.WarnContext(ctx, "the journal could not be tidied; retrying", "error", err)
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
func (j *Journal) prune(ctx context.Context, rows *ledger.Journal) error {
	if time.Since(j.pruned) < pruneEvery {
		return nil
	}
	j.pruned = time.Now()
	size, err := rows.Size(ctx)
	if err != nil {
		return err
	}
	if before := firstRunSince(time.Now().Add(-j.keep)); size.First != "" && size.First < before {
		err := inPortions(ctx, func() (int, error) { return rows.Expire(ctx, before, pruneMost) })
		if err != nil {
			return err
		}
		if size, err = rows.Size(ctx); err != nil {
			return err
		}
	}
	if size.Bytes <= j.most {
		return nil
	}
	excess, err := rows.Excess(ctx, j.most-j.most/20) // some room, so that it is not every time
	if err != nil {
		return err
	}
	for _, e := range excess {
		err := inPortions(ctx, func() (int, error) {
			runs, bytes, err := rows.Prune(ctx, e.Subject, e.Bytes, pruneMost)
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
// committed, others were cut off. Commits of any process may have been lost with them.
func (j *Journal) repair(ctx context.Context, rows *ledger.Journal) error {
	dead, err := rows.Dead(ctx)
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
	sets, err := j.backend.Sets(ctx)
	if err != nil {
		return err
	}
	if err := j.markLost(ctx, rows, sets); err != nil {
		return err
	}
	if err := j.keys.reopenLostPlans(ctx); err != nil {
		return err
	}
	d := j.backend.Dialect()
	for _, set := range sets {
		err := j.backend.Look(ctx, set, func(ctx context.Context, drv dialect.Driver) error {
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
	if err := j.recordUnsettled(ctx, dead, begun, found, sets); err != nil {
		return err
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
	return rows.Bury(ctx, dead, all)
}

// recordOfReceipt makes a record from a receipt and the note of the run's start.
func recordOfReceipt(begun, found map[string]journal.Record, set string, r ledger.Committed) {
	rec, ok := found[r.Run]
	if !ok {
		if rec, ok = begun[r.Run]; !ok {
			rec = journal.Record{
				Run: r.Run, Started: r.At, Subject: r.Subject, Set: set, Script: journal.Script{CodeDigest: r.CodeDigest}, Keyed: r.IdempotencyKey != "",
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
func (j *Journal) check(ctx context.Context) catalog.Check {
	out := catalog.Check{Name: "journal"}
	rows, err := j.open(ctx)
	if err == nil {
		defer func() { _ = rows.Close() }()
		var size ledger.Size
		if size, err = rows.Size(ctx); err == nil {
			out.OK = true
			out.Detail = fmt.Sprintf("%s: %s, %s; kept for %s, at most %d MB", j.owner.OwnPlace(), catalog.Counted(size.Runs, "run"), formatBytes(size.Bytes),
				catalog.Counted(int(j.keep/(24*time.Hour)), "day"), j.most>>20)
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
