package bind_test

import (
	"context"
	"encoding/json"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/koan-go/koan/codemode/internal/bind"
	"github.com/koan-go/koan/codemode/internal/wire"
	"github.com/koan-go/koan/framework/auth"
	"github.com/koan-go/koan/framework/catalog"
	"github.com/koan-go/koan/framework/exposure"
)

// TestBindingsHaveEdgesOfView checks that the bindings have the edges of the view except for
// write-only ones.
func TestBindingsHaveEdgesOfView(t *testing.T) {
	hidden := 0
	for seed := range uint64(200) {
		r := rand.New(rand.NewPCG(seed, 1))
		var offer catalog.Offer
		names := []string{"A", "B", "C", "D"}
		for _, name := range names {
			e := &catalog.Resource{Name: name, Key: catalog.Field{Name: "id"}, Operations: []string{"collection", "upsert"}}
			if r.IntN(3) == 0 {
				e.Exposure = exposure.Tools // and hidden from scripts
			}
			for _, target := range append(names, "Unknown") {
				if r.IntN(2) == 0 {
					e.Edges = append(e.Edges, catalog.Edge{Name: "to" + target, Target: target, Many: r.IntN(2) == 0, WriteOnly: r.IntN(4) == 0})
				}
			}
			offer.Resources = append(offer.Resources, e)
			offer.Operations = append(offer.Operations, op(catalog.EntityID(name, "collection"), name), op(catalog.EntityID(name, "upsert"), name))
		}
		s, err := catalog.NewSnapshot(offer)
		require.NoError(t, err)
		v := s.View(auth.Local(), exposure.Full, false)
		b := bind.Bind(v)
		require.Len(t, b.Entities, len(v.Resources()))
		for i, e := range v.Resources() {
			var readable, writeOnly []string
			for _, edge := range e.Edges {
				if edge.WriteOnly {
					writeOnly = append(writeOnly, edge.Name)
				} else {
					readable = append(readable, edge.Name)
				}
			}
			require.Equal(t, e.Name, b.Entities[i].Name)
			require.Equal(t, readable, b.Entities[i].Edges, "seed %d", seed)
			require.Equal(t, append([]string{"id"}, writeOnly...), b.Entities[i].Fields, "seed %d", seed)
			hidden += len(writeOnly)
		}
	}
	require.Positive(t, hidden)
}

func op(id catalog.ID, resource string) *catalog.Operation {
	return &catalog.Operation{
		ID: id, Resource: resource,
		Contract: catalog.Contract{Input: json.RawMessage("{}"), Output: json.RawMessage("{}")},
		Listing:  catalog.Listing{Reach: catalog.Everywhere},
		Work: catalog.Work{
			Handler: func(context.Context, catalog.Call) (json.RawMessage, error) { return nil, nil },
		},
	}
}

func TestBind(t *testing.T) {
	s, err := catalog.NewSnapshot(catalog.Offer{
		Resources: []*catalog.Resource{{
			Name: "Todo", Key: catalog.Field{Name: "id"}, Fields: []catalog.Field{{Name: "title", Type: catalog.TypeString}, {Name: "pin", Sensitive: true}, {Name: "done", Type: catalog.TypeBool}, {Name: "tags", Type: catalog.TypeJSON}, {Name: "box", Type: catalog.TypeJSON, Schema: json.RawMessage(`{"type":"object"}`)}},
			Edges: []catalog.Edge{{Name: "next", Target: "Todo", Many: true}, {Name: "hidden", Target: "Secret"}}, Sets: []string{"default", "tenant-*"},
			ReadOnly: true, Operations: []string{"collection", "get-by-id", "upsert"},
		}},
		Operations: []*catalog.Operation{
			op(catalog.EntityID("Todo", "collection"), "Todo"), op(catalog.EntityID("Todo", "get-by-id"), "Todo"),
			op(catalog.PluginID("entities", "x"), ""),  // would hide SDK.Entities
			op(catalog.PluginID("my-scan", "a-b"), ""), // three that are spelt alike
			op(catalog.PluginID("my-scan", "aB"), ""),
			op(catalog.PluginID("my_scan", "delete"), ""),
			op(catalog.PluginID("3d", "1st"), ""),
		},
	})
	require.NoError(t, err)
	v := s.View(auth.Principal{Scopes: []string{catalog.ScopeWrite, catalog.ScopeCall}, Sets: []string{"tenant-7"}}, exposure.Full, false)
	b := bind.Bind(v)
	require.Equal(t, v.Version(), b.Version)
	require.Equal(t, []wire.Entity{{
		Name: "Todo", Ops: []string{"collection", "get-by-id"}, ReadOnly: true,
		Fields: []string{"id", "title", "pin", "done", "tags", "box"}, Kinds: "othelj", Edges: []string{"next"}, Targets: map[string]string{"next": "Todo"}, Many: []string{"next"}, Sets: []string{"tenant-7"},
	}}, b.Entities)
	require.Equal(t, []wire.Domain{
		{Name: "_3d", Functions: []wire.Function{{Name: "_1st", ID: "plugin::3d.1st"}}},
		{Name: "Entities2", Functions: []wire.Function{{Name: "x", ID: "plugin::entities.x"}}},
		{Name: "MyScan", Functions: []wire.Function{{Name: "aB", ID: "plugin::my-scan.a-b"}, {Name: "aB2", ID: "plugin::my-scan.aB"}}},
		{Name: "MyScan2", Functions: []wire.Function{{Name: "delete", ID: "plugin::my_scan.delete"}}},
	}, b.Domains)

	tools := s.View(auth.Local(), exposure.Tools, false)
	require.Empty(t, bind.Bind(tools).Entities)
	require.Empty(t, bind.Bind(tools).Domains)
}
