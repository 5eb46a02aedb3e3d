package files

import (
	"context"
	"encoding/json"
	"errors"
	"io/fs"
	"strconv"
	"strings"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"
)

// Uses are the files that a run refers to.
type Uses struct {
	Run  string
	IDs  []string        // of files, or of none
	Rows map[string]bool // those ids that a row may have got
}

// inParallel is how many requests to a store are made at once.
const inParallel = 8

// Use notes what a run refers to that is about to commit. Ids without a file are ignored.
func (s *Store) Use(ctx context.Context, u Uses) error {
	return s.mark(ctx, u.IDs, func(id string) string {
		if u.Rows[id] {
			return usedName(id)
		}
		return runsFolder + u.Run + "/" + id
	})
}

// KeepUntil keeps files until a time although no committed run refers to them yet. Ids without a
// file are ignored.
func (s *Store) KeepUntil(ctx context.Context, until time.Time, ids []string) error {
	return s.mark(ctx, ids, func(id string) string { return plansFolder + strconv.FormatInt(until.Unix(), 10) + "/" + id })
}

// mark writes a mark for each of these ids that has a file.
func (s *Store) mark(ctx context.Context, ids []string, name func(id string) string) error {
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(inParallel)
	for _, id := range ids {
		g.Go(func() error {
			if _, err := s.blobs.Written(ctx, recordName(id)); errors.Is(err, fs.ErrNotExist) {
				return nil
			} else if err != nil {
				return broken(err)
			}
			if err := s.blobs.Write(ctx, name(id), nil); err != nil {
				return broken(err)
			}
			s.quota.refer(id)
			return nil
		})
	}
	return g.Wait()
}

// Kept returns which of these runs are still known; it is nil where runs are known to nobody once
// they have ended.
type Kept func(ctx context.Context, runs []string) (map[string]bool, error)

// Collect deletes the files that nothing refers to and that are older than so long. It returns how
// many. A run that is not kept any more refers to nothing.
func (s *Store) Collect(ctx context.Context, unusedFor time.Duration, kept Kept) (int, error) {
	before := s.clock().Add(-unusedFor)
	used, err := s.used(ctx, before, kept)
	if err != nil {
		return 0, broken(err)
	}
	deleted, err := s.collectRecords(ctx, before, used)
	if err == nil {
		err = s.collectData(ctx, before)
	}
	if err == nil {
		err = s.blobs.Tidy(ctx, before)
	}
	if err == nil {
		err = s.recount(ctx)
	}
	if err != nil {
		return deleted, broken(err)
	}
	return deleted, nil
}

// used returns the ids of files to which something refers. It deletes the marks of runs that are
// not kept.
func (s *Store) used(ctx context.Context, before time.Time, kept Kept) (map[string]bool, error) {
	used := map[string]bool{}
	err := s.blobs.List(ctx, usedFolder, func(name string, _ time.Time) error {
		used[strings.TrimPrefix(name, usedFolder)] = true
		return nil
	})
	if err != nil {
		return nil, err
	}
	if err := s.usedByPlans(ctx, before, used); err != nil {
		return nil, err
	}
	old := map[string][]string{} // run -> names of marks
	err = s.blobs.List(ctx, runsFolder, func(name string, written time.Time) error {
		run, id, _ := strings.Cut(strings.TrimPrefix(name, runsFolder), "/")
		if kept == nil || written.After(before) { // the run may not be in the journal yet
			used[id] = true
		} else {
			old[run] = append(old[run], name)
		}
		return nil
	})
	if err != nil || len(old) == 0 {
		return used, err
	}
	runs := make([]string, 0, len(old))
	for run := range old {
		runs = append(runs, run)
	}
	known, err := kept(ctx, runs)
	if err != nil {
		return nil, err
	}
	for run, marks := range old {
		for _, name := range marks {
			if known[run] {
				used[name[strings.LastIndexByte(name, '/')+1:]] = true
			} else if err := s.blobs.Delete(ctx, name); err != nil {
				return nil, err
			}
		}
	}
	return used, nil
}

// usedByPlans adds the ids of files to which plans refer, and deletes the marks of plans that have
// expired before a time.
func (s *Store) usedByPlans(ctx context.Context, before time.Time, used map[string]bool) error {
	return s.blobs.List(ctx, plansFolder, func(name string, _ time.Time) error {
		seconds, id, _ := strings.Cut(strings.TrimPrefix(name, plansFolder), "/")
		until, err := strconv.ParseInt(seconds, 10, 64)
		if err == nil && time.Unix(until, 0).Before(before) {
			return s.blobs.Delete(ctx, name)
		}
		used[id] = true // also by a mark that nobody here has written
		return nil
	})
}

// keptHashes are the hashes of the records that the last collection kept, by id. Records do not
// change: each is read once.
type keptHashes map[string]string

// collectRecords deletes the records of files that are not used, and notes the hashes of the
// others.
func (s *Store) collectRecords(ctx context.Context, before time.Time, used map[string]bool) (deleted int, err error) {
	next := keptHashes{}
	var mu sync.Mutex
	g, gctx := errgroup.WithContext(ctx)
	g.SetLimit(inParallel)
	err = s.blobs.List(ctx, recordFolder, func(name string, written time.Time) error {
		id := strings.TrimSuffix(strings.TrimPrefix(name, recordFolder), ".json")
		if !used[id] && !written.After(before) {
			deleted++
			return s.blobs.Delete(ctx, name)
		}
		if sum, ok := s.kept[id]; ok {
			mu.Lock()
			next[id] = sum
			mu.Unlock()
			return nil
		}
		g.Go(func() error {
			raw, err := s.blobs.Read(gctx, name)
			if errors.Is(err, fs.ErrNotExist) {
				return nil // another server has deleted it
			}
			var r record
			if err != nil || json.Unmarshal(raw, &r) != nil {
				return err // a damaged record stays for somebody to look at
			}
			mu.Lock()
			defer mu.Unlock()
			next[id] = r.SHA256
			return nil
		})
		return nil
	})
	if err := errors.Join(err, g.Wait()); err != nil {
		return deleted, err
	}
	s.kept = next
	return deleted, nil
}

// collectData deletes the bytes that no record names.
func (s *Store) collectData(ctx context.Context, before time.Time) error {
	named := make(map[string]bool, len(s.kept))
	for _, sum := range s.kept {
		named[sum] = true
	}
	return s.blobs.List(ctx, dataFolder, func(name string, written time.Time) error {
		if named[name[strings.LastIndexByte(name, '/')+1:]] || written.After(before) {
			return nil // bytes that come again are new: their record may be being written
		}
		// The list may be old by now.
		switch written, err := s.blobs.Written(ctx, name); {
		case errors.Is(err, fs.ErrNotExist) || err == nil && written.After(before):
			return nil
		case err != nil:
			return err
		}
		return s.blobs.Delete(ctx, name)
	})
}
