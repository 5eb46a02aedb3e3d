package engine_test

import (
	"context"
	"encoding/json"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/koan-go/koan/framework/approval"
	"github.com/koan-go/koan/framework/auth"
	"github.com/koan-go/koan/framework/catalog"
	"github.com/koan-go/koan/framework/fault"
	"github.com/koan-go/koan/framework/run"
	"github.com/koan-go/koan/framework/run/approve"
	"github.com/koan-go/koan/framework/run/once"
	"github.com/koan-go/koan/framework/run/store"
	"github.com/koan-go/koan/tests/race"
)

// makes is a job that makes a todo with a step, so that one new row refers to another.
func makes(call func(id, input string) (string, error), _ *run.Attempt) (string, error) {
	raw, err := call(upsert, `{"model":{"title":"plan"}}`)
	if err != nil {
		return "", err
	}
	var todo struct{ ID string }
	if err := json.Unmarshal([]byte(raw), &todo); err != nil {
		return "", err
	}
	_, err = call("koan::Step.upsert", `{"model":{"text":"first","todo":"`+todo.ID+`"}}`)
	return todo.ID, err
}

// doubles is a job that changes what it has read.
func doubles(call func(id, input string) (string, error), _ *run.Attempt) (string, error) {
	raw, err := call("koan::Todo.get-by-id", `{"id":"t"}`)
	if err != nil {
		return "", err
	}
	var todo struct{ Effort float64 }
	if err := json.Unmarshal([]byte(raw), &todo); err != nil {
		return "", err
	}
	b, _ := json.Marshal(map[string]any{"id": "t", "changes": map[string]any{"effort": todo.Effort * 2}})
	_, err = call("koan::Todo.patch", string(b))
	return "doubled", err
}

func TestAPlanIsAppliedByAnotherProcess(t *testing.T) {
	t.Parallel()
	if forEach(t, TestAPlanIsAppliedByAnotherProcess) {
		return
	}
	place, jobs := place(t), map[string]job{"makes": makes}
	one, two := newDesk(t, place, &world{}, asksWrites, jobs), newDesk(t, place, &world{}, asksWrites, jobs)
	id := one.plan("makes")
	require.Zero(t, two.count("plan"))
	waiting, err := two.guard.WaitingPlans(context.Background(), boss)
	require.NoError(t, err)
	require.Len(t, waiting, 1)
	require.Contains(t, two.guard.PlanText(waiting[0]), "create Todo")
	require.Contains(t, two.guard.PlanText(waiting[0]), `"plan"`)

	// Who made it is told to wait, others that there is none, and no wildcard helps.
	_, _, err = one.approve(id, robot)
	require.Equal(t, fault.ApprovalRequired, fault.CodeOf(err))
	for _, p := range []auth.Principal{
		{Subject: "ann", Scopes: []string{auth.All}, Sets: []string{auth.All}},
		{Subject: "ben", Scopes: []string{approve.Scope}, Sets: []string{"archive"}},
	} {
		_, _, err = two.approve(id, p)
		require.Equal(t, fault.NotFound, fault.CodeOf(err), p.Subject)
	}
	_, err = two.guard.WaitingPlans(context.Background(), robot)
	require.Equal(t, fault.Forbidden, fault.CodeOf(err))

	out, outcome, err := two.approve(id, boss)
	require.NoError(t, err)
	require.True(t, outcome.Committed)
	require.Equal(t, id, outcome.Run, "it is the next attempt of the same run")
	require.Equal(t, 1, one.count("plan"))

	// It applies once: everybody who may ask gets what it gave.
	for _, o := range []*desk{one, two, newDesk(t, place, &world{}, asksWrites, jobs)} {
		for _, p := range []auth.Principal{boss, robot} {
			again, repeated, err := o.approve(id, p)
			require.NoError(t, err)
			require.Equal(t, out, again)
			require.True(t, repeated.Repeated)
		}
	}
	require.Equal(t, 1, one.count("plan"))
	_, err = one.guard.Deny(context.Background(), approve.Verdict{Plan: waiting[0], By: boss})
	require.Error(t, err)
}

func TestAPlanAfterTheDataHasChanged(t *testing.T) {
	t.Parallel()
	if forEach(t, TestAPlanAfterTheDataHasChanged) {
		return
	}
	place, jobs := place(t), map[string]job{"doubles": doubles}
	free, o := newProcess(t, place, &world{}, once.Options{}), newDesk(t, place, &world{}, asksWrites, jobs)
	free.call("Todo.upsert", `{"model":{"id":"t","title":"t","effort":2}}`)

	// What the run does not touch, versions and times do not count.
	id := o.plan("doubles")
	free.call("Todo.patch", `{"id":"t","changes":{"notes":"seen"}}`)
	_, _, err := o.approve(id, boss)
	require.NoError(t, err)
	require.EqualValues(t, 4, free.call("Todo.get-by-id", `{"id":"t"}`)["effort"])

	// What was shown counts: another plan takes its place, and says what became different.
	id = o.plan("doubles")
	old := o.find(id)
	free.call("Todo.patch", `{"id":"t","changes":{"effort":10}}`)
	_, outcome, err := o.approve(id, boss)
	next := o.planned(outcome, err)
	require.NotEqual(t, id, next)
	require.Equal(t, id, outcome.Run, "it is the same run")
	require.ErrorContains(t, err, "the data has changed since plan "+id+" was made")
	require.Equal(t, []string{"otherwise: update Todo t"}, detailsOf(err)["differs"])
	require.Equal(t, id, detailsOf(err)["replaces"])
	require.EqualValues(t, 10, free.call("Todo.get-by-id", `{"id":"t"}`)["effort"])
	require.Contains(t, o.guard.PlanText(o.find(next)), "10 -> 20")
	require.Contains(t, o.guard.PlanText(o.find(next)), "not what was approved before")
	is := o.find(id)
	require.Equal(t, approve.PlanReplaced, is.State)
	require.Equal(t, []any{o.guard.WholePlanText(old), old.Changes, old.Expires}, []any{o.guard.WholePlanText(is), is.Changes, is.Expires}, "a plan never changes")
	waiting, err := o.guard.WaitingPlans(context.Background(), boss)
	require.NoError(t, err)
	require.Len(t, waiting, 1)
	require.Equal(t, next, waiting[0].ID)

	// A decision about the first plan, looked at before or after, is none about the second.
	replaced := func(err error, state approve.PlanState) {
		require.Equal(t, fault.PlanStale, fault.CodeOf(err), "%v", err)
		require.Equal(t, map[string]any{"replaced": id, "planId": next, "state": state}, detailsOf(err))
		require.Contains(t, fault.From(err).Hint, next)
	}
	for _, p := range []auth.Principal{boss, robot} {
		_, _, err = o.approve(id, p)
		replaced(err, approve.PlanWaiting)
	}
	_, _, err = o.guard.Approve(context.Background(), approve.Verdict{Plan: old, By: boss, Snapshot: o.snapshot})
	replaced(err, approve.PlanWaiting)
	_, err = o.guard.Deny(context.Background(), approve.Verdict{Plan: old, By: boss, Snapshot: o.snapshot})
	replaced(err, approve.PlanWaiting)
	require.Equal(t, approve.PlanWaiting, o.find(next).State)
	require.EqualValues(t, 10, free.call("Todo.get-by-id", `{"id":"t"}`)["effort"])

	// The first one leads to the last, however many there are.
	free.call("Todo.patch", `{"id":"t","changes":{"effort":1}}`)
	_, outcome, err = o.approve(next, boss)
	next = o.planned(outcome, err)
	_, _, err = o.approve(id, boss)
	replaced(err, approve.PlanWaiting)
	_, _, err = o.approve(next, boss)
	require.NoError(t, err)
	require.EqualValues(t, 2, free.call("Todo.get-by-id", `{"id":"t"}`)["effort"])
	_, _, err = o.approve(id, boss)
	replaced(err, approve.PlanApplied)
	require.EqualValues(t, 2, free.call("Todo.get-by-id", `{"id":"t"}`)["effort"])
}

func TestAPlanPausesBeforeWhatIsOutside(t *testing.T) {
	t.Parallel()
	if forEach(t, TestAPlanPausesBeforeWhatIsOutside) {
		return
	}
	work := func(call func(id, input string) (string, error), _ *run.Attempt) (string, error) {
		if _, err := call("plugin::world.look", `{}`); err != nil {
			return "", err
		}
		if _, err := call(upsert, `{"model":{"title":"before"}}`); err != nil {
			return "", err
		}
		sent, err := call(send, `{"to":"ann"}`)
		if err != nil {
			return "", err
		}
		_, err = call(upsert, `{"model":{"title":"after"}}`)
		return sent, err
	}
	place, w, jobs := place(t), &world{}, map[string]job{"job": work}
	one, two := newDesk(t, place, w, asksWrites, jobs), newDesk(t, place, w, asksWrites, jobs)

	// Asked by one person in one call.
	asker := answers(yes)
	out, outcome, err := one.run(asker, "job")
	require.NoError(t, err)
	require.Equal(t, `"2"`, out, "the look was 1")
	require.Len(t, asker.asked, 2)
	require.Contains(t, asker.asked[0], `wants to call world.send`)
	require.Contains(t, asker.asked[0], `{"to":"ann"}`)
	require.Contains(t, asker.asked[0], "Changed so far")
	require.Contains(t, asker.asked[1], "Already done outside, after approval")
	require.Contains(t, asker.asked[1], `"after"`)
	require.Len(t, w.seen(), 2)
	require.Len(t, outcome.OutsideEffects, 1)

	// Approved step by step, each in another process: nothing is made twice.
	_, outcome, err = one.run(nil, "job")
	id := one.planned(outcome, err)
	require.Equal(t, "approval is required first", outcome.Calls[len(outcome.Calls)-1].Error)
	require.Len(t, w.seen(), 3)
	_, outcome, err = two.approve(id, boss)
	end := two.planned(outcome, err)
	require.NotEqual(t, id, end, "the call was made, and the end is another plan")
	require.ErrorContains(t, err, "plan "+id+" was approved")
	require.Len(t, w.seen(), 4)
	require.Equal(t, id+":3", w.seen()[3])
	require.Equal(t, 1, one.count("before"))
	three := newDesk(t, place, w, asksWrites, jobs)
	_, _, err = three.approve(id, boss)
	require.Equal(t, fault.PlanStale, fault.CodeOf(err), "a yes to the call is none to the end")
	require.Len(t, w.seen(), 4)
	out, outcome, err = three.approve(end, boss)
	require.NoError(t, err)
	require.Equal(t, id, outcome.Run)
	require.Equal(t, `"4"`, out)
	require.Len(t, w.seen(), 4)
	require.Equal(t, 2, one.count("before"))
	require.Equal(t, 2, one.count("after"))

	// A no after the call leaves the call, and says so.
	_, outcome, err = one.run(answers(yes, no), "job")
	require.Equal(t, fault.ApprovalDenied, fault.CodeOf(err))
	require.Len(t, outcome.OutsideEffects, 1)
	require.Equal(t, 2, one.count("after"))
}

func TestTwoApproveAtOnce(t *testing.T) {
	race.Detect(t)
	t.Parallel()
	if forEach(t, TestTwoApproveAtOnce) {
		return
	}
	place, jobs := place(t), map[string]job{"makes": makes}
	one, two := newDesk(t, place, &world{}, asksWrites, jobs), newDesk(t, place, &world{}, asksWrites, jobs)
	for range 3 {
		id := one.plan("makes")
		before := one.count("plan")
		var g sync.WaitGroup
		var mu sync.Mutex
		results := map[string]bool{}
		for n := range 8 {
			g.Go(func() {
				for {
					out, _, err := []*desk{one, two}[n%2].approve(id, boss)
					if fault.CodeOf(err) == fault.InProgress {
						time.Sleep(5 * time.Millisecond)
						continue
					}
					mu.Lock()
					defer mu.Unlock()
					if err != nil {
						t.Error(err)
					}
					results[out] = true
					return
				}
			})
		}
		g.Wait()
		require.Len(t, results, 1)
		require.Equal(t, before+1, one.count("plan"))
	}
}

func TestAPlanAfterACrash(t *testing.T) {
	t.Parallel()
	if forEach(t, TestAPlanAfterACrash) {
		return
	}
	place, w := place(t), &world{}
	sends := func(call func(id, input string) (string, error), a *run.Attempt) (string, error) {
		if _, err := call(send, `{}`); err != nil {
			return "", err
		}
		return makes(call, a)
	}
	jobs := map[string]job{"makes": makes, "sends": sends}
	one, two := newDesk(t, place, w, asksWrites, jobs), newDesk(t, place, w, asksWrites, jobs)

	// After the commit, before anybody heard of it: the receipt gives the result.
	id := one.plan("makes")
	one.ledger.cut("renew", "end")
	out, _, err := one.approve(id, boss)
	require.NoError(t, err)
	require.Eventually(t, func() bool {
		again, o, err := two.approve(id, boss)
		return err == nil && o.Repeated && again == out
	}, 10*lease, lease/4)
	require.Equal(t, 1, two.count("plan"))
	one.ledger.cut()

	// After the call outside, which the plan's tape has: it is not made again.
	id = one.plan("sends")
	one.ledger.cut("settle", "renew", "end")
	_, outcome, err := one.approve(id, boss)
	id = one.planned(outcome, err)
	one.ledger.cut()
	last := error(fault.New(fault.InProgress, ""))
	require.Eventually(t, func() bool {
		_, outcome, err := two.approve(id, boss)
		if last = err; err == nil {
			require.Len(t, outcome.OutsideEffects, 1)
		}
		return fault.CodeOf(last) != fault.InProgress
	}, 10*lease, lease/4)
	require.NoError(t, last)
	require.Len(t, w.seen(), 1)
	require.Equal(t, 2, two.count("plan"))

	// In the call outside: nobody knows whether it was made.
	id = one.plan("sends")
	w.fails = fault.New(fault.Timeout, "")
	_, _, err = one.approve(id, boss)
	require.Equal(t, fault.Timeout, fault.CodeOf(err))
	w.fails = nil
	_, _, err = two.approve(id, boss)
	require.Equal(t, fault.OutcomeUnknown, fault.CodeOf(err), "%v", err)
	require.Len(t, w.seen(), 2)
	require.Equal(t, 2, two.count("plan"))
}

func TestWhatCannotBeApproved(t *testing.T) {
	t.Parallel()
	if forEach(t, TestWhatCannotBeApproved) {
		return
	}
	place, jobs := place(t), map[string]job{"makes": makes}
	o := newDesk(t, place, &world{}, approve.Settings{Policy: asksWrites.Policy, Life: 1500 * time.Millisecond}, jobs)

	o.spec = run.Spec{}
	_, outcome, err := o.run(answers(yes), "makes")
	require.Equal(t, fault.ApprovalRequired, fault.CodeOf(err))
	require.Contains(t, fault.From(err).Hint, "atomic")
	require.False(t, outcome.Committed)
	o.spec = run.Spec{Approval: approval.Always}
	_, _, err = o.run(answers(yes), "makes")
	require.Equal(t, "/atomic", fault.From(err).Path)
	require.Zero(t, o.count("plan"))

	o.spec = run.Spec{DryRun: true}
	_, outcome, err = o.run(nil, "makes")
	require.NoError(t, err, "nothing is kept of it anyway")
	require.Len(t, outcome.Changes, 2)

	o.spec = atomic
	id := o.plan("makes")
	changed, err := catalog.NewSnapshot(o.provider.Offer())
	require.NoError(t, err)
	p, err := o.guard.FindPlan(context.Background(), id, boss)
	require.NoError(t, err)
	_, _, err = o.guard.Approve(context.Background(), approve.Verdict{Plan: p, By: boss, Snapshot: changed})
	require.Equal(t, fault.PlanStale, fault.CodeOf(err))
	require.Eventually(t, func() bool {
		_, err = o.guard.FindPlan(context.Background(), id, boss)
		return fault.CodeOf(err) == fault.NotFound
	}, 5*time.Second, 100*time.Millisecond, "it is too old")
	require.Zero(t, o.count("plan"))

	small := newDesk(t, place, &world{}, approve.Settings{Policy: asksWrites.Policy, MaxBytes: 100}, jobs)
	_, _, err = small.run(nil, "makes")
	require.Equal(t, fault.ResultTooLarge, fault.CodeOf(err))
}

func TestAPlanOfARunWithAKey(t *testing.T) {
	t.Parallel()
	if forEach(t, TestAPlanOfARunWithAKey) {
		return
	}
	place, jobs := place(t), map[string]job{"makes": makes}
	o := newDesk(t, place, &world{}, asksWrites, jobs)
	o.spec.IdempotencyKey, o.spec.Fingerprint = "k", "f"
	one, two := o.plan("makes"), o.plan("makes")
	require.NotEqual(t, one, two, "nobody has agreed to either")
	out, _, err := o.approve(one, boss)
	require.NoError(t, err)
	again, outcome, err := o.approve(two, boss)
	require.NoError(t, err)
	require.True(t, outcome.Repeated, "the key stands for the first")
	require.Equal(t, out, again)
	again, outcome, err = o.run(nil, "makes")
	require.NoError(t, err)
	require.True(t, outcome.Repeated)
	require.Equal(t, out, again)
	require.Equal(t, 1, o.count("plan"))
}

// No value can pass for a line of what a person reads.
func TestThePlansTextCannotBeForged(t *testing.T) {
	t.Parallel()
	p := approve.Plan{Request: approve.Planned{Tool: "koan.code.execute", Principal: auth.Principal{Subject: "ann\nApproved"}}, Changes: []store.Change{
		{Entity: "Todo", Set: "default", ID: "1\n2", Action: store.Update, Before: json.RawMessage(`{"title":"a"}`), After: json.RawMessage(`{"title":"b\n\nIt changes no data.\u001b[2J\u202e"}`)},
	}}
	text := p.Text(strings.Clone)
	require.NotContains(t, text, "\x1b")
	require.NotContains(t, text, "\u202e")
	require.NotContains(t, text, "\nIt changes")
	require.NotContains(t, text, "\nApproved")
	require.Contains(t, text, `"a" -> "b\n\nIt changes no data.`)
	many := approve.Plan{}
	for range 5000 {
		many.Changes = append(many.Changes, store.Change{Entity: "Todo", Set: "s", ID: strings.Repeat("x", 900), Action: store.Delete, Before: json.RawMessage(`{"notes":"` + strings.Repeat("y", 5000) + `"}`)})
	}
	require.Less(t, len(many.Text(strings.Clone)), 8000)
	require.Contains(t, many.Text(strings.Clone), "… and 4988 more rows: 4988 Todo deleted\n")
}
