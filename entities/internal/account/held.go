package account

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"strconv"
	"unicode/utf8"

	"entgo.io/ent/dialect"

	"github.com/koan-go/koan/entities/internal/filter"
	"github.com/koan-go/koan/entities/internal/model"
	"github.com/koan-go/koan/framework/database/sqltext"
)

// Held is a value as a column holds it, in a form that compares and can be bound again to the
// last bit: a letter for its type, and the value. nil is NULL.
type Held *string

// HeldRow is a row by its table's columns; nil is no row.
type HeldRow []Held

// HeldID returns a row's id as columns that refer to it hold it.
func HeldID(k *model.Kind, id any) (string, error) {
	v, err := k.BindID(id)
	if err != nil {
		return "", err
	}
	switch v := v.(type) {
	case string:
		return v, nil
	case []byte:
		return string(v), nil
	case int64:
		return strconv.FormatInt(v, 10), nil
	}
	return fmt.Sprint(v), nil
}

// heldLinks reads the ids at the other side of a join table.
func (t *History) heldLinks(ctx context.Context, of *Past, j *Join) (out []string, err error) {
	b := t.Statement()
	b.Raw("SELECT CAST(").Name(j.Other).Raw(" AS TEXT) FROM ").Name(j.Table).Raw(" WHERE ").Name(j.Own).Raw(" = ").Arg(of.kind.BoundID(of.id)).Raw(" ORDER BY 1")
	rows, err := t.SQL.QueryContext(t.RowContext(ctx), string(b.Text()), b.Args()...)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	for rows.Next() {
		var id string
		if err := rows.Scan(&id); err != nil {
			return nil, err
		}
		out = append(out, id)
	}
	return out, rows.Err()
}

// How many rows one statement reads: at most, and where nothing is known of their size.
const (
	maxHeld = 128
	fewHeld = 16
)

// heldRows reads at most maxHeld rows as their table holds them, to be kept, by their id as callers see it.
func (t *History) heldRows(ctx context.Context, k *model.Kind, ids []any) (map[string]HeldRow, error) {
	out := make(map[string]HeldRow, len(ids))
	missing := len(ids)
	err := t.readHeld(ctx, k, ids, out, func(n int) bool { missing--; return t.Attempt.HoldImage(pastBytes + n) })
	if err == nil && !t.Attempt.HoldImage(pastBytes*missing) {
		err = errNoImages
	}
	return out, err
}

// HeldRow reads a row as its table holds it, for a moment that is not counted; nil is none.
func (t *History) HeldRow(ctx context.Context, k *model.Kind, id any) (HeldRow, error) {
	out := map[string]HeldRow{}
	err := t.readHeld(ctx, k, []any{id}, out, func(int) bool { return true })
	return out[k.FormatID(id)], err
}

func (t *History) readHeld(ctx context.Context, k *model.Kind, ids []any, out map[string]HeldRow, room func(n int) bool) (err error) {
	info := t.tables[k]
	b := t.Statement()
	b.Raw("SELECT ")
	filter.OwnKey(b, &k.Entity.Key)
	for _, c := range info.Columns {
		b.Raw(", ")
		holding(b, c)
	}
	b.Raw(" FROM ").Name(k.Entity.Table).Raw(" WHERE ")
	filter.OwnKeyIn(b, &k.Entity.Key, k.BoundIDs(ids))
	if len(ids) == 1 {
		ctx = t.RowContext(ctx)
	}
	rows, err := t.SQL.QueryContext(ctx, string(b.Text()), b.Args()...)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	var key any
	values := make([]any, len(info.Columns))
	into := []any{&key}
	for i := range values {
		into = append(into, &values[i])
	}
	for rows.Next() {
		if err := rows.Scan(into...); err != nil {
			return err
		}
		id, err := k.ScanID(key)
		if err != nil {
			return err
		}
		row, err := t.heldRow(k, values)
		if err != nil {
			return err
		}
		if !room(SizeOfRow(row)) {
			return errNoImages
		}
		out[k.FormatID(id)] = row
	}
	return rows.Err()
}

// holding appends an expression that gives a column as it is held: as text on PostgreSQL,
// where that is exact for all types; on SQLite without its declared type, by which the driver
// would read it as something else.
func holding(b *sqltext.Builder, column string) {
	if b.Dialect.Name() == dialect.SQLite {
		b.Raw("+").Name(column)
		return
	}
	b.Raw("CAST(").Name(column).Raw(" AS TEXT)")
}

// Hold returns a value that the driver read in the form of held.
func Hold(v any) (Held, error) {
	var s string
	switch v := v.(type) {
	case nil:
		return nil, nil
	case string:
		if utf8.ValidString(v) {
			s = "t" + v
		} else {
			s = "x" + base64.StdEncoding.EncodeToString([]byte(v))
		}
	case []byte:
		s = "b" + base64.StdEncoding.EncodeToString(v)
	case int64:
		s = "i" + strconv.FormatInt(v, 10)
	case float64:
		s = "f" + strconv.FormatFloat(v, 'g', -1, 64)
	default:
		return nil, fmt.Errorf("entities: a column holds a %T", v)
	}
	return &s, nil
}

// Bound is the inverse of hold.
func Bound(h Held) (any, error) {
	if h == nil {
		return nil, nil
	}
	s := *h
	if s == "" {
		return nil, errors.New("entities: a kept value has no type")
	}
	switch text := s[1:]; s[0] {
	case 't':
		return text, nil
	case 'x':
		b, err := base64.StdEncoding.DecodeString(text)
		return string(b), err
	case 'b':
		return base64.StdEncoding.DecodeString(text)
	case 'i':
		return strconv.ParseInt(text, 10, 64)
	case 'f':
		return strconv.ParseFloat(text, 64)
	}
	return nil, fmt.Errorf("entities: a kept value has the unknown type %q", s[0])
}

// SameHeld reports whether two values are the same.
func SameHeld(a, b Held) bool { return a == b || a != nil && b != nil && *a == *b }
