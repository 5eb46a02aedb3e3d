package read

import (
	"github.com/koan-go/koan/entities/descriptor"
	"github.com/koan-go/koan/entities/filter"
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
	MaxQuery        = 200  // characters of q
	MaxWords        = 8    // words of q
)

// Collection is a checked input of the operation collection.
type Collection struct {
	Entity   *descriptor.Entity
	Set      string // "" where the input names none
	Filter   *filter.Tree
	Words    []string // of q; all of them must be found
	Page     int      // from 1
	PageSize int
	Count    bool // totalCount is wanted

	order  []term
	reads  *selection
	search []*descriptor.Column
}

// Get is a checked input of the operation get-by-id.
type Get struct {
	Entity *descriptor.Entity
	Set    string // "" where the input names none
	Key    any    // as it is bound: int64 or string
	ID     string // as it is shown

	reads *selection
}

// Count is a checked input of the operation count.
type Count struct {
	Entity *descriptor.Entity
	Set    string // "" where the input names none
	Filter *filter.Tree
}

// term is one field of a sort.
type term struct {
	column     *descriptor.Column
	descending bool
}

// selection is what is read of one entity: fields, and related entities.
type selection struct {
	entity    *descriptor.Entity
	layout    *layout
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
