package undo

import (
	"context"
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/koan-go/koan/framework"
	"github.com/koan-go/koan/framework/auth"
	"github.com/koan-go/koan/framework/catalog"
	"github.com/koan-go/koan/framework/fault"
	"github.com/koan-go/koan/framework/koantest"
	"github.com/koan-go/koan/framework/run/approve"
	"github.com/koan-go/koan/tests/fixture"
	"github.com/koan-go/koan/tests/pgtest"
)

// A run that commits call by call is undone as a whole.
func TestUndoOfCallsThatCommitByThemselves(t *testing.T) {
	t.Parallel()
	if pgtest.ForEach(t, TestUndoOfCallsThatCommitByThemselves) {
		return
	}
	a := start(t)
	before := a.dump("default")
	raw, err := a.Call("code::koan.execute", map[string]any{"atomic": false, "code": `
		SDK.Entities.Todo.patch("1", {title: "first"});
		SDK.Entities.Todo.upsert({id: "a", title: "A"});
		SDK.Entities.Todo.patch("1", {title: "second", views: 3});
		SDK.Entities.Todo.patch("a", {title: "A2"});
		SDK.Entities.Todo.upsert({id: "b", title: "B"});
		SDK.Entities.Todo.delete("b");
		SDK.Entities.Todo.delete("1");
		throw new Error("not undone by itself");
	`})
	require.Error(t, err)
	var r koantest.Result
	require.NoError(t, json.Unmarshal(raw, &r))
	require.True(t, r.Committed)
	require.NotEqual(t, before, a.dump("default"))
	a.undo(r.RunID)
	require.Equal(t, before, a.dump("default"))
}

func TestUndoSpansSets(t *testing.T) {
	t.Parallel()
	if pgtest.ForEach(t, TestUndoSpansSets) {
		return
	}
	a := start(t)
	a.Run(`SDK.Entities.Todo.upsert({id: "x", title: "X"}, {set: "archive"})`, koantest.Input{})
	first, second := a.dump("default"), a.dump("archive")
	script := `SDK.Entities.Todo.patch("x", {title: "moved"}, {set: "archive"});`
	if pgtest.Here(t) { // on SQLite a run writes to one set
		script += `SDK.Entities.Todo.delete("1");`
	}
	r := a.Run(script, koantest.Input{})
	a.undo(r.RunID)
	require.Equal(t, first, a.dump("default"))
	require.Equal(t, second, a.dump("archive"))
}

// Thousands of rows that one statement changed are restored each.
func TestUndoOfManyRows(t *testing.T) {
	t.Parallel()
	if pgtest.ForEach(t, TestUndoOfManyRows) {
		return
	}
	a := start(t)
	a.Run(`SDK.Entities.Todo.upsertMany(Array.from({length: 1500}, (_, i) => ({title: "t" + i, views: i}))).length`, koantest.Input{})
	before := a.dump("default")
	r := a.Run(`
		SDK.Entities.Todo.updateByQuery({views: {$gt: 9}}, {views: 0, completed: true}, {maxAffected: 2000});
		SDK.Entities.Todo.deleteByQuery({views: {$lt: 5}}, {maxAffected: 2000});
	`, koantest.Input{})
	out := a.undo(r.RunID)
	require.Equal(t, before, a.dump("default"))
	created := 0
	for _, c := range out.ChangeCounts {
		created += c.Created
	}
	require.Greater(t, created, 1400)
}

// An undo is approved as any run is: by what it changes.
func TestUndoIsApproved(t *testing.T) {
	t.Parallel()
	if pgtest.ForEach(t, TestUndoIsApproved) {
		return
	}
	a := start(t, koantest.Setting{Key: "approval.mode", Value: "destructive"})
	before := a.dump("default")
	r := a.Run(`SDK.Entities.Todo.upsert({id: "a", title: "A"})`, koantest.Input{})
	after := a.dump("default")
	_, err := a.tryUndo(map[string]any{"runId": r.RunID})
	f := fault.From(err)
	require.Equal(t, fault.ApprovalRequired, f.Code, "it deletes a row")
	require.Equal(t, after, a.dump("default"))
	details, err := json.Marshal(f.Details)
	require.NoError(t, err)
	var plan struct {
		PlanID string `json:"planId"`
	}
	require.NoError(t, json.Unmarshal(details, &plan))
	boss := a.As(auth.Principal{Subject: "boss", Scopes: []string{auth.All, approve.Scope}, Sets: []string{"*"}})
	_, err = boss.Call("code::koan.execute", map[string]any{"planId": plan.PlanID})
	require.NoError(t, err)
	require.Equal(t, before, a.dump("default"))

	patched := a.Run(`SDK.Entities.Todo.patch("1", {title: "T"})`, koantest.Input{})
	a.undo(patched.RunID) // which deletes nothing
	require.Equal(t, before, a.dump("default"))
}

func TestUndoWithKeyHappensOnce(t *testing.T) {
	t.Parallel()
	if pgtest.ForEach(t, TestUndoWithKeyHappensOnce) {
		return
	}
	a := start(t)
	before := a.dump("default")
	r := a.Run(`SDK.Entities.Todo.patch("1", {title: "T"})`, koantest.Input{})
	input := map[string]any{"runId": r.RunID, "idempotencyKey": "once"}
	first, err := a.tryUndo(input)
	require.NoError(t, err)
	again, err := a.tryUndo(input)
	require.NoError(t, err)
	require.Equal(t, first, again)
	require.Equal(t, before, a.dump("default"))
	a.refused(fault.Conflict, map[string]any{"runId": r.RunID})
}

// What left the house is listed.
func TestUndoListsWhatIsOutside(t *testing.T) {
	t.Parallel()
	if pgtest.ForEach(t, TestUndoListsWhatIsOutside) {
		return
	}
	fx := fixture.App()
	fx.Providers = []framework.Provider{mailer{}}
	a := startIn(t, place(t), fx)
	before := a.dump("default")
	r := a.Run(`SDK.Entities.Todo.patch("1", {title: "T"}); SDK.Mail.send({to: "ann"});`, koantest.Input{})
	out := a.undo(r.RunID)
	require.Equal(t, before, a.dump("default"))
	require.Len(t, out.Result.Not, 1)
	require.Equal(t, "mail.send", out.Result.Not[0].ToolName)
	require.Equal(t, "ok", out.Result.Not[0].Outcome)
}

// An action that does not say what it does did outside what its calls did there: here nothing.
func TestUndoOfAnActionListsWhatItsCallsDid(t *testing.T) {
	t.Parallel()
	fx := fixture.App()
	fx.GoActions = append(fx.GoActions, framework.Action("rename", "Renames a todo.", func(ctx context.Context, call framework.Call, _ struct{}) (struct{}, error) {
		return struct{}{}, call.Invoke(ctx, "koan::Todo.patch", map[string]any{"id": "1", "changes": map[string]any{"title": "T"}}, nil)
	}))
	a := startIn(t, place(t), fx)
	before := a.dump("default")
	o, err := a.Instance().Invoke(t.Context(), auth.Local(), "action::rename", struct{}{}, nil)
	require.NoError(t, err)
	out := a.undo(o.Run)
	require.Equal(t, before, a.dump("default"))
	require.Empty(t, out.Result.Not)
}

// A run that changed no data has not done nothing: what left the house is listed.
func TestRunsThatOnlyActedOutsideAreNotUndone(t *testing.T) {
	t.Parallel()
	fx := fixture.App()
	fx.Providers = []framework.Provider{mailer{}}
	a := startIn(t, place(t), fx)
	sent := a.Run(`SDK.Mail.send({to: "ann"})`, koantest.Input{})
	failed := a.Try(`SDK.Mail.send({to: "ann"}); throw new Error("no")`, koantest.Input{})
	for id, says := range map[string]string{sent.RunID: "cannot be undone", failed.RunID: "javascript_error"} {
		f := fault.From(a.refused(fault.InvalidPayload, map[string]any{"runId": id}))
		require.Contains(t, f.Message, says)
		require.Contains(t, f.Hint, "notUndone")
		raw, err := json.Marshal(f.Details)
		require.NoError(t, err)
		require.JSONEq(t, `{"notUndone":[{"toolName":"mail.send","outcome":"ok","message":"its effect is outside the data"}]}`, string(raw))
	}
}

// mailer has a function with an effect outside.
type mailer struct{}

func (mailer) Name() string                              { return "mailer" }
func (mailer) Start(context.Context, catalog.Host) error { return nil }
func (mailer) Stop(context.Context) error                { return nil }
func (mailer) Offer() catalog.Offer {
	return catalog.Offer{Operations: []*catalog.Operation{{
		ID: catalog.PluginID("mail", "send"),
		Contract: catalog.Contract{
			Input: json.RawMessage(`{"type":"object"}`), Output: json.RawMessage(`{"type":"object"}`),
			Effects: catalog.Effects{Outside: true}, Example: json.RawMessage(`{"to":"ann"}`),
		},
		Listing: catalog.Listing{Title: "Send", Summary: "Sends.", Reach: catalog.Everywhere},
		Work: catalog.Work{
			Handler: func(context.Context, catalog.Call) (json.RawMessage, error) { return json.RawMessage(`{}`), nil },
		},
	}}}
}
