package read

import (
	"context"
	"strings"

	"entgo.io/ent/dialect"

	"github.com/koan-go/koan/entities/descriptor"
	"github.com/koan-go/koan/entities/internal/filter"
	"github.com/koan-go/koan/framework/database/sqltext"
)

// Past is a row as it was: the values of columns of its table, as they are bound.
type Past struct {
	Columns []string
	Values  []any
}

// PastImage is Image of a row as it was, in the table as it is now otherwise: the rule, and a condition
// unless it is nil, decide about that row.
func (e *Engine) PastImage(ctx context.Context, q Querier, entity *descriptor.Entity, key any, past Past, rule *filter.Rule, condition *filter.Tree) ([]byte, error) {
	s := &selection{entity: entity, layout: fullLayout(entity)}
	b := e.builder()
	e.shadow(b, entity, key, past, condition != nil || rule.Mentions(entity.Table) > 1)
	begin := len(b.Text())
	t := b.NewAlias()
	b.Raw("SELECT ").Raw(s.layout.list(e.dialect)).Raw(" FROM ").Name(entity.Table).Raw(" AS ").Alias(t)
	b.Raw(" WHERE ")
	filter.KeyIs(b, t, &entity.Key, key)
	appendRule(b, t, rule)
	if condition != nil {
		b.Raw(" AND ")
		b.Indexed = false // an index of words has the rows of now
		condition.Where(b, t)
		b.Indexed = e.Indexed
	}
	for _, c := range past.Columns {
		if name := e.shadowed(c); name != c {
			b.Rename(begin, c, name)
		}
	}
	return e.only(ctx, q, b, s)
}

// shadowed is the name of a column in the table that shadow makes. SQLite calls no column of a query
// true or false, even where that is its name.
func (x *statements) shadowed(column string) string {
	if x.dialect.Name() == dialect.SQLite && (strings.EqualFold(column, "true") || strings.EqualFold(column, "false")) {
		return column + " "
	}
	return column
}

// shadow begins a statement in which the name of an entity's table stands for that table with a
// row as it was. What asks for the table but once cannot see its other rows beside that one, so
// they are left out without others.
func (x *statements) shadow(b *sqltext.Builder, entity *descriptor.Entity, key any, past Past, others bool) {
	table := func() *sqltext.Builder {
		if x.dialect.Name() == dialect.SQLite { // a bare name would be the new table itself
			b.Raw("main.")
		}
		return b.Name(entity.Table)
	}
	columns := func(named func(string) string) {
		for i, c := range past.Columns {
			if i > 0 {
				b.Raw(",")
			}
			b.Name(named(c))
		}
	}
	own := func(column string) string { return column }
	values := func() {
		for i, v := range past.Values {
			if i > 0 {
				b.Raw(",")
			}
			b.Arg(v)
		}
	}
	b.Raw("WITH ").Name(entity.Table).Raw(" (")
	columns(x.shadowed)
	b.Raw(") AS NOT MATERIALIZED (SELECT ")
	// The values take their types from the table: on PostgreSQL whichever stands first, on
	// SQLite from what stands last.
	if x.dialect.Name() == dialect.SQLite {
		values()
		b.Raw(" UNION ALL SELECT ")
		columns(own)
		b.Raw(" FROM ")
		table()
	} else {
		columns(own)
		b.Raw(" FROM ")
		table()
	}
	if others {
		b.Raw(" WHERE ").Name(entity.Key.Name).Raw(" <> ").Arg(key)
	} else {
		b.Raw(" WHERE 1 = 0")
	}
	if x.dialect.Name() != dialect.SQLite {
		b.Raw(" UNION ALL SELECT ")
		values()
	}
	b.Raw(") ")
}
