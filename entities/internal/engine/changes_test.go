package engine_test

import (
	"context"
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/koan-go/koan/entities/descriptor"
	"github.com/koan-go/koan/framework/catalog"
	"github.com/koan-go/koan/framework/fault"
	"github.com/koan-go/koan/framework/run"
	"github.com/koan-go/koan/framework/run/store"
	"github.com/koan-go/koan/tests/fixture/ent"
	specimen "github.com/koan-go/koan/tests/specimen/ent"
)

// calls makes calls of operations "Entity.op" as one script.
func (a *app) calls(spec run.Spec, calls ...[2]string) *run.Outcome {
	a.Helper()
	out, err := a.run(body(spec, func(ctx context.Context, r *run.Attempt) error {
		for _, c := range calls {
			id, err := catalog.ParseID("koan::" + c[0])
			if err != nil {
				return err
			}
			if _, err := r.Invoke(ctx, r.Next(), id, json.RawMessage(c[1])); err != nil {
				return err
			}
		}
		return nil
	}))
	require.NoError(a, err)
	return out
}

// member returns a member of a row before or after a change.
func member(t *testing.T, image json.RawMessage, name string) any {
	t.Helper()
	var m map[string]any
	if image != nil {
		require.NoError(t, json.Unmarshal(image, &m))
	}
	return m[name]
}

func TestChangesAreOneForEachRow(t *testing.T) {
	t.Parallel()
	if forEach(t, TestChangesAreOneForEachRow) {
		return
	}
	a := start(t, ent.Entities())
	a.call("Todo.upsert-many", `{"models":[{"id":"a","title":"A"},{"id":"b","title":"B"},{"id":"c","title":"C"}]}`)
	script := [][2]string{
		{"Todo.upsert", `{"model":{"id":"gone","title":"x"}}`},
		{"Todo.patch", `{"id":"a","changes":{"title":"A1"}}`},
		{"Todo.upsert", `{"model":{"id":"new","title":"x"}}`},
		{"Todo.delete", `{"id":"b"}`},
		{"Todo.patch", `{"id":"a","changes":{"views":7}}`},
		{"Todo.patch", `{"id":"c","changes":{"views":1}}`},
		{"Todo.delete", `{"id":"gone"}`},
		{"Todo.patch", `{"id":"new","changes":{"title":"y"}}`},
		{"Todo.upsert", `{"model":{"id":"b","title":"B again"}}`},
		{"Todo.delete", `{"id":"c"}`},
	}
	want := []string{"update Todo a", "create Todo new", "update Todo b", "delete Todo c"}
	dry := a.calls(run.Spec{DryRun: true}, script...)
	require.Equal(t, want, said(dry.Changes))
	first := dry.Changes[0]
	require.Equal(t, []any{"A", 0.0, "A1", 7.0}, []any{member(t, first.Before, "title"), member(t, first.Before, "views"), member(t, first.After, "title"), member(t, first.After, "views")})
	require.Nil(t, dry.Changes[1].Before)
	require.Equal(t, "y", member(t, dry.Changes[1].After, "title"))
	require.Equal(t, "B", member(t, dry.Changes[2].Before, "title"))
	require.Equal(t, "B again", member(t, dry.Changes[2].After, "title"))
	require.EqualValues(t, 0, member(t, dry.Changes[3].Before, "views"), "as the run found it")
	require.Equal(t, []store.ChangeCount{{Entity: "Todo", Set: "default", Created: 1, Updated: 2, Deleted: 1}}, store.Counts(dry.Changes))

	real := a.calls(atomic, script...)
	require.Equal(t, want, said(real.Changes), "what is written in one statement counts the same")
}

func TestChangesOfWhatIsTakenBack(t *testing.T) {
	t.Parallel()
	if forEach(t, TestChangesOfWhatIsTakenBack) {
		return
	}
	a := start(t, ent.Entities())
	a.call("Person.upsert-many", `{"models":[{"id":"ann","name":"Ann","email":"a"},{"id":"bob","name":"Bob","email":"b"}]}`)
	for _, spec := range []run.Spec{{DryRun: true}, atomic} {
		out, err := a.run(script(spec, func(call func(string, string) (map[string]any, error), _ *run.Attempt) error {
			_, err := call("Person.upsert-many", `{"models":[{"id":"ann","name":"A"},{"id":"new","name":"N","email":"n"},{"id":"bob","email":"a"}]}`)
			require.Error(t, err, "the script catches it")
			_, err = call("Person.patch", `{"id":"bob","changes":{"name":"B"}}`)
			require.NoError(t, err)
			_, err = call("Person.patch", `{"id":"ann","changes":{"name":"Anna"}}`)
			return err
		}))
		require.NoError(t, err)
		require.Equal(t, []string{"update Person bob", "update Person ann"}, said(out.Changes))
		if spec.DryRun {
			require.Equal(t, "Ann", member(t, out.Changes[1].Before, "name"))
			require.Equal(t, "Anna", member(t, out.Changes[1].After, "name"))
		}
	}
}

func TestChangesShowManyToManyEdges(t *testing.T) {
	t.Parallel()
	if forEach(t, TestChangesShowManyToManyEdges) {
		return
	}
	a := start(t, ent.Entities())
	a.call("Label.upsert-many", `{"models":[{"name":"a"},{"name":"b"},{"name":"c"},{"name":"d"}]}`)
	a.call("Todo.upsert-many", `{"models":[{"id":"t","title":"x","labels":[1,2]},{"id":"u","title":"x","labels":[2]},{"id":"v","title":"x","labels":[4]}]}`)
	dry := a.calls(run.Spec{DryRun: true}, [][2]string{
		{"Todo.patch", `{"id":"t","changes":{"labels":{"$add":[3],"$remove":[1]}}}`},
		{"Todo.patch", `{"id":"t","changes":{"views":1,"labels":[]}}`},
		{"Todo.upsert", `{"model":{"id":"new","title":"y","labels":["3"]}}`},
		{"Todo.patch", `{"id":"u","changes":{"views":1}}`},
		{"Label.patch", `{"id":2,"changes":{"todos":["u","t"]}}`}, // from the other side: t has label 2 again
		{"Todo.patch", `{"id":"u","changes":{"labels":[1,2]}}`},
		{"Todo.patch", `{"id":"u","changes":{"labels":{"$remove":[1]}}}`},
		{"Label.delete", `{"id":4}`},
	}...)
	type shown struct {
		what          string
		before, after any
	}
	var got []shown
	for _, c := range dry.Changes {
		name := map[string]string{"Todo": "labels", "Label": "todos"}[c.Entity]
		got = append(got, shown{string(c.Action) + " " + c.Entity + " " + c.ID, member(t, c.Before, name), member(t, c.After, name)})
	}
	require.Equal(t, []shown{
		{"update Todo t", []any{"1", "2"}, []any{"2"}},
		{"create Todo new", nil, []any{"3"}},
		{"update Todo u", nil, nil},
		{"update Label 2", nil, nil},
		{"delete Label 4", []any{"v"}, nil},
	}, got, "both sides say the same, and what is as it was is not shown")
	require.Equal(t, []string{"1", "2"}, labelsOf(a, "t"))
}

// Rows go, or lose a reference, by way of rows that nobody sees.
func TestChangesShowCascadesThroughHiddenRows(t *testing.T) {
	t.Parallel()
	if forEach(t, TestChangesShowCascadesThroughHiddenRows) {
		return
	}
	at := place(t)
	a := startIn(t, at, specimen.Entities())
	cabinet := a.call("Cabinet.upsert", `{"model":{"name":"one"}}`)["id"].(string)
	other := a.call("Cabinet.upsert", `{"model":{"name":"two"}}`)["id"].(string)
	for _, text := range []string{"lies in it", "has its key", "elsewhere"} {
		a.call("Parcel.upsert", `{"model":{"text":"`+text+`"}}`)
	}
	db := beside(t, a.place, "default")
	for _, statement := range []string{
		"INSERT INTO lockers (locker_cabinet) SELECT id FROM cabinets WHERE name = 'one'",
		"INSERT INTO lockers (locker_cabinet) SELECT id FROM cabinets WHERE name = 'two'",
		"UPDATE parcels SET locker_parcels = (SELECT l.id FROM lockers l JOIN cabinets c ON l.locker_cabinet = c.id WHERE c.name = 'one') WHERE text = 'lies in it'",
		"UPDATE parcels SET locker_keys = (SELECT l.id FROM lockers l JOIN cabinets c ON l.locker_cabinet = c.id WHERE c.name = 'one') WHERE text = 'has its key'",
		"UPDATE parcels SET locker_parcels = (SELECT l.id FROM lockers l JOIN cabinets c ON l.locker_cabinet = c.id WHERE c.name = 'two') WHERE text = 'elsewhere'",
	} {
		_, err := db.Exec(statement)
		require.NoError(t, err, statement)
	}
	for _, c := range [][2]string{{"Cabinet.delete", `{"id":"` + cabinet + `"}`}, {"Cabinet.delete-many", `{"ids":["` + cabinet + `"]}`}, {"Cabinet.delete-by-query", `{"filter":{"name":"one"}}`}} {
		require.Contains(t, a.fails(fault.Forbidden, c[0], c[1]).Message, "rows that you may not see would be deleted or changed with it")
	}
	require.EqualValues(t, 3, a.call("Parcel.count", `{}`)["count"])

	a = startIn(t, at, with(specimen.Entities(), "Cabinet", func(e *descriptor.Entity) { e.Resource.Cascades = true }))
	for _, spec := range []run.Spec{{DryRun: true}, atomic} {
		out := a.calls(spec, [2]string{"Cabinet.delete", `{"id":"` + cabinet + `"}`})
		require.Equal(t, []string{"delete Cabinet " + cabinet, "delete Parcel 1", "update Parcel 2"}, said(out.Changes))
	}
	require.EqualValues(t, 2, a.call("Parcel.count", `{}`)["count"])
	require.EqualValues(t, 1, a.call("Cabinet.delete-many", `{"ids":["`+other+`"]}`)["deleted"])
	require.EqualValues(t, 1, a.call("Parcel.count", `{}`)["count"])
}
