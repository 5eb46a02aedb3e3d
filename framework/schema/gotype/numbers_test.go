package gotype

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"
)

type anywhere struct {
	Any     any               `json:"any"`
	Members map[string]any    `json:"members"`
	Lists   map[string][]any  `json:"lists"`
	Inner   *anywhere         `json:"inner"`
	Number  json.Number       `json:"number"`
	Float   float64           `json:"float"`
	Whole   int64             `json:"whole"`
	Raw     json.RawMessage   `json:"raw"`
	Texts   map[string]string `json:"texts"`
	circle  *anywhere
}

// Integers that no float64 holds are kept, wherever a Go type has any; all other numbers are what
// encoding/json makes of them.
func TestUnmarshalKeepsLargeIntegers(t *testing.T) {
	t.Parallel()
	const large, negative = json.Number("9007199254740993"), json.Number("-123456789012345678901234567890")
	raw := json.RawMessage(`{"any":[9007199254740993,1,{"a":-123456789012345678901234567890,"b":1.5}],"members":{"x":9007199254740993,"y":9007199254740992,"z":null,"w":1e30},
		"lists":{"l":[9007199254740993,2]},"inner":{"any":9007199254740993},"number":5,"float":9007199254740993,"whole":9007199254740993,"raw":9007199254740993,"texts":{"t":"9007199254740993"}}`)
	want := anywhere{
		Any: []any{large, 1.0, map[string]any{"a": negative, "b": 1.5}}, Members: map[string]any{"x": large, "y": 9007199254740992.0, "z": nil, "w": 1e30},
		Lists: map[string][]any{"l": {large, 2.0}}, Inner: &anywhere{Any: large}, Number: "5", Float: 9007199254740992, Whole: 9007199254740993,
		Raw: json.RawMessage("9007199254740993"), Texts: map[string]string{"t": "9007199254740993"},
	}
	for name, read := range map[string]func(json.RawMessage, any) error{"Decode": Decode, "Unmarshal": Unmarshal} {
		var got anywhere
		require.NoError(t, read(raw, &got), name)
		require.Equal(t, want, got, name)
	}
	var list any
	require.NoError(t, Unmarshal(json.RawMessage(`[1, 9007199254740993]`), &list))
	require.Equal(t, []any{1.0, large}, list)

	round := anywhere{}
	round.circle, round.Inner = &round, &round // what a caller decodes into may go in circles
	require.NoError(t, Unmarshal(json.RawMessage(`{"any":9007199254740993}`), &round))
	require.Equal(t, large, round.Any)
}

// FuzzUnmarshal: what is read is written again as the same values.
func FuzzUnmarshal(f *testing.F) {
	f.Add([]byte(`{"a":[9007199254740993,1,1.5,1e400,-0]}`))
	f.Add([]byte(`[123456789012345678901234567890,{}]`))
	f.Fuzz(func(t *testing.T, raw []byte) {
		var got, plain any
		if Unmarshal(raw, &got) != nil || json.Unmarshal(raw, &plain) != nil {
			return
		}
		again, err := json.Marshal(got)
		require.NoError(t, err)
		var read any
		require.NoError(t, json.Unmarshal(again, &read))
		require.Equal(t, plain, read)
	})
}
