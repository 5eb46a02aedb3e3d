package engine_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/koan-go/koan/framework/fault"
	"github.com/koan-go/koan/framework/run/store"
	"github.com/koan-go/koan/tests/fixture/ent"
	"github.com/koan-go/koan/tests/race"
)

func TestRefusesBadWrites(t *testing.T) {
	t.Parallel()
	if forEach(t, TestRefusesBadWrites) {
		return
	}
	a := start(t, ent.Entities())
	id := a.call("Todo.upsert", `{"model":{"title":"one"}}`)["id"].(string)
	a.call("Person.upsert", `{"model":{"name":"Ann","email":"ann@example.org"}}`)
	cases := []struct {
		name, op, input string
		code            fault.Code
		path            string
		says            string
	}{
		{"unknown field", "Todo.upsert", `{"model":{"title":"x","compelted":true}}`, fault.InvalidPayload, "/model/compelted", `did you mean "completed"?`},
		{"unknown input", "Todo.upsert", `{"modle":{"title":"x"},"model":{"title":"x"}}`, fault.InvalidPayload, "/modle", `did you mean "model"?`},
		{"wrong type", "Todo.upsert", `{"model":{"title":5}}`, fault.InvalidPayload, "/model/title", "takes a string"},
		{"null", "Todo.upsert", `{"model":{"title":null}}`, fault.InvalidPayload, "/model/title", "cannot be null"},
		{"required", "Todo.upsert", `{"model":{}}`, fault.InvalidPayload, "/model/title", "required"},
		{"too long", "Todo.upsert", `{"model":{"title":"` + strings.Repeat("x", 201) + `"}}`, fault.InvalidPayload, "/model/title", "at most 200"},
		{"too short", "Todo.upsert", `{"model":{"title":""}}`, fault.InvalidPayload, "/model/title", "at least 1"},
		{"ent's validator", "Step.upsert", `{"model":{"text":"","todo":"` + id + `"}}`, fault.InvalidPayload, "/model/text", "text cannot be empty"},
		{"out of range", "Todo.upsert", `{"model":{"title":"x","effort":-1}}`, fault.InvalidPayload, "/model/effort", "from 0 to 1000"},
		{"enum", "Todo.upsert", `{"model":{"title":"x","priority":"hihg"}}`, fault.InvalidPayload, "/model/priority", `did you mean "high"?`},
		{"time", "Todo.upsert", `{"model":{"title":"x","dueDate":"tomorrow"}}`, fault.InvalidPayload, "/model/dueDate", "RFC 3339"},
		{"json", "Todo.upsert", `{"model":{"title":"x","tags":[1]}}`, fault.InvalidPayload, "/model/tags", "schema"},
		{"NUL", "Todo.upsert", `{"model":{"title":"a\u0000b"}}`, fault.InvalidPayload, "/model/title", "NUL"},
		{"model is no object", "Todo.upsert", `{"model":[]}`, fault.InvalidPayload, "/model", "object"},
		{"no model", "Todo.upsert", `{}`, fault.InvalidPayload, "/model", "required"},
		{"input is no object", "Todo.upsert", `[]`, fault.InvalidPayload, "", "object"},
		{"reference to nothing", "Todo.upsert", `{"model":{"title":"x","assignedUserId":"nobody"}}`, fault.InvalidPayload, "/model/assignedUserId", "no Person"},
		{"edge to nothing", "Todo.upsert", `{"model":{"title":"x","labels":["7"]}}`, fault.InvalidPayload, "/model/labels/0", "no Label"},
		{"edge of a wrong type", "Todo.upsert", `{"model":{"title":"x","labels":["seven"]}}`, fault.InvalidPayload, "/model/labels/0", "integer id"},
		{"edge operator", "Todo.patch", `{"id":"` + id + `","changes":{"labels":{"$ad":["1"]}}}`, fault.InvalidPayload, "/changes/labels/$ad", `did you mean "$add"?`},
		{"edge and reference disagree", "Todo.upsert", `{"model":{"title":"x","assignedUserId":"a","assignedUser":"b"}}`, fault.InvalidPayload, "/model/assignedUser", "contradict each other"},
		{"required edge", "Step.upsert", `{"model":{"text":"x"}}`, fault.InvalidPayload, "/model/todo", "required"},
		{"required edge cleared", "Step.upsert", `{"model":{"text":"x","todo":null}}`, fault.InvalidPayload, "/model/todo", "cannot be null"},
		{"unique", "Person.upsert", `{"model":{"name":"Bob","email":"ann@example.org"}}`, fault.Conflict, "/model/email", "another Person already has this email"},
		{"app's own rule", "Person.upsert", `{"model":{"name":"root","email":"r@example.org"}}`, fault.InvalidPayload, "/model", "nobody is called root"},
		{"id of a new one", "Label.upsert", `{"model":{"id":99,"name":"x"}}`, fault.NotFound, "/model/id", "the database generates"},
		{"patch of nothing", "Todo.patch", `{"id":"none","changes":{"title":"x"}}`, fault.NotFound, "/id", "no Todo"},
		{"patch of the id", "Todo.patch", `{"id":"` + id + `","changes":{"id":"x"}}`, fault.InvalidPayload, "/changes/id", "cannot be changed"},
		{"patch of what never changes", "AuditLog.patch", `{}`, fault.ToolNotFound, "", ""},
		{"version of another", "Todo.patch", `{"id":"` + id + `","changes":{"title":"x"},"ifVersion":7}`, fault.Conflict, "/ifVersion", "version 1, not 7"},
		{"version of none", "Person.delete", `{"id":"x","ifVersion":1}`, fault.InvalidPayload, "/ifVersion", "no version"},
		{"too many", "Todo.delete-many", `{"ids":[` + strings.Repeat(`"x",`, 10000) + `"x"]}`, fault.InvalidPayload, "/ids", "at most 10000"},
		{"set", "Todo.upsert", `{"model":{"title":"x"},"set":"archiv"}`, fault.UnknownSet, "/set", `did you mean "archive"?`},
		{"set's name", "Todo.upsert", `{"model":{"title":"x"},"set":"tenant-../x"}`, fault.UnknownSet, "/set", ""},
		{"set's pattern", "Todo.upsert", `{"model":{"title":"x"},"set":"tenant-*"}`, fault.UnknownSet, "/set", ""},
		{"set's type", "Todo.upsert", `{"model":{"title":"x"},"set":5}`, fault.InvalidPayload, "/set", ""},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			a := *a
			a.TB = t
			f := a.fails(c.code, c.op, c.input)
			require.Equal(t, c.path, f.Path, f.Error())
			require.Contains(t, f.Message, c.says)
		})
	}
	require.EqualValues(t, 1, a.call("Todo.count", `{}`)["count"], "nothing bad was stored")
}

func TestNamesOfSetsThatAPatternDoesNotTake(t *testing.T) {
	t.Parallel()
	a := start(t, ent.Entities())
	for _, set := range []string{"tenant-*", "tenant-a.b", "tenant-" + strings.Repeat("a", 48), "TENANT-a"} {
		f := a.fails(fault.UnknownSet, "Todo.count", fmt.Sprintf(`{"set":%q}`, set))
		require.NotContains(t, f.Message, "did you mean", set)
		require.Contains(t, f.Hint, "at most 48 characters of a-z", set)
	}
}

func TestPatchTakesAnEntityThatWasRead(t *testing.T) {
	t.Parallel()
	if forEach(t, TestPatchTakesAnEntityThatWasRead) {
		return
	}
	a := start(t, ent.Entities())
	read := a.call("Todo.upsert", `{"model":{"title":"one","labels":[]}}`)
	read["title"] = "two"
	raw, err := json.Marshal(map[string]any{"id": read["id"], "changes": read})
	require.NoError(t, err)
	changed := a.call("Todo.patch", string(raw))
	require.Equal(t, read["id"], changed["id"])
	require.Equal(t, "two", changed["title"])
	label := a.call("Label.upsert", `{"model":{"name":"x"}}`)["id"]
	require.Equal(t, "y", a.call("Label.patch", fmt.Sprintf(`{"id":%q,"changes":{"id":%s,"name":"y"}}`, label, label))["name"], "a number is the same id")
}

func TestReportsEverythingWrongAtOnce(t *testing.T) {
	race.Detect(t)
	t.Parallel()
	if forEach(t, TestReportsEverythingWrongAtOnce) {
		return
	}
	a := start(t, ent.Entities())
	f := a.fails(fault.InvalidPayload, "Todo.upsert", `{"model":{"titel":"x","priority":"none","views":"many"},"replace":"yes","sett":"x"}`)
	details := f.Details.([]fault.Detail)
	var paths []string
	for _, d := range details {
		paths = append(paths, d.Path)
	}
	require.ElementsMatch(t, []string{"/model/titel", "/model/priority", "/model/views", "/replace", "/sett"}, paths)
}

func TestUpsertKeepsOrReplaces(t *testing.T) {
	t.Parallel()
	if forEach(t, TestUpsertKeepsOrReplaces) {
		return
	}
	a := start(t, ent.Entities())
	id := a.call("Todo.upsert", `{"model":{"id":"mine","title":"one","notes":"n","priority":"high","tags":["x"]}}`)["id"]
	require.Equal(t, "mine", id)
	kept := a.call("Todo.upsert", `{"model":{"id":"mine","completed":true}}`)
	require.Equal(t, "n", kept["notes"])
	require.Equal(t, "high", kept["priority"])
	require.Equal(t, true, kept["completed"])

	again := a.call("Todo.upsert", string(encode(t, map[string]any{"model": kept})))
	require.Equal(t, kept["createdAt"], again["createdAt"], "what was read can be sent back whole")

	reset := a.call("Todo.upsert", `{"model":{"id":"mine","title":"two"},"replace":true,"ifVersion":3}`)
	require.Nil(t, reset["notes"])
	require.Nil(t, reset["tags"])
	require.Equal(t, "medium", reset["priority"])
	require.Equal(t, false, reset["completed"])
	require.Equal(t, kept["createdAt"], reset["createdAt"])
	require.EqualValues(t, 4, reset["version"])
	a.fails(fault.InvalidPayload, "Todo.upsert", `{"model":{"id":"mine"},"replace":true}`)
}

func TestWritesEdges(t *testing.T) {
	t.Parallel()
	if forEach(t, TestWritesEdges) {
		return
	}
	a := start(t, ent.Entities())
	ann := a.call("Person.upsert", `{"model":{"name":"Ann","email":"a@x"}}`)["id"].(string)
	bob := a.call("Person.upsert", `{"model":{"name":"Bob","email":"b@x"}}`)["id"].(string)
	labels := a.call("Label.upsert", `{"model":{"name":"home"}}`)
	require.Equal(t, "1", labels["id"], "ids are strings, whatever they are inside")
	a.call("Label.upsert-many", `{"models":[{"name":"work"},{"name":"fun"}]}`)

	todo := a.call("Todo.upsert", `{"model":{"title":"x","assignedUser":"`+ann+`","labels":["1",2]}}`)
	id := todo["id"].(string)
	require.Equal(t, ann, todo["assignedUserId"])
	require.Equal(t, []string{"1", "2"}, labelsOf(a, id))

	patch := func(changes string) map[string]any {
		return a.call("Todo.patch", `{"id":"`+id+`","changes":`+changes+`}`)
	}
	require.Equal(t, bob, patch(`{"assignedUserId":"` + bob + `"}`)["assignedUserId"])
	require.Equal(t, ann, patch(`{"assignedUser":{"id":"` + ann + `","name":"ignored"}}`)["assignedUserId"])
	require.Nil(t, patch(`{"assignedUser":null}`)["assignedUserId"])
	patch(`{"labels":{"$add":["3","2"]}}`)
	require.Equal(t, []string{"1", "2", "3"}, labelsOf(a, id))
	patch(`{"labels":{"$remove":["1"]}}`)
	require.Equal(t, []string{"2", "3"}, labelsOf(a, id))
	patch(`{"labels":{"$set":["1","2"]}}`)
	require.Equal(t, []string{"1", "2"}, labelsOf(a, id))
	patch(`{"labels":[]}`)
	require.Empty(t, labelsOf(a, id))
	patch(`{"labels":["3"]}`)
	back := a.call("Label.get-by-id", `{"id":3,"with":"todos.assignedUser"}`)["todos"].([]any)
	require.Len(t, back, 1)
	require.Equal(t, id, back[0].(map[string]any)["id"])
	require.Len(t, a.call("Label.collection", `{"filter":{"todos":{"$some":{"title":"x"}}}}`)["items"], 1)
	whole := a.call("Todo.get-by-id", `{"id":"`+id+`","with":"all"}`)
	a.call("Todo.upsert", string(encode(t, map[string]any{"model": whole})))
	require.Equal(t, []string{"3"}, labelsOf(a, id), "what was read with its edges can be sent back whole")

	a.call("Person.patch", `{"id":"`+bob+`","changes":{"todos":["`+id+`"]}}`)
	require.Equal(t, bob, a.call("Todo.get-by-id", `{"id":"`+id+`"}`)["assignedUserId"])
}

func labelsOf(a *app, todo string) []string {
	var ids []string
	for _, l := range a.call("Todo.get-by-id", `{"id":"`+todo+`","with":{"labels":{"sort":"id"}}}`)["labels"].([]any) {
		ids = append(ids, l.(map[string]any)["id"].(string))
	}
	return ids
}

func TestBatchesAreAllOrNothing(t *testing.T) {
	t.Parallel()
	if forEach(t, TestBatchesAreAllOrNothing) {
		return
	}
	a := start(t, ent.Entities())
	f := a.fails(fault.Conflict, "Person.upsert-many", `{"models":[{"name":"A","email":"same"},{"name":"B","email":"same"}]}`)
	require.Equal(t, "/models/1/email", f.Path)
	require.EqualValues(t, 0, a.call("Person.count", `{}`)["count"])
	made := a.call("Person.upsert-many", `{"models":[{"name":"A","email":"a"},{"name":"B","email":"b"}]}`)["items"].([]any)
	ids := []any{made[0].(map[string]any)["id"], "none", made[1].(map[string]any)["id"], made[0].(map[string]any)["id"]}
	require.EqualValues(t, 2, a.call("Person.delete-many", string(encode(t, map[string]any{"ids": ids})))["deleted"])
}

func TestNewIsNotStored(t *testing.T) {
	t.Parallel()
	if forEach(t, TestNewIsNotStored) {
		return
	}
	a := start(t, ent.Entities())
	m := a.call("Todo.new", `{}`)
	require.Equal(t, "medium", m["priority"])
	require.Contains(t, m, "dueDate")
	require.NotContains(t, m, "title")
	require.EqualValues(t, 0, a.call("Todo.count", `{}`)["count"])
	m["title"] = "now it is"
	a.call("Todo.upsert", string(encode(t, map[string]any{"model": m})))
	a.fails(fault.UnknownSet, "Todo.new", `{"set":"nowhere"}`)
}

func TestReadOnlyEntitiesHaveNoOtherOperations(t *testing.T) {
	t.Parallel()
	if forEach(t, TestReadOnlyEntitiesHaveNoOtherOperations) {
		return
	}
	a := start(t, ent.Entities())
	require.Equal(t, []string{"collection", "get-by-id", "count", "aggregate"}, a.view.Resource("AuditLog").Operations)
	require.Nil(t, a.view.Resource("Draft"))
}

func TestIntegersBeyondJavaScript(t *testing.T) {
	t.Parallel()
	if forEach(t, TestIntegersBeyondJavaScript) {
		return
	}
	a := start(t, ent.Entities())
	require.Equal(t, "9007199254740993", a.call("Todo.upsert", `{"model":{"id":"big","title":"x","views":"9007199254740993"}}`)["views"])
	require.Equal(t, float64(12), a.call("Todo.patch", `{"id":"big","changes":{"views":12}}`)["views"])
	a.fails(fault.InvalidPayload, "Todo.patch", `{"id":"big","changes":{"views":1.5}}`)
}

// An id that was read is a string of digits, and existing projects keep references in plain columns
// of integers.
func TestDigitsAreIntegers(t *testing.T) {
	t.Parallel()
	if forEach(t, TestDigitsAreIntegers) {
		return
	}
	a := start(t, ent.Entities())
	require.Equal(t, float64(12), a.call("Todo.upsert", `{"model":{"id":"a","title":"x","views":"12"}}`)["views"])
	require.Equal(t, float64(-7), a.call("Todo.patch", `{"id":"a","changes":{"views":"-7"}}`)["views"])
	for _, filter := range []string{`{"views":"-7"}`, `{"views":{"$in":["-7","8"]}}`, `{"views":{"$between":["-8","0"]}}`} {
		require.EqualValues(t, 1, a.call("Todo.count", `{"filter":`+filter+`}`)["count"], filter)
	}
	for _, wrong := range []string{`"012"`, `" 1"`, `"1.0"`, `"1e3"`, `"+1"`, `""`, `"one"`, `"-"`, `"9223372036854775808"`} {
		a.fails(fault.InvalidPayload, "Todo.patch", `{"id":"a","changes":{"views":`+wrong+`}}`)
		a.fails(fault.InvalidPayload, "Todo.count", `{"filter":{"views":`+wrong+`}}`)
	}
}

func TestExamplesRun(t *testing.T) {
	t.Parallel()
	if forEach(t, TestExamplesRun) {
		return
	}
	for _, op := range start(t, ent.Entities()).view.Snapshot().Operations() {
		if op.Example != nil {
			a := start(t, ent.Entities())
			_, _, err := a.try(op.ID.Owner+"."+op.ID.Op, string(op.Example))
			require.NoError(t, err, "%s %s", op.ID, op.Example)
		}
	}
}

func TestDeletesShowTheirCascades(t *testing.T) {
	t.Parallel()
	if forEach(t, TestDeletesShowTheirCascades) {
		return
	}
	a := start(t, ent.Entities())
	a.call("Person.upsert", `{"model":{"id":"ann","name":"Ann","email":"a"}}`)
	a.call("Todo.upsert", `{"model":{"id":"t","title":"x","assignedUserId":"ann"}}`)
	a.call("Step.upsert-many", `{"models":[{"id":"s1","text":"1","todo":"t"},{"id":"s2","text":"2","todo":"t"}]}`)
	_, out, err := a.try("Person.delete", `{"id":"ann"}`)
	require.NoError(t, err)
	require.Equal(t, []string{"delete Person ann", "update Todo t"}, said(out.Changes))
	require.Nil(t, a.call("Todo.get-by-id", `{"id":"t"}`)["assignedUserId"])
	_, out, err = a.try("Todo.delete", `{"id":"t"}`)
	require.NoError(t, err)
	require.Equal(t, []string{"delete Todo t", "delete Step s1", "delete Step s2"}, said(out.Changes))
	require.EqualValues(t, 0, a.call("Step.count", `{}`)["count"])
}

func said(changes []store.Change) []string {
	var out []string
	for _, c := range changes {
		out = append(out, fmt.Sprintf("%s %s %s", c.Action, c.Entity, c.ID))
	}
	return out
}

func encode(t testing.TB, v any) json.RawMessage {
	t.Helper()
	b, err := json.Marshal(v)
	require.NoError(t, err)
	return b
}

func TestStoresManyAtOnce(t *testing.T) {
	t.Parallel()
	if forEach(t, TestStoresManyAtOnce) {
		return
	}
	a := start(t, ent.Entities())
	const many = 10_000
	models := make([]map[string]any, many)
	for i := range models {
		models[i] = map[string]any{"title": fmt.Sprint("Todo ", i), "views": i}
		if i%3 == 0 {
			models[i]["id"] = fmt.Sprint("chosen-", i)
		}
		if i%5 == 0 {
			models[i]["notes"] = "some"
		}
	}
	items := a.call("Todo.upsert-many", string(encode(t, map[string]any{"models": models})))["items"].([]any)
	require.Len(t, items, many)
	for i, item := range items {
		require.Equal(t, models[i]["title"], item.(map[string]any)["title"])
		models[i] = map[string]any{"id": item.(map[string]any)["id"], "views": -i}
	}
	models[7] = map[string]any{"title": "a new one"}
	models[8]["id"] = models[9]["id"]
	items = a.call("Todo.upsert-many", string(encode(t, map[string]any{"models": models})))["items"].([]any)
	require.Equal(t, 3., items[9].(map[string]any)["version"], "the same one twice, one after the other")
	require.EqualValues(t, many+1, a.call("Todo.count", `{}`)["count"])
	labels := a.call("Label.upsert-many", `{"models":[{"name":"c"},{"name":"a"},{"name":"b"}]}`)["items"].([]any)
	for i, name := range []string{"c", "a", "b"} {
		require.Equal(t, map[string]any{"id": fmt.Sprint(i + 1), "name": name}, labels[i])
	}
	a.fails(fault.InvalidPayload, "Todo.upsert-many", `{"models":[`+strings.Repeat(`{"title":"x"},`, many)+`{"title":"x"}]}`)
}

func TestNamesEveryModelThatIsWrong(t *testing.T) {
	t.Parallel()
	if forEach(t, TestNamesEveryModelThatIsWrong) {
		return
	}
	a := start(t, ent.Entities())
	a.call("Label.upsert", `{"model":{"name":"taken"}}`)
	paths := func(f *fault.Fault) (out []string) {
		for _, d := range f.Details.([]fault.Detail) {
			out = append(out, d.Path)
		}
		return out
	}
	for _, c := range []struct {
		name, op, models string
		code             fault.Code
		paths            []string
	}{
		{"fields", "Todo", `[{"title":1},{"title":"ok"},{"title":"x","views":"y"}]`, fault.InvalidPayload, []string{"/models/0/title", "/models/2/views"}},
		{"ent's validators and what is missing", "Step", `[{"text":"","todo":"t"},{"text":"ok"},{"text":"","todo":"t"}]`, fault.InvalidPayload, []string{"/models/0/text", "/models/1/todo", "/models/2/text"}},
		{"constraints", "Label", `[{"name":"taken"},{"name":"a"},{"name":"b"},{"name":"a"}]`, fault.Conflict, []string{"/models/0/name", "/models/3/name"}},
		{"fields beside constraints", "Label", `[{"name":7},{"name":"a"},{"name":"b"},{"name":"a"}]`, fault.InvalidPayload, []string{"/models/0/name", "/models/3/name"}},
		{"fields beside ent's validators", "Step", `[{"text":7,"todo":"t"},{"text":"","todo":"t"},{"text":"ok"}]`, fault.InvalidPayload, []string{"/models/0/text", "/models/1/text", "/models/2/todo"}},
		{"references", "Todo", `[{"title":"x","assignedUserId":"nobody"},{"title":"y"},{"title":"z","labels":["77"]},{"title":"z","assignedUserId":"nobody"}]`, fault.InvalidPayload, []string{"/models/0/assignedUserId", "/models/2/labels/0", "/models/3/assignedUserId"}},
		{"hooks", "Person", `[{"name":"root","email":"a"},{"name":"b","email":"b"},{"name":"root","email":"c"},{"name":"d","email":"b"}]`, fault.InvalidPayload, []string{"/models/0", "/models/2", "/models/3/email"}},
		{"ids", "Label", `[{"id":"77","name":"x"},{"name":"y"},{"id":"78","name":"z"}]`, fault.NotFound, []string{"/models/0/id", "/models/2/id"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			a := *a
			a.TB = t
			f := a.fails(c.code, c.op+".upsert-many", `{"models":`+c.models+`}`)
			require.Equal(t, c.paths, paths(f), f.Error())
		})
	}
	require.EqualValues(t, 1, a.call("Label.count", `{}`)["count"], "nothing was stored")
	require.EqualValues(t, 0, a.call("Person.count", `{}`)["count"])
	require.EqualValues(t, 0, a.call("Todo.count", `{}`)["count"])
}
