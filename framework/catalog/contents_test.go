package catalog_test

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/koan-go/koan/framework/auth"
	"github.com/koan-go/koan/framework/catalog"
	"github.com/koan-go/koan/framework/exposure"
)

func TestContentsFollowRights(t *testing.T) {
	s := shop(t)
	type entity struct {
		Sets, Operations []string
		Relationships    map[string]string
		Scripted         bool
	}
	read := func(p auth.Principal, m exposure.Mode) (map[string]entity, []string, string) {
		doc := catalog.Contents("shop", "1.2.3")
		require.Equal(t, "koan://catalog.json", doc.URI)
		v := s.View(p, m, true)
		raw, err := doc.Read(t.Context(), v, "")
		require.NoError(t, err)
		var got struct {
			App, Version, CatalogVersion, Mode string
			Entities                           []struct {
				Name string
				entity
			}
			Tools []struct{ Name, Entity string }
		}
		require.NoError(t, json.Unmarshal(raw, &got))
		require.Equal(t, []string{"shop", "1.2.3", v.Version(), string(m)}, []string{got.App, got.Version, got.CatalogVersion, got.Mode})
		entities, tools := map[string]entity{}, []string{}
		for _, e := range got.Entities {
			entities[e.Name] = e.entity
		}
		for _, tool := range got.Tools {
			tools = append(tools, tool.Name)
		}
		return entities, tools, string(raw)
	}
	entities, tools, _ := read(auth.Local(), exposure.Full)
	require.Equal(t, []string{"koan.code.execute", "ledger.collection", "secret.collection", "todo.collection", "todo.upsert"}, tools)
	require.Equal(t, map[string]string{"secret": "Secret"}, entities["Todo"].Relationships)
	require.Equal(t, []string{"collection", "upsert"}, entities["Todo"].Operations)
	require.True(t, entities["Todo"].Scripted)
	require.False(t, entities["Ledger"].Scripted, "annotated tools: out of the SDK")

	_, tools, _ = read(auth.Local(), exposure.Code)
	require.Equal(t, []string{"koan.code.execute", "ledger.collection"}, tools)
	entities, _, _ = read(auth.Local(), exposure.Tools)
	require.False(t, entities["Todo"].Scripted)

	entities, tools, raw := read(auth.Principal{Scopes: []string{"todo.read"}, Sets: []string{"default", "tenant-a"}}, exposure.Full)
	require.NotContains(t, tools, "todo.upsert")
	require.Equal(t, []string{"default", "tenant-a"}, entities["Todo"].Sets)
	require.Equal(t, []string{"collection"}, entities["Todo"].Operations)
	require.NotContains(t, raw, "ecret")

	empty, err := catalog.NewSnapshot()
	require.NoError(t, err)
	bare, err := catalog.Contents("a", "b").Read(t.Context(), empty.View(auth.Local(), exposure.Full, true), "")
	require.NoError(t, err)
	require.Contains(t, string(bare), `"entities":[],"tools":[]`)
}
