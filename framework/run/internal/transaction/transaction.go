// Package transaction has the transactions of one attempt: one for each set that its calls
// have joined.
//
// What belongs here: which sets an attempt may write to, which of its writes are undone
// together, and how several transactions end as one. Not here: when they end, or whom
// that is announced to.
package transaction

import (
	"context"
	"slices"

	"github.com/koan-go/koan/framework/fault"
	"github.com/koan-go/koan/framework/run/store"
)

// Group is the transactions of an attempt. It is used by one call at a time.
type Group struct {
	open   []*Transaction
	levels []*Level // the innermost last
}

// Transaction is one of them.
type Transaction struct {
	store.Tx
	store   store.Store
	set     string
	written bool
}

// Join returns the transaction on a set, opening it for the attempt at the first call.
func (g *Group) Join(ctx context.Context, a store.Attempt, s store.Store, set string) (*Transaction, error) {
	for _, t := range g.open {
		if t.store == s && t.set == set {
			return t, nil
		}
	}
	tx, err := s.Begin(ctx, a, set)
	if err != nil {
		return nil, err
	}
	t := &Transaction{Tx: tx, store: s, set: set}
	g.open = append(g.open, t)
	return t, nil
}

// Written reports whether StartWriting has been called.
func (t *Transaction) Written() bool { return t.written }

// Locked reports whether the transaction holds the write lock.
func (t *Transaction) Locked() bool {
	locked, _ := t.State()
	return locked
}

// wrote reports whether the transaction has something to commit.
func (t *Transaction) wrote() bool {
	_, wrote := t.State()
	return wrote
}

// StartWriting admits a transaction to writing, takes its write lock, and opens the savepoints of
// the levels in it. anySets admits those to several sets of a store that cannot commit them
// together. The lock may be held even if it returns an error.
func (g *Group) StartWriting(ctx context.Context, t *Transaction, anySets bool) error {
	if !anySets && !t.spansSets() {
		for _, other := range g.open {
			if other.written && other != t {
				return fault.Newf(fault.CrossSet, "this run already writes to the set %q and cannot write to %q too", other.set, t.set)
			}
		}
	}
	if err := t.Write(ctx); err != nil {
		return err
	}
	t.written = true
	for _, l := range g.levels {
		if err := l.mark(ctx, t); err != nil {
			return err
		}
	}
	return nil
}

// Part takes a transaction out of the group, to end it alone. The next call joins another one.
func (g *Group) Part(t *Transaction) *Group {
	g.open = slices.DeleteFunc(g.open, func(other *Transaction) bool { return other == t })
	return &Group{open: []*Transaction{t}}
}

// PartAll takes all transactions out of the group, to end them together.
func (g *Group) PartAll() *Group {
	all := &Group{open: g.open}
	g.open = nil
	return all
}

// WrittenSets returns the sets that have something to commit.
func (g *Group) WrittenSets() []string {
	var sets []string
	for _, t := range g.open {
		if t.wrote() {
			sets = append(sets, t.set)
		}
	}
	return sets
}

// Changes returns those of all transactions.
func (g *Group) Changes(ctx context.Context) ([]store.Change, error) {
	var out []store.Change
	for _, t := range g.open {
		changes, err := t.Tx.Changes(ctx)
		if err != nil {
			return nil, err
		}
		out = append(out, changes...)
	}
	return out, nil
}

// Images returns those of all transactions; they are not complete where one has none.
func (g *Group) Images(ctx context.Context) (out store.Images, err error) {
	for _, t := range g.open {
		if !t.wrote() {
			continue
		}
		imager, ok := t.Tx.(store.Imager)
		if !ok {
			return store.Images{Incomplete: true}, nil
		}
		images, complete, err := imager.Images(ctx)
		if err != nil || !complete {
			return store.Images{Incomplete: !complete}, err
		}
		out, err = out.And(store.Images{Images: images, Lasting: imager.Irreversible(), Apart: !t.spansSets()})
		if err != nil {
			return store.Images{}, err
		}
	}
	return out, nil
}

func (t *Transaction) spansSets() bool {
	s, ok := t.store.(store.Spanning)
	return ok && s.SpansSets()
}

// Check asks all transactions whether what was written may stay.
func (g *Group) Check(ctx context.Context) error {
	for _, t := range g.open {
		if c, ok := t.Tx.(store.Checker); ok && t.written {
			if err := c.Check(ctx); err != nil {
				return err
			}
		}
	}
	return nil
}

// Commit ends all transactions, the writing one last: on a store that cannot
// span sets there is at most one, so the whole is atomic.
func (g *Group) Commit(ctx context.Context, r store.Receipt) error {
	for _, writing := range []bool{false, true} {
		for _, t := range g.open {
			if t.written != writing {
				continue
			}
			receipt := r
			if t.wrote() {
				r.Reply = nil // one set keeps it
			}
			if err := t.Tx.Commit(ctx, receipt); err != nil {
				return err
			}
		}
	}
	return nil
}

// Rollback ends all of them without effect.
func (g *Group) Rollback(ctx context.Context) {
	for _, t := range g.open {
		_ = t.Tx.Rollback(ctx)
	}
	g.open = nil
}
