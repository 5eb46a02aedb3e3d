package engine_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/koan-go/koan/framework/auth"
	"github.com/koan-go/koan/framework/catalog"
	"github.com/koan-go/koan/framework/exposure"
	"github.com/koan-go/koan/framework/fault"
)

// properties returns the schemas of the members of one of an operation's inputs.
func (a *app) properties(op, member string) map[string]map[string]any {
	a.Helper()
	id, err := catalog.ParseID("koan::" + op)
	require.NoError(a, err)
	var schema struct {
		Properties map[string]struct{ Properties map[string]map[string]any }
	}
	require.NoError(a, json.Unmarshal(a.view.Snapshot().Operation(id).Input, &schema))
	return schema.Properties[member].Properties
}

// What annotations say is in the schemas of tools and in the types.
func TestAnnotationsAreSeen(t *testing.T) {
	t.Parallel()
	o := openOffice(t)
	admin := o.people["admin"]
	in := admin.properties("Badge.upsert", "model")
	require.Equal(t, map[string]any{
		"type": "string", "description": "Printed on it.", "examples": []any{"A-17"}, "minLength": 3.0, "maxLength": 8.0, "pattern": "^[A-Z]-[0-9]+$",
	}, in["number"])
	require.Equal(t, []any{0.0, 9.0, 1.0}, []any{in["floor"]["minimum"], in["floor"]["maximum"], in["floor"]["default"]})
	require.Equal(t, 0.5, in["weight"]["minimum"])
	require.Equal(t, []any{true, true, true}, []any{in["pin"]["writeOnly"], in["key"]["writeOnly"], in["printer"]["readOnly"]})
	filters := admin.properties("Badge.collection", "filter")
	require.Contains(t, filters, "number")
	require.NotContains(t, filters, "pin")
	require.NotContains(t, filters, "key")
	id, _ := catalog.ParseID("koan::Badge.collection")
	require.Contains(t, admin.view.Snapshot().Operation(id).Summary, "What opens the doors.")

	types := admin.types("Badge")
	for _, want := range []string{
		"What opens the doors.", "Printed on it (", "at least 3 characters", "at most 8 characters", "pattern ^[A-Z]-[0-9]+$", "min 0, max 9", "min 0.5",
		`such as "A-17"`, "read-only, default", "only at creation", `type BadgeSet = "default" | ` + "`branch-${string}`", "interface BadgeInput", "pin",
	} {
		require.Contains(t, types, want)
	}
	read := types[strings.Index(types, "interface Badge "):]
	read = read[:strings.Index(read, "\n    }")]
	require.NotContains(t, read, "pin")
	require.NotContains(t, read, "key")
	for _, absent := range []string{"deleteMany", "updateByQuery", "deleteByQuery", "upsertMany"} {
		require.NotContains(t, types, absent)
	}
}

// What annotations say is so.
func TestAnnotationsHold(t *testing.T) {
	t.Parallel()
	if forEach(t, TestAnnotationsHold) {
		return
	}
	o := openOffice(t)
	a := o.people["admin"]
	f := a.fails(fault.InvalidPayload, "Badge.upsert", `{"model":{"id":"b","number":"A-17","holder":"Ann","pin":"1234","key":"k3y","printer":"mine","note":"x"}}`)
	require.Equal(t, "/model/printer", f.Path, "what is read-only has the value that it gets")
	made := a.call("Badge.upsert", `{"model":{"id":"b","number":"A-17","holder":"Ann","pin":"1234","key":"k3y","printer":"north","note":"x"}}`)
	require.Equal(t, map[string]any{"id": "b", "number": "A-17", "floor": 1.0, "weight": 1.0, "printer": "north", "holder": "Ann", "note": "x"}, made)

	for _, c := range [][3]string{
		{`{"number":"A-"}`, "/changes/number", "at least 3 characters"},
		{`{"number":"A-12345678"}`, "/changes/number", "at most 8 characters, not 10"},
		{`{"number":"a-17"}`, "/changes/number", `must match ^[A-Z]-[0-9]+$, as "A-17" does`},
		{`{"floor":-1}`, "/changes/floor", "from 0 to 9"},
		{`{"floor":10}`, "/changes/floor", "from 0 to 9"},
		{`{"weight":0.25}`, "/changes/weight", "at least 0.5"},
		{`{"holder":"Bob"}`, "/changes/holder", "cannot be changed after creation"},
		{`{"note":"grüß"}`, "/changes/note", "must have at most 4 bytes of UTF-8, not 6"},
		{`{"note":"12345"}`, "/changes/note", "at most 4 characters"},
	} {
		f := a.fails(fault.InvalidPayload, "Badge.patch", `{"id":"b","changes":`+c[0]+`}`)
		require.Contains(t, fmt.Sprint(f.Details), c[1], c[0])
		require.Contains(t, fmt.Sprint(f.Message, f.Details), c[2], c[0])
	}
	a.call("Badge.patch", `{"id":"b","changes":{"holder":"Ann","floor":2}}`) // the same is no change
	f = a.fails(fault.InvalidPayload, "Badge.upsert", `{"model":{"number":"x","floor":99,"holder":"Ann"}}`)
	require.GreaterOrEqual(t, len(f.Details.([]fault.Detail)), 2, "all at once")

	for _, name := range []string{"pin", "key"} {
		for _, c := range [][2]string{
			{"Badge.collection", `{"filter":{"%s":"1234"}}`},
			{"Badge.collection", `{"filter":{"$not":{"%s":null}}}`},
			{"Badge.collection", `{"sort":"%s"}`},
			{"Badge.collection", `{"fields":"%s"}`},
			{"Badge.get-by-id", `{"id":"b","fields":["%s"]}`},
			{"Badge.count", `{"filter":{"%s":{"$startsWith":"1"}}}`},
			{"Badge.aggregate", `{"groupBy":"%s"}`},
			{"Badge.aggregate", `{"min":"%s"}`},
			{"Badge.aggregate", `{"count":{"distinct":"%s"}}`},
			{"Badge.aggregate", `{"filter":{"%s":"1234"}}`},
		} {
			f := a.fails(fault.InvalidPayload, c[0], fmt.Sprintf(c[1], name))
			require.Contains(t, fmt.Sprint(f.Message, f.Details), `unknown field "`+name+`"`, c[1])
		}
	}
	require.Empty(t, a.call("Badge.collection", `{"q":"1234"}`)["items"])
	require.Empty(t, a.call("Badge.collection", `{"filter":{"$search":"1234"}}`)["items"])
	require.Len(t, a.call("Badge.collection", `{"q":"x"}`)["items"], 1)
	changes, err := recordedAs(&office{app: a}, "Badge.patch", `{"id":"b","changes":{"pin":"4321","key":"other"}}`)
	require.NoError(t, err)
	require.NotContains(t, string(changes[0].Before)+string(changes[0].After), "1234")
	require.NotContains(t, string(changes[0].Before)+string(changes[0].After), "4321")

	for _, op := range []string{"delete-many", "update-by-query", "delete-by-query", "upsert-many"} {
		a.fails(fault.ToolNotFound, "Badge."+op, `{}`)
	}
}

func TestScopesPerKindOfOperation(t *testing.T) {
	t.Parallel()
	if forEach(t, TestScopesPerKindOfOperation) {
		return
	}
	o := openOffice(t)
	admin := o.people["admin"]
	admin.call("Badge.upsert", `{"model":{"id":"b","number":"A-17","holder":"Ann"}}`)
	inputs := map[string]string{
		"collection": `{}`, "get-by-id": `{"id":"b"}`, "count": `{}`, "aggregate": `{}`, "new": `{}`,
		"upsert": `{"model":{"id":"b","floor":3}}`, "patch": `{"id":"b","changes":{"floor":4}}`, "delete": `{"id":"none"}`,
	}
	kinds := map[string]string{"upsert": "badge:write", "patch": "badge:write", "new": "badge:write", "delete": "badge:delete"}
	for _, scopes := range [][]string{nil, {"badge:read"}, {"badge:write", "badge:delete"}, {"badge:read", "badge:write"}, {"badge:read", "badge:delete"}, {"badge:read", "badge:write", "badge:delete"}} {
		who := auth.Principal{Subject: "ann", Scopes: scopes, Sets: []string{auth.All}}
		a := *o.app
		a.as, a.view = who, o.view.Snapshot().View(who, exposure.Full, false)
		for op, input := range inputs {
			needed := []string{"badge:read"}
			if k := kinds[op]; k != "" {
				needed = append(needed, "badge:write")
				if k == "badge:delete" {
					needed = append(needed, k)
				}
			}
			id := catalog.EntityID("Badge", op)
			if missing := who.Missing(needed); missing != "" {
				f := a.fails(fault.Forbidden, "Badge."+op, input)
				require.Contains(t, f.Message, missing)
				require.False(t, a.view.Listed(id), "%v %s", scopes, op)
				continue
			}
			a.call("Badge."+op, input)
			require.True(t, a.view.Listed(id), "%v %s", scopes, op)
		}
	}
}

// A set that the principal may not name is unknown, whatever is done to it, and
// whether or not there is one.
func TestSetsOfOthersAreUnknown(t *testing.T) {
	t.Parallel()
	if forEach(t, TestSetsOfOthersAreUnknown) {
		return
	}
	o := openOffice(t)
	admin := o.people["admin"]
	admin.call("Badge.upsert", `{"model":{"id":"b","number":"A-17","holder":"Ann"},"set":"branch-b"}`)
	who := auth.Principal{Subject: "ann", Scopes: []string{auth.All}, Sets: []string{"branch-a"}}
	a := *o.app
	a.as, a.view = who, o.view.Snapshot().View(who, exposure.Full, false)
	for op, input := range map[string]string{
		"collection": `{`, "get-by-id": `{"id":"b",`, "count": `{`, "aggregate": `{`, "new": `{`,
		"upsert": `{"model":{"id":"b","floor":3},`, "patch": `{"id":"b","changes":{"floor":4},`, "delete": `{"id":"b",`,
	} {
		for _, set := range []string{"branch-b", "branch-never", "default", "elsewhere"} {
			a.fails(fault.UnknownSet, "Badge."+op, input+`"set":"`+set+`"}`)
		}
	}
	a.call("Badge.count", `{"set":"branch-a"}`)
	require.Equal(t, []string{"branch-a"}, a.view.Resource("Badge").Sets)
	types := a.types("Badge")
	require.Contains(t, types, `type BadgeSet = "branch-a"`)
	require.NotContains(t, types, "branch-b")
}
