package rest

import (
	"encoding/json"
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/koan-go/koan/framework"
	"github.com/koan-go/koan/tests/fixture"
)

// Of an entity whose rows can be created and not be changed, nothing tells of upsert.
func TestWhatCanOnlyBeCreatedIsDescribedSo(t *testing.T) {
	t.Parallel()
	app := fixture.App()
	for _, e := range app.Entities.Graph.Entities {
		if e.Resource.Name == "Label" {
			e.Resource.Operations = []string{"collection", "get-by-id", "new", "create"}
		}
	}
	s := serve(t, app, framework.HTTPOptions{})

	label := s.do(http.MethodPost, "/api/label:create", `{"model":{"name":"red"}}`).object(http.StatusCreated)
	require.Equal(t, "red", label["name"])
	require.GreaterOrEqual(t, s.do(http.MethodPost, "/api/label", `{"name":"red"}`).status, 400)

	_, err := s.kit.Call("koan::Todo.upsert", map[string]any{"model": map[string]any{"title": "t", "labels": []any{map[string]any{"name": "red"}}}})
	require.ErrorContains(t, err, "call SDK.Entities.Label.create({...}) first")

	described, err := s.kit.Call("code::entities.describe", map[string]any{"entities": []string{"Label"}})
	require.NoError(t, err)
	var out struct {
		Entities []struct{ Example json.RawMessage }
	}
	require.NoError(t, json.Unmarshal(described, &out))
	require.NotEmpty(t, out.Entities[0].Example)
	_, err = s.kit.Call("koan::Label.create", out.Entities[0].Example)
	require.NoError(t, err, "its example runs")

	var doc struct {
		Paths      map[string]map[string]struct{ RequestBody json.RawMessage }
		Components struct{ Schemas map[string]any }
	}
	require.NoError(t, json.Unmarshal(s.do(http.MethodGet, "/openapi.json", "").body, &doc))
	require.Contains(t, doc.Components.Schemas, "LabelModel")
	require.Contains(t, string(doc.Paths["/api/label:create"]["post"].RequestBody), `"#/components/schemas/LabelModel"`)
	require.NotContains(t, doc.Paths["/api/label"], "post")

	checked, err := s.kit.Call("code::koan.validate", map[string]any{"code": `SDK.Entities.Label.new({name: "x"})`})
	require.NoError(t, err)
	require.Contains(t, string(checked), "SDK.Entities.Label.create({name: ...})")
}
