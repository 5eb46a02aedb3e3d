package codemode_test

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/koan-go/koan/codemode/internal/language/sources"
	"github.com/koan-go/koan/framework/auth"
	"github.com/koan-go/koan/framework/catalog"
	"github.com/koan-go/koan/framework/exposure"
)

// crowd has the house serve n entities beside code mode, each with some fields and
// one operation that returns an empty page.
func (h *house) crowd(n int) {
	h.t.Helper()
	var o catalog.Offer
	for i := range n {
		r := &catalog.Resource{Name: fmt.Sprintf("Thing%03d", i), Description: "One of many things.", Key: catalog.Field{Name: "id", Type: catalog.TypeID}, Operations: []string{"collection"}}
		for _, name := range []string{"name", "state", "remark"} {
			r.Fields = append(r.Fields, catalog.Field{Name: name, Description: "What it says.", Type: catalog.TypeString})
		}
		o.Resources = append(o.Resources, r)
		o.Operations = append(o.Operations, &catalog.Operation{
			ID: catalog.EntityID(r.Name, "collection"), Resource: r.Name,
			Contract: catalog.Contract{
				Input: schema(`"filter":{},"pageSize":{},"set":{}`), Output: json.RawMessage(`{}`), Effects: catalog.Effects{ReadOnly: true},
			},
			Listing: catalog.Listing{Summary: "Lists things.", Reach: catalog.Everywhere},
			Work: catalog.Work{
				Serial: true,
				Handler: func(context.Context, catalog.Call) (json.RawMessage, error) {
					return json.RawMessage(`{"items":[],"page":1,"pageSize":5,"totalCount":0,"truncated":false}`), nil
				},
			},
		})
	}
	s, err := catalog.NewSnapshot(o, h.provider.Offer())
	require.NoError(h.t, err)
	h.view = s.View(auth.Local(), exposure.Code, false)
}

func (h *house) description() string {
	return h.view.Snapshot().Operation(catalog.CodeID("koan", "execute")).Description(h.view)
}

// What an app of so many entities says of itself in its description. The first 1,900
// bytes are all that some clients hand on: the rules, an example that runs, names, and
// how to find the rest stand there.
func TestDescriptionKeepsItsBudget(t *testing.T) {
	const (
		declared = "interface Thing000 {"
		lined    = "SDK.Entities.Thing000: id, name, state, remark\n"
		named    = "SDK.Entities: Thing000"
		rest     = "More entities: Thing"
	)
	size := newHouse(t, nil)
	size.crowd(1)
	one, complete := sources.All()[0].Primer().Inline(size.view, 1<<20)
	require.True(t, complete)
	for _, tt := range []struct {
		entities, budget int
		says             []string
	}{
		{0, 16000, []string{"```ts"}},
		{1, 16000, []string{lined, declared}},
		{1, len(one), []string{lined, declared}},
		{1, 500, []string{lined}},
		{1, 0, []string{lined}},
		{40, 100_000, []string{named, declared}},
		{40, 4000, []string{named, lined}},
		{41, 100_000, []string{named, declared}},
		{41, 4000, []string{named}},
		{200, 16000, []string{named, rest}},
		{200, 100, []string{named}},
	} {
		t.Run(fmt.Sprintf("%d entities, %d bytes", tt.entities, tt.budget), func(t *testing.T) {
			h := newHouse(t, map[string]any{"codeMode.inlineTypesBytes": tt.budget})
			h.crowd(tt.entities)
			text := h.description()
			for _, one := range []string{declared, lined, named, rest} {
				require.Equal(t, slices.Contains(tt.says, one), strings.Contains(text, one), one)
			}
			require.Equal(t, text, h.description())
			require.LessOrEqual(t, len(text), 1900+tt.budget+len("\nDeclarations:\n```ts\n```\n"))
			if tt.budget > 4000 && tt.entities > 0 {
				require.Contains(t, text, fmt.Sprintf("Thing%03d", tt.entities-1), "all names are there")
			}
			first := text[:min(1900, len(text))]
			require.Contains(t, first, "koan.code.search")
			if tt.entities > 0 {
				require.Contains(t, first, "Thing000")
			}
			_, rest, _ := strings.Cut(first, "```js\n")
			example, _, found := strings.Cut(rest, "```")
			require.True(t, found)
			require.NoError(t, h.run(example).err, "the example runs")
			require.JSONEq(t, `true`, string(h.call(context.Background(), "validate", in{"code": example}).raw["valid"]))
		})
	}
}
