package filter

import (
	"strings"

	"github.com/koan-go/koan/entities/descriptor"
	"github.com/koan-go/koan/framework/database/sqltext"
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

// Mentions returns how often the rule names a table other than before a column, at least: more
// where something else has that name.
func (r *Rule) Mentions(table string) (n int) {
	if r == nil || r.Keys == nil {
		return 0
	}
	text, _ := r.Keys(0)
	text, table = strings.ToLower(text), strings.ToLower(table)
	for {
		i := strings.Index(text, table)
		if i < 0 {
			return n
		}
		text = text[i+len(table):]
		if !strings.HasPrefix(strings.TrimLeft(text, "\"`"), ".") {
			n++
		}
	}
}

// Rules know which rows of entities a caller may read.
type Rules interface {
	Rule(e *descriptor.Entity) (*Rule, error)
}

// Guard stands in a checked input wherever rows of an entity are read, or asked about,
// for the rule of the entity. Inputs are decoded before there is a transaction, and
// rules are asked for in it: until Guards.Obey the guard lets all rows through.
type Guard struct {
	entity *descriptor.Entity
	rule   *Rule
}

// Rule returns the rule that was asked for, nil for none.
func (g *Guard) Rule() *Rule {
	if g == nil {
		return nil
	}
	return g.rule
}

// Guards are those of one input: one for each entity, in the order in which the input
// comes to them. They belong to one call.
type Guards []*Guard

// Of returns the guard of an entity. A nil receiver stands for what has no rules.
func (gs *Guards) Of(e *descriptor.Entity) *Guard {
	if gs == nil {
		return nil
	}
	for _, g := range *gs {
		if g.entity == e {
			return g
		}
	}
	g := &Guard{entity: e}
	*gs = append(*gs, g)
	return g
}

// Obey asks for the rules, and ends in the first error.
func (gs Guards) Obey(rules Rules) error {
	for _, g := range gs {
		var err error
		if g.rule, err = rules.Rule(g.entity); err != nil {
			return err
		}
	}
	return nil
}
