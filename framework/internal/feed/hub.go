package feed

import (
	"context"
	"log/slog"
	"slices"
	"sync"
	"time"

	"github.com/koan-go/koan/framework/fault"
	"github.com/koan-go/koan/framework/run/follow"
)

// Options configure a Hub. The zero value is right, but for Log.
type Options struct {
	// Poll is how often the sets that somebody follows are looked at for commits of other
	// processes; 0 is 100 ms. Commits of this process are seen at once.
	Poll time.Duration
	// MaxBytes bounds about what is kept in memory for those who keep up, 0 is 16 MiB. Who is
	// further behind reads from the database.
	MaxBytes int
	Log      *slog.Logger
}

// Hub has the changes of an app. It is safe for concurrent use. It works while somebody
// follows.
type Hub struct {
	opts Options
	log  follow.Log    // nil where none is kept
	news chan struct{} // there may be commits
	// readers are those who are behind what is in memory, and read from the database now.
	readers chan struct{}

	mu        sync.Mutex
	followers map[*Follower]struct{}
	tracks    map[string]*track
	bytes     int           // in tracks
	moved     chan struct{} // closed when a track moves
	stop      func()        // of the poller; nil when nobody follows
	closed    bool
	pollers   sync.WaitGroup
}

// maxReaders is how many followers read from the database at a time.
const maxReaders = 8

// New makes a hub, which has nothing to follow until Use.
func New(o Options) *Hub {
	if o.Poll == 0 {
		o.Poll = 100 * time.Millisecond
	}
	if o.MaxBytes == 0 {
		o.MaxBytes = 16 << 20
	}
	return &Hub{opts: o, news: make(chan struct{}, 1), readers: make(chan struct{}, maxReaders), followers: map[*Follower]struct{}{}, tracks: map[string]*track{}, moved: make(chan struct{})}
}

// Use sets where changes are kept, before the first call.
func (h *Hub) Use(log follow.Log) {
	h.log = log
	log.OnCommit(func() {
		select {
		case h.news <- struct{}{}:
		default:
		}
	})
}

// Close ends all streams with a fault, and waits for what the hub does.
func (h *Hub) Close() {
	h.mu.Lock()
	h.closed = true
	stop := h.stop
	h.stop = nil
	h.mu.Unlock()
	if stop != nil {
		stop()
	}
	h.announce()
	h.pollers.Wait()
}

// track is what is known of a set that somebody follows: everything after an entry.
type track struct {
	from    follow.Head
	head    follow.Head
	commits []*commit
}

// after returns the commits after a position, as far as they are known; ok is false where
// the track begins later.
func (t *track) after(position int64) (out []*commit, ok bool) {
	if position < t.from.Position {
		return nil, false
	}
	i, _ := slices.BinarySearchFunc(t.commits, position+1, func(c *commit, at int64) int {
		return int(min(max(c.entry.Position-at, -1), 1))
	})
	return slices.Clip(t.commits[i:]), true
}

func (h *Hub) announce() {
	h.mu.Lock()
	defer h.mu.Unlock()
	close(h.moved)
	h.moved = make(chan struct{})
}

// add registers a follower.
func (h *Hub) add(f *Follower) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.closed {
		return errEnding()
	}
	h.followers[f] = struct{}{}
	if h.stop == nil {
		ctx, cancel := context.WithCancel(context.Background())
		h.stop = cancel
		h.pollers.Go(func() { h.poll(ctx) })
	}
	select {
	case h.news <- struct{}{}: // for the sets that only this one follows
	default:
	}
	return nil
}

func errEnding() error {
	return fault.New(fault.ServiceUnavailable, "the server is shutting down").WithHint("Connect again with the id of the last event.")
}

// remove takes out a follower. With the last one, the hub rests.
func (h *Hub) remove(f *Follower) {
	h.mu.Lock()
	defer h.mu.Unlock()
	delete(h.followers, f)
	if len(h.followers) == 0 && h.stop != nil {
		h.stop()
		h.stop, h.tracks, h.bytes = nil, map[string]*track{}, 0
	}
}

// wanted returns the sets that are followed, nil for all.
func (h *Hub) wanted() (sets []string, all bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for f := range h.followers {
		if f.sets == nil {
			return nil, true
		}
		for _, set := range f.sets {
			if !slices.Contains(sets, set) {
				sets = append(sets, set)
			}
		}
	}
	return sets, false
}

// rest is the shortest time between two looks at the database: many commits are read at once.
const rest = 5 * time.Millisecond

// poll looks for commits until ctx ends.
func (h *Hub) poll(ctx context.Context) {
	tick := time.NewTicker(h.opts.Poll)
	defer tick.Stop()
	troubled := false
	for {
		err := h.look(ctx)
		if err != nil && !troubled && ctx.Err() == nil {
			h.opts.Log.Warn("changes cannot be followed now; retrying", "error", err)
		}
		troubled = err != nil
		select {
		case <-ctx.Done():
			return
		case <-time.After(rest):
		}
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		case <-h.news:
		}
	}
}

// lookTime bounds one look at the database.
const lookTime = 10 * time.Second

// look reads what has been committed since the last time.
func (h *Hub) look(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, lookTime)
	defer cancel()
	sets, all := h.wanted()
	heads := map[string]follow.Head{}
	if all {
		var err error
		if heads, err = h.log.Heads(ctx); err != nil {
			return err
		}
	}
	for _, set := range sets {
		head, err := h.log.Head(ctx, set)
		if err != nil {
			return err
		}
		heads[set] = head
	}
	for set, head := range heads {
		if err := h.advance(ctx, set, head); err != nil {
			return err
		}
	}
	return nil
}

// portion is how many entries are read at once.
const portion = 256

// advance brings the track of a set to an entry at least.
func (h *Hub) advance(ctx context.Context, set string, head follow.Head) error {
	h.mu.Lock()
	t := h.tracks[set]
	begun := t == nil
	if begun {
		t = &track{from: head, head: head}
		h.tracks[set] = t
	}
	at := t.head.Position
	h.mu.Unlock()
	if begun && head.Position > 0 {
		h.announce()
	}
	for at < head.Position {
		entries, err := h.log.Entries(ctx, set, at, portion)
		if err != nil || len(entries) == 0 {
			return err
		}
		at = entries[len(entries)-1].Position
		h.mu.Lock()
		if h.tracks[set] != t { // the last follower has left meanwhile
			h.mu.Unlock()
			return nil
		}
		for _, e := range entries {
			t.commits = append(t.commits, newCommit(e))
			h.bytes += e.Size
		}
		t.head = entries[len(entries)-1].Head
		h.makeRoom()
		h.mu.Unlock()
		h.announce()
	}
	return nil
}

// makeRoom drops the oldest commits of what has the most of them. The caller holds the lock.
func (h *Hub) makeRoom() {
	for h.bytes > h.opts.MaxBytes {
		var most *track
		for _, t := range h.tracks {
			if len(t.commits) > 0 && (most == nil || len(t.commits) > len(most.commits)) {
				most = t
			}
		}
		if most == nil {
			return
		}
		c := most.commits[0]
		most.from, most.commits = c.entry.Head, slices.Delete(slices.Clone(most.commits), 0, 1)
		h.bytes -= c.drop()
	}
}

// hold counts bytes that were made for a commit, unless it has been dropped meanwhile.
func (h *Hub) hold(c *commit, n int) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if c.counted > 0 {
		c.counted += n
		h.bytes += n
		h.makeRoom()
	}
}
