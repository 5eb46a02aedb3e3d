package engine_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/koan-go/koan/entities/descriptor"
	"github.com/koan-go/koan/entities/shim"
	"github.com/koan-go/koan/framework/auth"
	"github.com/koan-go/koan/framework/catalog"
	"github.com/koan-go/koan/framework/exposure"
	"github.com/koan-go/koan/framework/fault"
	"github.com/koan-go/koan/framework/run"
	"github.com/koan-go/koan/tests/fixture/ent"
)

// with changes what an app's generated code says of one of its entities, as other
// annotations would.
func with(app *shim.App, entity string, change func(*descriptor.Entity)) *shim.App {
	change(app.Graph.Entity(entity))
	app.Graph = descriptor.NewGraph(app.Graph.Entities...)
	return app
}

// createOnly leaves an entity create as its only operation that writes.
func createOnly(e *descriptor.Entity) {
	e.Resource.Operations = []string{"collection", "get-by-id", "create"}
}

// withField is with for one field.
func withField(app *shim.App, entity, field string, change func(*catalog.Field)) *shim.App {
	return with(app, entity, func(e *descriptor.Entity) { change(e.Resource.Field(field)) })
}

// seenBy returns the app as somebody else calls it.
func (a *app) seenBy(mode exposure.Mode, scopes ...string) *app {
	b := *a
	b.as = auth.Principal{Subject: "ann", Scopes: scopes, Sets: []string{auth.All}}
	b.view = a.view.Snapshot().View(b.as, mode, false)
	return &b
}

// tool makes one call as a client does that was shown the tools.
func (a *app) tool(op, input string) (json.RawMessage, error) {
	a.Helper()
	id, err := catalog.ParseID("koan::" + op)
	require.NoError(a, err)
	out, _, err := a.engine.Invoke(context.Background(), run.Request{View: a.view, Principal: a.as, ID: id, Input: json.RawMessage(input), Surface: "mcp", Via: catalog.SurfaceTools})
	return out, err
}

// scripted makes one call as a script does.
func (a *app) scripted(spec run.Spec, op, input string) (json.RawMessage, error) {
	a.Helper()
	return a.scripts(spec)(op, input)
}

// scripts returns what makes single calls as scripts do.
func (a *app) scripts(spec run.Spec) func(op, input string) (json.RawMessage, error) {
	a.Helper()
	var id catalog.ID
	var in, out json.RawMessage
	code := body(spec, func(ctx context.Context, at *run.Attempt) (err error) {
		out, err = at.Invoke(ctx, at.Next(), id, in)
		return err
	})
	s, err := catalog.NewSnapshot(a.provider.Offer(), catalog.Offer{Operations: []*catalog.Operation{code}})
	require.NoError(a, err)
	view := s.View(a.as, a.view.Mode(), false)
	return func(op, input string) (json.RawMessage, error) {
		var err error
		id, err = catalog.ParseID("koan::" + op)
		require.NoError(a, err)
		in, out = json.RawMessage(input), nil
		_, _, err = a.engine.Invoke(context.Background(), run.Request{View: view, Principal: a.as, ID: code.ID, Surface: "app"})
		return out, err
	}
}

// refused demands that an input is refused, and that what is said of it has certain
// words.
func refused(t testing.TB, err error, words ...string) {
	t.Helper()
	require.Equal(t, fault.InvalidPayload, fault.CodeOf(err), "%v", err)
	f := fault.From(err)
	for _, w := range words {
		require.Contains(t, fmt.Sprint(f.Message, f.Details, f.Path), w)
	}
}

const people = `{"models":[{"id":"p","name":"Ann","email":"a"},{"id":"q","name":"Bob","email":"b"}]}`

// A link is a column of some row, and writing it from the other side changes that row.
func TestEdgesChangeOnlyRowsThatTheirCallerMayChange(t *testing.T) {
	t.Parallel()
	if forEach(t, TestEdgesChangeOnlyRowsThatTheirCallerMayChange) {
		return
	}
	for name, restrict := range map[string]func(*descriptor.Entity){
		"read-only entity":      func(e *descriptor.Entity) { e.Resource.ReadOnly = true },
		"missing write scope":   func(e *descriptor.Entity) { e.WriteScopes = []string{"todo:write"} },
		"no changing operation": func(e *descriptor.Entity) { e.Resource.Operations = []string{"collection", "get-by-id", "delete"} },
	} {
		t.Run(name, func(t *testing.T) {
			at := place(t)
			free := startIn(t, at, ent.Entities())
			free.call("Person.upsert-many", people)
			free.call("Todo.upsert-many", `{"models":[{"id":"t","title":"x","assignedUser":"p"},{"id":"u","title":"y"}]}`)
			free.call("Label.upsert", `{"model":{"name":"a","todos":["t"]}}`)
			before := free.reads("Todo.collection", `{"with":"all"}`)

			a := startIn(t, at, with(ent.Entities(), "Todo", restrict)).seenBy(exposure.Full, catalog.ScopeWrite)
			for _, c := range [][3]string{
				{"Person.patch", `{"id":"p","changes":{"todos":{"$add":["u"]}}}`, "/changes/todos"},
				{"Person.patch", `{"id":"p","changes":{"todos":[]}}`, "/changes/todos"},
				{"Person.patch", `{"id":"p","changes":{"todos":{"$remove":["t"]}}}`, "/changes/todos"},
				{"Person.upsert", `{"model":{"name":"Eve","email":"e","todos":["u"]}}`, "/model/todos"},
				{"Person.upsert", `{"model":{"id":"p","name":"Eve","email":"e","todos":["u"]},"replace":true}`, "/model/todos"},
				{"Person.upsert-many", `{"models":[{"name":"Eve","email":"e","todos":["u"]}]}`, "/models/0/todos"},
				{"Person.update-by-query", `{"filter":{"id":"p"},"changes":{"todos":["u"]}}`, "/changes/todos"},
				{"Label.patch", `{"id":1,"changes":{"todos":[]}}`, "/changes/todos"},
				{"Label.upsert", `{"model":{"name":"b","todos":["u"]}}`, "/model/todos"},
			} {
				_, err := a.tool(c[0], c[1])
				refused(t, err, c[2], "todos cannot be written here. It would change Todo entities, which you may not change.")
				_, err = a.scripted(atomic, c[0], c[1])
				refused(t, err, c[2])
			}
			creating := with(with(ent.Entities(), "Todo", restrict), "Person", createOnly)
			b := startIn(t, at, with(creating, "Label", createOnly)).seenBy(exposure.Full, catalog.ScopeWrite)
			for _, creator := range []*app{a, b} {
				for op, input := range map[string]string{
					"Person.create": `{"model":{"name":"Eve","email":"e","todos":["t"]}}`,
					"Label.create":  `{"model":{"name":"b","todos":["u"]}}`,
				} {
					_, err := creator.tool(op, input)
					refused(t, err, "/model/todos", "todos cannot be written here. It would change Todo entities, which you may not change.")
					_, err = creator.scripted(atomic, op, input)
					refused(t, err, "/model/todos")
				}
			}
			require.Equal(t, before, free.reads("Todo.collection", `{"with":"all"}`))

			// What says nothing new is no change, and what was read can be sent back whole.
			out, err := a.tool("Person.get-by-id", `{"id":"p","with":"todos"}`)
			require.NoError(t, err)
			_, err = a.tool("Person.upsert", `{"model":`+string(out)+`}`)
			require.NoError(t, err)
			_, err = a.tool("Person.upsert", `{"model":{"id":"p","name":"Ann","email":"a"},"replace":true}`)
			require.NoError(t, err, "a model that leaves it out leaves it as it is")
			require.Equal(t, before, free.reads("Todo.collection", `{"with":"all"}`))

			types := a.types("Person")
			require.Regexp(t, `/\*\* read-only \*/\s+todos\?: `, types)
			in, err := json.Marshal(a.view.At(catalog.SurfaceTools).Operation(catalog.EntityID("Person", "patch")).Input)
			require.NoError(t, err)
			require.Regexp(t, `"todos":\{[^}]*.*"readOnly":true`, string(in))
		})
	}
}

// What holds of the field that is an edge's key holds of the edge, on either side.
func TestEdgesAreAsWritableAsTheirKeys(t *testing.T) {
	t.Parallel()
	if forEach(t, TestEdgesAreAsWritableAsTheirKeys) {
		return
	}
	at := place(t)
	free := startIn(t, at, ent.Entities())
	free.call("Person.upsert-many", people)
	free.call("Todo.upsert-many", `{"models":[{"id":"t","title":"x","assignedUser":"p"},{"id":"u","title":"y"}]}`)
	start := func(change func(*catalog.Field)) *app {
		return startIn(t, at, withField(ent.Entities(), "Todo", "assignedUserId", change))
	}
	whose := func() string { return free.reads("Todo.collection", `{"fields":"assignedUserId"}`) }

	readOnly := start(func(f *catalog.Field) { f.ReadOnly = true })
	before := whose()
	for _, c := range [][2]string{
		{"Todo.patch", `{"id":"t","changes":{"assignedUser":"q"}}`},
		{"Todo.patch", `{"id":"t","changes":{"assignedUser":null}}`},
		{"Todo.upsert", `{"model":{"title":"z","assignedUser":"q"}}`},
		{"Todo.upsert-many", `{"models":[{"id":"t","assignedUser":{"id":"q"}}]}`},
		{"Todo.update-by-query", `{"filter":{},"all":true,"changes":{"assignedUser":"q"}}`},
		{"Person.patch", `{"id":"q","changes":{"todos":["u"]}}`},
		{"Person.upsert", `{"model":{"name":"Eve","email":"e","todos":["u"]}}`},
	} {
		_, err := readOnly.tool(c[0], c[1])
		refused(t, err, "assignedUserId, which holds it, is read-only.")
	}
	_, err := readOnly.tool("Todo.upsert", `{"model":{"id":"t","title":"x"},"replace":true}`)
	require.NoError(t, err)
	_, err = readOnly.tool("Todo.patch", `{"id":"t","changes":{"title":"x2","assignedUser":"p"}}`)
	require.NoError(t, err, "the same value is no change")
	require.Equal(t, before, whose())

	once := start(func(f *catalog.Field) { f.Immutable = true })
	for _, c := range [][2]string{
		{"Todo.patch", `{"id":"t","changes":{"assignedUser":"q"}}`},
		{"Todo.patch", `{"id":"u","changes":{"assignedUser":"q"}}`},
		{"Todo.patch", `{"id":"t","changes":{"assignedUser":null}}`},
		{"Todo.upsert", `{"model":{"id":"t","title":"x","assignedUser":"q"},"replace":true}`},
		{"Todo.update-by-query", `{"filter":{"id":"t"},"changes":{"assignedUser":"q"}}`},
	} {
		_, err := once.tool(c[0], c[1])
		refused(t, err, "assignedUser cannot be changed after creation")
	}
	_, err = once.tool("Person.patch", `{"id":"q","changes":{"todos":["u"]}}`)
	refused(t, err, "assignedUserId of Todo, which holds it, is set at creation only.")
	_, err = once.tool("Todo.patch", `{"id":"t","changes":{"assignedUser":"p"}}`)
	require.NoError(t, err)
	require.Equal(t, before, whose())
	out, err := once.tool("Todo.upsert", `{"model":{"id":"v","title":"z","assignedUser":"q"}}`)
	require.NoError(t, err)
	require.Contains(t, string(out), `"assignedUserId":"q"`)
}

// A key that cannot be read is not read, or guessed at, through its edge.
func TestEdgesAreAsReadableAsTheirKeys(t *testing.T) {
	t.Parallel()
	if forEach(t, TestEdgesAreAsReadableAsTheirKeys) {
		return
	}
	for name, change := range map[string]func(*catalog.Field){
		"read scopes": func(f *catalog.Field) { f.ReadScopes = []string{"todo:who"} },
		"write-only":  func(f *catalog.Field) { f.WriteOnly = true },
		"sensitive":   func(f *catalog.Field) { f.Sensitive = true },
	} {
		t.Run(name, func(t *testing.T) {
			at := place(t)
			a := startIn(t, at, withField(ent.Entities(), "Todo", "assignedUserId", change))
			a.call("Person.upsert-many", people)
			a.call("Todo.upsert-many", `{"models":[{"id":"t","title":"x","assignedUserId":"p"},{"id":"u","title":"y"}]}`)
			ann := a.seenBy(exposure.Full, catalog.ScopeWrite)
			for _, c := range [][2]string{
				{"Todo.collection", `{"with":"assignedUser"}`},
				{"Todo.get-by-id", `{"id":"t","with":"assignedUser"}`},
				{"Todo.get-by-id", `{"id":"t","fields":"assignedUser.id"}`},
				{"Todo.count", `{"filter":{"assignedUser":{"id":"p"}}}`},
				{"Todo.count", `{"filter":{"assignedUser":null}}`},
				{"Todo.count", `{"filter":{"assignedUser":{"$exists":true}}}`},
				{"Todo.count", `{"filter":{"$not":{"assignedUser":{"todos":{"$some":{}}}}}}`},
				{"Todo.aggregate", `{"groupBy":"assignedUser"}`},
				{"Todo.aggregate", `{"count":{"distinct":"assignedUser"}}`},
				{"Todo.aggregate", `{"max":"assignedUser"}`},
				{"Todo.update-by-query", `{"filter":{"assignedUser":{"id":"p"}},"changes":{"title":"z"}}`},
				{"Todo.delete-by-query", `{"filter":{"assignedUser":{"id":"p"}}}`},
				{"Person.collection", `{"with":"todos"}`},
				{"Person.get-by-id", `{"id":"p","fields":"todos.id"}`},
				{"Person.count", `{"filter":{"todos":{"$exists":true}}}`},
				{"Person.count", `{"filter":{"todos":{"$some":{"id":"t"}}}}`},
				{"Step.count", `{"filter":{"todo":{"assignedUser":{"id":"p"}}}}`},
				{"Step.collection", `{"with":"todo.assignedUser"}`},
				{"Person.patch", `{"id":"q","changes":{"todos":{"$add":["t"]}}}`},
			} {
				_, err := ann.tool(c[0], c[1])
				refused(t, err)
				_, err = ann.scripted(atomic, c[0], c[1])
				refused(t, err)
			}
			out, err := ann.tool("Todo.get-by-id", `{"id":"t","with":"all"}`)
			require.NoError(t, err)
			require.NotContains(t, string(out), "assignedUser")

			// It can be written, as the field can, and tells nothing of what it was.
			for _, whom := range []string{`"p"`, `"q"`, `null`, `"p"`} {
				out, err := ann.tool("Todo.patch", `{"id":"t","changes":{"assignedUser":`+whom+`}}`)
				require.NoError(t, err)
				require.NotContains(t, string(out), "assignedUser")
			}
			creator := startIn(t, at, with(withField(ent.Entities(), "Todo", "assignedUserId", change), "Todo", createOnly)).seenBy(exposure.Full, catalog.ScopeWrite)
			out, err = creator.tool("Todo.create", `{"model":{"id":"c","title":"z","assignedUser":"q"}}`)
			require.NoError(t, err)
			require.NotContains(t, string(out), "assignedUser")
			require.Contains(t, startIn(t, at, ent.Entities()).reads("Todo.collection", `{"filter":{"id":"c"}}`), `"assignedUserId":"q"`)
			require.Equal(t, []string{"writeOnly"}, writeOnlyOf(t, ann, "assignedUser"))
			types := ann.types("Todo")
			require.NotContains(t, cutOut(types, "interface Todo ", "    }"), "assignedUser")
			require.Contains(t, cutOut(types, "interface TodoInput ", "    }"), "assignedUser?: any")
			require.NotContains(t, cutOut(types, "type TodoRelationship", "\n"), "assignedUser")
			known := ann.withCodeMode().relationships()
			for entity, edges := range known {
				require.NotContains(t, edges, "assignedUser", entity)
			}
			require.Contains(t, known, "Person")
			require.NotContains(t, known["Person"], "todos")
		})
	}
}

// writeOnlyOf returns which of the words readOnly and writeOnly the schema of a model has
// at an edge.
func writeOnlyOf(t *testing.T, a *app, edge string) (out []string) {
	var schema struct {
		Properties map[string]struct{ Properties map[string]map[string]any }
	}
	require.NoError(t, json.Unmarshal(a.view.At(catalog.SurfaceTools).Operation(catalog.EntityID("Todo", "upsert")).Input, &schema))
	for _, word := range []string{"readOnly", "writeOnly"} {
		if schema.Properties["model"].Properties[edge][word] == true {
			out = append(out, word)
		}
	}
	return out
}

// cutOut cuts what stands between two texts.
func cutOut(s, begin, end string) string {
	_, s, _ = strings.Cut(s, begin)
	s, _, _ = strings.Cut(s, end)
	return s
}

// What an exposure mode takes away from a surface is not reached there by an edge.
func TestEdgesEndWhereExposureEnds(t *testing.T) {
	t.Parallel()
	if forEach(t, TestEdgesEndWhereExposureEnds) {
		return
	}
	at := place(t)
	free := startIn(t, at, ent.Entities())
	free.call("Person.upsert-many", people)
	free.call("Todo.upsert", `{"model":{"id":"t","title":"x","assignedUser":"p"}}`)
	inputs := [][2]string{
		{"Todo.collection", `{"with":"assignedUser"}`},
		{"Todo.count", `{"filter":{"assignedUser":{"name":"Ann"}}}`},
		{"Todo.aggregate", `{"groupBy":"assignedUser"}`},
		{"Todo.patch", `{"id":"t","changes":{"assignedUser":"q"}}`},
		{"Step.count", `{"filter":{"todo":{"assignedUser":{"name":"Ann"}}}}`},
	}
	for annotation, reached := range map[exposure.Mode]struct{ tools, scripts bool }{
		exposure.Tools: {tools: true}, exposure.Code: {scripts: true}, exposure.Full: {true, true}, "": {true, true},
	} {
		a := startIn(t, at, with(ent.Entities(), "Person", func(e *descriptor.Entity) { e.Resource.Exposure = annotation })).seenBy(exposure.Full, auth.All)
		for _, c := range inputs {
			_, err := a.tool(c[0], c[1])
			require.Equal(t, reached.tools, err == nil, "%s as a tool: %s %v", annotation, c[1], err)
			_, err = a.scripted(atomic, c[0], c[1])
			require.Equal(t, reached.scripts, err == nil, "%s in a script: %s %v", annotation, c[1], err)
			_, _, err = a.try(c[0], c[1])
			require.NoError(t, err, "the program's own calls see everything")
		}
		types := a.types("Todo")
		require.Equal(t, reached.scripts, strings.Contains(types, "assignedUser?:"))
		in := string(a.view.At(catalog.SurfaceTools).Operation(catalog.EntityID("Todo", "collection")).Input)
		require.Equal(t, reached.tools, strings.Contains(in, "assignedUser,"), in)
	}
}

// `only` takes away what it does not name, also at the other end of an edge.
func TestEdgesEndWhereOnlyEnds(t *testing.T) {
	t.Parallel()
	if forEach(t, TestEdgesEndWhereOnlyEnds) {
		return
	}
	a := start(t, ent.Entities())
	a.call("Person.upsert-many", people)
	a.call("Todo.upsert", `{"model":{"id":"t","title":"x","assignedUser":"p"}}`)
	todos, both := run.Spec{Atomic: true, Only: []string{"Todo"}}, run.Spec{Atomic: true, Only: []string{"Todo", "Person"}}
	for _, c := range [][2]string{
		{"Todo.collection", `{"with":"assignedUser"}`},
		{"Todo.count", `{"filter":{"assignedUser":null}}`},
		{"Todo.patch", `{"id":"t","changes":{"assignedUser":"q"}}`},
		{"Todo.patch", `{"id":"t","changes":{"labels":[]}}`},
		{"Todo.upsert", `{"model":{"title":"y","assignedUser":"q"}}`},
	} {
		_, err := a.scripted(todos, c[0], c[1])
		refused(t, err)
		if !strings.Contains(c[1], "labels") {
			_, err = a.scripted(both, c[0], c[1])
			require.NoError(t, err)
		}
	}
	_, err := a.scripted(todos, "Todo.patch", `{"id":"t","changes":{"assignedUserId":"q"}}`)
	require.NoError(t, err, "the field is the entity's own")
}

// Links of a table between two entities are rows of both, unless the schema says that
// they belong to one.
func TestLinksBelongToBothSides(t *testing.T) {
	t.Parallel()
	if forEach(t, TestLinksBelongToBothSides) {
		return
	}
	at := place(t)
	free := startIn(t, at, ent.Entities())
	free.call("Label.upsert", `{"model":{"name":"a"}}`)
	free.call("Todo.upsert", `{"model":{"id":"t","title":"x"}}`)
	labels := func(owned bool) *app {
		app := with(ent.Entities(), "Label", func(e *descriptor.Entity) { e.WriteScopes = []string{"label:write"} })
		return startIn(t, at, with(app, "Todo", func(e *descriptor.Entity) { e.Resource.Edge("labels").Owned = owned }))
	}
	const link = `{"id":"t","changes":{"labels":["1"]}}`
	_, err := labels(false).seenBy(exposure.Full, catalog.ScopeWrite).tool("Todo.patch", link)
	refused(t, err, "It would change Label entities")
	_, err = labels(false).seenBy(exposure.Full, catalog.ScopeWrite, "label:write").tool("Todo.patch", link)
	require.NoError(t, err)
	_, err = labels(true).seenBy(exposure.Full, catalog.ScopeWrite).tool("Todo.patch", `{"id":"t","changes":{"labels":[]}}`)
	require.NoError(t, err)
	_, err = labels(true).seenBy(exposure.Full, "label:write").tool("Label.patch", `{"id":1,"changes":{"todos":["t"]}}`)
	refused(t, err, "It would change Todo entities")
}
