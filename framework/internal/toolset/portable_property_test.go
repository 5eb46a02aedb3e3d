package toolset

import (
	"encoding/json"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/koan-go/koan/framework/catalog"
)

// world makes schemas and values at random, both of a few names and words, so that
// they have to do with each other.
type world struct {
	r       *rand.Rand
	choices bool // among forms of an object
}

func (w world) one(from ...string) string { return from[w.r.IntN(len(from))] }

func (w world) schema(depth int) any {
	if w.r.IntN(12) == 0 {
		return []any{true, object{}, false}[w.r.IntN(3)]
	}
	s := object{}
	if w.r.IntN(6) > 0 || !w.choices { // of an input without a type it is guessed
		s["type"] = w.one("string", "integer", "number", "boolean", "object", "object", "array", "null")
		if w.r.IntN(4) == 0 {
			s["type"] = []any{w.one("string", "integer", "object"), w.one("null", "array", "boolean")}
		}
	}
	if w.r.IntN(8) == 0 {
		s["enum"] = []any{w.value(2), w.value(2)}
	}
	if w.r.IntN(12) == 0 {
		s["const"] = w.value(2)
	}
	if w.r.IntN(6) == 0 {
		s["minimum"], s["maxLength"] = 1, 2
	}
	if depth == 0 {
		return s
	}
	if w.r.IntN(3) > 0 {
		properties := object{}
		for range w.r.IntN(4) {
			properties[w.one("a", "b", "c", "$x", "error", "success")] = w.schema(depth - 1)
		}
		s["properties"] = properties
	}
	if w.r.IntN(4) == 0 {
		s["required"] = []any{w.one("a", "b", "$x")}
	}
	if w.r.IntN(4) == 0 {
		s["items"] = w.schema(depth - 1)
	}
	if w.r.IntN(12) == 0 {
		s["prefixItems"] = []any{w.schema(depth - 1)}
	}
	for _, key := range []string{"anyOf", "oneOf", "allOf"} {
		if w.r.IntN(6) == 0 && (w.choices || key == "allOf") {
			s[key] = []any{w.schema(depth - 1), w.schema(depth - 1)}
		}
	}
	if w.r.IntN(10) == 0 {
		s["$ref"] = w.one("#", "#/$defs/d", "#/properties/a")
	}
	if w.r.IntN(10) == 0 {
		s["not"] = w.schema(depth - 1)
	}
	return s
}

func (w world) value(depth int) any {
	switch n := w.r.IntN(9); {
	case n == 0:
		return nil
	case n == 1:
		return w.r.IntN(2) == 0
	case n < 4:
		return w.r.IntN(3)
	case n == 4:
		return 0.5
	case n == 5 || depth == 0:
		return w.one("", "x", "xyz")
	case n == 6:
		list := []any{}
		for range w.r.IntN(3) {
			list = append(list, w.value(depth-1))
		}
		return list
	}
	return w.members(depth)
}

func (w world) members(depth int) object {
	o := object{}
	for range w.r.IntN(4) {
		o[w.one("a", "b", "c", "$x", "error", "success")] = w.value(depth - 1)
	}
	return o
}

// What a schema admits its portable forms admit: calls are never refused by a client
// that checks them, nor results.
func TestPortableAcceptsWhateverTheSchemaAccepts(t *testing.T) {
	w := world{r: rand.New(rand.NewPCG(1, 2))}
	admitted := 0
	for i := range 3_000 {
		w.choices = i%2 == 0
		doc, ok := w.schema(3).(object)
		if !ok {
			continue
		}
		doc["$defs"] = object{"d": w.schema(2)}
		schema := encoded(doc)
		original := compile(t, schema)
		if original == nil {
			continue
		}
		op := &catalog.Operation{Contract: catalog.Contract{Output: schema}}
		in, out := portableInput(schema), portableOutput(schema, Wraps(op))
		requirePortable(t, in, nil)
		input, output := compile(t, encoded(in)), compile(t, encoded(out))
		for range 6 {
			v := w.members(3)
			raw := string(encoded(v))
			if !admits(t, original, raw) {
				continue
			}
			admitted++
			if !w.choices && !hasNull(roundTrip(t, v)) && plainLists(roundTrip(t, v), 0) {
				require.True(t, admits(t, input, raw), "%s\nrefuses %s, which is admitted by\n%s", encoded(in), raw, schema)
			}
			if Wraps(op) {
				raw = `{"result":` + raw + `}`
			}
			require.True(t, admits(t, output, raw), "%s\nrefuses %s, which is admitted by\n%s", encoded(out), raw, schema)
		}
	}
	require.Greater(t, admitted, 1_500)
}

func roundTrip(t *testing.T, v any) (out any) {
	t.Helper()
	require.NoError(t, json.Unmarshal(encoded(v), &out))
	return out
}
