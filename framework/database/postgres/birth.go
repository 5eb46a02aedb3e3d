package postgres

import (
	"bytes"
	"context"
	"fmt"
	"strings"
	"sync"

	"entgo.io/ent/dialect"

	"github.com/koan-go/koan/framework/database"
)

// birth makes the schemas of new sets.
type birth struct{ schema database.Schema }

// scripts are what makes the tables of a schema's version in an empty set; they
// are found out once in a process, since that takes far longer than running them.
var scripts sync.Map // int32 -> string

// create makes a set that is not there, as it begins.
func (b birth) create(ctx context.Context, w within) error {
	if err := b.createEmpty(ctx, w); err != nil || b.schema.Fill == nil {
		return err
	}
	fill := func() error {
		if err := b.schema.Fill(ctx, w.set, w); err != nil {
			return fmt.Errorf("fill the set %q: %w", w.set, err)
		}
		return nil
	}
	if b.schema.Beginning == nil {
		return fill()
	}
	var filled []byte
	begins, err := b.schema.Beginning(ctx, w.set, func(keep bool) (_ []byte, err error) {
		if err := fill(); err != nil || !keep {
			return nil, err
		}
		filled, err = w.take(ctx)
		return filled, err
	})
	switch {
	case err != nil || bytes.Equal(begins, filled):
		return err
	case filled != nil: // somebody else was faster, whose rows come instead
		if _, err := w.t.ExecContext(ctx, "DROP SCHEMA "+quoted(w.schema)+" CASCADE"); err != nil {
			return err
		}
		if err := b.createEmpty(ctx, w); err != nil {
			return err
		}
	}
	return w.restore(ctx, begins)
}

// createEmpty makes a schema and its tables.
func (b birth) createEmpty(ctx context.Context, w within) error {
	if _, err := w.t.ExecContext(ctx, "CREATE SCHEMA "+quoted(w.schema)); err != nil {
		return err
	}
	return b.tables(ctx, w)
}

// tables makes the tables of an empty set.
func (b birth) tables(ctx context.Context, w within) error {
	if script, ok := scripts.Load(b.schema.Version); ok {
		_, err := w.t.ExecContext(ctx, script.(string))
		return err
	}
	heard := &recorder{}
	if err := b.schema.Create(ctx, recording{w.Driver(), heard}); err != nil {
		return err
	}
	if script, ok := heard.script(w.schema); ok {
		scripts.Store(b.schema.Version, script)
	}
	return nil
}

// recorder hears what a migration executes.
type recorder struct {
	statements []string
	arguments  bool // some statement had arguments, and cannot be repeated as text
}

// script returns the statements as one text, if they can be run in another schema
// than the one they were heard in.
func (r *recorder) script(schema string) (string, bool) {
	text := strings.Join(r.statements, ";\n")
	return text, !r.arguments && text != "" && !strings.Contains(text, schema)
}

func (r *recorder) record(query string, args any) {
	list, _ := args.([]any)
	r.arguments = r.arguments || len(list) > 0
	r.statements = append(r.statements, query)
}

// recording is a driver that is listened to.
type recording struct {
	dialect.Driver
	*recorder
}

func (r recording) Exec(ctx context.Context, query string, args, v any) error {
	r.record(query, args)
	return r.Driver.Exec(ctx, query, args, v)
}

func (r recording) Tx(ctx context.Context) (dialect.Tx, error) {
	t, err := r.Driver.Tx(ctx)
	if err != nil {
		return nil, err
	}
	return recordingTx{t, r.recorder}, nil
}

type recordingTx struct {
	dialect.Tx
	*recorder
}

func (r recordingTx) Exec(ctx context.Context, query string, args, v any) error {
	r.record(query, args)
	return r.Tx.Exec(ctx, query, args, v)
}
