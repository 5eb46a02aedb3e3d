package files

import (
	"context"
	"encoding/json"
	"errors"
	"io/fs"
	"strings"
	"sync"
	"time"

	"github.com/koan-go/koan/framework/fault"
)

// Limits bound what a store keeps, in bytes; 0 is no bound.
type Limits struct {
	File   int64 // of one file
	Caller int64 // of what one caller made and nothing refers to yet
	Total  int64 // of all files
}

// entry is a file as the quota counts it.
type entry struct {
	owner string
	size  int64
	sum   string // its SHA-256
	idle  bool   // nothing refers to it yet
	epoch int    // in which it was last changed here
}

// quota counts the bytes of files, and of uploads while they arrive. Other servers with the same
// blobs are counted from one collection to the next.
type quota struct {
	loading   sync.Mutex
	mu        sync.Mutex
	loaded    bool
	epoch     int
	entries   map[string]entry
	callers   map[string]int64 // idle bytes, and those that arrive
	total     int64
	uploading map[string]int64
}

// begin starts an epoch: what changes here from now on is newer than a list that is made after it.
func (q *quota) begin() int {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.epoch++
	return q.epoch
}

// settle takes what a list has that was made since an epoch began.
func (q *quota) settle(epoch int, listed map[string]entry) {
	q.mu.Lock()
	defer q.mu.Unlock()
	for id, e := range q.entries {
		if e.epoch >= epoch {
			listed[id] = e
		}
	}
	q.entries, q.callers, q.total, q.loaded = listed, map[string]int64{}, 0, true
	for _, e := range listed {
		q.total += e.size
		if e.idle {
			q.callers[e.owner] += e.size
		}
	}
	for owner, n := range q.uploading {
		q.callers[owner] += n
		q.total += n
	}
}

// refer notes that something refers to a file.
func (q *quota) refer(id string) {
	q.mu.Lock()
	defer q.mu.Unlock()
	e, ok := q.entries[id]
	if !ok {
		return
	}
	if e.idle {
		q.callers[e.owner] -= e.size
	}
	e.idle, e.epoch = false, q.epoch
	q.entries[id] = e
}

// reservation is the room of one upload. It is an io.Writer, so that the room is taken before the
// bytes are kept.
type reservation struct {
	quota  *quota
	limits Limits
	owner  string
	size   int64
}

// Write takes room for bytes: rate_limited where the caller has no more, and service_unavailable
// where nobody has.
func (r *reservation) Write(p []byte) (int, error) {
	q, n := r.quota, int64(len(p))
	q.mu.Lock()
	defer q.mu.Unlock()
	switch {
	case r.limits.Caller > 0 && q.callers[r.owner]+n > r.limits.Caller:
		return 0, fault.Newf(fault.RateLimited, "the files of this caller that nothing refers to yet may have %d bytes together", r.limits.Caller).
			WithRetry(fault.Fix).WithHint("Refer to the files that are needed, in a row or the input of a run; the others are deleted after files.unusedHours. Or the operator raises files.callerBytes.").
			WithDetails(map[string]any{"retryAfterMs": collectEvery.Milliseconds()})
	case r.limits.Total > 0 && q.total+n > r.limits.Total:
		return 0, fault.Newf(fault.ServiceUnavailable, "all files may have %d bytes together", r.limits.Total).
			WithRetry(fault.Never).WithHint("The operator of this app raises files.totalBytes, or makes room.")
	}
	q.callers[r.owner] += n
	q.total += n
	q.uploading[r.owner] += n
	r.size += n
	return len(p), nil
}

// forget takes those of some files out that nothing refers to, and returns them: their room is free.
func (q *quota) forget(ids []string) map[string]entry {
	q.mu.Lock()
	defer q.mu.Unlock()
	out := map[string]entry{}
	for _, id := range ids {
		e, ok := q.entries[id]
		if !ok || !e.idle {
			continue
		}
		out[id] = e
		delete(q.entries, id)
		q.total -= e.size
		if q.callers[e.owner] -= e.size; q.callers[e.owner] == 0 {
			delete(q.callers, e.owner)
		}
	}
	return out
}

// knows reports whether a file is counted.
func (q *quota) knows(id string) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	_, ok := q.entries[id]
	return ok
}

// drop takes hashes out that a counted file has.
func (q *quota) drop(sums map[string]bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	for _, e := range q.entries {
		delete(sums, e.sum)
	}
}

// end returns the room, or keeps it for a file.
func (r *reservation) end(kept *record) {
	q := r.quota
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.uploading[r.owner] -= r.size; q.uploading[r.owner] == 0 {
		delete(q.uploading, r.owner)
	}
	if kept == nil {
		q.callers[r.owner] -= r.size
		q.total -= r.size
	} else {
		q.entries[kept.ID] = entry{owner: r.owner, size: r.size, sum: kept.SHA256, idle: true, epoch: q.epoch}
	}
	if q.callers[r.owner] == 0 {
		delete(q.callers, r.owner)
	}
	r.size = 0
}

// reserve returns the room for an upload, after what there is has been counted.
func (s *Store) reserve(ctx context.Context, owner string) (*reservation, error) {
	if err := s.count(ctx); err != nil {
		return nil, err
	}
	return &reservation{quota: &s.quota, limits: s.limits, owner: owner}, nil
}

// count counts the files once; from then on collections do.
func (s *Store) count(ctx context.Context) error {
	q := &s.quota
	q.loading.Lock()
	defer q.loading.Unlock()
	q.mu.Lock()
	loaded := q.loaded
	q.mu.Unlock()
	if loaded {
		return nil
	}
	return s.recount(ctx)
}

// recount counts what is kept now.
func (s *Store) recount(ctx context.Context) error {
	epoch, used, listed := s.quota.begin(), map[string]bool{}, map[string]entry{}
	for _, folder := range []string{usedFolder, runsFolder, plansFolder} {
		if err := s.blobs.List(ctx, folder, func(name string, _ time.Time) error {
			used[name[strings.LastIndexByte(name, '/')+1:]] = true
			return nil
		}); err != nil {
			return err
		}
	}
	err := s.blobs.List(ctx, recordFolder, func(name string, _ time.Time) error {
		raw, err := s.blobs.Read(ctx, name)
		if errors.Is(err, fs.ErrNotExist) {
			return nil // another server has deleted it
		}
		var r record
		if err != nil || json.Unmarshal(raw, &r) != nil {
			return err // a damaged record is of nobody
		}
		listed[r.ID] = entry{owner: r.Owner, size: r.Size, sum: r.SHA256, idle: !used[r.ID]}
		return nil
	})
	if err == nil {
		s.quota.settle(epoch, listed)
	}
	return err
}
