package engine_test

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"testing"

	stdent "entgo.io/ent"
	"entgo.io/ent/dialect"
	entsql "entgo.io/ent/dialect/sql"
	"github.com/stretchr/testify/require"

	"github.com/koan-go/koan/entities"
	"github.com/koan-go/koan/framework/auth"
	"github.com/koan-go/koan/framework/catalog"
	"github.com/koan-go/koan/framework/exposure"
	"github.com/koan-go/koan/framework/fault"
	"github.com/koan-go/koan/framework/run"
	"github.com/koan-go/koan/tests/fixture/ent"
	"github.com/koan-go/koan/tests/fixture/ent/todo"
	"github.com/koan-go/koan/tests/pgtest"
)

// rowSecured is an app whose tables are kept apart by the database: row level security
// by the session variable app.tenant, which Options.Viewer sets to the caller's
// name. "nobody" has none.
type rowSecured struct {
	ann, bob, nobody *app
	pool             *sql.DB // where the app opens its database itself
}

// tenantVariable is what Options.Viewer of the app does.
func tenantVariable(ctx context.Context, p auth.Principal) context.Context {
	if p.Subject == "nobody" {
		return ctx
	}
	return entsql.WithVar(ctx, "app.tenant", p.Subject)
}

// enforce puts row level security on the app's tables in a schema. It holds for
// their owner too.
func enforce(t *testing.T, at, schema string) {
	for table, own := range map[string]string{
		"todos": "notes = current_setting('app.tenant', true)",
		"steps": "EXISTS (SELECT 1 FROM todos t WHERE t.id = todo_steps)",
	} {
		pgtest.Psql(
			t, at, fmt.Sprintf(`ALTER TABLE %q.%s ENABLE ROW LEVEL SECURITY`, schema, table), fmt.Sprintf(`ALTER TABLE %q.%s FORCE ROW LEVEL SECURITY`, schema, table),
			fmt.Sprintf(`SET search_path TO %q`, schema)+";"+fmt.Sprintf(`CREATE POLICY tenant ON %q.%s USING (%s)`, schema, table, own),
		)
	}
}

// openRowSecured starts the app on a database role that is neither superuser nor
// exempt from policies. opened has the app open the database itself.
func openRowSecured(t *testing.T, opened bool, opts ...ent.EntitiesOption) *rowSecured {
	t.Helper()
	server, prefix, _ := strings.Cut(pgtest.Place(t), "&schema_prefix=")
	role := prefix + "_role"
	pgtest.Psql(t, server, `CREATE ROLE `+role+` LOGIN NOSUPERUSER NOBYPASSRLS`, `DO $$ BEGIN EXECUTE format('GRANT CREATE ON DATABASE %I TO `+role+`', current_database()); END $$`)
	asRole := strings.Replace(server, "postgres://postgres@", "postgres://"+role+"@", 1)
	out, o, at := &rowSecured{}, entities.Options{Viewer: tenantVariable}, asRole+"&schema_prefix="+prefix+"&pool_max_conns=2"
	schema := prefix + ".default"
	if opened {
		schema = prefix + "_own"
		pgtest.Psql(t, server, fmt.Sprintf(`CREATE SCHEMA %q AUTHORIZATION %s`, schema, role))
		var err error
		out.pool, err = sql.Open("pgx", asRole+"&search_path="+schema)
		require.NoError(t, err)
		out.pool.SetMaxOpenConns(2)
		require.NoError(t, ent.NewClient(ent.Driver(entsql.OpenDB(dialect.Postgres, out.pool))).Schema.Create(t.Context()))
		enforce(t, server, schema)
		o.Open = func(context.Context, string) (dialect.Driver, error) {
			return entsql.OpenDB(dialect.Postgres, out.pool), nil
		}
	}
	p := entities.Provide(ent.Entities(opts...), o)
	require.NoError(t, p.Start(t.Context(), journalHost{host{at}, map[string]any{"journal.expose": false}}))
	t.Cleanup(func() { require.NoError(t, p.Stop(context.Background())) })
	if !opened {
		enforce(t, server, schema)
	}
	s, err := catalog.NewSnapshot(p.Offer())
	require.NoError(t, err)
	engine := run.NewEngine(run.Options{})
	for name, who := range map[string]**app{"ann": &out.ann, "bob": &out.bob, "nobody": &out.nobody} {
		as := auth.Principal{Subject: name, Scopes: []string{catalog.ScopeWrite}, Sets: []string{auth.All}}
		*who = &app{TB: t, engine: engine, provider: p, as: as, view: s.View(as, exposure.Full, false)}
	}
	return out
}

// rowSecuredApps are the ways in which an app reaches its database and is written to.
func rowSecuredApps(t *testing.T, test func(t *testing.T, a *rowSecured)) {
	for name, opened := range map[string]bool{"own": false, "opened": true} {
		for how, opts := range map[string][]ent.EntitiesOption{"native": nil, "hooked": {ent.OnClient(func(c *ent.Client) { c.Use(passing) })}} {
			t.Run(name+" "+how, func(t *testing.T) { test(t, openRowSecured(t, opened, opts...)) })
		}
	}
}

func ids(page map[string]any) string { return strings.Join(found(page), " ") }

func TestSessionVariablesHoldForTheirCallerOnly(t *testing.T) { // not parallel: ent's Create writes to tables that all tests share
	rowSecuredApps(t, func(t *testing.T, a *rowSecured) {
		for _, who := range []*app{a.ann, a.bob} { // interleaved, over two connections
			name := who.as.Subject
			got := who.call("Todo.upsert", fmt.Sprintf(`{"model":{"id":"%s1","title":"milk","notes":%q,"effort":1}}`, name, name))
			require.Equal(t, name, got["notes"])
			who.call("Todo.upsert-many", fmt.Sprintf(`{"models":[{"id":"%s2","title":"bread","notes":%q,"effort":2},{"id":"%s1","title":"oat milk"}]}`, name, name, name))
			who.call("Step.upsert", fmt.Sprintf(`{"model":{"id":"%ss","text":"buy","todo":"%s1"}}`, name, name))
		}
		for _, who := range []*app{a.ann, a.bob, a.ann} {
			name := who.as.Subject
			own, other := name+"1", map[string]string{"ann": "bob1", "bob": "ann1"}[name]
			require.Equal(t, own+" "+name+"2", ids(who.call("Todo.collection", `{"sort":"id"}`)))
			require.Equal(t, own, ids(who.call("Todo.collection", `{"q":"milk"}`)))
			require.EqualValues(t, 2, who.call("Todo.count", `{}`)["count"])
			require.EqualValues(t, 3, who.call("Todo.aggregate", `{"sum":"effort"}`)["rows"].([]any)[0].(map[string]any)["sumEffort"])
			require.Len(t, who.call("Todo.get-by-id", fmt.Sprintf(`{"id":%q,"with":"steps"}`, own))["steps"], 1)
			require.Equal(t, name+"s", ids(who.call("Step.collection", `{"filter":{"todo":{"title":"oat milk"}}}`)))
			who.fails(fault.NotFound, "Todo.get-by-id", fmt.Sprintf(`{"id":%q}`, other))
			who.fails(fault.NotFound, "Todo.patch", fmt.Sprintf(`{"id":%q,"changes":{"title":"mine"}}`, other))
			require.EqualValues(t, 0, who.call("Todo.delete", fmt.Sprintf(`{"id":%q}`, other))["deleted"])
			require.EqualValues(t, 2, who.call("Todo.update-by-query", `{"filter":{},"changes":{"views":5},"maxAffected":10}`)["updated"])
			who.fails(fault.Forbidden, "Todo.upsert", `{"model":{"title":"for nobody","notes":"carl"}}`)
			who.fails(fault.Forbidden, "Todo.upsert-many", `{"models":[{"title":"mine","notes":"`+name+`"},{"title":"for nobody","notes":"carl"}]}`)
			who.fails(fault.Forbidden, "Todo.patch", fmt.Sprintf(`{"id":%q,"changes":{"notes":"carl"}}`, own))
			who.fails(fault.Conflict, "Todo.upsert", fmt.Sprintf(`{"model":{"id":%q,"title":"taken","notes":%q}}`, other, name))
			who.fails(fault.InvalidPayload, "Step.upsert", fmt.Sprintf(`{"model":{"text":"x","todo":%q}}`, other))
		}
		// Nobody has what was set for others.
		require.Empty(t, found(a.nobody.call("Todo.collection", `{}`)))
		require.EqualValues(t, 0, a.nobody.call("Todo.count", `{}`)["count"])
		a.nobody.fails(fault.NotFound, "Todo.get-by-id", `{"id":"ann1"}`)
		require.EqualValues(t, 0, a.nobody.call("Todo.delete-by-query", `{"filter":{},"maxAffected":10}`)["deleted"])
		a.nobody.fails(fault.Forbidden, "Todo.upsert", `{"model":{"title":"x","notes":"ann"}}`)
		require.EqualValues(t, 2, a.bob.call("Todo.delete-by-query", `{"filter":{},"maxAffected":10}`)["deleted"])
		require.EqualValues(t, 2, a.ann.call("Todo.count", `{}`)["count"])
		if a.pool != nil { // every connection went back without them
			var left int
			for range 4 {
				one, err := a.pool.Conn(t.Context())
				require.NoError(t, err)
				var value sql.NullString
				require.NoError(t, one.QueryRowContext(t.Context(), `SELECT nullif(current_setting('app.tenant', true), '')`).Scan(&value))
				if value.Valid {
					left++
				}
				require.NoError(t, one.Close())
			}
			require.Zero(t, left)
		}
	})
}

func TestSessionVariablesHoldInParallel(t *testing.T) { // not parallel: ent's Create writes to tables that all tests share
	rowSecuredApps(t, func(t *testing.T, a *rowSecured) {
		var group sync.WaitGroup
		wrong := make(chan string, 100)
		for _, who := range []*app{a.ann, a.bob, a.nobody} {
			group.Go(func() {
				name := who.as.Subject
				for i := range 12 {
					if who != a.nobody {
						if _, _, err := who.try("Todo.upsert", fmt.Sprintf(`{"model":{"id":"%s%d","title":"x","notes":%q}}`, name, i, name)); err != nil {
							wrong <- fmt.Sprintf("%s writes: %v", name, err)
						}
					}
					out, _, err := who.try("Todo.collection", `{"fields":"notes"}`)
					var page struct{ Items []struct{ Notes string } }
					if err == nil {
						err = json.Unmarshal(out, &page)
					}
					want := i + 1
					if who == a.nobody {
						want = 0
					}
					if err != nil || len(page.Items) != want {
						wrong <- fmt.Sprintf("%s reads %d rows, not %d (%v)", name, len(page.Items), want, err)
					}
					for _, item := range page.Items {
						if item.Notes != name {
							wrong <- name + " reads of " + item.Notes
						}
					}
				}
			})
		}
		group.Wait()
		close(wrong)
		for w := range wrong {
			t.Error(w)
		}
	})
}

func TestSessionVariablesHoldInRuns(t *testing.T) { // not parallel: ent's Create writes to tables that all tests share
	rowSecuredApps(t, func(t *testing.T, a *rowSecured) {
		a.bob.call("Todo.upsert", `{"model":{"id":"b","title":"his","notes":"bob"}}`)
		a.ann.call("Todo.upsert", `{"model":{"id":"a","title":"hers","notes":"ann"}}`)
		out, err := a.ann.run(script(run.Spec{Atomic: true, DryRun: true, Record: true}, func(call func(string, string) (map[string]any, error), _ *run.Attempt) error {
			if _, err := call("Todo.patch", `{"id":"a","changes":{"title":"changed"}}`); err != nil {
				return err
			}
			if _, err := call("Todo.upsert", `{"model":{"title":"x","notes":"bob"}}`); fault.CodeOf(err) != fault.Forbidden {
				return fmt.Errorf("want forbidden, got %w", err)
			}
			if _, err := call("Todo.upsert", `{"model":{"id":"n","title":"new","notes":"ann"}}`); err != nil {
				return err
			}
			if got, err := call("Todo.update-by-query", `{"filter":{},"changes":{"views":1},"maxAffected":10}`); err != nil || got["updated"] != 2.0 {
				return fmt.Errorf("updated %v: %w", got, err)
			}
			_, err := call("Todo.delete", `{"id":"b"}`)
			return err
		}))
		require.NoError(t, err)
		require.Equal(t, []string{"update Todo a", "create Todo n"}, said(out.Changes))
		require.Contains(t, string(out.Changes[0].Before), `"hers"`)
		require.Contains(t, string(out.Changes[0].After), `"changed"`)
		require.Contains(t, string(out.Changes[1].After), `"new"`)
		require.Equal(t, "hers", a.ann.call("Todo.get-by-id", `{"id":"a"}`)["title"])
	})
}

// A hook that looks at somebody else's rows, in a context of its own, changes
// nothing about whose rows its caller writes.
func TestSessionVariablesOfHooksAreTheirOwn(t *testing.T) { // not parallel: ent's Create writes to tables that all tests share
	for name, opened := range map[string]bool{"own": false, "opened": true} {
		t.Run(name, func(t *testing.T) {
			var seen []string
			var outside func(ctx context.Context) ([]string, error)
			a := openRowSecured(t, opened, ent.OnClient(func(set string, c *ent.Client) {
				if set != "default" {
					return
				}
				look := func(ctx context.Context, c *ent.Client) ([]string, error) {
					return c.Todo.Query().Order(todo.ByID()).IDs(entsql.WithVar(ctx, "app.tenant", "bob"))
				}
				outside = func(ctx context.Context) ([]string, error) { return look(ctx, c) }
				c.Todo.Use(func(next stdent.Mutator) stdent.Mutator {
					return stdent.MutateFunc(func(ctx context.Context, m stdent.Mutation) (stdent.Value, error) {
						var err error
						if seen, err = look(ctx, ent.FromContext(ctx)); err != nil {
							return nil, err
						}
						return next.Mutate(ctx, m)
					})
				})
			}))
			a.bob.call("Todo.upsert", `{"model":{"id":"b","title":"his","notes":"bob"}}`)
			a.ann.call("Todo.upsert", `{"model":{"id":"a","title":"hers","notes":"ann"}}`)
			require.Equal(t, []string{"b"}, seen)
			a.ann.fails(fault.Forbidden, "Todo.upsert", `{"model":{"title":"x","notes":"bob"}}`)
			require.Equal(t, "a", ids(a.ann.call("Todo.collection", `{}`)))
			// The base client outside of a run has the variables of its context, and no others.
			got, err := outside(t.Context())
			require.NoError(t, err)
			require.Equal(t, []string{"b"}, got)
			require.Empty(t, found(a.nobody.call("Todo.collection", `{}`)))
		})
	}
}

func TestSessionVariablesNeedPostgreSQL(t *testing.T) { // not parallel: ent's Create writes to tables that all tests share
	p := entities.Provide(ent.Entities(), entities.Options{Viewer: tenantVariable})
	require.NoError(t, p.Start(t.Context(), host{"sqlite://" + t.TempDir()}))
	t.Cleanup(func() { require.NoError(t, p.Stop(context.Background())) })
	s, err := catalog.NewSnapshot(p.Offer())
	require.NoError(t, err)
	a := &app{TB: t, engine: run.NewEngine(run.Options{}), provider: p, as: auth.Local(), view: s.View(auth.Local(), exposure.Full, false)}
	for op, input := range map[string]string{"Todo.collection": `{}`, "Todo.upsert": `{"model":{"title":"x"}}`} {
		require.Contains(t, a.fails(fault.CapabilityUnsupported, op, input).Message, `"app.tenant"`)
	}
}
