package engine_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/koan-go/koan/framework/fault"
	"github.com/koan-go/koan/tests/fixture/ent"
)

// TestEdgesFromTheOtherSideCountVersions: who holds a version must learn of a
// change that came through an edge.
func TestEdgesFromTheOtherSideCountVersions(t *testing.T) {
	t.Parallel()
	if forEach(t, TestEdgesFromTheOtherSideCountVersions) {
		return
	}
	a := start(t, ent.Entities())
	a.call("Todo.upsert", `{"model":{"id":"t","title":"x"}}`)
	a.call("Person.upsert", `{"model":{"id":"p","name":"Ann","email":"a"}}`)
	a.call("Person.patch", `{"id":"p","changes":{"todos":{"$add":["t"]}}}`)
	require.EqualValues(t, 2, a.call("Todo.get-by-id", `{"id":"t"}`)["version"])
	a.fails(fault.Conflict, "Todo.patch", `{"id":"t","changes":{"title":"y"},"ifVersion":1}`)
	a.call("Person.patch", `{"id":"p","changes":{"todos":["t"]}}`)
	require.EqualValues(t, 2, a.call("Todo.get-by-id", `{"id":"t"}`)["version"], "nothing changed")
	a.call("Person.delete", `{"id":"p"}`)
	require.EqualValues(t, 3, a.call("Todo.get-by-id", `{"id":"t"}`)["version"])
}

func TestRequiredInverse(t *testing.T) {
	t.Parallel()
	if forEach(t, TestRequiredInverse) {
		return
	}
	a := start(t, ent.Entities())
	a.call("Todo.upsert-many", `{"models":[{"id":"t1","title":"1"},{"id":"t2","title":"2"}]}`)
	a.call("Step.upsert-many", `{"models":[{"id":"s1","text":"a","todo":"t1"},{"id":"s2","text":"b","todo":"t2"}]}`)
	whole := a.call("Todo.get-by-id", `{"id":"t1","with":"all"}`)
	a.call("Todo.upsert", string(encode(t, map[string]any{"model": whole})))
	a.call("Todo.patch", `{"id":"t1","changes":{"steps":["s1"]}}`)

	f := a.fails(fault.InvalidPayload, "Todo.patch", `{"id":"t1","changes":{"steps":[]}}`)
	require.Equal(t, "/changes/steps", f.Path)
	require.Contains(t, f.Message, "a Step cannot exist without its todo")
	f = a.fails(fault.InvalidPayload, "Todo.patch", `{"id":"t1","changes":{"steps":["s1","nope"]}}`)
	require.Equal(t, "/changes/steps/1", f.Path)
	require.Contains(t, f.Message, `there is no Step with id "nope"`)
	f = a.fails(fault.InvalidPayload, "Todo.patch", `{"id":"t1","changes":{"labels":{"$add":[7]}}}`)
	require.Equal(t, "/changes/labels/$add/0", f.Path)
	f = a.fails(fault.Conflict, "Todo.patch", `{"id":"t1","changes":{"steps":["s1","s2"]}}`)
	require.Equal(t, fault.Fix, f.Retry)
	require.Contains(t, f.Hint, "Move it from its own side")
}

func TestWhatIsTakenHasToBeChanged(t *testing.T) {
	t.Parallel()
	if forEach(t, TestWhatIsTakenHasToBeChanged) {
		return
	}
	a := start(t, ent.Entities())
	a.call("Person.upsert", `{"model":{"name":"Ann","email":"a"}}`)
	f := a.fails(fault.Conflict, "Person.upsert", `{"model":{"name":"Bob","email":"a"}}`)
	require.Equal(t, fault.Fix, f.Retry)
	f = a.fails(fault.InvalidPayload, "Todo.upsert", `{"model":{"title":"`+strings.Repeat("é", 101)+`"}}`)
	require.Contains(t, f.Message, "at most 200 bytes of UTF-8, not 202")
}
