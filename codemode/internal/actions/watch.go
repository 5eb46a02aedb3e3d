package actions

import (
	"context"
	"io/fs"
	"maps"
	"time"
)

// pollInterval is how often a folder is looked at: one stat for each file.
const pollInterval = 100 * time.Millisecond

// stamp is by what a file differs from its next version.
type stamp struct {
	size    int64
	changed time.Time
}

// Watch calls changed at first, and when the files of a folder are others than at the last call,
// until ctx ends. Files count once two looks have found them unchanged, so that one that is being
// written does not.
func Watch(ctx context.Context, folder fs.FS, named Named, changed func()) {
	reported, last := map[string]stamp{"": {}}, map[string]stamp(nil) // what there was before the first look is not known
	ticker := time.NewTicker(pollInterval)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
		now := look(folder, named)
		if now == nil {
			continue // it cannot be read: what was there stays
		}
		if !maps.Equal(now, reported) && maps.Equal(now, last) {
			reported = now
			changed()
		}
		last = now
	}
}

// look returns the stamps of a folder's files, nil if it cannot be read.
func look(folder fs.FS, named Named) map[string]stamp {
	entries, err := fs.ReadDir(folder, ".")
	if err != nil {
		return nil
	}
	out := map[string]stamp{}
	for _, e := range entries {
		if _, _, ok := named(e.Name()); !ok || len(out) > maxFiles {
			continue
		}
		if info, err := e.Info(); err == nil {
			out[e.Name()] = stamp{info.Size(), info.ModTime()}
		}
	}
	return out
}
