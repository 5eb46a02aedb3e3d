// Package store opens the shop's database and says what holds for all who use it.
package store

import (
	"context"
	"database/sql"
	"log"
	"time"

	"entgo.io/ent"
	"entgo.io/ent/dialect"
	entsql "entgo.io/ent/dialect/sql"
	_ "github.com/mattn/go-sqlite3" // the driver

	shop "example.org/shop/ent"
	_ "example.org/shop/ent/runtime" // defaults and hooks of the schemas
)

// Driver opens the database in a file. Slow statements are logged.
func Driver(file string) (dialect.Driver, error) {
	db, err := sql.Open("sqlite3", "file:"+file+"?_fk=1&_journal_mode=WAL&_busy_timeout=5000")
	if err != nil {
		return nil, err
	}
	return slow{entsql.OpenDB(dialect.SQLite, db)}, nil
}

// Client opens the database for the shop's own programs.
func Client(drv dialect.Driver) *shop.Client {
	c := shop.NewClient(shop.Driver(drv))
	Rules(c)
	return c
}

// Rules are what holds for all who use the database: products are marked instead
// of deleted, and every change of an order is noted.
func Rules(c *shop.Client) {
	c.Product.Use(func(next ent.Mutator) ent.Mutator {
		return ent.MutateFunc(func(ctx context.Context, m ent.Mutation) (ent.Value, error) {
			p, ok := m.(*shop.ProductMutation)
			if !ok || !m.Op().Is(ent.OpDelete|ent.OpDeleteOne) {
				return next.Mutate(ctx, m)
			}
			ids, err := p.IDs(ctx)
			if err != nil {
				return nil, err
			}
			for _, id := range ids {
				if err := p.Client().Product.UpdateOneID(id).SetDeletedAt(time.Now()).Exec(ctx); err != nil {
					return nil, err
				}
			}
			return len(ids), nil
		})
	})
	c.Product.Intercept(ent.TraverseFunc(func(_ context.Context, q ent.Query) error {
		if q, ok := q.(*shop.ProductQuery); ok {
			q.Where(func(s *entsql.Selector) { s.Where(entsql.IsNull(s.C("deleted_at"))) })
		}
		return nil
	}))
	c.Order.Use(func(next ent.Mutator) ent.Mutator {
		return ent.MutateFunc(func(ctx context.Context, m ent.Mutation) (ent.Value, error) {
			v, err := next.Mutate(ctx, m)
			if err == nil {
				err = m.(*shop.OrderMutation).Client().AuditEntry.Create().SetWhat("order " + m.Op().String()).Exec(ctx)
			}
			return v, err
		})
	})
}

// slow logs statements that take long.
type slow struct{ dialect.Driver }

func (s slow) Query(ctx context.Context, query string, args, v any) error {
	defer late(query, time.Now())
	return s.Driver.Query(ctx, query, args, v)
}

func (s slow) Exec(ctx context.Context, query string, args, v any) error {
	defer late(query, time.Now())
	return s.Driver.Exec(ctx, query, args, v)
}

func late(query string, from time.Time) {
	if took := time.Since(from); took > time.Second {
		log.Printf("slow: %s: %s", took, query)
	}
}
