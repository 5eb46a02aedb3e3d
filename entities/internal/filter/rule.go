package filter

import (
	"github.com/koan-go/koan/entities/descriptor"
	"github.com/koan-go/koan/entities/internal/sqltext"
)

// Rule is which rows of an entity a caller may read. The nil Rule lets all of
// them through. It is immutable.
type Rule struct {
	// Key is the column of the entity's key.
	Key string
	// Keys returns a statement of one column, called as Key, with the keys of the rows
	// that may be read. bound is how many arguments stand before it.
	Keys func(bound int) (text string, args []any)
}

// Nothing is a rule that lets no row through.
var Nothing = &Rule{}

// Where appends the rule as one SQL condition on the table that has alias a. It
// asks for one key at a time, so that a row that is found by its key costs the
// same whatever the rule lets through.
func (r *Rule) Where(b *sqltext.Builder, a sqltext.Alias) {
	switch {
	case r == nil:
		b.Raw(truth(true))
		return
	case r.Keys == nil:
		b.Raw(truth(false))
		return
	}
	t := b.NewAlias()
	b.Raw("EXISTS (SELECT 1 FROM (").Embed(r.Keys).Raw(") AS ").Alias(t)
	b.Raw(" WHERE ").Column(t, r.Key).Raw("=").Column(a, r.Key).Raw(")")
}

func (r *Rule) where(b *sqltext.Builder, a sqltext.Alias, negate bool) {
	if negate {
		b.Raw("NOT ")
	}
	r.Where(b, a)
}

// Ruled is a Graph that knows which rows of its entities a caller may read. It is
// asked only for entities that an input reads, filters or aggregates by.
type Ruled interface {
	Graph
	Rule(e *descriptor.Entity) *Rule
}

// RuleOf returns the rule of an entity, nil where the graph knows none.
func RuleOf(g Graph, e *descriptor.Entity) *Rule {
	if ruled, ok := g.(Ruled); ok {
		return ruled.Rule(e)
	}
	return nil
}

// Within narrows a filter to what a rule lets through.
func Within(t *Tree, r *Rule) *Tree {
	switch {
	case r == nil:
		return t
	case t.Empty():
		return &Tree{root: r}
	}
	return &Tree{root: &group{of: []node{r, t.root}}}
}
