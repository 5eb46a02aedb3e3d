package books

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"entgo.io/ent/dialect"

	"github.com/koan-go/koan/framework/journal"
	"github.com/koan-go/koan/framework/ledger"
)

// What a loss of power takes from a set are its last commits. Receipts decide what happened: where
// the ledger says that a run has committed and its sets have no receipt of it, the ledger is wrong.

// recoverTime bounds how long a start waits for that. What is left is done beside the runs.
const recoverTime = time.Minute

// recover compares what the journal and plans say with the receipts of the sets, where a process
// ended without a goodbye: before anybody reads it. It reports what it could not do in the log;
// the housekeeping tries it again.
func (j *Journal) recover(ctx context.Context) {
	ctx, stop := context.WithTimeout(ctx, recoverTime)
	defer stop()
	rows, err := j.open(ctx)
	if err == nil {
		if err = j.repair(ctx, rows); err == nil {
			err = j.recordIntents(ctx, rows)
		}
		_ = rows.Close()
	}
	if err != nil {
		j.log.WarnContext(ctx, "the journal could not be compared with the data; retrying", "error", err)
	}
}

// markLost finds the runs whose commits the data has lost.
func (j *Journal) markLost(ctx context.Context, rows *ledger.Journal, sets []string) error {
	exposed := map[string]time.Time{} // by set: runs that began before are safe
	var since time.Time
	for _, set := range sets {
		err := j.backend.Look(ctx, set, func(ctx context.Context, drv dialect.Driver) error {
			newest, err := ledger.NewestReceipt(ctx, drv)
			if !newest.IsZero() {
				newest = newest.Add(-slack)
			}
			exposed[set] = newest
			return err
		})
		if err != nil {
			return fmt.Errorf("the receipts of %s: %w", set, err)
		}
		if at := exposed[set]; len(exposed) == 1 || at.Before(since) {
			since = at
		}
	}
	committed, err := rows.CommittedSince(ctx, since)
	if err != nil {
		return err
	}
	committed = slices.DeleteFunc(committed, func(r ledger.CommittedRun) bool {
		return slices.ContainsFunc(r.Sets, func(set string) bool { _, there := exposed[set]; return !there })
	})
	found, err := j.receiptsOf(ctx, committed)
	if err != nil {
		return err
	}
	var lost []string
	for _, r := range committed {
		if !found[r.Run] {
			lost = append(lost, r.Run)
		}
	}
	if len(lost) == 0 {
		return nil
	}
	j.log.WarnContext(ctx, "the data has lost what runs committed; the journal says so", "runs", len(lost), "first", lost[0])
	return rows.MarkLost(ctx, lost)
}

// recordUnsettled makes the records of runs of dead processes of which nobody knows whether they have
// committed.
func (j *Journal) recordUnsettled(ctx context.Context, dead *ledger.Dead, begun, found map[string]journal.Record, sets []string) error {
	if j.keys.commits == nil {
		return nil
	}
	open, err := j.keys.commits.Unsettled(ctx, "")
	for _, u := range open {
		if dead.Alive[u.Run] || u.At.Before(dead.Since.Add(-slack)) {
			continue
		}
		r, ok := begun[u.Run]
		if !ok {
			r = journal.Record{Run: u.Run, Started: u.At, Subject: u.Subject, Set: sets[0], Keyed: u.IdempotencyKey != "", Atomic: u.Sequence == 0}
		}
		f := ledger.UnknownOutcome(u)
		r.Outcome, r.Message, r.Repaired = string(f.Code), f.Message, true
		found[u.Run] = r
	}
	return err
}

// recordIntents records what processes have left unsettled that were killed before they could write that
// they exist.
func (j *Journal) recordIntents(ctx context.Context, rows *ledger.Journal) error {
	if j.keys.commits == nil {
		return nil
	}
	sets, err := j.backend.Sets(ctx)
	if err != nil {
		return err
	}
	found := map[string]journal.Record{}
	unheard := &ledger.Dead{Since: time.Now()}
	if err := j.recordUnsettled(ctx, unheard, nil, found, sets); err != nil || len(found) == 0 {
		return err
	}
	return rows.Bury(ctx, unheard, slices.Collect(maps.Values(found)))
}

// receiptsOf returns which of some runs have a receipt in one of their sets.
func (j *Journal) receiptsOf(ctx context.Context, committed []ledger.CommittedRun) (map[string]bool, error) {
	bySet := map[string][]string{}
	for _, r := range committed {
		for _, set := range r.Sets {
			bySet[set] = append(bySet[set], r.Run)
		}
	}
	found := map[string]bool{}
	for set, runs := range bySet {
		err := j.backend.Look(ctx, set, func(ctx context.Context, drv dialect.Driver) error {
			there, err := ledger.WithReceipt(ctx, j.backend.Dialect(), drv, runs)
			for run := range there {
				found[run] = true
			}
			return err
		})
		if err != nil {
			return nil, fmt.Errorf("the receipts of %s: %w", set, err)
		}
	}
	return found, nil
}
