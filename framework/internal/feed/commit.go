package feed

import (
	"context"
	"encoding/json"
	"sync"
	"time"

	"github.com/koan-go/koan/framework/fault"
	"github.com/koan-go/koan/framework/internal/invoke"
	"github.com/koan-go/koan/framework/run/follow"
	"github.com/koan-go/koan/framework/run/store"
)

// commit is an entry with what readers see of it, made once for all of the same rights.
type commit struct {
	entry   follow.Entry
	counted int // bytes that the hub counts for it, 0 once it is dropped; the hub's lock guards it

	mu    sync.Mutex
	sight map[string]*sight // by reader
}

// sight is what one kind of reader sees of a commit.
type sight struct {
	ready   chan struct{}
	changes []change
	err     error
}

// change is a change as a reader may see it.
type change struct {
	index  int // among the images of the entry
	entity string
	id     string
	data   json.RawMessage
}

func newCommit(e follow.Entry) *commit { return &commit{entry: e, counted: e.Size} }

// drop returns what was counted for a commit that is not kept any more.
func (c *commit) drop() int {
	n := c.counted
	c.counted = 0
	return n
}

// changeEvent is the data of an event (CONTRACT section 11).
type changeEvent struct {
	Entity string          `json:"entity"`
	Set    string          `json:"set"`
	ID     string          `json:"id"`
	Action store.Action    `json:"action"`
	Before json.RawMessage `json:"before"`
	After  json.RawMessage `json:"after"`
	RunID  string          `json:"runId"`
}

// seeTime bounds how long it may take to find out what somebody sees of one commit.
const seeTime = 30 * time.Second

// see returns what a reader sees of a commit. Readers of the same rights wait for the first of
// them.
func (h *Hub) see(ctx context.Context, c *commit, r follow.Reader) ([]change, error) {
	key := r.Principal.Subject + "\x00" + r.Principal.Key() + "\x00" + r.View.Version()
	if r.Condition != nil {
		key += "\x00" + r.Condition.Entity + "\x00" + r.Condition.Filter
	}
	c.mu.Lock()
	s := c.sight[key]
	if s == nil {
		s = &sight{ready: make(chan struct{})}
		if c.sight == nil {
			c.sight = map[string]*sight{}
		}
		c.sight[key] = s
		go h.fill(context.WithoutCancel(ctx), c, key, s, r) // others wait for it, whoever leaves
	}
	c.mu.Unlock()
	select {
	case <-s.ready:
		return s.changes, s.err
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

func (h *Hub) fill(ctx context.Context, c *commit, key string, s *sight, r follow.Reader) {
	ctx, cancel := context.WithTimeout(ctx, seeTime)
	defer cancel()
	defer close(s.ready)
	var seen []follow.Change
	err := fault.Guard(func() (err error) { // in this goroutine, of all readers: code of the app decides what they see
		seen, err = h.log.See(ctx, r, &c.entry)
		return err
	})
	size := 0
	for _, one := range seen {
		var data json.RawMessage
		if data, err = invoke.Encode(changeEvent{one.Entity, one.Set, one.ID, one.Action, one.Before, one.After, c.entry.Run}); err != nil {
			break
		}
		s.changes = append(s.changes, change{one.Index, one.Entity, one.ID, data})
		size += len(data) + 128
	}
	if err != nil {
		s.changes, s.err = nil, err
		c.mu.Lock()
		delete(c.sight, key) // the next one tries again
		c.mu.Unlock()
		return
	}
	h.hold(c, size)
}
