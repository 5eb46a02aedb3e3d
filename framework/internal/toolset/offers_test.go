package toolset_test

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/koan-go/koan/framework/auth"
	"github.com/koan-go/koan/framework/catalog"
	"github.com/koan-go/koan/framework/exposure"
	"github.com/koan-go/koan/framework/internal/toolset"
	"github.com/koan-go/koan/tests/portable"
)

var (
	reading = []string{"aggregate", "collection", "count", "get-by-id"}
	all     = append(slices.Clone(reading), "delete", "delete-by-query", "delete-many", "new", "patch", "update-by-query", "upsert", "upsert-many")
)

// inputs are the schemas of the operations, as much of them as lists read.
var inputs = map[string]string{
	"aggregate":       `"filter":{"type":"object"},"groupBy":{"type":["string","array"]},"count":{"type":["boolean","object"]},"sum":{},"avg":{},"min":{},"max":{},"having":{},"sort":{},"limit":{},"set":{}`,
	"collection":      `"filter":{"type":"object","properties":{"$and":{"type":"array"}}},"q":{},"sort":{},"page":{},"pageSize":{},"cursor":{},"count":{},"fields":{},"with":{},"set":{}`,
	"count":           `"filter":{},"set":{}`,
	"get-by-id":       `"id":{"type":"string"},"fields":{},"with":{},"set":{}`,
	"delete":          `"id":{"type":["string","integer"]},"ifVersion":{},"set":{}`,
	"delete-by-query": `"filter":{},"maxAffected":{},"all":{},"set":{}`,
	"delete-many":     `"ids":{"type":"array","items":{"type":["string","integer"]}},"set":{}`,
	"new":             `"set":{}`,
	"patch":           `"id":{"type":"string"},"changes":{},"ifVersion":{},"set":{}`,
	"update-by-query": `"filter":{},"changes":{},"maxAffected":{},"all":{},"set":{}`,
	"upsert":          `"model":{"description":"Needed to create one: name. Without id, the one with the same name is changed, if there is one."},"replace":{},"ifVersion":{},"set":{}`,
	"upsert-many":     `"models":{},"set":{}`,
}

// entity offers an entity with operations that answer with their own id.
func entity(name string, ops []string, annotation exposure.Mode) catalog.Offer {
	r := &catalog.Resource{
		Name: name, Description: "What a " + name + " is.", Key: catalog.Field{Name: "id", Type: catalog.TypeID}, Operations: ops, Exposure: annotation,
		Fields: []catalog.Field{{Name: "name", Type: catalog.TypeString, Required: true, MaxLength: new(int)}, {Name: "weight", Type: catalog.TypeFloat, Nullable: true, Description: "In kilograms."}},
	}
	*r.Fields[0].MaxLength = 10
	r.ReadOnly = !slices.Contains(ops, "upsert")
	o := catalog.Offer{Resources: []*catalog.Resource{r}}
	for _, op := range ops {
		o.Operations = append(o.Operations, &catalog.Operation{
			ID: catalog.EntityID(name, op), Resource: name,
			Contract: catalog.Contract{
				Input: json.RawMessage(`{"type":"object","properties":{` + inputs[op] + `}}`), Output: json.RawMessage(`{"type":"object"}`),
				Effects: catalog.Effects{ReadOnly: slices.Contains(reading, op) || op == "new"}, Scopes: nil,
			},
			Listing: catalog.Listing{Title: op + " " + name, Summary: "Does " + op + ".", Exposure: annotation, Reach: catalog.Everywhere},
			Work: catalog.Work{
				Serial: true,
				Handler: func(_ context.Context, c catalog.Call) (json.RawMessage, error) {
					return json.Marshal(map[string]any{"operation": c.Operation().ID.String(), "input": c.Input()})
				},
			},
		})
	}
	return o
}

// function offers a plugin's function.
func function(domain, name string, effects catalog.Effects, schema string) catalog.Offer {
	return catalog.Offer{Operations: []*catalog.Operation{{
		ID: catalog.PluginID(domain, name),
		Contract: catalog.Contract{
			Input: json.RawMessage(schema), Output: json.RawMessage(`{"type":"object","properties":{"n":{"type":["integer","null"]}}}`),
			Effects: effects,
		},
		Listing: catalog.Listing{Summary: "Does " + name + ".", Reach: catalog.Everywhere},
		Work: catalog.Work{
			Handler: func(_ context.Context, c catalog.Call) (json.RawMessage, error) {
				return json.Marshal(map[string]any{"operation": c.Operation().ID.String(), "input": c.Input()})
			},
		},
	}}}
}

// code offers a code tool whose description has so many characters.
func code(length int) catalog.Offer {
	text := "Runs a script; koan.code.execute is its name.\n"
	text += strings.Repeat("What it has.\n", max(0, (length-len(text))/13))
	return catalog.Offer{Operations: []*catalog.Operation{{
		ID: catalog.CodeID("koan", "execute"),
		Contract: catalog.Contract{
			Input:  json.RawMessage(`{"type":"object","properties":{"code":{"type":"string"}}}`),
			Output: json.RawMessage(`{"type":"object"}`), Effects: catalog.Effects{Destructive: true},
		},
		Listing: catalog.Listing{Summary: text, Reach: catalog.ReachTools},
		Work: catalog.Work{
			Handler: func(context.Context, catalog.Call) (json.RawMessage, error) { return json.RawMessage(`{}`), nil },
		},
	}}}
}

func view(t testing.TB, mode exposure.Mode, offers ...catalog.Offer) *catalog.View {
	t.Helper()
	s, err := catalog.NewSnapshot(append(offers, catalog.Offer{Operations: toolset.Operations()})...)
	require.NoError(t, err)
	return s.View(auth.Local(), mode, false)
}

func entities(n int) []catalog.Offer {
	var out []catalog.Offer
	for i := range n {
		out = append(out, entity(fmt.Sprintf("Entity%03d", i), all, ""))
	}
	return out
}

// listed are the tools of a list, which keeps the rules of all clients.
func listed(t testing.TB, v *catalog.View, o toolset.Options) ([]portable.Tool, string) {
	t.Helper()
	raw := toolset.JSON(v, o)
	tools, err := portable.Read(raw)
	require.NoError(t, err)
	if o.Style != toolset.PerEntity && o.Names != toolset.Dotted {
		require.Empty(t, portable.Problems(tools, "koan_code_execute"))
	}
	return tools, string(raw)
}

func namesOf(tools []portable.Tool) []string {
	var out []string
	for _, one := range tools {
		out = append(out, one.Name)
	}
	return out
}
