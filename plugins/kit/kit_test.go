package kit

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/koan-go/koan/plugins/internal/wire"
)

type item struct {
	Name string `json:"name" jsonschema:"minLength=1" jsonschema_description:"what it is called"`
}

type input struct {
	Items []item     `json:"items"`
	Until *time.Time `json:"until,omitempty"`
}

func count(_ context.Context, _ Call, in input) (item, error) {
	return item{Name: in.Items[0].Name}, nil
}

func TestSchema(t *testing.T) {
	f := Func("count", "Count.", count)
	require.NoError(t, f.problem)
	require.JSONEq(t, `{
		"$schema": "https://json-schema.org/draft/2020-12/schema",
		"$defs": {"item": {"type": "object", "additionalProperties": false, "required": ["name"],
			"properties": {"name": {"type": "string", "minLength": 1, "description": "what it is called"}}}},
		"type": "object", "additionalProperties": false, "required": ["items"],
		"properties": {
			"items": {"type": "array", "items": {"$ref": "#/$defs/item"}},
			"until": {"type": "string", "format": "date-time"}
		}}`, string(f.input))
}

func TestCheckReportsAllMistakes(t *testing.T) {
	bad := Func("Bad Name", "", func(context.Context, Call, string) (int, error) { return 0, nil }, Example(func() {}))
	err := Plugin{Domain: "Über", FaultCodes: []string{"not_found", "Loud"}, Needs: []string{"Todo.patch"}, Metrics: []Metric{{Name: "Hits"}, {Name: "hits_total"}, {Name: "misses"}, {Name: "misses"}}, Functions: []Function{bad, {}, Func("ok", "", count), Func("ok", "", count)}}.check()
	for _, want := range []string{`"Über" is not`, "version is empty", `"Bad Name" is not`, "input: string is not a struct", "output: int is not a struct", "example:", "not made with kit.Func", `"ok" is declared twice`, `the fault code "not_found"`, `the fault code "Loud"`, `the need "Todo.patch"`, `the metric "Hits"`, `the metric "hits_total"`, `the metric "misses" is declared twice`} {
		require.ErrorContains(t, err, want)
	}
	many := make([]Function, wire.MaxFunctions+1)
	require.ErrorContains(t, Plugin{Domain: "many", Functions: many}.check(), "it has 1001 functions; 1000 are allowed")
	require.ErrorContains(t, Plugin{Domain: "long", Description: strings.Repeat("x", 2<<20)}.check(), "its description has 2097")
	require.NoError(t, Plugin{Domain: "fine", Version: "1", Functions: []Function{Func("ok", "", count)}}.check())
}
