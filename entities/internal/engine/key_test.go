package engine_test

import (
	"context"
	"crypto/rand"
	"fmt"
	"slices"
	"testing"

	stdent "entgo.io/ent"
	"github.com/stretchr/testify/require"

	"github.com/koan-go/koan/framework/catalog"
	"github.com/koan-go/koan/framework/fault"
	specimen "github.com/koan-go/koan/tests/specimen/ent"
)

func TestUpsertsByUniqueKey(t *testing.T) {
	t.Parallel()
	if forEach(t, TestUpsertsByUniqueKey) {
		return
	}
	a := start(t, specimen.Entities())
	first := a.call("Slot.upsert", `{"model":{"shelf":"A","place":1,"holds":"cup"}}`)
	again := a.call("Slot.upsert", `{"model":{"shelf":"A","place":1,"free":false}}`)
	require.Equal(t, first["id"], again["id"])
	require.Equal(t, "cup", again["holds"], "absent fields keep their values")
	require.EqualValues(t, 2, again["rev"])
	require.Equal(t, again, a.call("Slot.upsert", `{"model":{"shelf":"A","place":1}}`), "nothing to change")
	other := a.call("Slot.upsert", `{"model":{"shelf":"A","place":2}}`)
	require.NotEqual(t, first["id"], other["id"])
	reset := a.call("Slot.upsert", `{"model":{"shelf":"A","place":1},"replace":true,"ifVersion":2}`)
	require.Nil(t, reset["holds"])
	require.Equal(t, true, reset["free"])
	a.fails(fault.Conflict, "Slot.upsert", `{"model":{"shelf":"A","place":1,"holds":"x"},"ifVersion":2}`)
	a.fails(fault.Conflict, "Slot.upsert", `{"model":{"shelf":"B","place":1},"ifVersion":1}`)
	require.Equal(t, "/model/place", a.fails(fault.InvalidPayload, "Slot.upsert", `{"model":{"shelf":"A","holds":"x"}}`).Path, "half a key is none")

	items := a.call("Slot.upsert-many", `{"models":[
		{"shelf":"A","place":1,"holds":"one"},{"shelf":"C","place":1,"holds":"new"},{"shelf":"C","place":1,"free":false},
		{"id":"`+other["id"].(string)+`","place":3},{"shelf":"A","place":2,"holds":"free again"},{"shelf":"A","place":3,"holds":"moved"}]}`)["items"].([]any)
	id := func(i int) any { return items[i].(map[string]any)["id"] }
	require.Equal(t, first["id"], id(0))
	require.Equal(t, id(1), id(2))
	require.Equal(t, "new", items[2].(map[string]any)["holds"])
	require.NotEqual(t, other["id"], id(4))
	require.Equal(t, other["id"], id(5), "it has this key by then")
	require.EqualValues(t, 4, a.call("Slot.count", `{}`)["count"])
	require.Contains(t, string(a.view.Snapshot().Operation(catalog.EntityID("Slot", "upsert")).Input), "Without id, the one with the same shelf and place is changed")
}

// The key of an edge is given by its field or by the edge, in any of their forms.
func TestUpsertsByAnEdgesKey(t *testing.T) {
	t.Parallel()
	if forEach(t, TestUpsertsByAnEdgesKey) {
		return
	}
	a := start(t, specimen.Entities())
	visitor, cabinet := a.call("Visitor.upsert", `{"model":{"name":"Ann"}}`)["id"].(string), a.call("Cabinet.upsert", `{"model":{"name":"c"}}`)["id"].(string)
	other, third := a.call("Cabinet.upsert", `{"model":{"name":"d"}}`)["id"].(string), a.call("Cabinet.upsert", `{"model":{"name":"e"}}`)["id"].(string)
	first := a.call("Visit.upsert", fmt.Sprintf(`{"model":{"reason":"rain","visitorId":%q,"cabinetId":%q}}`, visitor, cabinet))["id"]
	forms := []string{
		fmt.Sprintf(`"visitor":%q`, visitor), fmt.Sprintf(`"visitor":%s`, visitor), fmt.Sprintf(`"visitor":{"id":%q}`, visitor),
		fmt.Sprintf(`"visitorId":%s`, visitor), fmt.Sprintf(`"visitor":{"id":%s},"visitorId":%[1]q`, visitor),
	}
	models := ""
	for i, form := range forms {
		target := []string{other, cabinet}[i%2]
		got := a.call("Visit.upsert", fmt.Sprintf(`{"model":{"reason":"rain",%s,"cabinet":%q}}`, form, target))
		require.Equal(t, first, got["id"], form)
		require.Equal(t, target, got["cabinetId"], form)
		require.Equal(t, first, a.call("Visit.upsert", fmt.Sprintf(`{"model":{"reason":"rain",%s,"cabinet":%q},"replace":true}`, form, cabinet))["id"], form)
		models += fmt.Sprintf(`{"reason":"rain",%s,"cabinet":%q},{"reason":"sun",%[1]s,"cabinet":%[3]q},`, form, target, third)
	}
	items := a.call("Visit.upsert-many", `{"models":[`+models[:len(models)-1]+`]}`)["items"].([]any)
	for i, item := range items {
		require.Equal(t, items[i%2].(map[string]any)["id"], item.(map[string]any)["id"])
	}
	require.Equal(t, first, items[0].(map[string]any)["id"])
	require.EqualValues(t, 2, a.call("Visit.count", `{}`)["count"])
	a.fails(fault.InvalidPayload, "Visit.upsert", fmt.Sprintf(`{"model":{"reason":"rain","visitor":%q,"visitorId":"7","cabinet":%q}}`, visitor, cabinet))
}

func TestConflictsAreAtWhatTheCallSays(t *testing.T) {
	t.Parallel()
	if forEach(t, TestConflictsAreAtWhatTheCallSays) {
		return
	}
	a := start(t, specimen.Entities())
	a.call("Slot.upsert-many", `{"models":[{"shelf":"A","place":1},{"shelf":"A","place":2}]}`)
	f := a.fails(fault.Conflict, "Slot.patch", `{"id":"1","changes":{"place":2}}`)
	require.Equal(t, "/changes/place", f.Path, f.Message)
	f = a.fails(fault.Conflict, "Slot.update-by-query", `{"filter":{"id":"1"},"changes":{"place":2}}`)
	require.Equal(t, "/changes/place", f.Path, f.Message)
	if !postgres(t) { // an index of SQLite takes texts of any length
		return
	}
	long := make([]byte, 6000) // and so that nothing makes it shorter
	_, err := rand.Read(long)
	require.NoError(t, err)
	f = a.fails(fault.InvalidPayload, "Slot.upsert", fmt.Sprintf(`{"model":{"shelf":"%x","place":1}}`, long))
	require.Equal(t, "/model", f.Path, f.Message)
}

// ent tells of one validator at a time; callers hear of all.
func TestNamesAllThatValidatorsRefuse(t *testing.T) {
	t.Parallel()
	if forEach(t, TestNamesAllThatValidatorsRefuse) {
		return
	}
	a := start(t, specimen.Entities())
	a.call("Slot.upsert", `{"model":{"shelf":"A","place":1}}`)
	paths := func(f *fault.Fault) (out []string) {
		for _, d := range f.Details.([]fault.Detail) {
			out = append(out, d.Path)
		}
		return out
	}
	bad := `"place":-1,"holds":"dragon"`
	require.Equal(t, []string{"/model/holds", "/model/place"}, paths(a.fails(fault.InvalidPayload, "Slot.upsert", `{"model":{"shelf":"A",`+bad+`}}`)))
	require.Equal(t, []string{"/changes/holds", "/changes/place"}, paths(a.fails(fault.InvalidPayload, "Slot.patch", `{"id":1,"changes":{`+bad+`}}`)))
	f := a.fails(fault.InvalidPayload, "Slot.upsert-many", `{"models":[{"shelf":"A",`+bad+`},{"shelf":"B","place":2},{"shelf":"C",`+bad+`}]}`)
	require.Equal(t, []string{"/models/0/holds", "/models/0/place", "/models/2/holds", "/models/2/place"}, paths(f))
	require.Contains(t, f.Message, "there be no dragons")
	require.EqualValues(t, 1, a.call("Slot.count", `{}`)["count"])
}

// Every relation is written by id, by ids and by operators, from both sides.
func TestWritesEveryRelation(t *testing.T) {
	t.Parallel()
	if forEach(t, TestWritesEveryRelation) {
		return
	}
	a := start(t, specimen.Entities())
	ids := map[string][]string{"Slot": nil, "Cabinet": nil, "Label": {"x", "y", "z"}}
	for i := range 3 {
		ids["Slot"] = append(ids["Slot"], a.call("Slot.upsert", fmt.Sprintf(`{"model":{"shelf":"S","place":%d}}`, i))["id"].(string))
		ids["Cabinet"] = append(ids["Cabinet"], a.call("Cabinet.upsert", `{"model":{"name":"c"}}`)["id"].(string))
		a.call("Label.upsert", fmt.Sprintf(`{"model":{"id":%q}}`, ids["Label"][i]))
	}
	of := func(entity, id, edge string) (out []string) {
		switch v := a.call(entity+".get-by-id", fmt.Sprintf(`{"id":%q,"with":%q}`, id, edge))[edge].(type) {
		case map[string]any:
			out = []string{v["id"].(string)}
		case []any:
			for _, one := range v {
				out = append(out, one.(map[string]any)["id"].(string))
			}
		}
		slices.Sort(out)
		return out
	}
	for _, c := range []struct {
		entity, edge, target, back string
		many                       bool
	}{
		{"Slot", "inner", "Slot", "outer", true},
		{"Slot", "outer", "Slot", "inner", false},
		{"Cabinet", "next", "Cabinet", "beside", false},
		{"Cabinet", "beside", "Cabinet", "next", false},
		{"Cabinet", "labels", "Label", "cabinets", true},
		{"Label", "cabinets", "Cabinet", "labels", true},
	} {
		t.Run(c.entity+" "+c.edge, func(t *testing.T) {
			a := *a
			a.TB = t
			own, first, second := ids[c.entity][0], ids[c.target][1], ids[c.target][2]
			write := func(value string) {
				a.call(c.entity+".patch", fmt.Sprintf(`{"id":%q,"changes":{%q:%s}}`, own, c.edge, value))
			}
			holds := func(want ...string) {
				t.Helper()
				slices.Sort(want)
				require.Equal(t, want, of(c.entity, own, c.edge))
				for _, id := range want {
					require.Contains(t, of(c.target, id, c.back), own, "the other side says so too")
				}
			}
			if !c.many {
				write(fmt.Sprintf("%q", first))
				holds(first)
				write(fmt.Sprintf(`{"id":%q}`, second))
				holds(second)
				write("null")
				holds()
				return
			}
			write(fmt.Sprintf("[%q]", first))
			holds(first)
			write(fmt.Sprintf(`{"$add":[%q,{"id":%q}]}`, first, second))
			holds(first, second)
			write(fmt.Sprintf(`{"$remove":[%q]}`, first))
			holds(second)
			write(fmt.Sprintf(`{"$set":[%q]}`, first))
			holds(first)
			write("[]")
			holds()
		})
	}
}

// A unique key for each tenant: the app's hook fills the tenant, which callers do not write, and an upsert
// finds the entity by what it says and what the hook makes of it.
func TestUpsertsByAKeyThatHooksComplete(t *testing.T) {
	t.Parallel()
	if forEach(t, TestUpsertsByAKeyThatHooksComplete) {
		return
	}
	tenant := "A"
	fill := specimen.OnClient(func(c *specimen.Client) {
		c.Slot.Use(func(next stdent.Mutator) stdent.Mutator {
			return stdent.MutateFunc(func(ctx context.Context, m stdent.Mutation) (stdent.Value, error) {
				if slot := m.(*specimen.SlotMutation); m.Op().Is(stdent.OpCreate) && tenant != "" {
					slot.SetShelf(tenant)
				}
				return next.Mutate(ctx, m)
			})
		})
	})
	a := start(t, withField(specimen.Entities(fill), "Slot", "shelf", func(f *catalog.Field) { f.ReadOnly = true }))
	first := a.call("Slot.upsert", `{"model":{"place":1,"holds":"cup"}}`)
	require.Equal(t, "A", first["shelf"])
	again := a.call("Slot.upsert", `{"model":{"place":1,"free":false}}`)
	require.Equal(t, first["id"], again["id"])
	require.Equal(t, "cup", again["holds"])
	require.EqualValues(t, 2, again["rev"])
	tenant = "B"
	other := a.call("Slot.upsert", `{"model":{"place":1},"replace":true}`)
	require.Equal(t, []any{"B", nil}, []any{other["shelf"], other["holds"]})
	items := a.call("Slot.upsert-many", `{"models":[{"place":1,"holds":"one"},{"place":2},{"place":2,"holds":"two"}]}`)["items"].([]any)
	var got []any
	for _, item := range items {
		got = append(got, item.(map[string]any)["id"] == other["id"], item.(map[string]any)["holds"])
	}
	require.Equal(t, []any{true, "one", false, nil, false, "two"}, got)
	require.EqualValues(t, 3, a.call("Slot.count", `{}`)["count"])

	a.fails(fault.Conflict, "Slot.upsert", `{"model":{"place":9},"ifVersion":1}`)
	a.fails(fault.Conflict, "Slot.upsert", `{"model":{"place":1},"ifVersion":9}`)
	require.Equal(t, "/model/holds", a.fails(fault.InvalidPayload, "Slot.upsert", `{"model":{"place":1,"holds":"dragon"}}`).Path)
	require.Equal(t, "/models/1/holds", a.fails(fault.InvalidPayload, "Slot.upsert-many", `{"models":[{"place":1},{"place":7,"holds":"dragon"}]}`).Path)
	require.Equal(t, "/model/shelf", a.fails(fault.InvalidPayload, "Slot.upsert", `{"model":{"place":4,"shelf":"C"}}`).Path, "it is not for callers")
	require.Equal(t, "B", a.call("Slot.upsert", `{"model":{"place":4,"shelf":"B"}}`)["shelf"], "it is what the hook makes")
	tenant = ""
	f := a.fails(fault.InvalidPayload, "Slot.upsert", `{"model":{"place":5}}`)
	require.Equal(t, "/model/shelf", f.Path, "%v", f)
	require.Equal(t, "/models/0/shelf", a.fails(fault.InvalidPayload, "Slot.upsert-many", `{"models":[{"place":5}]}`).Path)
	require.EqualValues(t, 4, a.call("Slot.count", `{}`)["count"])
	require.Contains(t, string(a.view.Snapshot().Operation(catalog.EntityID("Slot", "upsert")).Input), "Without id, the one with the same place is changed")
}
