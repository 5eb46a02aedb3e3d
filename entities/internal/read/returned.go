package read

import (
	"bytes"
	"context"
	"database/sql"
	"errors"

	"github.com/koan-go/koan/entities/descriptor"
	"github.com/koan-go/koan/entities/internal/filter"
	"github.com/koan-go/koan/framework/database/sqltext"
)

// Returned ends a writing statement on an entity's table with what it gives back,
// and runs it: each is called for every row that was written, in the order in
// which the database gives them, with the row's key as the database has it and its
// JSON as Image returns it. The JSON is valid until each returns. more are expressions that
// the statement gives back as well: their values, which each may keep.
func (e *Engine) Returned(ctx context.Context, q Querier, entity *descriptor.Entity, b *sqltext.Builder, more []string, each func(key any, row []byte, more []any) error) error {
	s := &selection{entity: entity, layout: fullLayout(entity)}
	b.Raw(" RETURNING ").Raw(s.layout.returning(e.dialect))
	for _, expression := range more {
		b.Raw(", ").Raw(expression)
	}
	return e.eachRow(ctx, q, s, b, len(more), each)
}

// maxImages bounds the keys of one statement.
const maxImages = 1024

// Images reads the rows that have one of some keys, as Image does, in no order:
// each is called for every row that is there.
func (e *Engine) Images(ctx context.Context, q Querier, entity *descriptor.Entity, keys []any, each func(key any, row []byte) error) error {
	for len(keys) > 0 {
		n := min(len(keys), maxImages)
		s := &selection{entity: entity, layout: fullLayout(entity)}
		b := e.builder()
		b.Raw("SELECT ").Raw(s.layout.returning(e.dialect)).Raw(" FROM ").Name(entity.Table)
		b.Raw(" WHERE ")
		filter.OwnKeyIn(b, &entity.Key, keys[:n])
		row := func(key any, row []byte, _ []any) error { return each(key, row) }
		if err := e.eachRow(ctx, q, s, b, 0, row); err != nil {
			return err
		}
		keys = keys[n:]
	}
	return nil
}

// eachRow runs a statement that selects a layout's columns, and so many more.
func (e *Engine) eachRow(ctx context.Context, q Querier, s *selection, b *sqltext.Builder, more int, each func(key any, row []byte, more []any) error) (err error) {
	rows, err := e.query(ctx, q, b)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	l := &level{reads: s, buf: getBuffer()}
	defer l.release()
	r := newReader(l, false)
	defer r.release()
	r.cells[0].keep = &r.key
	for rows.Next() {
		l.buf = l.buf[:0]
		into, values := r.dest, make([]any, more)
		for i := range values {
			into = append(into, &values[i])
		}
		if err := rows.Scan(into...); err != nil {
			return nameRow(err, s.entity, l.buf)
		}
		l.buf = append(l.buf, '}')
		if held, ok := r.key.(keyBytes); ok {
			r.key = []byte(held)
		}
		if err := each(r.key, l.buf, values); err != nil {
			return err
		}
		if cap(l.buf) > maxPooled {
			l.buf = nil // Own has given it away
		}
	}
	return rows.Err()
}

// Own returns the JSON of a row, of those that Returned and Images hand out, in
// memory of its own. A long one is not copied for that.
func Own(row []byte) []byte {
	if cap(row) > maxPooled {
		return row
	}
	return bytes.Clone(row)
}

// ReturnedKeys ends and runs a writing statement as Returned does, and returns only
// the keys of what was written.
func (e *Engine) ReturnedKeys(ctx context.Context, q Querier, entity *descriptor.Entity, b *sqltext.Builder) (out []any, err error) {
	b.Raw(" RETURNING ")
	filter.OwnKey(b, &entity.Key)
	rows, err := e.query(ctx, q, b)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	return scanKeys(rows, nil)
}

// Admit is asked before one more of something is kept. Its error ends the reading.
type Admit func() error

// SelectedKeys runs a query whose one column is keys. admit is asked before each is
// kept, nil admits all.
func (e *Engine) SelectedKeys(ctx context.Context, q Querier, b *sqltext.Builder, admit Admit) (out []any, err error) {
	rows, err := e.query(ctx, q, b)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	return scanKeys(rows, admit)
}

func scanKeys(rows *sql.Rows, admit Admit) (out []any, err error) {
	for rows.Next() {
		if admit != nil {
			if err := admit(); err != nil {
				return nil, err
			}
		}
		var key any
		if err := rows.Scan(&key); err != nil {
			return nil, err
		}
		out = append(out, key)
	}
	return out, rows.Err()
}
