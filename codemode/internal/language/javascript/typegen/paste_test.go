package typegen_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/koan-go/koan/codemode/internal/language/javascript/typegen"
	"github.com/koan-go/koan/framework/catalog"
	"github.com/koan-go/koan/tests/soak"
	"github.com/koan-go/koan/tests/typescript"
)

// What a search returns type-checks with the prelude: each by itself, and all together.
func TestPastedDeclarationsHoldUnderTSC(t *testing.T) {
	soak.Proof(t)
	t.Parallel()
	for name, o := range map[string]catalog.Offer{"sample": sample(), "shop": shop()} {
		v := view(t, o)
		prelude := typegen.Prelude(v)
		groups, all := []map[string]string{}, ""
		add := func(text string, ok bool) {
			require.True(t, ok)
			all += text
			if len(groups) < 4 { // each takes a moment
				groups = append(groups, map[string]string{"prelude.d.ts": prelude, "pasted.d.ts": text})
			}
		}
		for _, op := range v.Script() {
			if op.Resource == "" {
				add(typegen.TypeScript{}.Function(v, op.ID))
			}
		}
		for _, r := range v.Resources() {
			add(typegen.TypeScript{}.Block(v, r.Name))
			for _, op := range r.Operations {
				add(typegen.TypeScript{}.Method(v, catalog.EntityID(r.Name, op), true))
				rest, ok := typegen.TypeScript{}.Method(v, catalog.EntityID(r.Name, op), false)
				require.True(t, ok)
				all += rest
			}
		}
		groups = append(groups, map[string]string{"prelude.d.ts": prelude, "pasted.d.ts": all})
		for i, found := range typescript.CheckEach(t, groups...) {
			require.Empty(t, found, "%s: %s", name, groups[i]["pasted.d.ts"])
		}
	}
	v := view(t, shop())
	block, _ := typegen.TypeScript{}.Block(v, "Order")
	count, _ := typegen.TypeScript{}.Method(v, catalog.EntityID("Line", "count"), true)
	found := typescript.Check(t, map[string]string{
		"prelude.d.ts": typegen.Prelude(v), "pasted.d.ts": block + count,
		"right.ts": `SDK.Entities.Order.upsert({ title: "a", customer: "c" }); SDK.Entities.Line.count({ text: { $contains: "x" } })`,
		"wrong.ts": `SDK.Entities.Order.upsert({ titel: "a" }); SDK.Entities.Line.all()`,
	})
	require.Empty(t, found["right.ts"])
	require.Len(t, found["wrong.ts"], 2)
	require.Len(t, found, 1)
}
