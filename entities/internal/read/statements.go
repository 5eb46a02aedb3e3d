package read

import (
	"context"
	"database/sql"
	"errors"
	"sync"

	"github.com/koan-go/koan/entities/internal/filter"
	"github.com/koan-go/koan/framework/database/sqltext"
)

// statements makes the statements of one dialect, and runs them. The texts and the memory of
// earlier ones are used again.
type statements struct {
	// Indexed says that tables have the indexes of words that searches ask. It is set
	// before the first call.
	Indexed bool

	dialect sqltext.Dialect
	late    int64 // behind how many rows a page is looked up late
	texts   statementTexts
	memory  sync.Pool // *sqltext.Builder
}

// Statement begins the text of a writing statement. Returned or Affected take it
// back; it is not used after.
func (x *statements) Statement() *sqltext.Builder { return x.builder() }

func (x *statements) builder() *sqltext.Builder {
	b := x.memory.Get().(*sqltext.Builder)
	b.Reset()
	return b
}

// query runs a statement and takes its builder back.
func (x *statements) query(ctx context.Context, q Querier, b *sqltext.Builder) (*sql.Rows, error) {
	rows, err := q.QueryContext(ctx, x.texts.intern(b.Text()), b.Args()...)
	x.memory.Put(b)
	return rows, err
}

func (x *statements) number(ctx context.Context, q Querier, b *sqltext.Builder) (int, error) {
	rows, err := x.query(ctx, q, b)
	if err != nil {
		return 0, err
	}
	var n int
	for rows.Next() {
		if err := rows.Scan(&n); err != nil {
			return 0, errors.Join(err, rows.Close())
		}
	}
	return n, errors.Join(rows.Err(), rows.Close())
}

// selectOne makes the statement that selects the row with a key.
func (x *statements) selectOne(s *selection, key any, rule *filter.Rule) *sqltext.Builder {
	b := x.builder()
	t := b.NewAlias()
	b.Raw("SELECT ").Raw(s.layout.list(x.dialect))
	references(b, t, s)
	b.Raw(" FROM ").Name(s.entity.Table).Raw(" AS ").Alias(t)
	b.Raw(" WHERE ")
	filter.KeyIs(b, t, &s.entity.Key, key)
	appendRule(b, t, rule)
	return b
}

// page returns the query for the rows of a page without their relations, and for one more,
// which shows that there is a next page.
func (x *statements) page(c *Collection) *sqltext.Builder {
	b := x.builder()
	t := x.selectPage(b, c)
	if x.looksUpLate(c) {
		b.Raw(" WHERE ")
		x.lateKeys(b, t, c)
		orderBy(b, t, c.order)
		return b
	}
	where(b, t, c)
	orderBy(b, t, c.order)
	if c.mayLackIDs() && len(c.order) > 0 { // rows without ids are in one order, too
		b.Raw(",").Column(t, "rowid")
		if c.order[len(c.order)-1].descending {
			b.Raw(" DESC")
		}
	}
	x.onePage(b, c)
	return b
}

// selectPage begins a query for the rows of a page.
func (x *statements) selectPage(b *sqltext.Builder, c *Collection) sqltext.Alias {
	t := b.NewAlias()
	b.Raw("SELECT ").Raw(c.reads.layout.list(x.dialect))
	references(b, t, c.reads)
	for _, term := range c.reads.layout.missingTerms(c.order) {
		b.Raw(",")
		term.appendPlace(b, t)
	}
	b.Raw(" FROM ").Name(c.Entity.Table).Raw(" AS ").Alias(t)
	return t
}
