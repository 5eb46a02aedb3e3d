package cli

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/koan-go/koan/framework/fault"
	"github.com/koan-go/koan/framework/run"
	"github.com/koan-go/koan/framework/run/approve"
)

// The line of a failure says what left the house, and its calls where they are included.
func TestLineOfAFailure(t *testing.T) {
	t.Parallel()
	c := &invocation{}
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

// A run of which a call was made under an approval that lasts was approved.
func TestLineOfALastingApproval(t *testing.T) {
	t.Parallel()
	c := &invocation{}
	outcome := run.NoRun()
	outcome.Approved = true
	l, err := c.line("", json.RawMessage(`{"result":1}`), outcome, nil, 0)
	require.NoError(t, err)
	require.Equal(t, []string{approved, ""}, []string{l.ApprovalState, l.PlanID})
	l, err = c.line("", nil, outcome, fault.New(fault.UpstreamError, "no"), 0)
	require.NoError(t, err)
	require.Equal(t, approved, l.ApprovalState)
	l, err = c.line("", nil, outcome, fault.New(fault.ApprovalDenied, "no"), 0)
	require.NoError(t, err)
	require.Equal(t, denied, l.ApprovalState, "another call was not")
}

// A run whose plan is denied has failed, and what it has done outside is listed.
func TestLineOfADenial(t *testing.T) {
	t.Parallel()
	c := &approvals{&invocation{}}
	plan := approve.Plan{ID: "p", Run: "r", PlanStatus: approve.PlanStatus{State: approve.PlanWaiting}, Made: []run.CallRecord{{ServerID: "mail", ToolName: "mail.send", OK: true}}}
	plan.Request.Tool = executeTool
	l, err := c.deniedLine(new(approve.Guard), plan, "t", 0)
	require.NoError(t, err)
	require.Equal(t, []string{"r", "t", "p", executeTool, denied}, []string{l.RunID, l.TraceID, l.PlanID, l.ToolName, l.ApprovalState})
	require.False(t, l.Result.OK)
	require.Equal(t, string(fault.ApprovalDenied), l.Result.Error.Code)
	require.JSONEq(t, `[{"serverId":"mail","toolName":"mail.send","ok":true,"durationMs":0}]`, string(l.Result.OutsideEffects))
	plan.Made = nil
	l, err = c.deniedLine(new(approve.Guard), plan, "t", 0)
	require.NoError(t, err)
	require.Nil(t, l.Result.OutsideEffects)
}
