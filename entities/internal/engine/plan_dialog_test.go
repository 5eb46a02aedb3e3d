package engine_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/koan-go/koan/framework/approval"
	"github.com/koan-go/koan/framework/fault"
	"github.com/koan-go/koan/framework/run/approve"
	"github.com/koan-go/koan/framework/run/once"
	"github.com/koan-go/koan/tests/race"
)

func TestAPersonIsAsked(t *testing.T) {
	race.Detect(t)
	t.Parallel()
	if forEach(t, TestAPersonIsAsked) {
		return
	}
	place, jobs := place(t), map[string]job{"doubles": doubles}
	free := newProcess(t, place, &world{}, once.Options{})
	o := newDesk(t, place, &world{}, approve.Settings{Policy: asksWrites.Policy, Wait: 2 * time.Second}, jobs)
	free.call("Todo.upsert", `{"model":{"id":"t","title":"t","effort":1}}`)
	effort := func() float64 { return free.call("Todo.get-by-id", `{"id":"t"}`)["effort"].(float64) }

	// The data changes under the question: nothing is locked, and it is asked again.
	asker := answers(yes)
	asker.answer = func(string) string {
		if len(asker.asked) == 1 {
			free.call("Todo.patch", `{"id":"t","changes":{"effort":8}}`)
		}
		return yes
	}
	_, outcome, err := o.run(asker, "doubles")
	require.NoError(t, err)
	require.Len(t, asker.asked, 2)
	require.Contains(t, asker.asked[1], "otherwise: update Todo t")
	require.True(t, outcome.Committed)
	require.EqualValues(t, 16, effort())

	for name, answer := range map[string]string{"no": no, "decline": `{"action":"decline"}`, "cancel": `{"action":"cancel"}`} {
		asker := answers(answer)
		_, outcome, err := o.run(asker, "doubles")
		require.Equal(t, fault.ApprovalDenied, fault.CodeOf(err), name)
		require.False(t, outcome.Committed)
		_, _, err = o.approve(outcome.Run, boss)
		require.Equal(t, fault.ApprovalDenied, fault.CodeOf(err), "for good")
	}
	// Where there is no answer, the plan waits for somebody else.
	for _, nothing := range []string{"", `{"action":"perhaps"}`, `{"action":"accept"}`, `{"action":"accept","content":{"approve":"yes"}}`, `[]`} {
		_, outcome, err := o.run(answers(nothing), "doubles")
		p, findErr := o.guard.FindPlan(context.Background(), o.planned(outcome, err), boss)
		require.NoError(t, findErr)
		require.Equal(t, approve.PlanWaiting, p.State)
		if nothing == "" {
			require.ErrorContains(t, err, "nobody answered within 2000 ms")
		}
	}
	ctx, cancel := context.WithCancel(context.Background())
	asker = answers("")
	asker.answer = func(string) string { cancel(); return "" }
	_, outcome, err = o.runWithin(ctx, asker, "doubles")
	require.ErrorIs(t, err, context.Canceled)
	p, err := o.guard.FindPlan(context.Background(), outcome.Run, boss)
	require.NoError(t, err, "a client that gave up leaves its plan to others")
	require.Equal(t, approve.PlanWaiting, p.State)
	require.EqualValues(t, 16, effort())
	_, outcome, err = o.run(failing{fault.New(fault.UpstreamError, "no such method")}, "doubles")
	_, _, err = o.approve(o.planned(outcome, err), boss)
	require.NoError(t, err)
	require.EqualValues(t, 32, effort())
}

func TestAToolIsAskedAboutToo(t *testing.T) {
	t.Parallel()
	if forEach(t, TestAToolIsAskedAboutToo) {
		return
	}
	place := place(t)
	rules := []approval.Rule{{Entity: "Todo", Operation: "delete", Rows: 3, Mode: approval.Writes}, {Operation: "koan::Person.upsert", Mode: approval.Writes}}
	free := newProcess(t, place, &world{}, once.Options{})
	o := newDesk(t, place, &world{}, approve.Settings{Policy: approval.Policy{Rules: rules}}, nil)
	for _, id := range []string{"a", "b", "c", "d", "e"} {
		free.call("Todo.upsert", `{"model":{"id":"`+id+`","title":"t"}}`)
	}
	o.call("Todo.delete-many", `{"ids":["a","b"]}`)
	o.call("Todo.upsert", `{"model":{"id":"f","title":"t"}}`)
	o.call("Todo.collection", `{}`)
	_, outcome, err := o.try("Todo.delete-by-query", `{"filter":{"title":"t"},"maxAffected":10}`)
	id := o.planned(outcome, err)
	p, err := o.guard.FindPlan(context.Background(), id, boss)
	require.NoError(t, err)
	require.Contains(t, o.guard.PlanText(p), "  Todo    default        4        0        0\n")
	require.Equal(t, 4, free.count("t"))
	out, _, err := o.approve(id, boss)
	require.NoError(t, err)
	require.JSONEq(t, `{"deleted":4}`, out)
	require.Zero(t, free.count("t"))
	again, _, err := o.approve(id, boss)
	require.NoError(t, err)
	require.Equal(t, out, again)

	_, outcome, err = o.try("Person.upsert", `{"model":{"name":"Ann","email":"a@b"}}`)
	o.planned(outcome, err)
}
