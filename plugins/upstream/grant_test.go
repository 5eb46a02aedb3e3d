package upstream_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/koan-go/koan/framework"
	"github.com/koan-go/koan/framework/auth"
	"github.com/koan-go/koan/framework/fault"
	"github.com/koan-go/koan/framework/koantest"
	"github.com/koan-go/koan/framework/run/approve"
)

const (
	workTool  = `{"name":"work","description":"Works.","inputSchema":{"type":"object"},"annotations":{"readOnlyHint":false}}`
	workID    = "upstream::x::work"
	callsWork = `SDK.Servers.x.work({})`
)

// redefinable is an app with a ledger and the server x, whose tool is what a file says. A
// folder is the app's data, so that several apps can share it.
func redefinable(t *testing.T, data, file string, settings ...koantest.Setting) *koantest.Kit {
	t.Helper()
	all := append(settingsOf(t, []row{{id: "x", mode: "is redefined", settings: map[string]string{"env." + toolFileVariable: file}}}),
		koantest.Setting{Key: "approval.mode", Value: "destructive"}, koantest.Setting{Key: "database", Value: "sqlite://" + data})
	kit := koantest.New(t, framework.App{Name: "redefined", Ledger: true}, append(all, settings...)...)
	require.Eventually(t, func() bool {
		return kit.Instance().Snapshot().Owner(parse(t, workID)) != nil && kit.Instance().Snapshot().Operation(parse(t, workID)) != nil
	}, timeout, tick)
	return kit
}

func writeTool(t *testing.T, file, tool string) string {
	t.Helper()
	require.NoError(t, os.WriteFile(file, []byte(tool), 0o600))
	return file
}

func approver() auth.Principal {
	return auth.Principal{Subject: "boss", Scopes: []string{approve.Scope}, Sets: []string{auth.All}}
}

func TestApprovalOfOneCallIsForOneCall(t *testing.T) {
	t.Parallel()
	kit := redefinable(t, t.TempDir(), writeTool(t, filepath.Join(t.TempDir(), "tool"), workTool))
	p := connect(t, kit, declaresForms, always(yes))
	for range 2 {
		p.run(callsWork)
		asked := p.questions()
		require.Len(t, asked, 1)
		require.JSONEq(t, `["once","session","always"]`, string(enumOf(t, asked[0])))
	}
	p.run(`for (let i = 0; i < 2; i++) ` + callsWork)
	require.Len(t, p.questions(), 2)
}

func TestApprovalForTheSessionEndsWithIt(t *testing.T) {
	t.Parallel()
	kit := redefinable(t, t.TempDir(), writeTool(t, filepath.Join(t.TempDir(), "tool"), workTool))
	one := connect(t, kit, declaresForms, always(yesSession))
	one.run(`for (let i = 0; i < 3; i++) ` + callsWork)
	require.Len(t, one.questions(), 1, "later calls of the same run are covered")
	one.run(callsWork)
	require.Empty(t, one.questions())
	two := connect(t, kit, declaresForms, always(no))
	require.Equal(t, fault.ApprovalDenied, two.try(callsWork).Error.Code)
	require.Len(t, two.questions(), 1, "another session")
	other := connect(t, kit.As(auth.Principal{Subject: "ann", Scopes: []string{auth.All}, Sets: []string{auth.All}}), declaresForms, always(no))
	require.Equal(t, fault.ApprovalDenied, other.try(callsWork).Error.Code)
	grants, err := kit.Instance().Plans().ListGrants(t.Context(), approver(), kit.Instance().Snapshot())
	require.NoError(t, err)
	require.Empty(t, grants)
}

func TestLastingApprovalHoldsInOtherProcessesForItsCallerAlone(t *testing.T) {
	t.Parallel()
	data, file := t.TempDir(), writeTool(t, filepath.Join(t.TempDir(), "tool"), workTool)
	kit := redefinable(t, data, file)
	p := connect(t, kit, declaresForms, always(yesAlways))
	p.run(callsWork)
	require.Len(t, p.questions(), 1)
	other := redefinable(t, data, file)
	silent := connect(t, other, declaresForms, always(no))
	silent.run(callsWork)
	require.Empty(t, silent.questions())
	ann := connect(t, other.As(auth.Principal{Subject: "ann", Scopes: []string{auth.All}, Sets: []string{auth.All}}), declaresForms, always(no))
	require.Equal(t, fault.ApprovalDenied, ann.try(callsWork).Error.Code)

	// A caller who asks for a stricter mode is asked nevertheless.
	raw := readResult(t, silent.call("tools/call", `{"name":"koan_code_execute","arguments":{"code":"`+callsWork+`","approval":"destructive"}}`))
	require.Equal(t, fault.ApprovalDenied, raw.Error.Code)
	require.Len(t, silent.questions(), 1)

	guard, snapshot := other.Instance().Plans(), other.Instance().Snapshot()
	grants, err := guard.ListGrants(t.Context(), approver(), snapshot)
	require.NoError(t, err)
	require.Len(t, grants, 1)
	require.Equal(t, []any{"local", workID, "", "local", false}, []any{grants[0].Subject, grants[0].Operation, grants[0].Source, grants[0].By, grants[0].Void})
	r := approve.GrantRequest{Operation: workID, Subject: "local", By: approver(), Snapshot: snapshot}
	require.NoError(t, guard.Revoke(t.Context(), r))
	require.Equal(t, fault.NotFound, fault.CodeOf(guard.Revoke(t.Context(), r)))
	require.Equal(t, fault.ApprovalDenied, silent.try(callsWork).Error.Code)
}

func TestLastingApprovalEndsWhenTheToolChanges(t *testing.T) {
	t.Parallel()
	for part, changed := range map[string]string{
		"description": `{"name":"work","description":"Works, and sends your files away.","inputSchema":{"type":"object"},"annotations":{"readOnlyHint":false}}`,
		"inputSchema": `{"name":"work","description":"Works.","inputSchema":{"type":"object","properties":{"to":{"type":"string"}}},"annotations":{"readOnlyHint":false}}`,
		"annotations": `{"name":"work","description":"Works.","inputSchema":{"type":"object"},"annotations":{"readOnlyHint":true}}`,
	} {
		t.Run(part, func(t *testing.T) {
			data, file := t.TempDir(), writeTool(t, filepath.Join(t.TempDir(), "tool"), workTool)
			p := connect(t, redefinable(t, data, file), declaresForms, always(yesAlways))
			p.run(callsWork)
			// The same tool, in another order of its members.
			writeTool(t, file, `{"annotations":{"readOnlyHint":false},"inputSchema":{"type":"object"},"description":"Works.","name":"work"}`)
			p = connect(t, redefinable(t, data, file), declaresForms, always(no))
			p.run(callsWork)
			require.Empty(t, p.questions())

			writeTool(t, file, changed)
			kit := redefinable(t, data, file)
			grants, err := kit.Instance().Plans().ListGrants(t.Context(), approver(), kit.Instance().Snapshot())
			require.NoError(t, err)
			require.True(t, grants[0].Void)
			p = connect(t, kit, declaresForms, always(no))
			require.Equal(t, fault.ApprovalDenied, p.try(callsWork).Error.Code)
			asked := p.questions()
			require.Len(t, asked, 1)
			require.Contains(t, asked[0].Params.Message, "but its "+part+" has changed since: that approval has ended.")

			// It does not come back with what the tool was.
			writeTool(t, file, workTool)
			p = connect(t, redefinable(t, data, file), declaresForms, always(yesAlways))
			p.run(callsWork)
			require.Len(t, p.questions(), 1)
			p.run(callsWork)
			require.Empty(t, p.questions(), "approved again")
		})
	}
}

func TestGrantsAreForFunctionsAndTools(t *testing.T) {
	t.Parallel()
	kit := redefinable(t, t.TempDir(), writeTool(t, filepath.Join(t.TempDir(), "tool"), workTool))
	guard := kit.Instance().Plans()
	for id, code := range map[string]fault.Code{
		"upstream::x::other":  fault.NotFound,
		"upstream::x::$call":  fault.InvalidPayload,
		"koan::KoanRun.count": fault.InvalidPayload,
		"work":                fault.InvalidCodeModeID,
		workID:                "",
	} {
		err := guard.Grant(t.Context(), approve.GrantRequest{Operation: id, Subject: "local", By: approver(), Snapshot: kit.Instance().Snapshot()})
		require.Equal(t, code, fault.CodeOf(err), "%s: %v", id, err)
	}
	err := guard.Grant(t.Context(), approve.GrantRequest{Operation: workID, Subject: "local", Sources: []string{"y"}, By: approver(), Snapshot: kit.Instance().Snapshot()})
	require.Equal(t, fault.NotFound, fault.CodeOf(err))
	err = guard.Grant(t.Context(), approve.GrantRequest{Operation: workID, Subject: "local", By: auth.Local(), Snapshot: kit.Instance().Snapshot()})
	require.Equal(t, fault.Forbidden, fault.CodeOf(err), "an agent has every scope but this one")
}
