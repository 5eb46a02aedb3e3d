package actions

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/koan-go/koan/framework/auth"
	"github.com/koan-go/koan/framework/fault"
	"github.com/koan-go/koan/framework/koantest"
	"github.com/koan-go/koan/framework/run/replay"
	"github.com/koan-go/koan/tests/pgtest"
)

// A run that calls actions is planned, applied once, replayed and undone like any other.
func TestPlanReplayAndUndo(t *testing.T) {
	t.Parallel()
	if pgtest.ForEach(t, TestPlanReplayAndUndo) {
		return
	}
	kit := start(t, map[string]string{"finish-todo.ts": finish}, koantest.Setting{Key: "replay.keep", Value: "scripts"})
	count := func(filter string) (n int) {
		kit.Run(`SDK.Entities.Step.count(`+filter+`)`, koantest.Input{}).ResultInto(&n)
		return n
	}
	boss := kit.As(auth.Principal{Subject: "boss", Scopes: []string{auth.All, "koan:approve"}, Sets: []string{auth.All}})
	execute := func(by *koantest.Kit, input map[string]any) (json.RawMessage, *fault.Fault) {
		out, err := by.Call("code::koan.execute", input)
		if err != nil {
			return nil, fault.From(err)
		}
		return out, nil
	}
	before := count(`{}`)
	_, f := execute(kit, map[string]any{"code": `SDK.Actions.finishTodo({ id: "1", note: "done" })`, "approval": "writes"})
	require.NotNil(t, f)
	require.Equal(t, fault.ApprovalRequired, f.Code, f)
	plan := f.Details.(map[string]any)["planId"]
	require.Equal(t, before, count(`{}`))

	out, f := execute(boss, map[string]any{"planId": plan})
	require.Nil(t, f)
	var applied struct {
		RunID  string
		Result struct{ Completed bool }
	}
	require.NoError(t, json.Unmarshal(out, &applied), "%s", out)
	require.True(t, applied.Result.Completed)
	require.Equal(t, before+1, count(`{text: "done"}`))

	var replayed *replay.Replayed
	require.EventuallyWithT(t, func(c *assert.CollectT) { // it is written beside the run
		var err error
		replayed, err = kit.Instance().Replay(t.Context(), applied.RunID, false)
		require.NoError(c, err)
	}, 20*time.Second, 20*time.Millisecond)
	require.True(t, replayed.Identical, "%+v", replayed.Difference)

	_, err := kit.Call("code::koan.undo", map[string]any{"runId": applied.RunID})
	require.NoError(t, err)
	require.Equal(t, before, count(`{}`))
	var open bool
	kit.Run(`SDK.Entities.Todo.getById("1").completed`, koantest.Input{}).ResultInto(&open)
	require.False(t, open)
}
