package sandbox

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/koan-go/koan/framework/fault"
)

// What JSON would drop or turn into null in silence could make a filter match
// everything, or a change erase a value.
func TestInputsAreNotChangedInSilence(t *testing.T) {
	cases := map[string]struct{ code, path, hint string }{
		"undefined condition":    {`T.deleteByQuery({listId: undefined})`, "/filter/listId", "Leave the member out"},
		"undefined in a read":    {`T.count({listId: undefined})`, "/filter/listId", ""},
		"undefined operator":     {`T.count({a: {$in: undefined}})`, "/filter/a/$in", ""},
		"undefined deep":         {`T.count({a: 1, $or: [{b: 1}, {"c/d": undefined}]})`, "/filter/$or/1/c~1d", ""},
		"undefined below with":   {`T.collection({with: {steps: {filter: {done: undefined}}}})`, "/with/steps/filter/done", ""},
		"function as filter":     {`T.all({filter: t => t.done})`, "/filter", "operators"},
		"function as condition":  {`T.count({a: () => 1})`, "/filter/a", ""},
		"symbol":                 {`T.count({a: Symbol("x")})`, "/filter/a", ""},
		"regular expression":     {`T.count({title: /milk/i})`, "/filter/title", "$icontains"},
		"Map":                    {`T.upsert({a: new Map([[1, 2]])})`, "/model/a", "Object.fromEntries"},
		"Set":                    {`T.deleteMany(new Set(["1"]))`, "/ids", "[...set]"},
		"promise":                {`T.count((async () => ({a: 1}))())`, "/filter", "Await"},
		"NaN":                    {`T.patch("1", {price: 0 / 0})`, "/changes/price", ""},
		"Infinity in a list":     {`T.upsertMany([{a: [1]}, {a: [1, Infinity]}])`, "/models/1/a/1", ""},
		"invalid Date":           {`T.deleteByQuery({at: new Date("soon")})`, "/filter/at", "RFC 3339"},
		"BigInt":                 {`T.getById(5n)`, "/id", "String(x)"},
		"plugin":                 {`SDK.Vision.detect({size: {x: NaN}})`, "/size/x", ""},
		"behind an empty object": {`T.upsert({a: {}, b: [[]], c: NaN})`, "/model/c", ""},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			h := newHost()
			r := execute(t, NewInProcess(), job("const T = SDK.Entities.Todo;\n"+c.code), h)
			require.NotNil(t, r.Fault)
			require.Equal(t, fault.InvalidPayload, r.Fault.Code)
			require.Equal(t, c.path, r.Fault.Path, r.Fault.Message)
			require.Contains(t, r.Fault.Hint, c.hint)
			require.Equal(t, 2, r.Fault.Line)
			require.Empty(t, h.inputs)
		})
	}
}

func TestWhatJSONSaysAsItIsPasses(t *testing.T) {
	cases := map[string]struct{ code, input string }{
		"undefined in a model":    {`T.upsert({a: 1, b: undefined, filter: {c: undefined}})`, `{"model":{"a":1,"filter":{}}}`},
		"undefined option":        {`T.collection({filter: undefined})`, `{}`},
		"undefined to a plugin":   {`SDK.Vision.detect({filter: {a: undefined}})`, `{"filter":{}}`},
		"null":                    {`T.count({a: null, b: [null]})`, `{"filter":{"a":null,"b":[null]}}`},
		"the same object twice":   {`const o = {a: 1}; T.upsert({x: o, y: [o, o]})`, `{"model":{"x":{"a":1},"y":[{"a":1},{"a":1}]}}`},
		"toJSON":                  {`const m = new Map(); m.toJSON = () => 7; T.upsert({m})`, `{"model":{"m":7}}`},
		"boxed":                   {`T.upsert({a: Object("s"), b: Object(1)})`, `{"model":{"a":"s","b":1}}`},
		"a getter that calls":     {`T.count({a: "` + strings.Repeat("w", 4000) + `"}); T.patch("1", {get a() { T.count({long: "zzzzzzzzzzzzzzzzzz"}); return "x" }})`, `{"id":"1","changes":{"a":"x"}}`},
		"a toJSON that calls":     {`T.patch("1", {a: {toJSON() { T.count({z: 1}); return {b: 2} }}, c: 3})`, `{"id":"1","changes":{"a":{"b":2},"c":3}}`},
		"a fault inside a getter": {`try { T.count({get a() { T.count({b: NaN}) }}) } catch (e) { T.upsert({path: e.path}) }`, `{"model":{"path":"/filter/b"}}`},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			h := newHost()
			r := execute(t, NewInProcess(), job("const T = SDK.Entities.Todo;\n"+c.code), h)
			require.Nil(t, r.Fault, fmt.Sprint(r.Fault))
			require.Equal(t, c.input, h.inputs[len(h.inputs)-1])
		})
	}
}
