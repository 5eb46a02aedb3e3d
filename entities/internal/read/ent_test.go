package read_test

import (
	"encoding/json"
	"path/filepath"
	"testing"
	"time"

	"entgo.io/ent/dialect"
	entsql "entgo.io/ent/dialect/sql"
	"github.com/stretchr/testify/require"

	"github.com/koan-go/koan/entities/internal/library"
	"github.com/koan-go/koan/entities/internal/read"
	"github.com/koan-go/koan/framework/database/sqlitedriver"
	"github.com/koan-go/koan/tests/fixture/ent"
	"github.com/koan-go/koan/tests/fixture/ent/todo"
	"github.com/koan-go/koan/tests/pgtest"
)

// What ent's own builders wrote, through tables that ent made and descriptors
// that the extension generated, reads as it was meant.
func TestReadsWhatEntWrites(t *testing.T) { // not parallel: ent's Create writes to tables that all tests share
	if pgtest.ForEach(t, TestReadsWhatEntWrites) {
		return
	}
	drv := entsql.OpenDB(dialect.SQLite, sqlitedriver.Open("file:"+filepath.Join(t.TempDir(), "ent.db")+"?_foreign_keys=1&_stmt_cache_size=64"))
	if pgtest.Here(t) {
		drv = entsql.OpenDB(dialect.Postgres, pgtest.Open(t))
	}
	app := ent.Entities()
	client := ent.NewClient(ent.Driver(drv))
	require.NoError(t, client.Schema.Create(ctx))
	t.Cleanup(func() { require.NoError(t, client.Close()) })

	due := time.Date(2026, 7, 1, 1, 30, 0, 250e6, time.FixedZone("", 2*3600)).UTC()
	who := client.Person.Create().SetID("p1").SetName("Ann").SetEmail("ann@example.org").SaveX(ctx)
	red, blue := client.Label.Create().SetName("red").SaveX(ctx), client.Label.Create().SetName("blue").SaveX(ctx)
	client.Todo.Create().SetID("t1").SetTitle("Buy milk").SetPriority(todo.PriorityHigh).SetDueDate(due).SetTags([]string{"a", "\"b\""}).
		SetEffort(1.5).SetViews(1<<55).SetSecret("never seen").SetAssignedUser(who).AddLabels(red, blue).SaveX(ctx)
	client.Todo.Create().SetID("t2").SetTitle("Sleep").SetCompleted(true).AddLabels(blue).SaveX(ctx)
	client.Step.Create().SetID("s1").SetText("Find the shop").SetTodoID("t1").SaveX(ctx)
	client.Step.Create().SetID("s2").SetText("Pay").SetDone(true).SetTodoID("t1").SaveX(ctx)

	e, entity := read.New(library.Dialect(t)), app.Graph.Entity("Todo")
	ids := func(filter string) []string {
		c, err := read.DecodeCollection([]byte(`{"filter":`+filter+`,"fields":"id","count":false}`), entity, app.Graph)
		require.NoError(t, err, filter)
		out, err := e.Collection(ctx, drv.DB(), c)
		require.NoError(t, err)
		var page struct{ Items []struct{ ID string } }
		require.NoError(t, json.Unmarshal(out, &page))
		var got []string
		for _, item := range page.Items {
			got = append(got, item.ID)
		}
		return got
	}
	for filter, want := range map[string][]string{
		`{"completed":true}`:                                            {"t2"},
		`{"completed":{"$ne":true}}`:                                    {"t1"},
		`{"priority":"high"}`:                                           {"t1"},
		`{"dueDate":"2026-06-30T23:30:00.25Z"}`:                         {"t1"},
		`{"dueDate":{"$lt":"2026-07-01T01:30:00.251+02:00"}}`:           {"t1"},
		`{"dueDate":null}`:                                              {"t2"},
		`{"views":"36028797018963968"}`:                                 {"t1"},
		`{"tags":{"$null":true}}`:                                       {"t2"},
		`{"assignedUserId":{"$ne":"p1"}}`:                               {"t2"},
		`{"assignedUser":{"name":"Ann"}}`:                               {"t1"},
		`{"labels":{"$some":{"id":"1"}}}`:                               {"t1"},
		`{"labels":{"$every":{"name":"blue"}}}`:                         {"t2"},
		`{"steps":{"$some":{"done":true,"todo":{"title":"Buy milk"}}}}`: {"t1"},
		`{"$and":[{"title":{"$contains":"u"}},{"createdAt":{"$gt":"2020-01-01T00:00:00Z"}}]}`: {"t1"},
	} {
		require.Equal(t, want, ids(filter), filter)
	}

	g, err := read.DecodeGet([]byte(`{"id":"t1","with":{"assignedUser":true,"labels":{"sort":"name"},"steps":{"limit":1,"sort":"-done"}},
		"fields":["title","completed","priority","dueDate","notes","tags","effort","views","assignedUserId"]}`), entity, app.Graph)
	require.NoError(t, err)
	out, err := e.Get(ctx, drv.DB(), g)
	require.NoError(t, err)
	require.JSONEq(t, `{"id":"t1","title":"Buy milk","completed":false,"priority":"high","dueDate":"2026-06-30T23:30:00.25Z","notes":null,
		"tags":["a","\"b\""],"effort":1.5,"views":"36028797018963968","assignedUserId":"p1",
		"assignedUser":{"id":"p1","name":"Ann","email":"ann@example.org"},
		"labels":[{"id":"2","name":"blue"},{"id":"1","name":"red"}],"steps":[{"id":"s2","text":"Pay","done":true}]}`, string(out))
	require.NotContains(t, string(out), "never seen")

	// Every entity of the app reads, and its schemas compile.
	for _, entity := range app.Graph.Entities {
		compiled(t, read.CollectionSchema(entity, app.Graph))
		input := `{}`
		if len(entity.Edges) > 0 {
			input = `{"with":"all"}`
		}
		c, err := read.DecodeCollection([]byte(input), entity, app.Graph)
		require.NoError(t, err)
		_, err = e.Collection(ctx, drv.DB(), c)
		require.NoError(t, err)
	}
}
