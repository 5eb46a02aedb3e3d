package invoke

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/koan-go/koan/framework/fault"
)

func TestFailureKeepsOtherMembers(t *testing.T) {
	f := fault.New(fault.ToolTimeout, "late").WithDetails(map[string]any{"timeoutMs": 5})
	got := Failure(json.RawMessage(`{"success":true,"error":{"code":"cancelled"},"committed":false,"logs":[1]}`), f)
	var m map[string]any
	require.NoError(t, json.Unmarshal(got, &m))
	require.Equal(t, false, m["success"])
	require.Equal(t, "tool_timeout", m["error"].(map[string]any)["code"])
	require.EqualValues(t, 5, m["timeoutMs"])
	require.Equal(t, []any{1.0}, m["logs"])
	unencodable := fault.New(fault.Internal, "").WithDetails(map[string]any{"f": func() {}})
	var failed struct{ Success *bool }
	require.NoError(t, json.Unmarshal(Failure(nil, unencodable), &failed))
	require.False(t, *failed.Success)
}
