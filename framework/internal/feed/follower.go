package feed

import (
	"context"
	"maps"
	"slices"
	"strings"

	"github.com/koan-go/koan/framework/catalog"
	"github.com/koan-go/koan/framework/fault"
	"github.com/koan-go/koan/framework/run/follow"
)

// Filter is what somebody follows.
type Filter struct {
	Entities []string // as in the SDK; nil is all that the reader may see
	Sets     []string // nil is all that the reader may name
	// Condition is of the rows of one entity, the only one that is followed; nil is all rows.
	Condition *follow.Condition
}

// Event is one change that somebody may see.
type Event struct {
	Entity, Set, RowID string
	Data               []byte // JSON

	// The cursor behind the event.
	cursor Cursor
}

// ID is the id of the event, from which its reader can go on.
func (e *Event) ID() string { return e.cursor.String() }

// Follower follows changes. It is used by one goroutine at a time, and closed at the end.
type Follower struct {
	hub       *Hub
	sets      []string
	entities  []string
	condition *follow.Condition
	cursor    Cursor
}

// Follow begins to follow from now on or, with the id of an event, from behind that. It ends in
// capability_unsupported where the app keeps no changes, in invalid_payload for an id that is
// none or of other sets or a condition that is wrong, and in Gone where what follows it is not kept any more.
func (h *Hub) Follow(ctx context.Context, r follow.Reader, filter Filter, lastID string) (*Follower, error) {
	if h.log == nil {
		return nil, fault.New(fault.CapabilityUnsupported, "this app does not keep what is changed, so changes cannot be followed").
			WithHint("Set journal.enabled and journal.changes to true, which they are by default; an app that opens its databases itself also needs ledger.inData.")
	}
	f := &Follower{hub: h, sets: filter.Sets, entities: filter.Entities, condition: filter.Condition}
	r.Condition = f.condition
	err := h.log.Check(r)
	if err != nil {
		return nil, err
	}
	if lastID == "" {
		err = f.fromNow(ctx, r)
	} else {
		err = f.resume(ctx, r, lastID)
	}
	if err == nil {
		err = f.admit(ctx, r)
	}
	if err != nil {
		return nil, err
	}
	return f, h.add(f)
}

// admit refuses a reader for whom changes cannot be filtered.
func (f *Follower) admit(ctx context.Context, r follow.Reader) error {
	for set, p := range f.cursor.places {
		if p.Position > 0 {
			_, err := f.hub.log.See(ctx, r, &follow.Entry{Set: set})
			return err
		}
	}
	return nil
}

// Close ends the follower.
func (f *Follower) Close() { f.hub.remove(f) }

// ID is the id from which the follower goes on.
func (f *Follower) ID() string { return f.cursor.String() }

// fromNow places the cursor behind everything that is committed.
func (f *Follower) fromNow(ctx context.Context, r follow.Reader) error {
	f.cursor = Cursor{all: f.sets == nil, places: map[string]place{}}
	if f.sets != nil {
		for _, set := range f.sets {
			head, err := f.hub.log.Head(ctx, set)
			if err != nil {
				return err
			}
			f.cursor.places[set] = place{head, whole}
		}
		return nil
	}
	heads, err := f.hub.log.Heads(ctx)
	if err != nil {
		return err
	}
	for set, head := range heads {
		if r.Principal.MayName(set) {
			f.cursor.places[set] = place{head, whole}
		}
	}
	return f.checkNumber()
}

// checkNumber refuses more sets than an id can name.
func (f *Follower) checkNumber() error {
	if len(f.cursor.places) <= MaxSets {
		return nil
	}
	return fault.Newf(fault.InvalidPayload, "%d sets have changes, and one stream follows at most %d", len(f.cursor.places), MaxSets).
		WithHint("Name the sets that you need with `set`, separated by commas.").WithPath("/set")
}

// resume places the cursor behind an event.
func (f *Follower) resume(ctx context.Context, r follow.Reader, lastID string) error {
	given, err := ParseCursor(lastID)
	if err != nil {
		return err
	}
	f.cursor = Cursor{all: f.sets == nil, places: map[string]place{}}
	foreign := func(what string) error {
		return fault.New(fault.InvalidPayload, "the last event is of a stream of "+what).
			WithHint("Follow the same sets as before, or send no id.").WithPath("/lastEventId")
	}
	sets := f.sets
	if f.cursor.all {
		if !given.all {
			return foreign("some sets only")
		}
		sets = slices.Sorted(maps.Keys(given.places))
	}
	for _, set := range sets {
		p, there := given.places[set]
		switch {
		case !there && !given.all:
			return foreign("other sets")
		case !there:
			p = place{done: whole}
		case !r.Principal.MayName(set):
			continue
		}
		holds, err := f.hub.log.Holds(ctx, set, p.Head)
		if err != nil {
			return err
		}
		if !holds {
			return f.gone(set)
		}
		f.cursor.places[set] = p
	}
	return f.checkNumber()
}

// Gone is the fault for a place that is not kept any more.
type Gone struct{ *fault.Fault }

// Unwrap returns the fault.
func (g Gone) Unwrap() error { return g.Fault }

func (f *Follower) gone(set string) error {
	return Gone{fault.Newf(fault.NotFound, "changes of the set %s that follow this event are not kept any more", catalog.Quote(set)).
		WithHint("Read the entities again, and follow without an id. Changes are kept %s.", f.hub.log.Retention()).WithPath("/lastEventId")}
}

// Bounds of what Next returns at once.
const (
	maxEvents = 256
	maxBytes  = 64 << 10
)

// Behind is about how many commits the follower has not read.
func (f *Follower) Behind() (n int64) {
	f.hub.mu.Lock()
	defer f.hub.mu.Unlock()
	for set, p := range f.cursor.places {
		if t := f.hub.tracks[set]; t != nil {
			n += max(t.head.Position-p.Position, 0)
		}
	}
	return n
}

// Next returns the events that follow, waiting for them until ctx ends; none where it came
// upon changes that the reader may not see. who is asked whenever there may be something to
// read. An error ends the stream, behind the events that come with it; ID is behind what it is
// about.
func (f *Follower) Next(ctx context.Context, who func() (follow.Reader, error)) ([]Event, error) {
	for {
		r, err := who()
		if err != nil {
			return nil, err
		}
		r.Condition = f.condition
		f.hub.mu.Lock()
		moved, closed := f.hub.moved, f.hub.closed
		sets := f.ahead(r)
		f.hub.mu.Unlock()
		if closed {
			return nil, errEnding()
		}
		before := f.cursor.String()
		var out []Event
		for _, set := range sets {
			events, err := f.read(ctx, r, set)
			out = append(out, events...)
			if err != nil {
				return out, err
			}
			if len(out) >= maxEvents {
				break
			}
		}
		if len(out) > 0 || f.cursor.String() != before {
			return out, nil
		}
		select {
		case <-moved:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

// ahead returns the sets in which there is more. The caller holds the hub's lock.
func (f *Follower) ahead(r follow.Reader) (out []string) {
	for set, t := range f.hub.tracks {
		if f.sets != nil && !slices.Contains(f.sets, set) || !r.Principal.MayName(set) {
			continue
		}
		p, there := f.cursor.places[set]
		if t.head.Position > p.Position || there && p.done != whole {
			out = append(out, set)
		}
	}
	slices.Sort(out)
	return out
}

// read returns what follows in a set, and moves the cursor.
func (f *Follower) read(ctx context.Context, r follow.Reader, set string) (out []Event, err error) {
	p, there := f.cursor.places[set]
	if !there {
		p.done = whole
		f.cursor = f.cursor.with(set, p)
		if err := f.checkNumber(); err != nil {
			return nil, err
		}
	}
	from := p.Position
	if p.done != whole {
		from-- // the entry itself has more
	}
	commits, err := f.commits(ctx, set, from, p.Head)
	if err != nil {
		return nil, err
	}
	for i, size := 0, 0; i < len(commits) && len(out) < maxEvents && size < maxBytes; i++ {
		c := commits[i]
		if c.entry.Missing != "" {
			return out, f.skip(set, commits[i:])
		}
		changes, err := f.hub.see(ctx, c, r)
		if err != nil {
			return out, err
		}
		skip := 0
		if p.done != whole && c.entry.Position == p.Position {
			skip = p.done
		}
		for n, one := range changes {
			if one.index < skip || f.entities != nil && !slices.Contains(f.entities, one.entity) {
				continue
			}
			at := place{c.entry.Head, one.index + 1}
			if n == len(changes)-1 {
				at.done = whole
			}
			f.cursor = f.cursor.with(set, at)
			out = append(out, Event{Entity: one.entity, Set: set, RowID: one.id, Data: one.data, cursor: f.cursor})
			size += len(one.data)
			if at.done != whole && (len(out) >= maxEvents || size >= maxBytes) {
				return out, nil
			}
		}
		f.cursor = f.cursor.with(set, place{c.entry.Head, whole})
		if len(out) > 0 {
			out[len(out)-1].cursor = f.cursor
		}
	}
	return out, nil
}

// skip moves the cursor behind commits of which nothing is kept.
func (f *Follower) skip(set string, commits []*commit) error {
	why, n := commits[0].entry.Missing, 0
	for n < len(commits) && commits[n].entry.Missing != "" {
		n++
	}
	f.cursor = f.cursor.with(set, place{commits[n-1].entry.Head, whole})
	runs := []string{}
	for _, c := range commits[:min(n, 10)] {
		runs = append(runs, c.entry.Run)
	}
	return fault.Newf(fault.NotFound, "what %d commits in the set %s changed was not kept: %s (runs %s)", n, catalog.Quote(set), why, strings.Join(runs, ", ")).
		WithHint("Read the entities again. Connecting with the id of this event continues after these commits.")
}

// commits returns the commits of a set after a position: those that are in memory, else some
// from the database.
func (f *Follower) commits(ctx context.Context, set string, after int64, from follow.Head) ([]*commit, error) {
	f.hub.mu.Lock()
	t := f.hub.tracks[set]
	var known []*commit
	var ok bool
	if t != nil {
		known, ok = t.after(after)
	}
	f.hub.mu.Unlock()
	if ok {
		return known, nil
	}
	select {
	case f.hub.readers <- struct{}{}:
		defer func() { <-f.hub.readers }()
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	entries, err := f.hub.log.Entries(ctx, set, after, portion)
	if err != nil {
		return nil, err
	}
	// What has been removed meanwhile is not among them.
	holds, err := f.hub.log.Holds(ctx, set, from)
	if err != nil {
		return nil, err
	}
	if !holds {
		return nil, f.gone(set)
	}
	out := make([]*commit, len(entries))
	for i, e := range entries {
		out[i] = newCommit(e)
		out[i].counted = 0 // the hub does not keep it
	}
	return out, nil
}
