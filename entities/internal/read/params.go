package read

import (
	"github.com/koan-go/koan/entities/descriptor"
	"github.com/koan-go/koan/entities/internal/filter"
)

// The limits of one input (CONTRACT section 3).
const (
	defaultPageSize = 50
	maxPageSize     = 200
	maxPage         = 1_000_000_000
	maxSort         = 8    // fields in one sort
	maxWithDepth    = 4    // relationships within relationships
	maxWith         = 32   // relationships of one input together
	maxEdgeLimit    = 1000 // related entities per parent, where a limit is given
)

// Query is what the checked inputs of all reading operations have.
type Query struct {
	Entity *descriptor.Entity
	Set    string // "" where the input names none
	Named  bool   // the input names a set

	guards filter.Guards
}

// SetOr returns the set that the input names, and otherwise the standard one.
func (q *Query) SetOr(standard string) string {
	if q.Named {
		return q.Set
	}
	return standard
}

// Obey lets the query see only the rows that rules let through. It ends in the first
// rule's error.
func (q *Query) Obey(rules filter.Rules) error { return q.guards.Obey(rules) }

// Collection is a checked input of the operation collection. Whoever opens the set puts
// its name in, since cursors belong to sets.
type Collection struct {
	Query
	Filter   *filter.Tree
	Words    *filter.Words // of q
	Page     int           // from 1; with a cursor, what it says
	PageSize int
	Count    bool // totalCount is wanted

	given any // the filter as it was given; nil for none
	order []term
	after *parsedCursor // nil without a cursor
	reads *selection
}

// Get is a checked input of the operation get-by-id.
type Get struct {
	Query
	Key any    // as it is bound: int64 or string
	ID  string // as it is shown

	guard *filter.Guard
	reads *selection
}

// Count is a checked input of the operation count.
type Count struct {
	Query
	Filter *filter.Tree
}

// Single reports whether reading takes one statement, so that it needs no transaction to
// see one snapshot.
func (g *Get) Single() bool { return len(g.reads.relations) == 0 }

// Single returns the same of a collection.
func (c *Collection) Single() bool { return !c.Count && len(c.reads.relations) == 0 }

// selection is what is read of one entity: fields, and related entities.
type selection struct {
	entity    *descriptor.Entity
	layout    *layout
	chosen    map[string]bool // the fields of the layout; nil is all
	relations []*relation
}

// relation is one edge of a selection.
type relation struct {
	edge   *descriptor.Edge
	many   bool
	own    *descriptor.Entity
	limit  int // per parent; 0 is none
	order  []term
	filter *filter.Tree
	reads  *selection
	key    string // `"name":`
}
