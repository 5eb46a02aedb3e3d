package cli

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/koan-go/koan/framework/fault"
	"github.com/koan-go/koan/framework/run"
)

// The line of a failure says what left the house, and its calls where they are included.
func TestLineOfAFailure(t *testing.T) {
	t.Parallel()
	c := &command{}
	call := `{"serverId":"odd","toolName":"fail","ok":false,"durationMs":2}`
	failure := json.RawMessage(`{"success":false,"calls":[` + call + `],"outsideEffects":[` + call + `]}`)
	l, err := c.line("", failure, run.NoRun(), fault.New(fault.UpstreamError, "no"), 0)
	require.NoError(t, err)
	require.JSONEq(t, "["+call+"]", string(l.Result.Calls))
	require.JSONEq(t, "["+call+"]", string(l.Result.OutsideEffects))
	l.omit([]string{"changes"})
	text, err := l.text()
	require.NoError(t, err)
	require.NotContains(t, string(text), `"calls"`)
	require.Contains(t, string(text), `"outsideEffects":[`+call+`]`)

	none, err := c.line("", json.RawMessage(`{"calls":[],"outsideEffects":[]}`), run.NoRun(), fault.New(fault.UpstreamError, "no"), 0)
	require.NoError(t, err)
	require.Nil(t, none.Result.OutsideEffects)

	many := "[" + strings.TrimSuffix(strings.Repeat(call+",", 1000), ",") + "]"
	l, err = c.line("", json.RawMessage(`{"calls":`+many+`,"outsideEffects":`+many+`}`), run.NoRun(), fault.New(fault.UpstreamError, "no"), 0)
	require.NoError(t, err)
	require.NoError(t, l.fits())
	require.Contains(t, string(l.Result.OutsideEffects), `{"error":"and `)
}
