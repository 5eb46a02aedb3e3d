package engine

import (
	"bytes"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"runtime"
	"strconv"

	"entgo.io/ent"
	"entgo.io/ent/dialect"

	"github.com/koan-go/koan/entities/internal/model"
	"github.com/koan-go/koan/framework/database"
	"github.com/koan-go/koan/framework/fault"
)

// unit is a transaction outside of all runs: one that the app began, or that of a mutation with
// everything that its hooks do, so that a hook which fails after the statement leaves
// nothing of it. What hooks do through the base client is a part of either.
type unit struct {
	dialect.Tx
	dialect string
	saves   int // savepoints so far
}

type unitKey struct{ place *place }

// unit returns the one that the code of ctx is a part of, nil for none.
func (p *place) unit(ctx context.Context) *unit {
	u, _ := ctx.Value(unitKey{p}).(*unit)
	return u
}

// begin begins a transaction outside of all runs.
func (p *place) begin(ctx context.Context) (*unit, error) {
	begun, err := p.d.Driver().Tx(ctx)
	if err != nil {
		return nil, err
	}
	return &unit{Tx: begun, dialect: p.engine.data.Backend.Dialect().Name()}, nil
}

// mutate makes a mutation outside of all runs.
func (p *place) mutate(ctx context.Context, k *model.Kind, m ent.Mutation, next ent.Mutator) (v ent.Value, err error) {
	if tx := k.TxOf(m); tx != nil {
		if u, ok := tx.(*unit); ok {
			ctx = context.WithValue(ctx, unitKey{p}, u)
		}
		return next.Mutate(ctx, m)
	}
	if p.unit(ctx) != nil || !p.client.Guarded(k.Type) {
		return next.Mutate(ctx, m)
	}
	id := goroutine()
	if around, ok := p.mutations.Load(id); ok {
		return next.Mutate(context.WithValue(ctx, unitKey{p}, around), m)
	}
	u, err := p.begin(ctx)
	if err != nil {
		return nil, err
	}
	p.mutations.Store(id, u)
	over := false
	defer func() {
		p.mutations.Delete(id)
		if !over { // a hook panics
			_ = u.Rollback()
		}
	}()
	v, err = next.Mutate(context.WithValue(ctx, unitKey{p}, u), m)
	over = true
	if err == nil {
		return v, u.Commit()
	}
	if failed := u.Rollback(); failed != nil {
		err = errors.Join(err, failed)
	}
	return nil, err
}

// Exec implements dialect.ExecQuerier.
func (u *unit) Exec(ctx context.Context, query string, args, v any) error {
	if err := u.check(ctx); err != nil {
		return err
	}
	return u.Tx.Exec(ctx, query, args, v)
}

// Query implements dialect.ExecQuerier.
func (u *unit) Query(ctx context.Context, query string, args, v any) error {
	if err := u.check(ctx); err != nil {
		return err
	}
	return u.Tx.Query(ctx, query, args, v)
}

// ExecContext implements rawQuerier.
func (u *unit) ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error) {
	raw, err := u.raw(ctx)
	if err != nil {
		return nil, err
	}
	return raw.ExecContext(ctx, query, args...)
}

// QueryContext implements rawQuerier.
func (u *unit) QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error) {
	raw, err := u.raw(ctx)
	if err != nil {
		return nil, err
	}
	return raw.QueryContext(ctx, query, args...)
}

func (u *unit) raw(ctx context.Context) (rawQuerier, error) {
	raw, ok := u.Tx.(rawQuerier)
	if !ok {
		return nil, fault.New(fault.CapabilityUnsupported, "the driver of this set runs no statements of the app")
	}
	return raw, u.check(ctx)
}

// check refuses the session variables of a context where the database has none.
func (u *unit) check(ctx context.Context) error {
	vars, err := database.Variables(ctx)
	if err != nil {
		return err
	}
	return database.CheckVariables(u.dialect, vars)
}

// nested begins a transaction of a hook: a savepoint.
func (u *unit) nested(ctx context.Context) (dialect.Tx, error) {
	u.saves++
	s := &unitSavepoint{unit: u, ctx: context.WithoutCancel(ctx), name: "koan_unit_" + strconv.Itoa(u.saves)}
	return s, u.Tx.Exec(s.ctx, "SAVEPOINT "+s.name, []any{}, nil)
}

// unitSavepoint is a transaction of a hook in that of its mutation.
type unitSavepoint struct {
	*unit
	ctx  context.Context
	name string
	over bool
}

// Commit implements driver.Tx.
func (s *unitSavepoint) Commit() error { return s.end() }

// Rollback implements driver.Tx.
func (s *unitSavepoint) Rollback() error { return s.end("ROLLBACK TO SAVEPOINT ") }

func (s *unitSavepoint) end(first ...string) error {
	if s.over {
		return sql.ErrTxDone
	}
	s.over = true
	for _, statement := range append(first, "RELEASE SAVEPOINT ") {
		if err := s.unit.Tx.Exec(s.ctx, statement+s.name, []any{}, nil); err != nil {
			return err
		}
	}
	return nil
}

// goroutine returns the number of the goroutine that calls it, as its stack begins with. It finds what no
// context does: in a bulk outside of all runs, ent calls the hooks of the second and later mutations with the
// context that Save got, in the hooks of the one before. Nothing else that they get is of the bulk alone:
// the context may be context.Background(), which bulks side by side have in common, and the mutations know
// their client, and not each other. Without the number each would begin a transaction of its own inside that
// of the first: on SQLite it would wait for it until it gives up, and elsewhere a hook's error would leave rows
// of the bulk behind. Within a run the context is enough, since each of these contexts has the run. Hooks that go
// on in another goroutine have to pass on their context, as everywhere.
func goroutine() int64 {
	var buf [64]byte
	head := buf[:runtime.Stack(buf[:], false)] // "goroutine 18 [running]:"
	fields := bytes.Fields(head)
	n, err := strconv.ParseInt(string(fields[1]), 10, 64)
	if err != nil {
		panic(fmt.Sprintf("engine: the stack begins with %q", head))
	}
	return n
}
