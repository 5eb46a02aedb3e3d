package read

import (
	"context"
	"errors"

	"github.com/koan-go/koan/entities/descriptor"
	"github.com/koan-go/koan/entities/internal/filter"
	"github.com/koan-go/koan/framework/database/sqltext"
)

// ranking is a page's search for the index of words, nil where the page is not one of a search, or the index cannot tell.
func (x *statements) ranking(c *Collection) *sqltext.Ranking {
	key := &c.Entity.Key
	plain := key.Storage == descriptor.Text || key.Storage == descriptor.Int || key.Storage == descriptor.UUID
	if !x.Indexed || !plain || key.Form != nil || key.Native != "" || key.Name == "" || key.Nullable {
		return nil
	}
	r := c.Words.Ranking()
	if r != nil && !c.Filter.Empty() {
		r.Filter = c.Filter.Where
	}
	return r
}

// rankedKeys returns the ids of the rows of a page and of one more, if it is one of the best that a search finds; ok is false
// where the index cannot tell. The best have each word in the most important text, mostly: they are ranked first, and all others
// only where there are not enough of those.
func (x *statements) rankedKeys(ctx context.Context, q Querier, c *Collection) (keys []any, ok bool, err error) {
	r := x.ranking(c)
	if r == nil || len(c.order) != 2 || c.order[0].rank == nil {
		return nil, false, nil
	}
	r.Scored = true
	for _, r.Bounded = range []bool{true, false} {
		b := x.builder()
		b.Raw("SELECT key,score FROM (")
		if !b.Dialect.Ranked(b, r) {
			x.memory.Put(b)
			return nil, false, nil
		}
		b.Raw(")")
		appendRankedAfter(b, c)
		b.Raw(" ORDER BY score DESC,key")
		x.onePage(b, c)
		keys, least, err := x.scoredKeys(ctx, q, b)
		if err != nil {
			return nil, false, err
		}
		if !r.Bounded || len(keys) > c.PageSize && least >= r.Bound() {
			return keys, true, nil
		}
	}
	return nil, false, nil
}

// appendRankedAfter appends the condition of what comes behind the place of a cursor.
func appendRankedAfter(b *sqltext.Builder, c *Collection) {
	if c.counts() {
		return
	}
	score, key := c.after.values[0], c.after.values[1]
	b.Raw(" WHERE score<=").Arg(score).Raw(" AND (score<").Arg(score).Raw(" OR key>")
	c.order[1].bind(b, key)
	b.Raw(")")
}

// scoredKeys reads ids with their points, and the points of the last one.
func (x *statements) scoredKeys(ctx context.Context, q Querier, b *sqltext.Builder) (keys []any, least int64, err error) {
	rows, err := x.query(ctx, q, b)
	if err != nil {
		return nil, 0, err
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	for rows.Next() {
		var key any
		if err := rows.Scan(&key, &least); err != nil {
			return nil, 0, err
		}
		keys = append(keys, key)
	}
	return keys, least, rows.Err()
}

// keyed is page of rows whose ids are known.
func (x *statements) keyed(c *Collection, keys []any) *sqltext.Builder {
	b := x.builder()
	t := x.selectPage(b, c)
	b.Raw(" WHERE ")
	if len(keys) == 0 {
		b.Raw("1=0")
		return b
	}
	filter.KeyIn(b, t, &c.Entity.Key, keys)
	orderBy(b, t, c.order)
	return b
}

// found appends a query of what a search finds that the index of words answers alone; it is false, and appends nothing, where
// the index cannot tell.
func (x *statements) found(b *sqltext.Builder, c *Collection) bool {
	r := x.ranking(c)
	return r != nil && b.Dialect.Ranked(b, r)
}
