package dynamic

import (
	"context"
	"strings"

	"entgo.io/ent"
	"entgo.io/ent/dialect"

	"github.com/koan-go/koan/entities/shim"
	"github.com/koan-go/koan/framework/database/sqltext"
)

// client is one set's base client. Entities without code have no hooks besides the engine's, no
// policies and no interceptors.
type client struct {
	drv  dialect.Driver
	hook ent.Hook
}

var _ shim.Client = (*client)(nil)

// Begin implements shim.Client.
func (c *client) Begin(ctx context.Context, drv dialect.Driver) (shim.Tx, error) {
	begun, err := drv.Tx(ctx)
	if err != nil {
		return nil, err
	}
	return &tx{Tx: begun, dialect: drv.Dialect(), hook: c.hook}, nil
}

// Hooked implements shim.Client.
func (c *client) Hooked(string) bool { return false }

// Guarded implements shim.Client.
func (c *client) Guarded(string) bool { return false }

// Ruled implements shim.Client.
func (c *client) Ruled(string) bool { return false }

// tx is a client that is bound to one transaction.
type tx struct {
	dialect.Tx
	dialect string
	hook    ent.Hook
}

var _ shim.Tx = (*tx)(nil)

// Context implements shim.Tx: nothing looks for such a transaction in a context.
func (t *tx) Context(ctx context.Context) context.Context { return ctx }

// driver is the transaction as ent's builders take it: one that is begun in it is itself.
func (t *tx) driver() dialect.Driver { return bound{t} }

// overriding is the transaction for a row that comes back, with values of its own where only the database counts
// up. Only PostgreSQL has such columns.
func (t *tx) overriding() dialect.Driver { return overriding{bound{t}} }

type overriding struct{ bound }

func (o overriding) Tx(context.Context) (dialect.Tx, error) { return o, nil }

func (o overriding) Query(ctx context.Context, query string, args, v any) error {
	return o.bound.Query(ctx, strings.Replace(query, ") VALUES (", ") OVERRIDING SYSTEM VALUE VALUES (", 1), args, v)
}

func (o overriding) Exec(ctx context.Context, query string, args, v any) error {
	return o.bound.Exec(ctx, strings.Replace(query, ") VALUES (", ") OVERRIDING SYSTEM VALUE VALUES (", 1), args, v)
}

// bound has the names of the database in each statement, where ent's builders were given encoded ones.
type bound struct{ *tx }

func (b bound) Query(ctx context.Context, query string, args, v any) error {
	return b.tx.Query(ctx, sqltext.DecodeNames(query), args, v)
}

func (b bound) Exec(ctx context.Context, query string, args, v any) error {
	return b.tx.Exec(ctx, sqltext.DecodeNames(query), args, v)
}

func (b bound) Tx(context.Context) (dialect.Tx, error) { return b, nil }
func (b bound) Dialect() string                        { return b.dialect }
func (b bound) Close() error                           { return nil }
func (b bound) Commit() error                          { return nil }
func (b bound) Rollback() error                        { return nil }
