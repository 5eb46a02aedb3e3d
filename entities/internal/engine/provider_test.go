package engine_test

import (
	"context"
	"encoding/json"
	"log/slog"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/koan-go/koan/entities"
	"github.com/koan-go/koan/entities/shim"
	"github.com/koan-go/koan/framework/auth"
	"github.com/koan-go/koan/framework/catalog"
	"github.com/koan-go/koan/framework/exposure"
	"github.com/koan-go/koan/framework/fault"
	"github.com/koan-go/koan/framework/run"
	"github.com/koan-go/koan/tests/fixture/ent"
)

// host is an app around one provider.
type host struct{ database string }

func (h host) App() string                 { return "fixture" }
func (h host) Version() string             { return "test" }
func (h host) Command() string             { return "app" }
func (h host) Settings() catalog.Values    { return values(h) }
func (h host) Snapshot() *catalog.Snapshot { return nil }
func (h host) Changed()                    {}
func (h host) Log() *slog.Logger           { return slog.Default() }
func (h host) ConfigFile() string          { return "" }
func (h host) Testing() bool               { return true }
func (h host) OneShot() bool               { return false }

// values is the configuration of a host: the database, and nothing else.
type values struct{ database string }

func (v values) Bool(string) bool               { return false }
func (v values) Int(string) int                 { return 0 }
func (v values) String(string) string           { return v.database }
func (v values) Strings(string) []string        { return nil }
func (v values) Duration(string) time.Duration  { return 0 }
func (v values) Under(string) map[string]string { return nil }
func (v values) IsSet(string) bool              { return true }

// app is the fixture app with its entities in a place of its own.
type app struct {
	testing.TB
	engine   *run.Engine
	provider *entities.Provider
	view     *catalog.View
	place    string
	as       auth.Principal
}

func start(tb testing.TB, shimmed *shim.App, more ...*catalog.Operation) *app {
	tb.Helper()
	return startIn(tb, place(tb), shimmed, more...)
}

func startIn(tb testing.TB, place string, shimmed *shim.App, more ...*catalog.Operation) *app {
	tb.Helper()
	return startOn(tb, host{place}, shimmed, more...)
}

// configured is a host with other values for some keys that take a number.
type configured struct {
	host
	numbers map[string]int
}

func (h configured) Settings() catalog.Values { return numbered{values(h.host), h.numbers} }

type numbered struct {
	values
	numbers map[string]int
}

func (v numbered) Int(key string) int { return v.numbers[key] }

func startOn(tb testing.TB, h catalog.Host, shimmed *shim.App, more ...*catalog.Operation) *app {
	tb.Helper()
	place := h.Settings().String("database")
	p := entities.Provide(tested(tb, shimmed), entities.Options{})
	require.NoError(tb, p.Start(context.Background(), h))
	tb.Cleanup(func() { require.NoError(tb, p.Stop(context.Background())) })
	s, err := catalog.NewSnapshot(p.Offer(), catalog.Offer{Operations: more})
	require.NoError(tb, err)
	var o run.Options
	if _, bench := tb.(*testing.B); bench { // which makes all its calls in one run
		o.MaxBytes, o.MaxTotalBytes = 1<<40, 1<<40
	}
	return &app{TB: tb, engine: run.NewEngine(o), provider: p, place: place, as: auth.Local(), view: s.View(auth.Local(), exposure.Full, false)}
}

// try makes one call as a run.
func (a *app) try(op, input string) (json.RawMessage, *run.Outcome, error) {
	id, err := catalog.ParseID("koan::" + op)
	require.NoError(a, err)
	return a.engine.Invoke(context.Background(), run.Request{View: a.view, Principal: a.as, ID: id, Input: json.RawMessage(input), Surface: "app"})
}

// call makes one call that must succeed.
func (a *app) call(op, input string) map[string]any {
	a.Helper()
	out, _, err := a.try(op, input)
	require.NoError(a, err, "%s %s", op, input)
	var m map[string]any
	require.NoError(a, json.Unmarshal(out, &m), string(out))
	return m
}

// fails makes one call that must fail, and returns its fault.
func (a *app) fails(code fault.Code, op, input string) *fault.Fault {
	a.Helper()
	out, _, err := a.try(op, input)
	require.Error(a, err, "%s %s gave %s", op, input, out)
	f := fault.From(err)
	require.Equal(a, code, f.Code, "%s %s: %v (%v)", op, input, f, f.Unwrap())
	require.NotEmpty(a, f.Hint)
	return f
}

func TestStoresAndReadsBack(t *testing.T) {
	t.Parallel()
	if forEach(t, TestStoresAndReadsBack) {
		return
	}
	a := start(t, ent.Entities())
	todo := a.call("Todo.upsert", `{"model":{"title":"Buy milk","priority":"high","dueDate":"2026-03-01T10:00:00+02:00","tags":["a","b"],"effort":1.5,"secret":"s"}}`)
	require.Equal(t, "Buy milk", todo["title"])
	require.Equal(t, "2026-03-01T08:00:00Z", todo["dueDate"])
	require.Equal(t, []any{"a", "b"}, todo["tags"])
	require.Equal(t, false, todo["completed"])
	require.EqualValues(t, 1, todo["version"])
	require.NotContains(t, todo, "secret")
	id := todo["id"].(string)
	require.Len(t, id, 36)
	require.Equal(t, todo, a.call("Todo.get-by-id", `{"id":"`+id+`"}`))

	patched := a.call("Todo.patch", `{"id":"`+id+`","changes":{"completed":true}}`)
	require.EqualValues(t, 2, patched["version"])
	require.Equal(t, true, patched["completed"])
	require.Equal(t, "high", patched["priority"])
	require.Equal(t, todo["createdAt"], patched["createdAt"])

	require.EqualValues(t, 1, a.call("Todo.count", `{"filter":{"completed":true}}`)["count"])
	require.EqualValues(t, 1, a.call("Todo.collection", `{}`)["totalCount"])
	require.EqualValues(t, 1, a.call("Todo.delete", `{"id":"`+id+`"}`)["deleted"])
	require.EqualValues(t, 0, a.call("Todo.delete", `{"id":"`+id+`"}`)["deleted"])
	a.fails(fault.NotFound, "Todo.get-by-id", `{"id":"`+id+`"}`)
}

func TestAWrongDatabaseIsRefusedWithoutItsPassword(t *testing.T) {
	t.Parallel()
	check := entities.Provide(ent.Entities(), entities.Options{}).Settings()[0].Check
	for _, right := range []string{"", "sqlite://data", "postgres://u@h/d", "postgresql://u@h/d"} {
		require.NoError(t, check(right), right)
	}
	for _, wrong := range []string{"data", "sqlite://", "sqlite:/data"} {
		require.ErrorContains(t, check(wrong), "must be sqlite://FOLDER", wrong)
	}
	err := check("postgre://pantry:geheim@db/pantry")
	require.EqualError(t, err, `must be sqlite://FOLDER or postgres://USER@HOST/DATABASE, not "postgre://..."`)
}
