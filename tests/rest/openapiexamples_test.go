package rest

import (
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/koan-go/koan/framework"
	"github.com/koan-go/koan/framework/koantest"
	"github.com/koan-go/koan/sample-pantrypal/app"
)

// placed is an example of a schema, and where it is in a value of it.
type placed struct {
	path  []string // "0" is an item of a list
	value any
}

// examplesIn are the examples inside a schema.
func (m maker) examplesIn(s any, path []string) (out []placed) {
	schema, _ := s.(map[string]any)
	if at, ok := schema["$ref"].(string); ok {
		s = m.components[strings.TrimPrefix(at, "#/components/schemas/")]
		schema, _ = s.(map[string]any)
	}
	if len(path) > 4 { // filters are in filters
		return nil
	}
	examples, _ := schema["examples"].([]any)
	for _, value := range examples {
		out = append(out, placed{path, value})
	}
	properties, _ := schema["properties"].(map[string]any)
	for _, name := range slices.Sorted(maps.Keys(properties)) {
		out = append(out, m.examplesIn(properties[name], append(slices.Clone(path), name))...)
	}
	if items, ok := schema["items"]; ok {
		out = append(out, m.examplesIn(items, append(slices.Clone(path), "0"))...)
	}
	choices, _ := schema["anyOf"].([]any)
	for _, choice := range choices {
		out = append(out, m.examplesIn(choice, path)...)
	}
	return out
}

// with returns a value with another one at a place.
func with(value any, path []string, put any) any {
	if len(path) == 0 {
		return put
	}
	if path[0] == "0" {
		list, _ := value.([]any)
		var first any
		if len(list) > 0 {
			first = list[0]
		}
		return []any{with(first, path[1:], put)}
	}
	object, _ := value.(map[string]any)
	out := map[string]any{}
	maps.Copy(out, object)
	out[path[0]] = with(out[path[0]], path[1:], put)
	return out
}

// models are what entities need whose own examples are not enough for a new row. The value of a member
// that ends in Id is the path of an entity of which one is made first.
var models = map[string]map[string]any{
	"todo": {"title": "x"}, "label": {"name": "x"}, "person": {"name": "x"},
	"pantry-photo":      {"fileName": "a.png", "width": 1, "height": 1},
	"detection":         {"kind": "qr", "value": "x", "confidence": 1, "photoId": "pantry-photo"},
	"price":             {"price": 1, "on": "2026-01-31", "foodId": "food"},
	"recipe-ingredient": {"name": "leek", "recipeId": "recipe"},
	"shopping-item":     {"name": "leek", "listId": "shopping-list"},
	"planned-meal":      {"date": "2026-01-31", "recipeId": "recipe"},
	"shopping-need":     {"amount": 1, "itemId": "shopping-item", "mealId": "planned-meal"},
}

// unique are fields whose values no two rows have.
var unique = map[string]string{"pantry-photo": "sha256", "recipe": "name", "label": "name", "food": "name"}

// model is a model of an entity that can be stored.
func (s *server) model(entity string, doc document) map[string]any {
	out := map[string]any{}
	if body := doc.Paths["/api/"+entity]["post"].RequestBody.Content["application/json"]; len(body.Example) > 0 {
		require.NoError(s.t, json.Unmarshal(body.Example, &out))
	}
	for name, value := range models[entity] {
		if strings.HasSuffix(name, "Id") {
			value = s.row(value.(string), doc)["id"]
		}
		out[name] = value
	}
	if field := unique[entity]; field != "" {
		out[field] = fmt.Sprintf("%064x", rand.Uint64())
	}
	return out
}

// row makes a row of an entity, or takes one where none can be made.
func (s *server) row(entity string, doc document) map[string]any {
	if _, ok := doc.Paths["/api/"+entity]["post"]; !ok {
		return s.do("GET", "/api/"+entity, "").object(http.StatusOK)["items"].([]any)[0].(map[string]any)
	}
	raw, err := json.Marshal(s.model(entity, doc))
	require.NoError(s.t, err)
	r := s.do("POST", "/api/"+entity, string(raw))
	require.Equal(s.t, http.StatusCreated, r.status, "%s %s: %s", entity, raw, r.body)
	return r.object(http.StatusCreated)
}

// The examples of fields, which are inside of schemas, are taken by every operation of whose input they are.
func TestOpenAPIExamplesOfFields(t *testing.T) {
	t.Parallel()
	for name, a := range map[string]framework.App{"fixture": fixtureApp(), "pantrypal with its catalogue": app.New()} {
		t.Run(name, func(t *testing.T) {
			s := serve(t, a, framework.HTTPOptions{}, koantest.Setting{Key: "approval.mode", Value: "never"}, koantest.Setting{Key: "approval.rules", Value: "[]"})
			var whole struct {
				Components struct{ Schemas map[string]any }
			}
			doc := documentOf(t, s)
			require.NoError(t, json.Unmarshal(s.do("GET", "/openapi.json", "").body, &whole))
			m := maker{components: whole.Components.Schemas}
			ran := map[string]int{}
			for _, path := range slices.Sorted(maps.Keys(doc.Paths)) {
				entity, id, ofRow := strings.Cut(strings.TrimPrefix(path, "/api/"), "/")
				entity, _, _ = strings.Cut(entity, ":")
				for _, method := range slices.Sorted(maps.Keys(doc.Paths[path])) {
					for media, body := range doc.Paths[path][method].RequestBody.Content {
						for _, example := range m.examplesIn(body.Schema, nil) {
							at, base := path, any(nil)
							switch {
							case ofRow:
								require.Equal(t, "{id}", id)
								row := s.row(entity, doc)
								at = "/api/" + entity + "/" + row["id"].(string)
								if method == "put" { // what was read, with the example
									base = row
								}
							case strings.HasSuffix(path, ":upsert-many"):
								base = map[string]any{"models": []any{s.model(entity, doc)}}
							case strings.HasSuffix(path, ":create"):
								base = map[string]any{"model": s.model(entity, doc)}
							case strings.HasSuffix(path, ":update-by-query"):
								base = map[string]any{"filter": map[string]any{"id": s.row(entity, doc)["id"]}}
							default:
								base = s.model(entity, doc)
							}
							raw, err := json.Marshal(with(base, example.path, example.value))
							require.NoError(t, err)
							r := s.do(strings.ToUpper(method), at, string(raw), "Content-Type", media)
							require.Less(t, r.status, 300, "%s %s %s: %s", method, path, raw, r.body)
							ran[method]++
						}
					}
				}
			}
			t.Log(ran)
			for _, method := range []string{"post", "put", "patch"} {
				require.Positive(t, ran[method], method)
			}
		})
	}
}
