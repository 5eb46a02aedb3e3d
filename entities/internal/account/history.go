package account

import (
	"context"
	"errors"
	"slices"

	"github.com/koan-go/koan/entities/internal/changes"
	"github.com/koan-go/koan/entities/internal/model"
	"github.com/koan-go/koan/entities/internal/transaction"
)

// Past is what a transaction found of a row before its first write to it.
type Past struct {
	kind  *model.Kind
	id    any
	There bool   // it was there
	row   RowRef // as it was, where it was there
	gone  bool   // it was there and is not at the end, as of Images
}

// pastBytes is about what is kept of a row that was written, besides the row: half of it by the run itself,
// and half by an undo, which counts no more than the run did.
const pastBytes = 208

// pair is a link: a row of a join table.
type pair struct{ table, own, other, ownID, otherID string }

// side is a join table as one of its columns has it.
type side struct{ table, own, other string }

func (p pair) side() side { return side{p.table, p.own, p.other} }

// reversed is the same link, seen from the other side.
func (p pair) reversed() pair { return pair{p.table, p.other, p.own, p.otherID, p.ownID} }

// pastLinks are the links of a row that are known from before the first write to them.
type pastLinks struct {
	of    *Past
	join  *Join
	id    string   // of the row, as the column holds it
	found []string // at the other side
}

// History is what a transaction found of what it has written, for an undo.
type History struct {
	*transaction.Tx
	tables Tables
	log    *changes.Log
	found
	returned returned
	Unnamed  int  // writes to rows of no entity
	Undoing  bool // the transaction undoes a run
}

// found is what is kept of rows and links.
type found struct {
	Rows   map[changes.Row]*Past
	order  []*Past
	pages  RowPages
	listed map[side]map[string]*pastLinks // by the row's id, as the column holds it
	links  []*pastLinks
	known  map[pair]bool // whether the transaction found it
}

// errNoImages ends the making of images where the attempt keeps none any more.
var errNoImages = errors.New("entities: no images are kept")

// keepsPast reports whether what is written is to be kept as it was.
func (t *History) keepsPast() bool {
	if t.Attempt.KeepsImages() {
		return true
	}
	t.found, t.returned, t.Unnamed = found{}, returned{}, 0
	return false
}

// Keep keeps rows as they are, before they are written for the first time; linked also
// with what they are linked with.
func (t *History) Keep(ctx context.Context, k *model.Kind, ids []any, linked bool) error {
	info := t.tables[k]
	if info == nil || !t.keepsPast() {
		return nil
	}
	var unknown []any
	for _, id := range ids {
		switch {
		case t.Rows[changes.RowOf(k, id)] != nil:
		case t.log.CreatedHere(k, id): // by a mutation whose hooks still run
			t.KeepCreated(k, id)
		default:
			unknown = append(unknown, id)
		}
	}
	for some := range slices.Chunk(unknown, maxHeld) {
		now, err := t.heldRows(ctx, k, some)
		if errors.Is(err, errNoImages) {
			return nil
		}
		if err != nil {
			return err
		}
		for _, id := range some {
			if _, err := t.add(k, id, now[k.FormatID(id)]); err != nil {
				return err
			}
		}
	}
	if !linked {
		return nil
	}
	for _, id := range ids {
		if err := t.keepLinks(ctx, t.Rows[changes.RowOf(k, id)]); err != nil {
			return err
		}
	}
	return nil
}

// KeepCreated keeps that a row which was just created was not there, nor anything that it is
// linked with.
func (t *History) KeepCreated(k *model.Kind, id any) {
	info := t.tables[k]
	if info == nil || !t.keepsPast() {
		return
	}
	of := t.Rows[changes.RowOf(k, id)]
	switch {
	case of == nil:
		if !t.Attempt.HoldImage(pastBytes) {
			return
		}
		of = t.addMissing(k, id)
	case of.There: // it was deleted before
		return
	}
	if len(info.Joins) == 0 {
		return
	}
	own, err := HeldID(k, id)
	if err != nil {
		return
	}
	for i := range info.Joins {
		j := &info.Joins[i]
		if t.listedOf(j, own) == nil && t.Attempt.HoldImage(listBytes) {
			t.list(of, j, own, nil)
		}
	}
}

// add keeps a row as it was found, nil for none, which is counted.
func (h *History) add(k *model.Kind, id any, row HeldRow) (*Past, error) {
	p := h.addMissing(k, id)
	if row == nil {
		return p, nil
	}
	var err error
	p.There = true
	p.row, err = h.pages.Put(row)
	return p, err
}

// Row returns a row as the transaction found it, nil for none.
func (h *History) Row(p *Past) (HeldRow, error) {
	if p == nil || !p.There {
		return nil, nil
	}
	return h.pages.Get(p.row)
}

func (h *History) addMissing(k *model.Kind, id any) *Past {
	p := &Past{kind: k, id: id}
	if h.Rows == nil {
		h.pages = NewRowPages(h.Attempt)
		h.Rows = map[changes.Row]*Past{}
	}
	h.Rows[changes.RowOf(k, id)] = p
	h.order = append(h.order, p)
	return p
}

// keepLinks keeps what a row is linked with.
func (t *History) keepLinks(ctx context.Context, of *Past) error {
	if of == nil || len(t.tables[of.kind].Joins) == 0 {
		return nil
	}
	joins := t.tables[of.kind].Joins
	own, err := HeldID(of.kind, of.id)
	if err != nil {
		return err
	}
	for i := range joins {
		j := &joins[i]
		if t.listedOf(j, own) != nil {
			continue
		}
		now, err := t.heldLinks(ctx, of, j)
		if err != nil {
			return err
		}
		if !t.Attempt.HoldImage(listBytes + linkBytes*len(now)) {
			return nil
		}
		t.list(of, j, own, now)
	}
	return nil
}

// list notes all links of a row. One that is new to a row whose links were listed before, from
// the other side, was made by the transaction.
func (h *History) list(of *Past, j *Join, own string, others []string) {
	if h.listed == nil {
		h.listed, h.known = map[side]map[string]*pastLinks{}, map[pair]bool{}
	}
	if h.listedOf(j, own) != nil {
		return
	}
	l := &pastLinks{of, j, own, others}
	from := side{j.Table, j.Own, j.Other}
	if h.listed[from] == nil {
		h.listed[from] = map[string]*pastLinks{}
	}
	h.listed[from][own] = l
	h.links = append(h.links, l)
	for _, other := range others {
		p := pair{j.Table, j.Own, j.Other, own, other}
		if _, known := h.lookup(p); known {
			continue
		}
		far := p.reversed()
		h.known[p] = h.listed[far.side()][far.ownID] == nil
	}
}

// listedOf returns the links of a row that were listed, nil where they were not.
func (h *found) listedOf(j *Join, own string) *pastLinks {
	return h.listed[side{j.Table, j.Own, j.Other}][own]
}

// lookup reports whether the transaction found a link, if that is known.
func (h *found) lookup(p pair) (was, known bool) {
	if was, known = h.known[p]; !known {
		was, known = h.known[p.reversed()]
	}
	return was, known
}

// HadLink reports whether the transaction found a row linked with another one, by their ids as the
// columns of the join table hold them.
func (h *History) HadLink(j *Join, own, other string) bool {
	was, _ := h.lookup(pair{j.Table, j.Own, j.Other, own, other})
	return was
}

// FoundLinks returns what a row was linked with when its links were first looked at.
func (h *History) FoundLinks(j *Join, own string) []string {
	if l := h.listedOf(j, own); l != nil {
		return l.found
	}
	return nil
}
