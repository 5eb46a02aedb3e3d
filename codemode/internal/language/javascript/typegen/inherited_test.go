package typegen_test

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/koan-go/koan/codemode/internal/language/javascript/typegen"
	"github.com/koan-go/koan/framework/catalog"
	"github.com/koan-go/koan/tests/typescript"
)

// TestLiteralsNeedNoInheritedMembers: names that each object inherits from Object are names like all
// others: what lacks them passes, as does what has them, with the types that they were declared with.
func TestLiteralsNeedNoInheritedMembers(t *testing.T) {
	t.Parallel()
	members := json.RawMessage(`{"type":"object","properties":{"constructor":{"type":"string"},"toString":{"type":"number"},"valueOf":{"enum":["a",null]},
"hasOwnProperty":{"type":"object","properties":{"isPrototypeOf":{"type":"boolean"}}},"propertyIsEnumerable":{"type":"array","items":{"type":"string"}},"other":{"type":"number"},"n":{"type":"integer"}}}`)
	o := offer(&catalog.Resource{
		Name: "Object", Key: catalog.Field{Name: "id", Type: catalog.TypeID}, Operations: writing,
		Fields: []catalog.Field{
			{Name: "constructor", Type: catalog.TypeString, Nullable: true},
			{Name: "toString", Type: catalog.TypeInt},
			{Name: "valueOf", Type: catalog.TypeTime},
			{Name: "hasOwnProperty", Type: catalog.TypeJSON, Schema: members, Nullable: true},
			{Name: "other", Type: catalog.TypeString},
		},
		Edges: []catalog.Edge{{Name: "isPrototypeOf", Target: "Object", Many: true}, {Name: "toLocaleString", Target: "Object"}},
	})
	o.Operations = append(o.Operations, operation(catalog.PluginID("x", "f"), string(members), string(members)))
	v := view(t, o)
	alone, ok := typegen.TypeScript{}.Entity(v, "Object")
	require.True(t, ok)
	head := "const O = SDK.Entities.Object;\n"
	files := map[string]string{
		"right.ts": head + `O.count({ other: "a" });
O.count({ constructor: "a", toString: { $gt: 1 }, valueOf: new Date(), hasOwnProperty: null, isPrototypeOf: { $some: { other: "b" } }, toLocaleString: { other: "c" } });
const made = O.upsert({ other: "a", hasOwnProperty: { other: 1 } });
O.upsert({ constructor: "a", toString: 1, valueOf: new Date(), hasOwnProperty: { constructor: "b", hasOwnProperty: {} }, toLocaleString: "1", isPrototypeOf: ["2"] });
O.patch("1", {});
O.upsert(made);
const read: string | null | undefined = made.constructor;
const one: number | undefined = made.toString;
O.getById("1", { with: { isPrototypeOf: { filter: { other: "a" } } } }).isPrototypeOf?.[0]?.constructor;
O.getById("1", { with: { toLocaleString: { fields: "constructor" } } });
O.aggregate({ groupBy: "constructor", sum: "toString" });`,
		"filter.ts":   head + `O.count({ constructor: 3 });`,
		"model.ts":    head + `O.upsert({ toString: true });`,
		"with.ts":     head + `O.all({ with: { toLocaleString: 3 } });`,
		"operator.ts": head + `O.count({ other: "a", toString: { $contains: "1" } });`,
	}
	inputs := map[string]string{
		"koan.d.ts": typegen.TypeScript{}.Declarations(v),
		"input.ts": `const out = SDK.X.f({ other: 1 });
SDK.X.f({ constructor: "a", toString: 1, valueOf: null, hasOwnProperty: { isPrototypeOf: true }, propertyIsEnumerable: [] });
SDK.X.f();
SDK.X.f({ n: 1 }); SDK.X.f({ n: 9007199254740993n }); SDK.X.f({ n: "9007199254740993" }); SDK.X.f({ n: out.n });
const read: string | undefined = out.constructor;`,
		"wrong.ts": `SDK.X.f({ constructor: 3 });`,
	}
	for name, text := range files {
		inputs[name] = text
	}
	files["Object.d.ts"] = alone
	checked := typescript.CheckEach(t, files, inputs)
	require.Len(t, checked[1]["wrong.ts"], 1)
	for _, found := range checked {
		for _, name := range []string{"koan.d.ts", "Object.d.ts", "right.ts", "input.ts"} {
			require.Empty(t, found[name], name)
		}
		for _, name := range []string{"filter.ts", "model.ts", "with.ts", "operator.ts"} {
			require.Len(t, found[name], 1, name)
		}
	}
}
