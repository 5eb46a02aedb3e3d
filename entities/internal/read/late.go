package read

import (
	"strconv"

	"entgo.io/ent/dialect"

	"github.com/koan-go/koan/entities/descriptor"
	"github.com/koan-go/koan/framework/database/sqltext"
)

// lateDepth is behind how many rows a page is looked up late: only then what is spared in the sort is more
// than a second look at the rows.
const lateDepth = 5000

// looksUpLate reports whether the rows of a page are found by ids that were sorted without them: it is far
// behind in a sort, and each row has an id of its own.
func (x *statements) looksUpLate(c *Collection) bool {
	return c.counts() && c.offset() >= x.late && !c.Entity.Key.Absent() && !c.mayLackIDs()
}

// lateKeys appends the condition that a row is one of a page, by the ids of that page.
func (x *statements) lateKeys(b *sqltext.Builder, t sqltext.Alias, c *Collection) {
	parts := c.Entity.Key.Parts
	if len(parts) == 0 {
		parts = []descriptor.Column{c.Entity.Key}
	}
	list := func(write func(i int)) {
		for i := range parts {
			if i > 0 {
				b.Raw(",")
			}
			write(i)
		}
	}
	b.Raw("(")
	list(func(i int) { b.Column(t, parts[i].Name) })
	b.Raw(") IN (SELECT ")
	inner := b.NewAlias()
	if x.dialect.Name() == dialect.SQLite {
		list(func(i int) { b.Name(lateName(i)) })
		b.Raw(" FROM (SELECT ")
		list(func(i int) { b.Column(inner, parts[i].Name).Raw(" AS ").Name(lateName(i)) })
		x.sortApart(b, inner, c, len(parts))
	} else {
		list(func(i int) { b.Column(inner, parts[i].Name) })
		b.Raw(" FROM ").Name(c.Entity.Table).Raw(" AS ").Alias(inner)
		where(b, inner, c)
		orderBy(b, inner, c.order)
	}
	x.onePage(b, c)
	b.Raw(")")
}

func lateName(i int) string { return "k" + strconv.Itoa(i) }

// sortApart goes on with a query of ids, and ends it as one of their order whose limit SQLite does not see: where it sees one,
// it sorts by a tree from which it takes what is too much, row by row, and that is many times slower than its sorter
// when much is left. An index that has the order is read as far as the limit anyway. SQLite does not put
// queries of two parts into the one around them, even where one of the parts is never fulfilled.
func (x *statements) sortApart(b *sqltext.Builder, t sqltext.Alias, c *Collection, keys int) {
	for _, o := range c.order {
		b.Raw(",")
		o.write(b, t)
	}
	b.Raw(" FROM ").Name(c.Entity.Table).Raw(" AS ").Alias(t)
	where(b, t, c)
	b.Raw(" UNION ALL SELECT NULL")
	for range keys + len(c.order) - 1 {
		b.Raw(",NULL")
	}
	b.Raw(" WHERE 0")
	orderWith(b, c.order, func(i int, _ term) { b.Raw(strconv.Itoa(keys + i + 1)) })
	b.Raw(")")
}

// onePage appends how many rows a page has, with one more, and how many come before it.
func (x *statements) onePage(b *sqltext.Builder, c *Collection) {
	b.Raw(" LIMIT ").Arg(int64(c.PageSize) + 1)
	if c.counts() {
		b.Raw(" OFFSET ").Arg(c.offset())
	}
}
