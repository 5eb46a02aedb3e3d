package rest

import (
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/koan-go/koan/framework"
	"github.com/koan-go/koan/tests/pgtest"
)

// maker makes values that fit JSON Schemas.
type maker struct {
	*rand.Rand
	components map[string]any
}

// value returns a value of a schema.
func (m maker) value(s any, depth int) any {
	schema, _ := s.(map[string]any)
	if at, ok := schema["$ref"].(string); ok {
		return m.value(m.components[strings.TrimPrefix(at, "#/components/schemas/")], depth)
	}
	if any, ok := schema["anyOf"].([]any); ok {
		return m.value(any[m.IntN(len(any))], depth)
	}
	if values, ok := schema["enum"].([]any); ok {
		return values[m.IntN(len(values))]
	}
	kinds := []any{schema["type"]}
	if several, ok := schema["type"].([]any); ok {
		kinds = several
	}
	number := func(name string, otherwise float64) float64 {
		if n, ok := schema[name].(float64); ok {
			return n
		}
		return otherwise
	}
	switch kinds[m.IntN(len(kinds))] {
	case "string":
		if content, ok := schema["contentSchema"]; ok {
			raw, _ := json.Marshal(m.value(content, depth))
			return string(raw)
		}
		if schema["format"] == "date-time" {
			return fmt.Sprintf("20%02d-0%d-1%dT00:00:00Z", m.IntN(99), 1+m.IntN(9), m.IntN(9))
		}
		n := int(number("minLength", 0)) + m.IntN(3)
		var b strings.Builder
		for range n {
			b.WriteRune([]rune("abcß'\"%_\\ 0-")[m.IntN(12)])
		}
		return b.String()
	case "integer":
		low := int(number("minimum", -3))
		return low + m.IntN(max(1, min(10, int(number("maximum", 100))-low)))
	case "number":
		return number("minimum", 0) + m.Float64()*(number("maximum", 1)-number("minimum", 0))
	case "boolean":
		return m.IntN(2) == 0
	case "array":
		out := []any{}
		for range int(number("minItems", 0)) + m.IntN(3) {
			out = append(out, m.value(schema["items"], depth+1))
		}
		return out
	case "object":
		out := map[string]any{}
		properties, _ := schema["properties"].(map[string]any)
		required, _ := schema["required"].([]any)
		for _, name := range slices.Sorted(maps.Keys(properties)) {
			readOnly, _ := properties[name].(map[string]any)["readOnly"].(bool)
			if !readOnly && (slices.Contains(required, any(name)) || depth < 4 && m.IntN(3) == 0) {
				out[name] = m.value(properties[name], depth+1)
			}
		}
		return out
	}
	return nil
}

// Random requests that fit the document never end in a defect of the server; random ones that
// do not always end in a fault that says where.
func TestRequestsOfTheDocument(t *testing.T) {
	t.Parallel()
	if pgtest.ForEach(t, TestRequestsOfTheDocument) {
		return
	}
	for name, app := range apps {
		t.Run(name, func(t *testing.T) {
			s := serve(t, app(), framework.HTTPOptions{})
			doc := documentOf(t, s)
			var whole struct {
				Components struct{ Schemas map[string]any }
			}
			require.NoError(t, json.Unmarshal(s.do("GET", "/openapi.json", "").body, &whole))
			m := maker{rand.New(rand.NewPCG(17, uint64(len(name)))), whole.Components.Schemas}
			valid, accepted, refused := 0, 0, 0
			for _, path := range slices.Sorted(maps.Keys(doc.Paths)) {
				for _, method := range slices.Sorted(maps.Keys(doc.Paths[path])) {
					if path == "/tools/{name}" || strings.HasPrefix(path, "/status") || path == "/health" || path == "/api/events" { // the last has no end
						continue
					}
					op := doc.Paths[path][method]
					at := strings.ReplaceAll(path, "{id}", "1")
					for range 4 {
						query := url.Values{}
						for _, p := range op.Parameters {
							if p.In == "query" && p.Schema != nil && m.IntN(3) == 0 {
								query.Set(p.Name, fmt.Sprint(m.value(p.Schema, 0)))
							}
						}
						body, media := "", ""
						for media = range op.RequestBody.Content {
							raw, _ := json.Marshal(m.value(op.RequestBody.Content[media].Schema, 0))
							body = string(raw)
						}
						r := s.do(strings.ToUpper(method), at+"?"+query.Encode(), body, contentType(media)...)
						require.Less(t, r.status, 500, "%s %s?%s %s: %s", method, at, query.Encode(), body, r.body)
						if valid++; r.status < 300 {
							accepted++
						} else {
							r.problem(r.status)
						}
					}
					r := s.do(strings.ToUpper(method), at+"?bogus=1", "{}", contentType("application/json")...)
					if _, where := r.problem(http.StatusBadRequest); true {
						require.Equal(t, "/bogus", where, "%s %s", method, at)
					}
					for media := range op.RequestBody.Content {
						bogus := s.do(strings.ToUpper(method), at, `{"bogus~/":{"a":1}}`, contentType(media)...)
						if bogus.status == http.StatusNotFound || bogus.status == http.StatusOK || media == "*/*" { // of no such id; an action, or a file, which may be anything
							continue
						}
						requirePath(t, bogus, method+" "+at)
						refused++
					}
				}
			}
			require.Greater(t, valid, 200)
			require.Greater(t, accepted, valid/20, "some of %d fit what is stored, too", valid)
			require.Greater(t, refused, 20)
			t.Logf("%d valid requests, %d accepted; %d invalid", valid, accepted, refused)
		})
	}
}

func contentType(media string) []string {
	if media == "" {
		return nil
	}
	return []string{"Content-Type", media}
}

// requirePath checks that a response is a fault of the input that says where.
func requirePath(t *testing.T, r reply, what string) {
	t.Helper()
	var p struct {
		Code, Path string
		Details    []struct{ Path string }
	}
	require.NoError(t, json.Unmarshal(r.body, &p), "%s: %s", what, r.body)
	require.Equal(t, http.StatusBadRequest, r.status, "%s: %s", what, r.body)
	require.Equal(t, "invalid_payload", p.Code, what)
	require.True(t, p.Path != "" || len(p.Details) > 0 && p.Details[0].Path != "", "%s: %s", what, r.body)
}
