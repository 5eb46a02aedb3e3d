package postgres

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"github.com/koan-go/koan/framework/database"
	"github.com/koan-go/koan/framework/fault"
)

// setList is the table that lists the sets of an app, with the version of each one's tables.
type setList struct {
	*address
	keeper *sql.DB // for what is done to sets, so that runs that wait for one cannot take the last connection from it
	schema database.Schema
}

// rowQuerier is what a version is read from.
type rowQuerier interface {
	QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error)
}

// table is the table that lists the sets.
func (l *setList) table() string { return quoted(l.prefix) + ".koan_sets" }

// Sets implements database.Backend.
func (l *setList) Sets(ctx context.Context) ([]string, error) {
	return l.listed(ctx, "EXISTS")
}

// listed returns the listed sets whose schema EXISTS, or NOT EXISTS.
func (l *setList) listed(ctx context.Context, schema string) (out []string, err error) {
	rows, err := l.keeper.QueryContext(ctx, "SELECT name FROM "+l.table()+" WHERE "+schema+` (SELECT FROM pg_namespace WHERE nspname = $1 || '.' || name) ORDER BY name COLLATE "C"`, l.prefix)
	if err != nil {
		return nil, unreachableFault(l.config, err)
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	for rows.Next() {
		var name string
		if err := rows.Scan(&name); err != nil {
			return nil, err
		}
		out = append(out, name)
	}
	return out, rows.Err()
}

// isCurrent reports whether a set exists with the schema's version.
func (l *setList) isCurrent(ctx context.Context, q rowQuerier, d *Database) (yes bool, err error) {
	rows, err := q.QueryContext(ctx, "SELECT version FROM "+l.table()+" WHERE name = $1 AND EXISTS (SELECT FROM pg_namespace WHERE nspname = $2)", d.set, d.schema)
	if err != nil {
		return false, err
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	for rows.Next() {
		var version int32
		if err := rows.Scan(&version); err != nil {
			return false, err
		}
		yes = version == l.schema.Version
	}
	return yes, rows.Err()
}

// exists reports whether a set has a schema, whatever its version. One that had a schema, which is
// gone, is a fault: a new one would hide that its data is gone.
func (l *setList) exists(ctx context.Context, q rowQuerier, d *Database) (there bool, err error) {
	rows, err := q.QueryContext(ctx, "SELECT EXISTS (SELECT FROM pg_namespace WHERE nspname = $2), EXISTS (SELECT FROM "+l.table()+" WHERE name = $1)", d.set, d.schema)
	if err != nil {
		return false, err
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	known := false
	for rows.Next() {
		if err := rows.Scan(&there, &known); err != nil {
			return false, err
		}
	}
	if err := rows.Err(); err != nil || there || !known {
		return there, err
	}
	return false, l.lost(d.set, d.schema)
}

// lost is the fault of a set whose schema is gone.
func (l *setList) lost(set, schema string) *fault.Fault {
	return fault.Newf(fault.ServiceUnavailable, "the schema of %s, %s, is missing", database.Named(set), schema).WithRetry(fault.Never).
		WithHint("Stop the app and restore the schema from a backup. To give up the set's data instead, run DELETE FROM %s WHERE name = '%s', and a new schema is created.", l.table(), set).
		Because(fmt.Errorf("%s lists it, but it is gone from %s", l.table(), serverAddress(l.config)))
}

// Lost implements database.LossReporter.
func (l *setList) Lost(ctx context.Context) (lost []*fault.Fault, err error) {
	names, err := l.listed(ctx, "NOT EXISTS")
	for _, name := range names {
		lost = append(lost, l.lost(name, l.schemaOf(name)))
	}
	return lost, err
}

// mark notes that a set has the schema's version.
func (l *setList) mark(ctx context.Context, w within) error {
	_, err := w.t.ExecContext(ctx, "INSERT INTO "+l.table()+" AS s (name, version) VALUES ($1, $2) ON CONFLICT (name) DO UPDATE SET version = $2, migrated_at = now()", w.set, l.schema.Version)
	return err
}
