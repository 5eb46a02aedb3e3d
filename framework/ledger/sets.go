package ledger

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"entgo.io/ent/dialect"
	entsql "entgo.io/ent/dialect/sql"
)

// Set is what the ledger knows of the set that it stands in.
type Set struct {
	// Known is false for a set that was made before the ledger kept sets: all else
	// is zero then.
	Known bool
	// Made is when the set was made.
	Made time.Time
	// Schema is the hash of the app's tables, as the generated code has it.
	Schema int32
	// Tables are the app's tables as they were when Schema was reached: what the app
	// once made, apart from what others put beside it.
	Tables Tables
	// Steps are the migrations that the set has seen, in order.
	Steps []Step
}

// Tables are the columns and indexes of tables, by the table's name.
type Tables map[string]Table

// Table is one table's columns and indexes, by name.
type Table struct {
	Columns []string `json:"columns"`
	Indexes []string `json:"indexes,omitempty"`
}

// Kind is how a step came about.
type Kind string

// The kinds: the tables of a new set, or a migration in place that only adds; one
// that somebody has consented to, with what it drops; a file of the migration
// directory; such a file that was found to be in effect already.
const (
	Auto      Kind = "auto"
	Consented Kind = "consented"
	File      Kind = "file"
	Adopted   Kind = "adopted"
)

// Step is one migration of a set.
type Step struct {
	Kind Kind
	// Version and Digest are those of the file.
	Version string
	Digest  string
	// Schema is the hash of the app's tables after the step.
	Schema int32
	At     time.Time
	Took   time.Duration
}

// Migrated is when the tables became what they are: zero where the ledger does
// not know.
func (s Set) Migrated() time.Time {
	if len(s.Steps) == 0 {
		return time.Time{}
	}
	return s.Steps[len(s.Steps)-1].At
}

var setTables = []string{
	`CREATE TABLE IF NOT EXISTS koan_set (
	id INTEGER PRIMARY KEY CHECK (id = 1),
	made TEXT NOT NULL,
	schema_hash BIGINT NOT NULL,
	app_tables TEXT NOT NULL
)`,
	`CREATE TABLE IF NOT EXISTS koan_migrations (
	sequence INTEGER PRIMARY KEY,
	kind TEXT NOT NULL,
	version TEXT NOT NULL,
	digest TEXT NOT NULL,
	schema_hash BIGINT NOT NULL,
	at TEXT NOT NULL,
	took_ms BIGINT NOT NULL
)`,
}

// ReadSet returns what the ledger knows of the set.
func ReadSet(ctx context.Context, drv dialect.Driver) (Set, error) {
	s, err := readSet(ctx, drv)
	if err != nil {
		return s, fmt.Errorf("ledger: %w", err)
	}
	return s, nil
}

func readSet(ctx context.Context, drv dialect.Driver) (s Set, err error) {
	if there, err := hasTable(ctx, drv, "koan_set"); err != nil || !there {
		return s, err
	}
	var made, tables string
	err = each(ctx, drv, "SELECT made, schema_hash, app_tables FROM koan_set", func(rows *entsql.Rows) error {
		s.Known = true
		return rows.Scan(&made, &s.Schema, &tables)
	})
	if err != nil || !s.Known {
		return s, err
	}
	if s.Made, err = time.Parse(time.RFC3339Nano, made); err != nil {
		return s, err
	}
	if err := json.Unmarshal([]byte(tables), &s.Tables); err != nil {
		return s, err
	}
	err = each(ctx, drv, "SELECT kind, version, digest, schema_hash, at, took_ms FROM koan_migrations ORDER BY sequence", func(rows *entsql.Rows) error {
		var step Step
		var at string
		var took int64
		if err := rows.Scan(&step.Kind, &step.Version, &step.Digest, &step.Schema, &at, &took); err != nil {
			return err
		}
		step.Took = time.Duration(took) * time.Millisecond
		var err error
		step.At, err = time.Parse(time.RFC3339Nano, at)
		s.Steps = append(s.Steps, step)
		return err
	})
	return s, err
}

func each(ctx context.Context, drv dialect.Driver, query string, fn func(rows *entsql.Rows) error) error {
	rows := &entsql.Rows{}
	if err := drv.Query(ctx, query, []any{}, rows); err != nil {
		return err
	}
	return scanRows(rows, func() error { return fn(rows) })
}

// NoteStep keeps a step of the set, and that its tables are the given ones since.
func NoteStep(ctx context.Context, drv dialect.Driver, step Step, tables Tables) error {
	if err := noteStep(ctx, drv, step, tables); err != nil {
		return fmt.Errorf("ledger: %w", err)
	}
	return nil
}

func noteStep(ctx context.Context, drv dialect.Driver, step Step, tables Tables) error {
	known, err := json.Marshal(tables)
	if err != nil {
		return err
	}
	at := step.At.UTC().Format(time.RFC3339Nano)
	b := entsql.Dialect(drv.Dialect())
	there := false
	if err := each(ctx, drv, "SELECT 1 FROM koan_set", func(*entsql.Rows) error { there = true; return nil }); err != nil {
		return err
	}
	query, args := b.Update("koan_set").Set("schema_hash", step.Schema).Set("app_tables", string(known)).Query()
	if !there {
		query, args = b.Insert("koan_set").Columns("id", "made", "schema_hash", "app_tables").Values(1, at, step.Schema, string(known)).Query()
	}
	if err := drv.Exec(ctx, query, args, nil); err != nil {
		return err
	}
	next := 0
	if err := each(ctx, drv, "SELECT COALESCE(MAX(sequence), 0) + 1 FROM koan_migrations", func(rows *entsql.Rows) error { return rows.Scan(&next) }); err != nil {
		return err
	}
	query, args = b.Insert("koan_migrations").Columns("sequence", "kind", "version", "digest", "schema_hash", "at", "took_ms").
		Values(next, string(step.Kind), step.Version, step.Digest, step.Schema, at, step.Took.Milliseconds()).Query()
	return drv.Exec(ctx, query, args, nil)
}
