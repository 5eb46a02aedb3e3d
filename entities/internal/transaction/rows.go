package transaction

import (
	"context"
	"errors"

	"github.com/koan-go/koan/entities/descriptor"
	"github.com/koan-go/koan/entities/internal/model"
	"github.com/koan-go/koan/entities/internal/statement"
	"github.com/koan-go/koan/framework/database"
	"github.com/koan-go/koan/framework/database/sqltext"
)

// What follows reads rows as they are, whoever asks: rules are another matter.

// Image reads a row as it is now; nil if there is none.
func (t *Tx) Image(ctx context.Context, k *model.Kind, id any) ([]byte, error) {
	return t.Reader.Image(t.RowContext(ctx), t.SQL, k.Entity, k.BoundID(id), nil)
}

// Place returns where the row with an id is stored, for the one statement that writes to it; "" where nobody
// knows, or need know.
func (t *Tx) Place(ctx context.Context, k *model.Kind, id any) (string, error) {
	l, ok := t.SQL.(database.Locator)
	if !ok || len(k.Entity.Key.Parts) > 0 {
		return "", nil
	}
	return l.Locate(ctx, k.Entity.Table, k.Entity.Key.Name, k.BoundID(id))
}

// Exists reports whether there is a row with an id.
func (t *Tx) Exists(ctx context.Context, k *model.Kind, id any) (bool, error) {
	return t.Reader.Exists(t.RowContext(ctx), t.SQL, k.Entity, k.BoundID(id), nil)
}

// Referring returns the ids of the rows whose column refers to one of some ids, as
// they are bound.
func (t *Tx) Referring(ctx context.Context, k *model.Kind, column string, ids ...any) ([]any, error) {
	keys, err := t.Writer.Keys(ctx, t.SQL, k.Entity, column, ids, t.HoldKey(ctx))
	if err != nil {
		return nil, err
	}
	return k.ScanIDs(keys)
}

// ReferringThrough is referring, also by way of rows between the two.
func (t *Tx) ReferringThrough(ctx context.Context, k *model.Kind, r *descriptor.Referrer, ids []any) ([]any, error) {
	for _, v := range r.Via {
		var err error
		between := &descriptor.Entity{Table: v.Table, Key: descriptor.Column{Name: v.Key}}
		if ids, err = t.Writer.Keys(ctx, t.SQL, between, v.Column, ids, t.HoldKey(ctx)); err != nil {
			return nil, err
		}
	}
	return t.Referring(ctx, k, r.Column, ids...)
}

// IDs reads the ids that a query returns.
func (t *Tx) IDs(ctx context.Context, k *model.Kind, b *sqltext.Builder) ([]any, error) {
	rows, err := t.SQL.QueryContext(ctx, string(b.Text()), b.Args()...)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	admit := t.HoldKey(ctx)
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

// Integer reads the number that a query returns.
func (t *Tx) Integer(ctx context.Context, q *sqltext.Builder) (n int64, err error) {
	rows, err := t.SQL.QueryContext(ctx, string(q.Text()), q.Args()...)
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

// HasRow reports whether a query has a row.
func (t *Tx) HasRow(ctx context.Context, query string, args ...any) (there bool, err error) {
	rows, err := t.SQL.QueryContext(ctx, query, args...)
	if err != nil {
		return false, err
	}
	there = rows.Next()
	return there, errors.Join(rows.Err(), rows.Close())
}

// Related returns the ids on the other side of a to-many edge.
func (t *Tx) Related(ctx context.Context, k, target *model.Kind, ed *descriptor.Edge, id any) ([]any, error) {
	if ed.Relation != descriptor.M2M {
		return t.Referring(ctx, target, ed.TargetKey, k.BoundID(id))
	}
	b := t.Statement()
	b.Raw("SELECT ").Name(ed.JoinTarget).Raw(" FROM ").Name(ed.JoinTable).Raw(" WHERE ").Name(ed.JoinOwn).Raw(" = ").Arg(k.BoundID(id)).Raw(" ORDER BY 1")
	return t.IDs(ctx, target, b)
}

// Version returns the version of a row, 0 where its entity has none.
func (t *Tx) Version(ctx context.Context, k *model.Kind, id any) (int64, error) {
	if k.Entity.VersionColumn == "" {
		return 0, nil
	}
	b := t.Statement()
	b.Raw("SELECT ").Name(k.Entity.VersionColumn).Raw(" FROM ").Name(k.Entity.Table).Raw(" WHERE ")
	statement.HasKey(b, k.Entity, k.BoundID(id))
	return t.Integer(ctx, b)
}
