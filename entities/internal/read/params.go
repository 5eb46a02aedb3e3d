package read

import (
	"github.com/koan-go/koan/entities/descriptor"
	"github.com/koan-go/koan/entities/internal/filter"
)

// The limits of one input (CONTRACT section 3).
const (
	DefaultPageSize = 50
	MaxPageSize     = 200
	MaxPage         = 1_000_000_000
	MaxSort         = 8    // fields in one sort
	MaxWithDepth    = 4    // relationships within relationships
	MaxWith         = 32   // relationships of one input together
	MaxEdgeLimit    = 1000 // related entities per parent, where a limit is given
)

// Collection is a checked input of the operation collection.
type Collection struct {
	Entity   *descriptor.Entity
	Set      string // "" where the input names none; whoever opens the set puts it in
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
	Entity *descriptor.Entity
	Set    string // "" where the input names none
	Named  bool   // the input names a set
	Key    any    // as it is bound: int64 or string
	ID     string // as it is shown

	rule  *filter.Rule
	reads *selection
	plain bool
}

// Count is a checked input of the operation count.
type Count struct {
	Entity *descriptor.Entity
	Set    string // "" where the input names none
	Filter *filter.Tree
}

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
	filter *filter.Tree // the target's rule among it
	reads  *selection
	key    string // `"name":`
}
