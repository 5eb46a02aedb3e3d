package gotype

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"
)

type die struct {
	Sides int     `json:"sides" jsonschema:"default=6,minimum=2"`
	Color string  `json:"color,omitempty" jsonschema:"default=white"`
	Fair  *bool   `json:"fair,omitempty" jsonschema:"default=true"`
	Next  *die    `json:"next,omitempty"`
	Bias  float64 `json:"bias"`
}

type throw struct {
	Dice []die          `json:"dice"`
	By   map[string]die `json:"by,omitempty"`
	Big  int64          `json:"big,omitempty"`
	Once bool           `json:"once" jsonschema:"default=false"`
}

func TestDefaults(t *testing.T) {
	t.Parallel()
	schema, err := Input[throw]()
	require.NoError(t, err)
	var s struct {
		Required []string
		Defs     map[string]struct{ Required []string } `json:"$defs"`
	}
	require.NoError(t, json.Unmarshal(schema, &s))
	require.Equal(t, []string{"dice"}, s.Required)
	require.Equal(t, []string{"bias"}, s.Defs["die"].Required)
	for in, want := range map[string]string{
		`{"dice":[{"bias":1},{"sides":20,"color":"red","fair":false,"bias":0,"next":{"bias":2}}],"big":9007199254740993}`: `{"once":false,"big":9007199254740993,"dice":[{"sides":6,"color":"white","fair":true,"bias":1},{"sides":20,"color":"red","fair":false,"bias":0,"next":{"sides":6,"color":"white","fair":true,"bias":2}}]}`,
		`{"dice":[],"by":{"ann":{"bias":0}},"once":true}`:                                                                 `{"dice":[],"by":{"ann":{"sides":6,"color":"white","fair":true,"bias":0}},"once":true}`,
	} {
		out, err := WithDefaults(schema, json.RawMessage(in))
		require.NoError(t, err)
		require.JSONEq(t, want, string(out))
		var into throw
		require.NoError(t, Decode(out, &into))
	}
	out, err := WithDefaults(schema, json.RawMessage(`{"dice":[],"big":9007199254740993}`))
	require.NoError(t, err)
	require.Contains(t, string(out), "9007199254740993", "to the last digit")
	plain, err := Input[struct{ A int }]()
	require.NoError(t, err)
	out, err = WithDefaults(plain, json.RawMessage(`{"A": 1}`))
	require.NoError(t, err)
	require.Equal(t, `{"A": 1}`, string(out), "as it is")
}
