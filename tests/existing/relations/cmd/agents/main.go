// Command agents serves the club to agents.
package main

import (
	"context"
	stdsql "database/sql"
	"os"

	"entgo.io/ent/dialect"
	"entgo.io/ent/dialect/sql"
	"github.com/koan-go/koan/framework"
	_ "github.com/mattn/go-sqlite3"

	"example.org/club/ent"
	_ "example.org/club/ent/runtime"
	"example.org/club/viewer"
)

func main() {
	framework.Main(framework.App{
		Name:     "club",
		Entities: ent.Entities(ent.OnClient(rules)),
		Open:     open,
		Viewer:   func(ctx context.Context, _ framework.Principal) context.Context { return viewer.NewContext(ctx, 1) },
	})
}

// rules pass to the client what its hooks need.
func rules(c *ent.Client) {
	c.Journal = os.Stderr
	c.Member.Use(func(next ent.Mutator) ent.Mutator {
		return ent.MutateFunc(func(ctx context.Context, m ent.Mutation) (ent.Value, error) {
			v, err := next.Mutate(ctx, m)
			if err == nil {
				_, err = m.(*ent.MemberMutation).Journal.Write([]byte("journal: a member was " + m.Op().String() + "\n"))
			}
			return v, err
		})
	})
}

// open makes the tables, as the club's other programs do.
func open(ctx context.Context, _ string) (dialect.Driver, error) {
	db, err := stdsql.Open("sqlite3", os.Getenv("DATABASE_URL"))
	if err != nil {
		return nil, err
	}
	drv := sql.OpenDB(dialect.SQLite, db)
	c := ent.NewClient(ent.Driver(drv))
	if err := c.Schema.Create(ctx); err != nil {
		return nil, err
	}
	if n, err := c.Tenant.Query().Count(ctx); err != nil || n > 0 {
		return drv, err
	}
	return drv, c.Tenant.CreateBulk(c.Tenant.Create().SetName("ours"), c.Tenant.Create().SetName("theirs")).Exec(ctx)
}
