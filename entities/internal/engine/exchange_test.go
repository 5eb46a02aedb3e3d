package engine_test

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	_ "github.com/koan-go/koan/codemode/languages"
	"github.com/koan-go/koan/framework"
	"github.com/koan-go/koan/framework/fault"
	"github.com/koan-go/koan/framework/koantest"
	"github.com/koan-go/koan/tests/specimen/ent"
)

// Numbers, keys of several columns, and references that only one row may have go back to where
// they were, as do integers that JSON keeps beyond 2^53.
func TestUndoOfExchangedValuesOfTypes(t *testing.T) {
	t.Parallel()
	if forEach(t, TestUndoOfExchangedValuesOfTypes) {
		return
	}
	kit := koantest.New(t, framework.App{Name: "exchange", Entities: tested(t, ent.Entities())},
		koantest.Setting{Key: "database", Value: place(t)}, koantest.Setting{Key: "journal.enabled", Value: "true"})
	rows := func(entity, fields string) string {
		raw, err := kit.Call("koan::"+entity+".collection", map[string]any{"fields": fields, "sort": "id"})
		require.NoError(t, err)
		return string(raw)
	}
	state := func() []string {
		return []string{rows("Slot", "shelf,place"), rows("Cabinet", "name,besideId"), rows("Specimen", "numbers,raw,address")}
	}
	kit.Run(`
		SDK.Entities.Slot.upsertMany([{shelf: "A", place: 1}, {shelf: "A", place: 2}]);
		const C = SDK.Entities.Cabinet, [a, b] = C.upsertMany([{name: "a"}, {name: "b"}]).map(c => c.id);
		C.upsertMany([{name: "c", beside: a}, {name: "d", beside: b}]);
	`, koantest.Input{})
	_, err := kit.Call("koan::Specimen.upsert", json.RawMessage(`{"model":{"numbers":["9007199254740993"],"raw":{"id":9007199254740993},"address":{"street":"x","zip":"9007199254740993"}}}`))
	require.NoError(t, err)
	before := state()
	run := kit.Run(`
		const S = SDK.Entities.Slot, [one, two] = S.collection({sort: "place"}).items.map(s => s.id);
		S.patch(one, {place: 7}); S.patch(two, {place: 1}); S.patch(one, {place: 2});
		const C = SDK.Entities.Cabinet, [a, b, c, d] = C.collection({sort: "name"}).items.map(x => x.id);
		C.patch(c, {beside: null}); C.patch(d, {beside: a}); C.patch(c, {beside: b});
		const P = SDK.Entities.Specimen;
		P.delete(P.collection({}).items[0].id);
	`, koantest.Input{})
	require.NotEqual(t, before, state())
	raw, err := kit.Call("code::koan.undo", map[string]any{"runId": run.RunID})
	require.NoError(t, err, "%s", raw)
	require.Equal(t, before, state())
	require.Contains(t, before[2], `"numbers":["9007199254740993"]`)
	found, err := kit.Call("koan::Specimen.count", json.RawMessage(`{"filter":{"raw":{"$path":{"id":{"$gte":9007199254740993}}}}}`))
	require.NoError(t, err)
	require.JSONEq(t, `{"count":1}`, string(found), "a number is one again")
	var out struct{ Result struct{ Skipped []any } }
	require.NoError(t, json.Unmarshal(raw, &out))
	require.Empty(t, out.Result.Skipped)
}

// A check of the database may refuse the temporary value that an exchange takes: the undo is a
// conflict then, and leaves everything as it was.
func TestUndoOfExchangedValuesThatACheckKeeps(t *testing.T) {
	t.Parallel()
	if forEach(t, TestUndoOfExchangedValuesThatACheckKeeps) {
		return
	}
	kit := koantest.New(t, framework.App{Name: "checked", Entities: tested(t, ent.Entities())},
		koantest.Setting{Key: "database", Value: place(t)}, koantest.Setting{Key: "journal.enabled", Value: "true"})
	serials := func() string {
		return string(kit.Run(`SDK.Entities.NickName.collection({sort: "id"}).items.map(n => n.serialNo)`, koantest.Input{}).Result)
	}
	kit.Run(`SDK.Entities.NickName.upsertMany([{serialNo: "a"}, {serialNo: "b"}])`, koantest.Input{})
	run := kit.Run(`
		const N = SDK.Entities.NickName, [a, b] = N.collection({sort: "id"}).items.map(n => n.id);
		N.patch(a, {serialNo: "free"}); N.patch(b, {serialNo: "a"}); N.patch(a, {serialNo: "b"});
	`, koantest.Input{})
	require.JSONEq(t, `["b","a"]`, serials())
	_, err := kit.Call("code::koan.undo", map[string]any{"runId": run.RunID})
	require.Equal(t, fault.Conflict, fault.CodeOf(err), "%v", err)
	require.ErrorContains(t, err, "another row that the run changed has this value now")
	require.JSONEq(t, `["b","a"]`, serials())
}
