package engine_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"sync"
	counter "sync/atomic"
	"testing"
	"time"

	stdent "entgo.io/ent"
	"entgo.io/ent/dialect"
	entsql "entgo.io/ent/dialect/sql"
	"github.com/stretchr/testify/require"

	"github.com/koan-go/koan/entities"
	"github.com/koan-go/koan/entities/shim"
	"github.com/koan-go/koan/framework/auth"
	"github.com/koan-go/koan/framework/catalog"
	"github.com/koan-go/koan/framework/database/sqlitedriver"
	"github.com/koan-go/koan/framework/exposure"
	"github.com/koan-go/koan/framework/fault"
	"github.com/koan-go/koan/framework/run"
	"github.com/koan-go/koan/tests/fixture/ent"
)

// counting is a driver of the app's own, which sees every statement.
type counting struct {
	dialect.Driver
	statements *counter.Int64
}

func (c counting) Exec(ctx context.Context, query string, args, v any) error {
	c.statements.Add(1)
	return c.Driver.Exec(ctx, query, args, v)
}

func (c counting) Query(ctx context.Context, query string, args, v any) error {
	c.statements.Add(1)
	return c.Driver.Query(ctx, query, args, v)
}

func (c counting) Tx(ctx context.Context) (dialect.Tx, error) {
	tx, err := c.Driver.Tx(ctx)
	if err != nil {
		return nil, err
	}
	return countingTx{tx, c.statements}, nil
}

type countingTx struct {
	dialect.Tx
	statements *counter.Int64
}

func (c countingTx) Exec(ctx context.Context, query string, args, v any) error {
	c.statements.Add(1)
	return c.Tx.Exec(ctx, query, args, v)
}

func (c countingTx) Query(ctx context.Context, query string, args, v any) error {
	c.statements.Add(1)
	return c.Tx.Query(ctx, query, args, v)
}

// ownDatabase is a database as its owner made it, before anybody served it.
func ownDatabase(t *testing.T) (source string, db *sql.DB) {
	t.Helper()
	ctx := context.Background()
	if postgres(t) {
		server, prefix, _ := strings.Cut(place(t), "&schema_prefix=")
		source = server + "&search_path=" + prefix + "_own"
		maker, err := sql.Open("pgx", server)
		require.NoError(t, err)
		_, err = maker.ExecContext(ctx, `CREATE SCHEMA "`+prefix+`_own"`)
		require.NoError(t, err)
		require.NoError(t, maker.Close())
	} else {
		source = "file:" + filepath.Join(t.TempDir(), "owner.sqlite") + "?_fk=1&_journal_mode=WAL&_busy_timeout=5000"
	}
	db = connect(t, source)
	t.Cleanup(func() { require.NoError(t, db.Close()) })
	require.NoError(t, ent.NewClient(ent.Driver(entsql.OpenDB(spoken(t), db))).Schema.Create(ctx))
	return source, db
}

func spoken(t *testing.T) string {
	if postgres(t) {
		return dialect.Postgres
	}
	return dialect.SQLite
}

func connect(t *testing.T, source string) *sql.DB {
	t.Helper()
	if !postgres(t) {
		return sqlitedriver.Open(source)
	}
	db, err := sql.Open("pgx", source)
	require.NoError(t, err)
	return db
}

// served is an app over the owner's database; statements counts what its driver
// sees.
func served(t *testing.T, source string, shimmed *shim.App) (a *app, statements *counter.Int64) {
	t.Helper()
	statements = &counter.Int64{}
	p := entities.Provide(shimmed, entities.Options{Open: func(_ context.Context, set string) (dialect.Driver, error) {
		if set != "default" {
			return nil, fault.Newf(fault.UnknownSet, "we have no %q", set)
		}
		return counting{entsql.OpenDB(spoken(t), connect(t, source)), statements}, nil
	}})
	require.NoError(t, p.Start(context.Background(), host{"sqlite://" + t.TempDir()}))
	t.Cleanup(func() { require.NoError(t, p.Stop(context.Background())) })
	s, err := catalog.NewSnapshot(p.Offer())
	require.NoError(t, err)
	return &app{TB: t, engine: run.NewEngine(run.Options{}), provider: p, as: auth.Local(), view: s.View(auth.Local(), exposure.Full, false)}, statements
}

func TestServesWhatTheAppOpens(t *testing.T) { // not parallel: ent's Create writes to tables that all tests share
	if forEach(t, TestServesWhatTheAppOpens) {
		return
	}
	source, db := ownDatabase(t)
	_, err := db.Exec(`ALTER TABLE todos DROP COLUMN notes`)
	require.NoError(t, err)
	var after counter.Int64
	hooks := ent.OnClient(func(c *ent.Client) {
		c.Person.Use(func(next stdent.Mutator) stdent.Mutator {
			return stdent.MutateFunc(func(ctx context.Context, m stdent.Mutation) (stdent.Value, error) {
				v, err := next.Mutate(ctx, m)
				if err == nil {
					err = c.AuditLog.Create().SetMessage("person").Exec(ctx) // through the base client, in the same transaction
					run.AfterCommit(ctx, func(context.Context) { after.Add(1) })
				}
				return v, err
			})
		})
	})
	a, statements := served(t, source, ent.Entities(hooks))
	person := a.call("Person.upsert", `{"model":{"name":"Ann","email":"ann@example.org"}}`)["id"].(string)
	require.NoError(t, a.engine.WaitAfterCommit(t.Context()))
	require.EqualValues(t, 1, after.Load())
	require.Positive(t, statements.Load(), "the app's wrapper sees what happens")
	require.Equal(t, "Ann", a.call("Person.get-by-id", fmt.Sprintf(`{"id":%q}`, person))["name"])
	label := a.call("Label.upsert", `{"model":{"name":"x"}}`)["id"].(string)
	a.call("Label.patch", fmt.Sprintf(`{"id":%q,"changes":{"name":"y"}}`, label))
	require.EqualValues(t, 1, a.call("Label.count", `{"filter":{"name":"y"}}`)["count"])

	f := a.fails(fault.Conflict, "Person.upsert", `{"model":{"name":"Bob","email":"ann@example.org"}}`)
	require.Contains(t, f.Message, "another Person already has this email")
	a.fails(fault.UnknownSet, "Todo.collection", `{"set":"tenant-a"}`)
	out, err := a.run(script(run.Spec{Atomic: true}, func(call func(string, string) (map[string]any, error), _ *run.Attempt) error {
		_, err := call("Person.upsert", `{"model":{"name":"Cid","email":"cid@example.org"}}`)
		require.NoError(t, err)
		_, err = call("Person.upsert", `{"model":{"name":"Dan","email":"cid@example.org"}}`)
		require.Error(t, err, "caught: the rest of the run stands")
		_, err = call("Label.upsert", `{"model":{"name":"z"}}`)
		return err
	}))
	require.NoError(t, err)
	require.Equal(t, 1, out.Attempts)
	_, err = a.run(script(run.Spec{Atomic: true, DryRun: true}, func(call func(string, string) (map[string]any, error), _ *run.Attempt) error {
		_, err := call("Person.upsert", `{"model":{"name":"Eve","email":"eve@example.org"}}`)
		return err
	}))
	require.NoError(t, err)
	_, err = a.run(script(run.Spec{Atomic: true}, func(call func(string, string) (map[string]any, error), _ *run.Attempt) error {
		_, err := call("Person.upsert", `{"model":{"name":"Fay","email":"fay@example.org"}}`)
		require.NoError(t, err)
		return errors.New("no")
	}))
	require.Error(t, err)
	require.NoError(t, a.engine.WaitAfterCommit(t.Context()))
	require.EqualValues(t, 2, after.Load(), "once for what was stored, never for what was not")

	count := func(query string) (n int) {
		require.NoError(t, db.QueryRow(query).Scan(&n), query)
		return n
	}
	require.Equal(t, 2, count(`SELECT count(*) FROM persons`))
	require.Equal(t, 2, count(`SELECT count(*) FROM audit_logs`))
	require.Equal(t, 4, count(`SELECT count(*) FROM koan_receipts`))
	_, err = db.Exec(`SELECT notes FROM todos`)
	require.Error(t, err, "the owner's tables are as they were")
	require.Contains(t, a.fails(fault.ServiceUnavailable, "Todo.collection", `{}`).Hint, "the app's own migrations")
	checks := a.provider.Checks(context.Background())
	require.False(t, checks[0].OK)
	require.Contains(t, checks[0].Detail, "lacks the column todos.notes")
	_, err = db.Exec(`ALTER TABLE todos ADD COLUMN notes text`)
	require.NoError(t, err)
	checks = a.provider.Checks(context.Background())
	require.True(t, checks[0].OK, checks[0].Detail)
	require.Contains(t, checks[0].Detail, "the app's own databases")
	require.Equal(t, []string{"search", "replay", "journal"}, []string{checks[1].Name, checks[2].Name, checks[3].Name})
}

func TestNoUpdateOfAnOwnedDatabaseIsLost(t *testing.T) { // not parallel: ent's Create writes to tables that all tests share
	if forEach(t, TestNoUpdateOfAnOwnedDatabaseIsLost) {
		return
	}
	source, _ := ownDatabase(t)
	one, _ := served(t, source, ent.Entities())
	two, _ := served(t, source, ent.Entities())
	one.call("Todo.upsert", `{"model":{"id":"counter","title":"x"}}`)
	var group sync.WaitGroup
	failed := make(chan error, 24)
	for i := range 4 {
		group.Go(func() {
			for range 6 {
				_, err := []*app{one, two}[i%2].run(script(atomic, func(call func(string, string) (map[string]any, error), _ *run.Attempt) error {
					now, err := call("Todo.get-by-id", `{"id":"counter"}`)
					if err != nil {
						return err
					}
					time.Sleep(time.Millisecond)
					_, err = call("Todo.patch", fmt.Sprintf(`{"id":"counter","changes":{"views":%v}}`, now["views"].(float64)+1))
					return err
				}))
				if err != nil {
					failed <- err
				}
			}
		})
	}
	group.Wait()
	close(failed)
	for err := range failed {
		require.NoError(t, err)
	}
	require.EqualValues(t, 24, one.call("Todo.get-by-id", `{"id":"counter"}`)["views"])
}

func TestOpenIsChecked(t *testing.T) {
	t.Parallel()
	start := func(shimmed *shim.App, open func(context.Context, string) (dialect.Driver, error)) error {
		return entities.Provide(shimmed, entities.Options{Open: open}).Start(context.Background(), host{"sqlite://" + t.TempDir()})
	}
	err := start(ent.Entities(), func(context.Context, string) (dialect.Driver, error) { return nil, errors.New("no route") })
	require.ErrorContains(t, err, "no route")
	err = start(ent.Entities(), func(context.Context, string) (dialect.Driver, error) { return nil, nil })
	require.ErrorContains(t, err, "returned no driver")
	err = start(ent.Entities(), func(context.Context, string) (dialect.Driver, error) {
		return entsql.OpenDB(dialect.MySQL, sqlitedriver.Open(":memory:")), nil
	})
	require.ErrorContains(t, err, `a driver for "mysql"`)
	for name, source := range map[string]string{"sqlite": "file:" + filepath.Join(t.TempDir(), "nowhere", "app.db"), "postgres": "postgres://nobody:secret@127.0.0.1:1/app"} {
		err = start(ent.Entities(), func(context.Context, string) (dialect.Driver, error) {
			if name == "sqlite" {
				return entsql.OpenDB(dialect.SQLite, sqlitedriver.Open(source)), nil
			}
			db, err := sql.Open("pgx", source)
			return entsql.OpenDB(dialect.Postgres, db), err
		})
		require.ErrorContains(t, err, `the database of the set "default" cannot be reached`, name)
		require.Contains(t, fault.From(err).Hint, "Check that it runs", name)
		require.NotContains(t, err.Error(), "secret", name)
	}
	fill := ent.OnCreateSet(func(context.Context, string, *ent.Client) error { return nil })
	err = start(ent.Entities(fill), func(context.Context, string) (dialect.Driver, error) { return nil, nil })
	require.ErrorContains(t, err, "OnCreateSet")
	for _, s := range entities.Provide(ent.Entities(), entities.Options{Open: func(context.Context, string) (dialect.Driver, error) { return nil, nil }}).Settings() {
		require.NotContains(t, []string{"database", "database.sync", "migrations.dir"}, s.Key)
	}
}
