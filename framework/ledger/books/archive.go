package books

import (
	"context"
	"fmt"
	"time"

	"github.com/koan-go/koan/framework/ledger"
	"github.com/koan-go/koan/framework/run/undo"
)

var _ undo.Archive = (*Journal)(nil)

// recordWait is how long it takes at most, on a machine that is not too busy, until another
// process has written a run that has ended.
const recordWait = 250 * time.Millisecond

// Undoable implements undo.Archive. What another process has just run may be about to be written.
// A run of somebody else takes as long to be not found as one that does not exist.
func (j *Journal) Undoable(ctx context.Context, run string) (out *undo.Kept, err error) {
	began := time.Now()
	for {
		err = j.withReader(ctx, nil, func(rows *ledger.Journal, r ledger.Reader) (err error) {
			out, err = rows.Undoable(ctx, run, r)
			return err
		})
		most := recordWait
		if out != nil { // it is under way, and its reader knows of it
			most = shelving
		}
		if out != nil && !out.UnderWay || err != nil || time.Since(began) > most {
			return out, err
		}
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-time.After(recordWait / 5):
		}
	}
}

// Retention implements undo.Archive.
func (j *Journal) Retention() string {
	return fmt.Sprintf("for %d days (journal.retentionDays) and up to %d MB (journal.maxMb)", int(j.keep/(24*time.Hour)), j.most>>20)
}

// Sealing is what seals secret values.
func (j *Journal) Sealing() ledger.Sealing { return j.key.sealer }
