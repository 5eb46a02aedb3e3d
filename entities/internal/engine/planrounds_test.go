package engine_test

import (
	"cmp"
	"context"
	"encoding/json"
	"maps"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/koan-go/koan/framework/approval"
	"github.com/koan-go/koan/framework/ask"
	"github.com/koan-go/koan/framework/catalog"
	"github.com/koan-go/koan/framework/exposure"
	"github.com/koan-go/koan/framework/fault"
	"github.com/koan-go/koan/framework/run"
	"github.com/koan-go/koan/framework/run/approve"
	"github.com/koan-go/koan/framework/run/once"
	"github.com/koan-go/koan/tests/race"
)

// caller is a client that calls again with its answers, as those of 2026-07-28 do.
type caller struct {
	known map[string]json.RawMessage
	asked []string // texts
}

var _ ask.Resumer = (*caller)(nil)

func (c *caller) Can(ask.Question) bool { return true }

func (c *caller) Answered() []string { return slices.Sorted(maps.Keys(c.known)) }

func (c *caller) Ask(_ context.Context, questions ...ask.Question) ([]json.RawMessage, error) {
	if answer, ok := c.known[questions[0].Key]; ok {
		return []json.RawMessage{answer}, nil
	}
	return nil, ask.Wait(questions...)
}

// answer takes the questions of a call that ended with some.
func (c *caller) answer(t *testing.T, err error, with string) {
	t.Helper()
	require.Equal(t, fault.InputRequired, fault.CodeOf(err), "%v", err)
	if c.known == nil {
		c.known = map[string]json.RawMessage{}
	}
	q := ask.Waits(err)[0]
	var in struct{ Message string }
	require.NoError(t, json.Unmarshal(q.Params, &in))
	c.asked = append(c.asked, in.Message)
	c.known[q.Key] = json.RawMessage(with)
}

func TestAPlanGoesOnInTheNextCall(t *testing.T) {
	t.Parallel()
	if forEach(t, TestAPlanGoesOnInTheNextCall) {
		return
	}
	place, w := place(t), &world{}
	sends := func(call func(id, input string) (string, error), a *run.Attempt) (string, error) {
		if _, err := doubles(call, a); err != nil {
			return "", err
		}
		return call(send, `{}`)
	}
	jobs := map[string]job{"makes": makes, "doubles": doubles, "sends": sends}
	free := newProcess(t, place, w, once.Options{})
	next := func() *desk { return newDesk(t, place, w, asksWrites, jobs) } // each call reaches another process
	free.call("Todo.upsert", `{"model":{"id":"t","title":"t","effort":1}}`)

	c := &caller{}
	_, first, err := next().run(c, "makes")
	c.answer(t, err, yes)
	require.Zero(t, free.count("plan"))
	out, outcome, err := next().run(c, "makes")
	require.NoError(t, err)
	require.True(t, outcome.Committed)
	require.Equal(t, first.Run, outcome.Run)
	again, outcome, err := next().run(c, "makes")
	require.NoError(t, err, "the same answer once more is no second run")
	require.True(t, outcome.Repeated)
	require.Equal(t, out, again)
	require.Equal(t, 1, free.count("plan"))
	_, _, err = next().run(c, "doubles")
	require.Equal(t, fault.NotFound, fault.CodeOf(err), "it was an answer about something else")

	c = &caller{}
	_, _, err = next().run(c, "makes")
	c.answer(t, err, no)
	_, _, err = next().run(c, "makes")
	require.Equal(t, fault.ApprovalDenied, fault.CodeOf(err))
	for key := range c.known {
		c.known[key] = json.RawMessage(yes)
	}
	_, _, err = next().run(c, "makes")
	require.Equal(t, fault.ApprovalDenied, fault.CodeOf(err), "a no is final")
	require.Equal(t, 1, free.count("plan"))

	// The data changes between the calls: a second round.
	c = &caller{}
	_, _, err = next().run(c, "doubles")
	c.answer(t, err, yes)
	free.call("Todo.patch", `{"id":"t","changes":{"effort":5}}`)
	_, _, err = next().run(c, "doubles")
	c.answer(t, err, yes)
	require.Contains(t, c.asked[1], "otherwise: update Todo t")
	_, _, err = next().run(c, "doubles")
	require.NoError(t, err)
	require.EqualValues(t, 10, free.call("Todo.get-by-id", `{"id":"t"}`)["effort"])

	// A call outside between the rounds is made once.
	c = &caller{}
	_, _, err = next().run(c, "sends")
	c.answer(t, err, yes)
	require.Empty(t, w.seen())
	free.call("Todo.patch", `{"id":"t","changes":{"effort":7}}`)
	_, _, err = next().run(c, "sends")
	c.answer(t, err, yes)
	require.Contains(t, c.asked[1], "Already done outside, after approval")
	require.Len(t, w.seen(), 1)
	_, _, err = next().run(c, "sends")
	require.NoError(t, err)
	require.Len(t, w.seen(), 1)
	require.EqualValues(t, 14, free.call("Todo.get-by-id", `{"id":"t"}`)["effort"])
}

// A client's answer is about a plan of the catalog with which it was asked.
func TestAnAnswerAboutAPlanOfAnotherCatalogIsRefused(t *testing.T) {
	t.Parallel()
	if forEach(t, TestAnAnswerAboutAPlanOfAnotherCatalogIsRefused) {
		return
	}
	place, w, jobs := place(t), &world{}, map[string]job{"makes": makes}
	c := &caller{}
	o := newDesk(t, place, w, asksWrites, jobs)
	_, _, err := o.run(c, "makes")
	c.answer(t, err, yes)

	other := newDesk(t, place, w, asksWrites, jobs)
	s, err := catalog.NewSnapshot(other.provider.Offer(), catalog.Offer{Operations: []*catalog.Operation{
		other.snapshot.Operation(catalog.CodeID("test", "script")), w.operation("more", catalog.Effects{}),
	}})
	require.NoError(t, err)
	other.snapshot, other.view = s, s.View(robot, exposure.Full, false)
	_, outcome, err := other.run(c, "makes")
	require.Equal(t, fault.PlanStale, fault.CodeOf(err), "%v", err)
	require.False(t, outcome.Committed)
	_, outcome, err = o.run(c, "makes")
	require.NoError(t, err, "it still stands where its catalog does")
	require.True(t, outcome.Committed)
}

// approval.timeoutMs bounds how long a person may take, also where no call waits for
// that.
func TestALateAnswerIsNoYes(t *testing.T) {
	t.Parallel()
	if forEach(t, TestALateAnswerIsNoYes) {
		return
	}
	const wait = time.Second
	place, jobs := place(t), map[string]job{"makes": makes}
	next := func() *desk {
		return newDesk(t, place, &world{}, approve.Settings{Policy: asksWrites.Policy, Wait: wait}, jobs)
	}
	c := &caller{}
	_, outcome, err := next().run(c, "makes")
	require.Greater(t, ask.Waits(err)[0].Life, wait, "what the client keeps is good for longer, so that it hears why")
	c.answer(t, err, yes)
	time.Sleep(wait + wait/5)
	o := next()
	_, _, err = o.run(c, "makes")
	require.Equal(t, fault.ApprovalRequired, fault.CodeOf(err), "%v", err)
	require.ErrorContains(t, err, "the approval took longer than 1000 ms")
	require.Zero(t, o.count("plan"))
	_, _, err = o.approve(outcome.Run, boss)
	require.NoError(t, err, "it waits for somebody else, as where the call waits")
	require.Equal(t, 1, o.count("plan"))

	c = &caller{}
	_, _, err = o.run(c, "makes")
	c.answer(t, err, yes)
	_, _, err = o.run(c, "makes")
	require.NoError(t, err, "in time")
	require.Equal(t, 2, o.count("plan"))
	time.Sleep(wait + wait/5)
	_, outcome, err = o.run(c, "makes")
	require.NoError(t, err, "it was agreed to in time, and gives what it gave")
	require.True(t, outcome.Repeated)
}

// Somebody who applies a plan that has become different is asked about that.
func TestWhoAppliesAPlanIsAsked(t *testing.T) {
	t.Parallel()
	if forEach(t, TestWhoAppliesAPlanIsAsked) {
		return
	}
	place := place(t)
	free, o := newProcess(t, place, &world{}, once.Options{}), newDesk(t, place, &world{}, asksWrites, map[string]job{"doubles": doubles})
	free.call("Todo.upsert", `{"model":{"id":"t","title":"t","effort":1}}`)
	id := o.plan("doubles")
	free.call("Todo.patch", `{"id":"t","changes":{"effort":3}}`)
	apply := func(c ask.Client) error {
		p, err := o.guard.FindPlan(context.Background(), id, boss)
		require.NoError(t, err)
		_, _, err = o.guard.Approve(ask.With(context.Background(), c), approve.Verdict{Plan: p, By: boss, Snapshot: o.snapshot})
		return err
	}
	c := &caller{}
	c.answer(t, apply(c), no)
	require.Equal(t, fault.ApprovalDenied, fault.CodeOf(apply(c)), "the no is heard")
	require.EqualValues(t, 3, free.call("Todo.get-by-id", `{"id":"t"}`)["effort"])
	id = o.plan("doubles")
	free.call("Todo.patch", `{"id":"t","changes":{"effort":4}}`)
	require.NoError(t, apply(answers(yes)))
	require.EqualValues(t, 8, free.call("Todo.get-by-id", `{"id":"t"}`)["effort"])

	// Each yes is to what was asked, however often the data changes in between.
	id = o.plan("doubles")
	c = &caller{}
	for _, effort := range []string{"5", "6"} {
		free.call("Todo.patch", `{"id":"t","changes":{"effort":`+effort+`}}`)
		c.answer(t, apply(c), yes)
	}
	require.Contains(t, c.asked[0], "5 -> 10")
	require.Contains(t, c.asked[1], "6 -> 12")
	require.NoError(t, apply(c))
	require.EqualValues(t, 12, free.call("Todo.get-by-id", `{"id":"t"}`)["effort"])
	require.NoError(t, apply(c), "the same answers once more are no second run")
	require.EqualValues(t, 12, free.call("Todo.get-by-id", `{"id":"t"}`)["effort"])
	require.Equal(t, fault.PlanStale, fault.CodeOf(apply(nil)))
}

// Calls outside that a script makes at once are agreed to one after the other, and
// each is made once.
func TestCallsAtOnceAreAskedAboutOneByOne(t *testing.T) {
	race.Detect(t)
	t.Parallel()
	if forEach(t, TestCallsAtOnceAreAskedAboutOneByOne) {
		return
	}
	both := func(_ func(id, input string) (string, error), a *run.Attempt) (string, error) {
		id, err := catalog.ParseID(send)
		if err != nil {
			return "", err
		}
		var g sync.WaitGroup
		errs := make([]error, 2)
		for n, to := range []string{"ann", "ben"} {
			at := a.Next()
			g.Go(func() {
				_, errs[n] = a.Invoke(context.Background(), at, id, json.RawMessage(`{"to":"`+to+`"}`))
			})
		}
		g.Wait()
		return "sent", cmp.Or(errs...)
	}
	w := &world{}
	o := newDesk(t, place(t), w, asksWrites, map[string]job{"both": both})
	asker := answers(yes)
	_, outcome, err := o.run(asker, "both")
	require.NoError(t, err)
	require.Len(t, asker.asked, 2)
	require.Contains(t, asker.asked[0]+asker.asked[1], `"ann"`)
	require.Contains(t, asker.asked[0]+asker.asked[1], `"ben"`)
	require.Len(t, w.seen(), 2)
	require.Len(t, outcome.OutsideEffects, 2)
}

// In the strictest mode a run that changes nothing needs a yes too, and a tool that
// only reads does not.
func TestAlwaysAsks(t *testing.T) {
	t.Parallel()
	if forEach(t, TestAlwaysAsks) {
		return
	}
	reads := func(call func(id, input string) (string, error), _ *run.Attempt) (string, error) {
		_, err := call("koan::Todo.count", `{}`)
		return "read", err
	}
	o := newDesk(t, place(t), &world{}, approve.Settings{Policy: approval.Policy{Mode: approval.Always}}, map[string]job{"reads": reads})
	id := o.plan("reads")
	for _, repeated := range []bool{false, true} {
		out, outcome, err := o.approve(id, boss)
		require.NoError(t, err)
		require.Equal(t, `"read"`, out)
		require.Equal(t, repeated, outcome.Repeated)
	}
	require.Zero(t, o.count("t"))
}

// What a rule names with always is asked about before it is called, also where it is declared to
// have no effect outside, or to only read: the operator's word goes before the plugin's.
func TestARuleNamesAnyCall(t *testing.T) {
	t.Parallel()
	if forEach(t, TestARuleNamesAnyCall) {
		return
	}
	works := func(call func(id, input string) (string, error), _ *run.Attempt) (string, error) {
		if _, err := call("plugin::world.look", `{}`); err != nil {
			return "", err
		}
		if _, err := call("plugin::world.sum", `{"of":"5"}`); err != nil {
			return "", err
		}
		_, err := call(upsert, `{"model":{"title":"t"}}`)
		return "done", err
	}
	w := &world{}
	o := newDesk(t, place(t), w, approve.Settings{Policy: approval.Policy{Rules: []approval.Rule{{Operation: "plugin::*", Mode: approval.Always}}}}, map[string]job{"works": works})
	id := o.plan("works")
	for n, asked := range []string{"wants to call world.look:\n  {}\n", "wants to call world.sum:\n  {\"of\":\"5\"}\n"} {
		require.Len(t, w.seen(), n, "nothing is called before the answer")
		require.Contains(t, o.guard.PlanText(o.find(id)), asked)
		out, outcome, err := o.approve(id, boss)
		if n == 0 {
			id = o.planned(outcome, err)
			continue
		}
		require.NoError(t, err)
		require.Equal(t, `"done"`, out)
		require.Empty(t, outcome.OutsideEffects)
	}
	require.Len(t, w.seen(), 2)
	require.Equal(t, 1, o.count("t"))

	asker := answers(yes)
	out, _, err := o.run(asker, "works")
	require.NoError(t, err)
	require.Equal(t, `"done"`, out)
	require.Len(t, asker.asked, 2)

	o = newDesk(t, place(t), w, approve.Settings{Policy: approval.Policy{Rules: []approval.Rule{{Operation: "plugin::*", Mode: approval.Writes}}}}, map[string]job{"works": works})
	_, _, err = o.run(nil, "works")
	require.NoError(t, err, "it writes nothing outside")
}
