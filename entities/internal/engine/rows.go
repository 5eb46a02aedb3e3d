package engine

import (
	"context"
	"errors"

	"github.com/koan-go/koan/entities/descriptor"
	"github.com/koan-go/koan/entities/internal/model"
	"github.com/koan-go/koan/framework/database/sqltext"
)

// What follows reads rows as they are, whoever asks: rules are another matter.

// image reads a row as it is now; nil if there is none.
func (t *transaction) image(ctx context.Context, k *model.Kind, id any) ([]byte, error) {
	return t.Reader.Image(t.brief(ctx), t.sql, k.Entity, k.BoundID(id), nil)
}

// exists reports whether there is a row with an id.
func (t *transaction) exists(ctx context.Context, k *model.Kind, id any) (bool, error) {
	return t.Reader.Exists(t.brief(ctx), t.sql, k.Entity, k.BoundID(id), nil)
}

// referring returns the ids of the rows whose column refers to one of some ids, as
// they are bound.
func (t *transaction) referring(ctx context.Context, k *model.Kind, column string, ids ...any) ([]any, error) {
	keys, err := t.Writer.Keys(ctx, t.sql, k.Entity, column, ids, t.holdKey(ctx))
	if err != nil {
		return nil, err
	}
	return k.ScanIDs(keys)
}

// referringThrough is referring, also by way of rows between the two.
func (t *transaction) referringThrough(ctx context.Context, k *model.Kind, r *descriptor.Referrer, ids []any) ([]any, error) {
	for _, v := range r.Via {
		var err error
		between := &descriptor.Entity{Table: v.Table, Key: descriptor.Column{Name: v.Key}}
		if ids, err = t.Writer.Keys(ctx, t.sql, between, v.Column, ids, t.holdKey(ctx)); err != nil {
			return nil, err
		}
	}
	return t.referring(ctx, k, r.Column, ids...)
}

// ids reads the ids that a query returns.
func (t *transaction) ids(ctx context.Context, k *model.Kind, b *sqltext.Builder) ([]any, error) {
	rows, err := t.sql.QueryContext(ctx, string(b.Text()), b.Args()...)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	admit := t.holdKey(ctx)
	var out []any
	for rows.Next() {
		if err := admit(); err != nil {
			return nil, err
		}
		var held any
		if err := rows.Scan(&held); err != nil {
			return nil, err
		}
		id, err := k.ScanID(held)
		if err != nil {
			return nil, err
		}
		out = append(out, id)
	}
	return out, rows.Err()
}

// integer reads the number that a query returns.
func (t *transaction) integer(ctx context.Context, q *sqltext.Builder) (n int64, err error) {
	rows, err := t.sql.QueryContext(ctx, string(q.Text()), q.Args()...)
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	for rows.Next() {
		if err := rows.Scan(&n); err != nil {
			return 0, err
		}
	}
	return n, rows.Err()
}

// asks reports whether a query has a row.
func (t *transaction) asks(ctx context.Context, query string, args ...any) (there bool, err error) {
	rows, err := t.sql.QueryContext(ctx, query, args...)
	if err != nil {
		return false, err
	}
	there = rows.Next()
	return there, errors.Join(rows.Err(), rows.Close())
}

// related returns the ids on the other side of a to-many edge.
func (t *transaction) related(ctx context.Context, k, target *model.Kind, ed *descriptor.Edge, id any) ([]any, error) {
	if ed.Relation != descriptor.M2M {
		return t.referring(ctx, target, ed.TargetKey, k.BoundID(id))
	}
	b := t.newStatement()
	b.Raw("SELECT ").Name(ed.JoinTarget).Raw(" FROM ").Name(ed.JoinTable).Raw(" WHERE ").Name(ed.JoinOwn).Raw(" = ").Arg(k.BoundID(id)).Raw(" ORDER BY 1")
	return t.ids(ctx, target, b)
}

// version returns the version of a row, 0 where its entity has none.
func (t *transaction) version(ctx context.Context, k *model.Kind, id any) (int64, error) {
	if k.Entity.VersionColumn == "" {
		return 0, nil
	}
	b := t.newStatement()
	b.Raw("SELECT ").Name(k.Entity.VersionColumn).Raw(" FROM ").Name(k.Entity.Table).Raw(" WHERE ").Name(k.Entity.Key.Name).Raw(" = ").Arg(k.BoundID(id))
	return t.integer(ctx, b)
}
