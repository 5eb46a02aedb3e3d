package engine_test

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/koan-go/koan/framework/catalog"
	"github.com/koan-go/koan/framework/fault"
	"github.com/koan-go/koan/tests/fixture/ent"
	specimen "github.com/koan-go/koan/tests/specimen/ent"
)

func TestCreateStoresWhatIsNew(t *testing.T) {
	t.Parallel()
	if forEach(t, TestCreateStoresWhatIsNew) {
		return
	}
	a := start(t, ent.Entities())
	made := a.call("Todo.create", `{"model":{"id":"mine","title":"one","priority":"low"}}`)
	require.Equal(t, "mine", made["id"])
	require.EqualValues(t, 1, made["version"])
	require.Equal(t, made, a.call("Todo.get-by-id", `{"id":"mine"}`))
	require.NotEmpty(t, a.call("Todo.create", `{"model":{"title":"two"}}`)["id"])

	for _, c := range []struct {
		name, op, input string
		code            fault.Code
		path, says      string
	}{
		{"an id that is taken", "Todo.create", `{"model":{"id":"mine","title":"three"}}`, fault.Conflict, "/model/id", "another Todo already has this id"},
		{"an id without what is required", "Todo.create", `{"model":{"id":"other"}}`, fault.InvalidPayload, "/model/title", "required"},
		{"an id that the database makes", "Label.create", `{"model":{"id":7,"name":"x"}}`, fault.InvalidPayload, "/model/id", "the database generates the ids of Label"},
		{"all that is wrong", "Todo.create", `{"model":{"priority":"none"}}`, fault.InvalidPayload, "", "2 problems"},
		{"options of upsert", "Todo.create", `{"model":{"title":"x"},"replace":true}`, fault.InvalidPayload, "/replace", "unknown input"},
		{"what callers do not write", "Todo.create", `{"model":{"title":"x","version":7}}`, "", "", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			a := *a
			a.TB = t
			if c.code == "" {
				require.EqualValues(t, 1, a.call(c.op, c.input)["version"])
				return
			}
			f := a.fails(c.code, c.op, c.input)
			require.Equal(t, c.path, f.Path, f.Error())
			require.Contains(t, f.Message, c.says)
			require.NotEmpty(t, f.Hint)
		})
	}
	require.EqualValues(t, made, a.call("Todo.get-by-id", `{"id":"mine"}`), "a conflict changes nothing")
	a.call("Person.create", `{"model":{"name":"Ann","email":"ann@example.org"}}`)
	require.Equal(t, "/model/email", a.fails(fault.Conflict, "Person.create", `{"model":{"name":"Bob","email":"ann@example.org"}}`).Path)
	require.Nil(t, a.view.Snapshot().Operation(catalog.EntityID("AuditLog", "create")), "read-only entities have none")

	op := a.view.Snapshot().Operation(catalog.EntityID("Todo", "create"))
	require.Equal(t, catalog.Effects{}, op.Effects)
	require.Contains(t, string(op.Input), "Needed: title.")
	require.NotContains(t, string(op.Input), "replace")
}

// What upsert would find by its unique key is a conflict for create, whether callers or hooks give the key.
func TestCreateFindsNothingByUniqueKey(t *testing.T) {
	t.Parallel()
	if forEach(t, TestCreateFindsNothingByUniqueKey) {
		return
	}
	a := start(t, specimen.Entities())
	first := a.call("Slot.create", `{"model":{"shelf":"A","place":1,"holds":"cup"}}`)
	f := a.fails(fault.Conflict, "Slot.create", `{"model":{"shelf":"A","place":1,"holds":"jug"}}`)
	require.Contains(t, f.Message, "another Slot already has this shelf and place")
	require.Equal(t, first, a.call("Slot.get-by-id", `{"id":"`+first["id"].(string)+`"}`))
	require.Equal(t, first["id"], a.call("Slot.upsert", `{"model":{"shelf":"A","place":1,"holds":"jug"}}`)["id"])
}

// Create and upsert make the same of each model that is new, and refuse the same of each that is wrong.
func TestCreateIsUpsertOfWhatIsNew(t *testing.T) {
	t.Parallel()
	if forEach(t, TestCreateIsUpsertOfWhatIsNew) {
		return
	}
	a := start(t, ent.Entities())
	for _, model := range []string{
		`{"title":"x"}`, `{"title":"x","completed":true,"dueDate":"2026-01-01T00:00:00Z","effort":1.5,"tags":["a"],"notes":null,"views":"9007199254740993"}`,
		`{"title":"x","createdAt":"2026-01-01T00:00:00Z"}`, `{"title":"x","assignedUserId":"nobody"}`, `{"title":7}`, `{}`, `{"title":""}`, `{"title":"x","labels":["7"]}`, `{"titel":"x"}`,
	} {
		outcome := func(op string) (map[string]any, string) {
			raw, _, err := a.try("Todo."+op, `{"model":`+model+`}`)
			if err != nil {
				f := fault.From(err)
				return nil, string(f.Code) + " " + f.Path + " " + f.Message
			}
			var row map[string]any
			require.NoError(t, json.Unmarshal(raw, &row))
			for _, own := range []string{"id", "createdAt", "updatedAt"} {
				delete(row, own)
			}
			return row, ""
		}
		row, said := outcome("upsert")
		made, also := outcome("create")
		require.Equal(t, row, made, model)
		require.Equal(t, said, also, model)
	}
}
