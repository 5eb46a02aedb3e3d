package entities_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	specimen "github.com/koan-go/koan/entities/internal/specimen/ent"
	"github.com/koan-go/koan/framework/catalog"
	"github.com/koan-go/koan/framework/fault"
)

func TestUpsertsByUniqueKey(t *testing.T) {
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
