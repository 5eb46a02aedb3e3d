package bookkeeping

import (
	"context"
	"fmt"
	"time"

	"github.com/koan-go/koan/entities/internal/ledger"
	"github.com/koan-go/koan/framework/run/undo"
)

var _ undo.Archive = (*Journal)(nil)

// KeepKey has the key by which secret values are sealed be one of the secrets or, if there are
// none, one in a file.
func (j *Journal) KeepKey(file string, secrets []string) {
	j.key = &imageKey{file: file, secrets: secrets}
}

// Undoable implements undo.Archive. What another process has just run may be about to be written.
func (j *Journal) Undoable(ctx context.Context, run string) (out *undo.Kept, err error) {
	for end := time.Now().Add(shelving); ; {
		err = j.withReader(ctx, func(rows *ledger.Journal, subject string) (err error) {
			out, err = rows.Undoable(ctx, run, subject)
			return err
		})
		if out != nil && !out.UnderWay || err != nil || !startedRecently(run) || time.Now().After(end) {
			return out, err
		}
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-time.After(shelving / 20):
		}
	}
}

// Retention implements undo.Archive.
func (j *Journal) Retention() string {
	return fmt.Sprintf("for %d days (journal.retentionDays) and up to %d MB (journal.maxMb)", int(j.keep/(24*time.Hour)), j.most>>20)
}

// Sealing is what seals secret values, with the key of KeepKey.
func (j *Journal) Sealing() ledger.Sealing { return j.key.sealer }
