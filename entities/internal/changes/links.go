package changes

import (
	"github.com/koan-go/koan/entities/internal/model"
)

// side is a row as one column of a join table has it.
type side struct{ table, column, id string }

// link is a row of a join table, seen from one side.
type link struct {
	other any  // the id at the other side
	was   bool // the transaction found it there
	seen  bool // and its caller may read the other side
}

// Link is a row of a join table that leads from one row to another.
type Link struct {
	Kind      *model.Kind // that it is seen from
	Edge      *model.Edge
	ID, Other any  // native
	Was       bool // the transaction found it, unless it made one of the two rows itself
	Readable  bool // the caller may read the other row
	OwnToo    bool // and this one
}

// AddLink records a link, unless something is known of it already.
func (l *Log) AddLink(n Link) {
	k, e := n.Kind, n.Edge
	own, far := side{e.Column.JoinTable, e.Column.JoinOwn, k.FormatID(n.ID)}, side{e.Column.JoinTable, e.Column.JoinTarget, e.Target.FormatID(n.Other)}
	was := n.Was && !l.CreatedHere(k, n.ID) && !l.CreatedHere(e.Target, n.Other) && !l.listed[own] && !l.listed[far]
	l.add(own, far.id, link{n.Other, was, n.Readable})
	l.add(far, own.id, link{n.ID, was, n.OwnToo})
	if k.IsMutual(e) { // ent keeps one row for each direction
		own.column, far.column = far.column, own.column
		l.add(own, far.id, link{n.Other, was, n.Readable})
		l.add(far, own.id, link{n.ID, was, n.OwnToo})
	}
}

func (l *Log) add(from side, to string, n link) {
	if l.links == nil {
		l.links = map[side]map[string]link{}
	}
	if l.links[from] == nil {
		l.links[from] = map[string]link{}
	}
	if _, known := l.links[from][to]; !known {
		l.links[from][to] = n
	}
}

// MarkListed says that all links of rows which are about to be deleted are known. A
// link that is found later, at a row that was created again, is therefore new.
func (l *Log) MarkListed(k *model.Kind, ids []any, links []*model.Edge) {
	for _, e := range links {
		for _, id := range ids {
			if l.listed == nil {
				l.listed = map[side]bool{}
			}
			l.listed[side{e.Column.JoinTable, e.Column.JoinOwn, k.FormatID(id)}] = true
			if k.IsMutual(e) {
				l.listed[side{e.Column.JoinTable, e.Column.JoinTarget, k.FormatID(id)}] = true
			}
		}
	}
}

// LinkedBefore returns the ids at the other side of an edge of a row before the
// transaction, as far as its caller may read them. now are those that it may read now.
func (l *Log) LinkedBefore(at Row, e *model.Edge, now []any) []any {
	known := l.links[side{e.Column.JoinTable, e.Column.JoinOwn, at.ID}]
	there := make(map[any]bool, len(now))
	var before []any
	for _, id := range now {
		there[id] = true
		if n, ok := known[e.Target.FormatID(id)]; !ok || n.was {
			before = append(before, id)
		}
	}
	for _, n := range known {
		if n.was && n.seen && !there[n.other] {
			before = append(before, n.other)
		}
	}
	return before
}
