package actions

import (
	"context"
	"encoding/json"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/koan-go/koan/framework"
	"github.com/koan-go/koan/framework/auth"
	"github.com/koan-go/koan/framework/catalog"
	"github.com/koan-go/koan/framework/exposure"
	"github.com/koan-go/koan/framework/fault"
	"github.com/koan-go/koan/framework/koantest"
	"github.com/koan-go/koan/framework/run"
	"github.com/koan-go/koan/tests/fixture"
	"github.com/koan-go/koan/tests/pgtest"
)

// mail is a provider whose one function has an effect outside.
type mail struct {
	sent   atomic.Int64
	during func() // while a message is on its way
}

func (*mail) Name() string                              { return "mail" }
func (*mail) Start(context.Context, catalog.Host) error { return nil }
func (*mail) Stop(context.Context) error                { return nil }

func (m *mail) Offer() catalog.Offer {
	return catalog.Offer{Operations: []*catalog.Operation{{
		ID: catalog.PluginID("mail", "send"),
		Contract: catalog.Contract{
			Input: json.RawMessage(`{"type":"object"}`), Output: json.RawMessage(`{"type":"object"}`),
			Effects: catalog.Effects{Outside: true},
		},
		Listing: catalog.Listing{Summary: "Sends a message.", Reach: catalog.Everywhere},
		Work: catalog.Work{
			Handler: func(context.Context, catalog.Call) (json.RawMessage, error) {
				n := m.sent.Add(1)
				if m.during != nil {
					m.during()
				}
				return json.Marshal(map[string]int64{"sent": n})
			},
		},
	}}}
}

const announce = `
export const action = { description: "Completes a todo and says so.", input: { type: "object", properties: { id: { type: "string" }, first: { type: "boolean" } } }, effects: { outside: true } };
export default ({ id, first }) => {
  const todo = SDK.Entities.Todo.getById(id);
  if (first) SDK.Entities.Step.upsert({ text: "before " + Math.random(), todo: id });
  const { sent } = SDK.Mail.send({ about: todo.title });
  SDK.Entities.Todo.patch(id, { completed: true, views: todo.views + 1 });
  return { sent, at: Date.now(), random: Math.random() };
};`

func withMail(t *testing.T, m *mail, settings ...koantest.Setting) *koantest.Kit {
	t.Helper()
	app := fixture.App()
	app.Providers = []framework.Provider{m}
	return startWith(t, app, map[string]string{"announce.js": announce}, settings...)
}

// attempts calls an action as a tool and returns its output and how many attempts there were.
func attempts(t *testing.T, kit *koantest.Kit, name string, input any) (json.RawMessage, int) {
	t.Helper()
	raw, err := json.Marshal(input)
	require.NoError(t, err)
	out, o, err := kit.Instance().Engine().Invoke(t.Context(), run.Request{
		View: kit.Instance().Snapshot().View(auth.Local(), exposure.Full, false), Principal: auth.Local(), ID: catalog.ActionID(name), Input: raw, Surface: "test",
	})
	require.NoError(t, err)
	require.True(t, o.Committed)
	return out, o.Attempts
}

// The data changes while an action is under way: it is carried out again, and what left the
// house leaves it once.
func TestActionIsRepeatedAndItsOutsideCallsAreNot(t *testing.T) {
	t.Parallel()
	if pgtest.ForEach(t, TestActionIsRepeatedAndItsOutsideCallsAreNot) {
		return
	}
	m := &mail{}
	kit := withMail(t, m)
	m.during = func() { kit.Run(`SDK.Entities.Todo.patch("1", { views: 10 })`, koantest.Input{}) }
	out, n := attempts(t, kit, "announce", map[string]any{"id": "1"})
	require.Contains(t, string(out), `"sent":1`)
	require.Equal(t, 2, n)
	require.EqualValues(t, 1, m.sent.Load())
	r := kit.Run(`SDK.Out.answer(SDK.Entities.Todo.getById("1").views)`, koantest.Input{})
	require.JSONEq(t, `11`, string(r.Answer), "no update is lost")
}

// A slow call while the action holds a write lock: the attempt yields, and the next one
// takes the same way.
func TestActionYieldsItsLockToASlowCall(t *testing.T) {
	t.Parallel()
	if pgtest.ForEach(t, TestActionYieldsItsLockToASlowCall) {
		return
	}
	m := &mail{}
	m.during = func() { time.Sleep(400 * time.Millisecond) }
	kit := withMail(t, m, koantest.Setting{Key: "run.lockMs", Value: "100"})
	r := kit.Run(`SDK.Out.answer([SDK.Actions.announce({ id: "1", first: true }).sent, SDK.Actions.announce({ id: "1", first: true }).sent, SDK.Entities.Step.count()])`, koantest.Input{})
	require.JSONEq(t, `[1,2,2]`, string(r.Answer))
	require.EqualValues(t, 2, m.sent.Load())
	require.True(t, r.Committed || r.Success)
}

func TestDryRunOfAnActionHasNoEffectOutside(t *testing.T) {
	t.Parallel()
	m := &mail{}
	kit := withMail(t, m)
	r := kit.Try(`try { SDK.Actions.announce({ id: "1", first: true }) } catch (e) { SDK.Out.answer([e.code, SDK.Entities.Step.count()]) }`, koantest.Input{DryRun: true})
	require.JSONEq(t, `["dry_run_blocked",0]`, string(r.Answer))
	require.Zero(t, m.sent.Load())
}

func TestApprovalOfAnAction(t *testing.T) {
	t.Parallel()
	m := &mail{}
	kit := withMail(t, m, koantest.Setting{Key: "approval.mode", Value: "writes"})
	_, err := kit.Call("action::announce", map[string]any{"id": "1"})
	require.Equal(t, fault.ApprovalRequired, fault.CodeOf(err), "%v", err)
	require.Zero(t, m.sent.Load(), "before the call outside")
}

func TestIdempotencyKeyCoversActions(t *testing.T) {
	t.Parallel()
	m := &mail{}
	kit := withMail(t, m)
	for range 2 {
		out, err := kit.Call("code::koan.execute", map[string]any{"code": `SDK.Out.answer(SDK.Actions.announce({ id: "1" }).sent)`, "idempotencyKey": "k"})
		require.NoError(t, err)
		require.Contains(t, string(out), `"answer":1`)
	}
	require.EqualValues(t, 1, m.sent.Load())
}
