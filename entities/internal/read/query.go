// Package read turns checked inputs into SQL and rows into JSON bytes: the
// reading half of the entity engine (CONTRACT sections 2 and 3: collection,
// get-by-id, count).
//
// Fields come in the order of the resource, the key first and always there; null
// stands for NULL. Ids and decimals are strings, integers beyond 2^53 too; times
// are RFC 3339 in UTC with the digits that they have, bytes base64. Sorts put
// null where the database does (SQLite: before all values) and end with the key.
//
// What belongs here: reading. Not here: writes, transactions, sets, or
// any table that a descriptor does not name.
package read

import (
	"context"
	"database/sql"
	"strconv"

	"github.com/koan-go/koan/entities/descriptor"
	"github.com/koan-go/koan/entities/internal/filter"
	"github.com/koan-go/koan/framework/database/sqltext"
	"github.com/koan-go/koan/framework/fault"
)

// Querier is what statements run on: a pool, a connection or a transaction.
// Statements of one shape have one text, so a driver that keeps prepared
// statements (mattn's _stmt_cache_size) prepares each shape once.
type Querier interface {
	QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error)
}

var (
	_ Querier = (*sql.DB)(nil)
	_ Querier = (*sql.Conn)(nil)
	_ Querier = (*sql.Tx)(nil)
)

// Engine reads entities from databases of one dialect. It is safe for concurrent
// use.
type Engine struct {
	statements
	bounds
	trees
}

// New makes an engine for a dialect.
func New(d sqltext.Dialect) *Engine {
	e := &Engine{statements: statements{dialect: d, late: lateDepth}, bounds: bounds{MaxBytes: MaxBytes}}
	e.memory.New = func() any { return &sqltext.Builder{Dialect: d, Indexed: e.Indexed} }
	e.trees = trees{&e.statements, &e.bounds}
	return e
}

// Collection reads a page: {"items":[...],"page":1,"pageSize":50,"totalCount":n,
// "nextCursor":"...","truncated":false}. totalCount is there when it is asked
// for; nextCursor is null when nothing follows. It ends in invalid_payload for a
// cursor of another query.
func (e *Engine) Collection(ctx context.Context, q Querier, c *Collection) ([]byte, error) {
	if err := c.checkCursor(); err != nil {
		return nil, err
	}
	keys, ranked, err := e.rankedKeys(ctx, q, c)
	if err != nil {
		return nil, err
	}
	page := e.page
	if ranked {
		page = func(c *Collection) *sqltext.Builder { return e.keyed(c, keys) }
	}
	root, err := e.root(ctx, q, page(c), &level{reads: c.reads, order: c.order})
	if err != nil {
		return nil, err
	}
	defer root.release()
	more := root.cut || len(root.rows) > c.PageSize
	root.rows = root.rows[:min(len(root.rows), c.PageSize)]
	total := -1
	if c.Count {
		if total, err = e.total(ctx, q, c, len(root.rows), more); err != nil {
			return nil, err
		}
	}
	a := assembly{limit: e.limit(), out: getBuffer()}
	a.out = append(a.out, `{"items":[`...)
	items, err := e.items(ctx, q, &a, root)
	if err != nil {
		return nil, err
	}
	next := ""
	if more = more || items < len(root.rows); more {
		if next, err = c.cursor(c.placeAfter(root, items)); err != nil {
			return nil, err
		}
	}
	a.appendTail(c, total, next, more && items < c.PageSize)
	return a.bytes(), nil
}

// appendTail appends what follows the items of a page. total may be -1, next "".
func (a *assembly) appendTail(c *Collection, total int, next string, truncated bool) {
	a.out = append(a.out, `],"page":`...)
	a.out = strconv.AppendInt(a.out, int64(c.Page), 10)
	a.out = append(a.out, `,"pageSize":`...)
	a.out = strconv.AppendInt(a.out, int64(c.PageSize), 10)
	if total >= 0 {
		a.out = append(a.out, `,"totalCount":`...)
		a.out = strconv.AppendInt(a.out, int64(total), 10)
	}
	if next == "" {
		a.out = append(a.out, `,"nextCursor":null`...)
	} else {
		a.out = append(append(append(a.out, `,"nextCursor":"`...), next...), '"')
	}
	a.out = append(a.out, `,"truncated":`...)
	a.out = strconv.AppendBool(a.out, truncated)
	a.out = append(a.out, '}')
}

// total counts all matches; the last page needs no count.
func (e *Engine) total(ctx context.Context, q Querier, c *Collection, rows int, more bool) (int, error) {
	if !more && c.after == nil && (rows > 0 || c.Page == 1) {
		return (c.Page-1)*c.PageSize + rows, nil
	}
	b := e.builder()
	b.Raw("SELECT count(*) FROM (")
	if e.found(b, c) {
		b.Raw(")")
		return e.number(ctx, q, b)
	}
	b.Reset()
	t := b.NewAlias()
	b.Raw("SELECT count(*) FROM ").Name(c.Entity.Table).Raw(" AS ").Alias(t)
	where(b, t, &Collection{Filter: c.Filter, Words: c.Words})
	return e.number(ctx, q, b)
}

// Get reads one entity. It ends in not_found when there is none, and in
// call_too_large when its JSON, relations included, passes the limit.
func (e *Engine) Get(ctx context.Context, q Querier, g *Get) ([]byte, error) {
	out, err := e.one(ctx, q, g.reads, g.Key, g.guard.Rule())
	if err != nil || out != nil {
		return out, err
	}
	return nil, NotFound(g.Entity, g.ID, g.Set)
}

// NotFound is the fault for an id that is not there. set may be "".
func NotFound(e *descriptor.Entity, id, set string) error {
	message := "there is no " + e.Resource.Name + " with id " + filter.Quote(id)
	if set != "" {
		message += " in set " + filter.Quote(set)
	}
	return fault.New(fault.NotFound, message).WithPath("/id")
}

// Count counts what matches: {"count":n}.
func (e *Engine) Count(ctx context.Context, q Querier, c *Count) ([]byte, error) {
	b := e.builder()
	t := b.NewAlias()
	b.Raw("SELECT count(*) FROM ").Name(c.Entity.Table).Raw(" AS ").Alias(t)
	where(b, t, &Collection{Filter: c.Filter})
	n, err := e.number(ctx, q, b)
	if err != nil {
		return nil, err
	}
	return append(strconv.AppendInt([]byte(`{"count":`), int64(n), 10), '}'), nil
}

// Image reads the JSON of one row by its native key, as get-by-id would without
// relations; nil when there is none that the rule lets through. It serves the
// images of changes, so it runs on the transaction that makes them, and reads rows that
// are larger than the limit of a call.
func (e *Engine) Image(ctx context.Context, q Querier, entity *descriptor.Entity, key any, rule *filter.Rule) (out []byte, err error) {
	s := &selection{entity: entity, layout: fullLayout(entity)}
	err = e.eachRow(ctx, q, s, e.selectOne(s, key, rule), 0, func(_ any, row []byte, _ []any) error {
		out = Own(row)
		return nil
	})
	return out, err
}

// Exists reports whether there is a row with a native key that the rule lets
// through.
func (e *Engine) Exists(ctx context.Context, q Querier, entity *descriptor.Entity, key any, rule *filter.Rule) (bool, error) {
	b := e.builder()
	t := b.NewAlias()
	b.Raw("SELECT count(*) FROM ").Name(entity.Table).Raw(" AS ").Alias(t)
	b.Raw(" WHERE ")
	filter.KeyIs(b, t, &entity.Key, key)
	appendRule(b, t, rule)
	n, err := e.number(ctx, q, b)
	return n > 0, err
}

// appendRule appends a rule to the conditions of a statement.
func appendRule(b *sqltext.Builder, t sqltext.Alias, rule *filter.Rule) {
	if rule != nil {
		b.Raw(" AND ")
		rule.Where(b, t)
	}
}

// one reads the row with a key; nil when there is none that the rule lets
// through.
func (e *Engine) one(ctx context.Context, q Querier, s *selection, key any, rule *filter.Rule) ([]byte, error) {
	return e.only(ctx, q, e.selectOne(s, key, rule), s)
}

// only reads the one row that a statement selects, nil if there is none.
func (e *Engine) only(ctx context.Context, q Querier, b *sqltext.Builder, s *selection) ([]byte, error) {
	root, err := e.root(ctx, q, b, &level{reads: s, single: true})
	if err != nil {
		return nil, err
	}
	defer root.release()
	if len(root.rows) == 0 {
		return nil, nil
	}
	a := assembly{limit: e.limit(), out: getBuffer()}
	if _, err := e.items(ctx, q, &a, root); err != nil {
		return nil, err
	}
	return a.bytes(), nil
}

func tooLargeFault(e *descriptor.Entity) error {
	return fault.Newf(fault.CallTooLarge, "one %s with everything that was requested exceeds the size limit of a call", e.Resource.Name).
		WithHint("Ask for less: use `fields`, and `limit` within `with`.")
}

// where appends the conditions of a collection.
func where(b *sqltext.Builder, t sqltext.Alias, c *Collection) {
	between := " WHERE "
	condition := func(wanted bool, write func()) {
		if wanted {
			b.Raw(between)
			write()
			between = " AND "
		}
	}
	condition(!c.Filter.Empty(), func() { c.Filter.Where(b, t) })
	condition(!c.Words.Empty(), func() { c.Words.Where(b, t) })
	condition(!c.counts(), func() { appendAfter(b, t, c.order, c.after.values[:len(c.order)]) })
}
