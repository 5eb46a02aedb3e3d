package conform

import (
	"encoding/json"
	"log/slog"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/koan-go/koan/framework/catalog"
	"github.com/koan-go/koan/framework/fault"
)

// What an action takes becomes values of rows, which hold no NUL; plugins may mean it.
func TestActionsTakeNoNUL(t *testing.T) {
	c := New(slog.New(slog.DiscardHandler))
	action := &catalog.Operation{ID: catalog.ActionID("act"), Contract: catalog.Contract{Input: json.RawMessage(`{"type":"object"}`)}}
	plugin := &catalog.Operation{ID: catalog.PluginID("a", "b"), Contract: action.Contract}
	for input, path := range map[string]string{
		`{"a":"x\u0000"}`: "/a", `{"a/b":[1,{"c":"\u0000"}]}`: "/a~1b/1/c", `{"a":{"x\u0000":1}}`: "/a",
	} {
		f := fault.From(c.Input(action, json.RawMessage(input)))
		require.Equal(t, fault.InvalidPayload, f.Code, input)
		require.Equal(t, path, f.Path, input)
		require.NoError(t, c.Input(plugin, json.RawMessage(input)))
	}
	require.NoError(t, c.Input(action, json.RawMessage(`{"a":"\\u0000"}`)), "it is a backslash and digits")
	both := fault.From(c.Input(action, json.RawMessage(`{"b":"\u0000","a":"\u0000"}`)))
	require.Contains(t, both.Message, "/a: must not contain NUL")
	require.Contains(t, both.Message, "/b: must not contain NUL")
}
