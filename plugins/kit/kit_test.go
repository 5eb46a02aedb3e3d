package kit

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/koan-go/koan/framework/fault"
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
	err := Plugin{Domain: "Über", Functions: []Function{bad, {}, Func("ok", "", count), Func("ok", "", count)}}.check()
	for _, want := range []string{`"Über" is not`, "version is empty", `"Bad Name" is not`, "input: string is not a struct", "output: int is not a struct", "example:", "not made with kit.Func", `"ok" is declared twice`} {
		require.ErrorContains(t, err, want)
	}
	require.NoError(t, Plugin{Domain: "fine", Version: "1", Functions: []Function{Func("ok", "", count)}}.check())
}

func TestDecodeInput(t *testing.T) {
	tests := []struct {
		name, raw, path string
		ok              bool
	}{
		{"good", `{"items":[{"name":"a"}]}`, "", true},
		{"unknown field", `{"items":[],"more":1}`, "", false},
		{"wrong type", `{"items":[{"name":1}]}`, "/items/name", false},
		{"two values", `{"items":[]} {}`, "", false},
		{"no JSON", `{`, "", false},
		{"empty", ``, "", false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var in input
			err := decodeInput([]byte(tt.raw), &in)
			if tt.ok {
				require.NoError(t, err)
				return
			}
			require.Equal(t, fault.InvalidPayload, fault.CodeOf(err))
			require.Equal(t, tt.path, fault.From(err).Path)
		})
	}
}

// FuzzDecodeInput: whatever comes in is either the input or invalid_payload.
func FuzzDecodeInput(f *testing.F) {
	f.Add([]byte(`{"items":[{"name":"a"}],"until":"2026-01-01T00:00:00Z"}`))
	f.Add([]byte(`{"items":null}`))
	f.Add([]byte(`[1]`))
	f.Fuzz(func(t *testing.T, raw []byte) {
		var in input
		if err := decodeInput(raw, &in); err != nil {
			require.Equal(t, fault.InvalidPayload, fault.CodeOf(err))
		}
	})
}
