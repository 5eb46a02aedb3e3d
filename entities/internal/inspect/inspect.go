// Package inspect reads what a database says of itself: its tables and views, their columns, keys,
// references and checks.
//
// What belongs here: the catalogs of SQLite and PostgreSQL, and what a column's declared type means
// for values. Not here: names that callers see, entities, or a statement that writes.
package inspect

import (
	"context"
	"database/sql"
	"slices"

	"github.com/koan-go/koan/entities/descriptor"
)

// Querier runs the queries. It is what Atlas takes, too.
type Querier interface {
	QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error)
	ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error)
}

// Kind is what kind of relation something is.
type Kind string

// The kinds. Only those of Table have rows of their own that can be written.
const (
	Table            Kind = "table"
	View             Kind = "view"
	MaterializedView Kind = "materialized view"
	Foreign          Kind = "foreign table"
)

// Database is what was found, in the order of schemas and names.
type Database struct {
	Relations []*Relation
	Omitted   []Omitted
}

// Omitted is a part of the database that cannot be served, and why, as the rest of a sentence
// about it.
type Omitted struct {
	Name   string // "public.jobs", "jobs.payload"
	Reason string
}

// Relation is a table, or what can be read like one.
type Relation struct {
	Schema  string // "" on SQLite
	Name    string
	Kind    Kind
	Comment string
	Columns []*Column
	// Key are the columns of the primary key or, without one, of the first unique key whose columns
	// are never null. It is empty for a relation that has neither.
	Key []string
	// RowID is the name under which SQLite has the number of a row of a table without a key.
	RowID string
	// Unique are the other unique keys.
	Unique []Unique
	References
	// Checks are the conditions that every row fulfils, in the database's own SQL.
	Checks []string
	// Unwritable is why no row can be written, "" where nothing is known to prevent it.
	Unwritable string
	// PartOf says that the relation is a partition; its rows are those of its parent.
	PartOf string
}

// References are the foreign keys of a relation.
type References struct{ ForeignKeys []*ForeignKey }

// Unique is a unique key.
type Unique struct {
	Name    string
	Columns []string
}

// ForeignKey refers to rows of another relation, or of the same.
type ForeignKey struct {
	Name    string
	Columns []string
	Schema  string
	Table   string
	Refers  []string // columns of that table, parallel to Columns
	// OnDelete is what deleting the row that is referred to does: CASCADE, SET NULL, or "" for
	// everything that refuses it.
	OnDelete string
}

// Column is a column of a relation.
type Column struct {
	Name     string
	Comment  string
	Type     string // as the database writes it
	Nullable bool
	// Default is the constant that new rows get; Computed says that they get something else,
	// Generated that nobody can write the column, and Always that only the database counts it up.
	Default   *Literal
	Computed  bool
	Generated bool
	Always    bool
	Value
	Limits
}

// Value is how the values of a column are kept.
type Value struct {
	Storage  descriptor.Storage
	Capacity *descriptor.Capacity
	Affinity descriptor.Affinity
	Native   string
	// Cast is the type that PostgreSQL makes of a text before it compares it with the column.
	Cast    string
	Single  bool
	Keeping descriptor.Keeping
	Form    descriptor.Form
	// Items is the JSON type of the elements of an array, "" for several.
	Items string
	// Unlisted says that an array is read as a list and not written as one: its elements are arrays, or JSON.
	Unlisted bool
	// Short says that a text has no line breaks worth speaking of: it is one of a bounded length.
	Short bool
	// Alike says that a value is equal to other texts: its type or its collation ignores case, or blanks at its end.
	Alike bool
	// Textual says that values are the same where their texts are: the type cannot be compared.
	Textual bool
	// Ordered says that values have an order of their own, which is not that of their texts.
	Ordered bool
}

// Limits are what a column's type and its checks say of values.
type Limits struct {
	Enum                 []string
	Min, Max             *float64
	MinLength, MaxLength *int
}

// Column returns a column by its name, nil if there is none.
func (r *Relation) Column(name string) *Column {
	for _, c := range r.Columns {
		if c.Name == name {
			return c
		}
	}
	return nil
}

// Writable reports whether the relation has rows of its own.
func (r *Relation) Writable() bool { return r.Kind == Table }

// Qualified is how people name the relation.
func (r *Relation) Qualified() string {
	if r.Schema == "" {
		return r.Name
	}
	return r.Schema + "." + r.Name
}

// Find returns a relation by schema and name, nil if there is none.
func (d *Database) Find(schema, name string) *Relation {
	for _, r := range d.Relations {
		if r.Schema == schema && r.Name == name {
			return r
		}
	}
	return nil
}

// omit leaves something out.
func (d *Database) omit(name, reason string) {
	d.Omitted = append(d.Omitted, Omitted{name, reason})
}

// chooseKey takes a unique key without nulls for the primary key of a relation that has none.
func (r *Relation) chooseKey() {
	if len(r.Key) > 0 {
		return
	}
	for i, u := range r.Unique {
		if !slices.ContainsFunc(u.Columns, func(name string) bool {
			c := r.Column(name)
			return c == nil || c.Nullable
		}) {
			r.Key, r.Unique = u.Columns, slices.Delete(r.Unique, i, i+1)
			return
		}
	}
}

// each runs a query, and calls scan for each row.
func each(ctx context.Context, q Querier, scan func(*sql.Rows) error, query string, args ...any) (err error) {
	rows, err := q.QueryContext(ctx, query, args...)
	if err != nil {
		return err
	}
	defer func() {
		if closed := rows.Close(); err == nil {
			err = closed
		}
	}()
	for rows.Next() {
		if err := scan(rows); err != nil {
			return err
		}
	}
	return rows.Err()
}

// IsUnique reports whether no two rows have the same in some columns.
func (r *Relation) IsUnique(columns []string) bool {
	same := func(key []string) bool {
		return len(key) > 0 && !slices.ContainsFunc(key, func(name string) bool { return !slices.Contains(columns, name) })
	}
	return same(r.Key) || slices.ContainsFunc(r.Unique, func(u Unique) bool { return same(u.Columns) })
}
