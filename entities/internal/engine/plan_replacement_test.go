package engine_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/koan-go/koan/framework/approval"
	"github.com/koan-go/koan/framework/auth"
	"github.com/koan-go/koan/framework/fault"
	"github.com/koan-go/koan/framework/run"
	"github.com/koan-go/koan/framework/run/approve"
	"github.com/koan-go/koan/framework/run/once"
)

// Of several who approve a plan at once while the data changes, one makes the plan that
// takes its place, and nobody's yes to the first is taken for the second.
func TestApproversOfAReplacedPlan(t *testing.T) {
	t.Parallel()
	if forEach(t, TestApproversOfAReplacedPlan) {
		return
	}
	place, jobs := place(t), map[string]job{"doubles": doubles}
	free := newProcess(t, place, &world{}, once.Options{})
	one, two := newDesk(t, place, &world{}, asksWrites, jobs), newDesk(t, place, &world{}, asksWrites, jobs)
	free.call("Todo.upsert", `{"model":{"id":"t","title":"t","effort":1}}`)
	for n := range 3 {
		id := one.plan("doubles")
		read := one.find(id) // by all of them
		free.call("Todo.patch", `{"id":"t","changes":{"effort":`+string(rune('3'+n))+`}}`)
		var mu sync.Mutex
		codes, named := map[fault.Code]int{}, map[string]bool{}
		var g sync.WaitGroup
		for n := range 8 {
			g.Go(func() {
				o := []*desk{one, two}[n%2]
				for {
					_, _, err := o.guard.Approve(context.Background(), approve.Verdict{Plan: read, By: boss, Surface: "app", Snapshot: o.snapshot})
					if fault.CodeOf(err) == fault.InProgress {
						time.Sleep(5 * time.Millisecond)
						continue
					}
					mu.Lock()
					defer mu.Unlock()
					codes[fault.CodeOf(err)]++
					if next, ok := detailsOf(err)["planId"].(string); ok {
						named[next] = true
					}
					return
				}
			})
		}
		g.Wait()
		require.Equal(t, map[fault.Code]int{fault.ApprovalRequired: 1, fault.PlanStale: 7}, codes)
		require.Len(t, named, 1)
		require.EqualValues(t, 3+n, free.call("Todo.get-by-id", `{"id":"t"}`)["effort"], "nobody has agreed to that")
		waiting, err := one.guard.WaitingPlans(context.Background(), boss)
		require.NoError(t, err)
		require.Len(t, waiting, 1)
		require.True(t, named[waiting[0].ID])
		_, err = one.guard.Deny(context.Background(), approve.Verdict{Plan: waiting[0], By: boss, Snapshot: one.snapshot})
		require.NoError(t, err)
	}
}

// A plan takes the place of one that is being applied, at one moment with that; of none
// in another state, and of one that is gone.
func TestKeeperReplacesAppliedPlansOnly(t *testing.T) {
	t.Parallel()
	if forEach(t, TestKeeperReplacesAppliedPlansOnly) {
		return
	}
	ctx := context.Background()
	o := newDesk(t, place(t), &world{}, asksWrites, map[string]job{"makes": makes})
	plans, first := o.provider.Books().Keys.Plans(), o.plan("makes")
	keep := func(id, replaces string) error {
		p := *o.find(first)
		p.ID, p.Replaces = id, replaces
		return plans.KeepPlan(ctx, &p, time.Hour)
	}
	require.ErrorIs(t, keep("second", first), approve.ErrPlanOver, "it waits")
	_, err := plans.Plan(ctx, "second")
	require.ErrorIs(t, err, approve.ErrNoPlan)
	moved, err := plans.MovePlan(ctx, first, approve.PlanWaiting, approve.PlanApproved, "boss")
	require.NoError(t, err)
	require.True(t, moved)
	require.NoError(t, keep("second", first))
	require.ErrorIs(t, keep("third", first), approve.ErrPlanOver, "it is replaced")
	require.Equal(t, "second", o.find(first).ReplacedBy)
	moved, err = plans.MovePlan(ctx, first, approve.PlanWaiting, approve.PlanApproved, "boss")
	require.NoError(t, err)
	require.False(t, moved)
	require.NoError(t, keep("fourth", "gone"))
	for _, id := range []string{"second", "fourth"} {
		require.Equal(t, approve.PlanWaiting, o.find(id).State)
	}
	require.Error(t, keep("second", ""), "no plan is written over")
}

// A call that somebody agreed to, and that the run did not come to, is asked about again
// when it does: the plan in between says nothing of it.
func TestACallThatWasNotMadeIsAskedAboutAgain(t *testing.T) {
	t.Parallel()
	if forEach(t, TestACallThatWasNotMadeIsAskedAboutAgain) {
		return
	}
	place, w := place(t), &world{}
	sendsAbove := func(call func(id, input string) (string, error), a *run.Attempt) (string, error) {
		raw, err := call("koan::Todo.get-by-id", `{"id":"t"}`)
		if err != nil {
			return "", err
		}
		if strings.Contains(raw, `"effort":9`) {
			if _, err := call(send, `{"to":"ann"}`); err != nil {
				return "", err
			}
		}
		return makes(call, a)
	}
	free, o := newProcess(t, place, w, once.Options{}), newDesk(t, place, w, asksWrites, map[string]job{"sends": sendsAbove})
	free.call("Todo.upsert", `{"model":{"id":"t","title":"t","effort":9}}`)
	call := o.plan("sends")
	free.call("Todo.patch", `{"id":"t","changes":{"effort":1}}`)
	_, outcome, err := o.approve(call, boss)
	end := o.planned(outcome, err)
	require.NotContains(t, o.guard.PlanText(o.find(end)), "Already done outside")
	free.call("Todo.patch", `{"id":"t","changes":{"effort":9}}`)
	_, outcome, err = o.approve(end, boss)
	last := o.planned(outcome, err)
	require.NotNil(t, o.find(last).Call)
	require.Empty(t, w.seen())
	_, outcome, err = o.approve(last, boss)
	require.Len(t, w.seen(), 1)
	require.Contains(t, o.guard.PlanText(o.find(o.planned(outcome, err))), "Already done outside, after approval")
}

// clerk may name the default set alone.
var clerkOfDefault = auth.Principal{Subject: "clerk", Scopes: []string{approve.Scope}, Sets: []string{"default"}}

// peeks reads another set where a door is open, and returns what it read.
func peeks(call func(id, input string) (string, error), _ *run.Attempt) (string, error) {
	door, err := call("koan::Todo.get-by-id", `{"id":"door"}`)
	if err != nil || !strings.Contains(door, `"title":"open"`) {
		return "closed", err
	}
	var secret struct{ Title string }
	raw, err := call("koan::Todo.get-by-id", `{"id":"s","set":"tenant-p"}`)
	if err == nil {
		err = json.Unmarshal([]byte(raw), &secret)
	}
	return secret.Title, err
}

// Of the runs under one key one is made; what it returned is for who may name its sets,
// not for who may name those of another plan under the key.
func TestPlansUnderOneKeyKeepTheirSets(t *testing.T) {
	t.Parallel()
	if forEach(t, TestPlansUnderOneKeyKeepTheirSets) {
		return
	}
	place := place(t)
	writes := func(call func(id, input string) (string, error), a *run.Attempt) (string, error) {
		if _, err := makes(call, a); err != nil {
			return "", err
		}
		return peeks(call, a)
	}
	jobs := map[string]job{"reads": peeks, "writes": writes}
	always := approve.Settings{Policy: approval.Policy{Mode: approval.Always}}
	free, asks, silent := newProcess(t, place, &world{}, once.Options{}), newDesk(t, place, &world{}, always, jobs), newDesk(t, place, &world{}, approve.Settings{}, jobs)
	free.call("Todo.upsert", `{"model":{"id":"s","title":"secret"},"set":"tenant-p"}`)
	for name, unasked := range map[string]bool{"reads": false, "writes": false, "reads unasked": true, "writes unasked": true} {
		t.Run(name, func(t *testing.T) {
			job, _, _ := strings.Cut(name, " ")
			spec := atomic
			spec.IdempotencyKey, spec.Fingerprint = name, name
			asks.spec, silent.spec = spec, spec
			free.call("Todo.upsert", `{"model":{"id":"door","title":"closed"}}`)
			narrow := asks.plan(job)
			free.call("Todo.upsert", `{"model":{"id":"door","title":"open"}}`)
			var out string
			var err error
			if unasked {
				out, _, err = silent.run(nil, job)
			} else {
				wide := asks.plan(job)
				_, _, err = asks.approve(wide, clerkOfDefault)
				require.Equal(t, fault.NotFound, fault.CodeOf(err))
				out, _, err = asks.approve(wide, boss)
			}
			require.NoError(t, err)
			require.Equal(t, `"secret"`, out)
			for range 2 {
				require.NotNil(t, asks.find(narrow))
				out, _, err = asks.approve(narrow, clerkOfDefault)
				require.Equal(t, fault.NotFound, fault.CodeOf(err), "%v", err)
				require.Empty(t, out)
				require.Equal(t, approve.PlanWaiting, asks.find(narrow).State, "for who may name the sets")
			}
			for _, p := range []auth.Principal{boss, robot} {
				out, outcome, err := asks.approve(narrow, p)
				require.NoError(t, err)
				require.True(t, outcome.Repeated)
				require.Equal(t, `"secret"`, out)
			}
			_, _, err = asks.approve(narrow, clerkOfDefault)
			require.Equal(t, fault.NotFound, fault.CodeOf(err), "%v", err)
		})
	}
}

// A yes that comes while the key is another run's leaves its plan waiting, and listed.
func TestAPlanWhoseKeyIsHeldWaits(t *testing.T) {
	t.Parallel()
	if forEach(t, TestAPlanWhoseKeyIsHeldWaits) {
		return
	}
	begun, release := make(chan struct{}), make(chan struct{})
	holds := func(call func(id, input string) (string, error), a *run.Attempt) (string, error) {
		close(begun)
		<-release
		return makes(call, a)
	}
	place := place(t)
	asks, silent := newDesk(t, place, &world{}, asksWrites, map[string]job{"makes": makes}), newDesk(t, place, &world{}, approve.Settings{}, map[string]job{"holds": holds})
	spec := atomic
	spec.IdempotencyKey, spec.Fingerprint = "k", "f"
	asks.spec, silent.spec = spec, spec
	id := asks.plan("makes")
	done := make(chan string)
	go func() {
		out, _, _ := silent.run(nil, "holds")
		done <- out
	}()
	<-begun
	_, _, err := asks.approve(id, boss)
	require.Equal(t, fault.InProgress, fault.CodeOf(err))
	require.Equal(t, approve.PlanWaiting, asks.find(id).State)
	close(release)
	want := <-done
	out, outcome, err := asks.approve(id, boss)
	require.NoError(t, err)
	require.Equal(t, want, out)
	require.True(t, outcome.Repeated)
	require.Equal(t, 1, asks.count("plan"))
}

// An approver who may not see where a run has come to ends nothing of it, also after a
// call outside was made: the plan waits for who may.
func TestARunThatItsApproverMayNotSeeGoesOn(t *testing.T) {
	t.Parallel()
	if forEach(t, TestARunThatItsApproverMayNotSeeGoesOn) {
		return
	}
	place, w := place(t), &world{}
	sends := func(call func(id, input string) (string, error), a *run.Attempt) (string, error) {
		if _, err := call(send, `{"to":"ann"}`); err != nil {
			return "", err
		}
		if _, err := makes(call, a); err != nil {
			return "", err
		}
		return peeks(call, a)
	}
	free, o := newProcess(t, place, w, once.Options{}), newDesk(t, place, w, asksWrites, map[string]job{"sends": sends})
	free.call("Todo.upsert", `{"model":{"id":"s","title":"secret"},"set":"tenant-p"}`)
	free.call("Todo.upsert", `{"model":{"id":"door","title":"closed"}}`)
	_, outcome, err := o.approve(o.plan("sends"), clerkOfDefault)
	id := o.planned(outcome, err)
	require.Len(t, w.seen(), 1)
	free.call("Todo.upsert", `{"model":{"id":"door","title":"open"}}`)
	_, _, err = o.approve(id, clerkOfDefault)
	require.Equal(t, fault.NotFound, fault.CodeOf(err))
	require.Equal(t, approve.PlanWaiting, o.find(id).State)
	out, _, err := o.approve(id, boss)
	require.NoError(t, err)
	require.Equal(t, `"secret"`, out)
	require.Len(t, w.seen(), 1)
	require.Equal(t, 1, free.count("plan"))
}

// A ledger of a version in which a run had one plan with its id is taken over, with the
// plans and keys in it.
func TestPlansOfAnEarlierVersion(t *testing.T) {
	t.Parallel()
	if forEach(t, TestPlansOfAnEarlierVersion) {
		return
	}
	place, jobs := place(t), map[string]job{"makes": makes}
	o := newDesk(t, place, &world{}, asksWrites, jobs)
	id := o.plan("makes")
	db := besideLedger(t, place)
	var subject, head, tape string
	var made, expires int64
	require.NoError(t, db.QueryRow("SELECT subject, made_at, expires_at, head, tape FROM koan_plans").Scan(&subject, &made, &expires, &head, &tape))
	var members map[string]json.RawMessage
	require.NoError(t, json.Unmarshal([]byte(head), &members))
	delete(members, "run")
	old, err := json.Marshal(members)
	require.NoError(t, err)
	quote := func(s string) string { return "'" + strings.ReplaceAll(s, "'", "''") + "'" }
	for _, statement := range []string{
		"DROP TABLE koan_plans",
		`CREATE TABLE koan_plans (id TEXT NOT NULL PRIMARY KEY, subject TEXT NOT NULL, state TEXT NOT NULL, about TEXT NOT NULL, decided_by TEXT NOT NULL,
	made_at BIGINT NOT NULL, expires_at BIGINT NOT NULL, head TEXT NOT NULL, tape TEXT NOT NULL)`,
		fmt.Sprintf("INSERT INTO koan_plans VALUES (%s, %s, 'waiting', 'sha256:…', '', %d, %d, %s, %s)", quote(id), quote(subject), made, expires, quote(string(old)), quote(tape)),
		"ALTER TABLE koan_keys DROP COLUMN scope",
	} {
		_, err := db.Exec(statement)
		require.NoError(t, err, statement)
	}
	for _, repeated := range []bool{false, true, true} {
		_, outcome, err := newDesk(t, place, &world{}, asksWrites, jobs).approve(id, boss)
		require.NoError(t, err)
		require.Equal(t, id, outcome.Run)
		require.Equal(t, repeated, outcome.Repeated)
	}
	require.Equal(t, 1, o.count("plan"))
}

// While a client's person thinks, somebody else's yes makes another plan: the answer is to
// the first one, whether the call waits for it or comes with it.
func TestAnAnswerToAReplacedPlan(t *testing.T) {
	t.Parallel()
	if forEach(t, TestAnAnswerToAReplacedPlan) {
		return
	}
	place, jobs := place(t), map[string]job{"doubles": doubles}
	free, o := newProcess(t, place, &world{}, once.Options{}), newDesk(t, place, &world{}, asksWrites, jobs)
	free.call("Todo.upsert", `{"model":{"id":"t","title":"t","effort":1}}`)
	other := newDesk(t, place, &world{}, asksWrites, jobs)
	var next string
	replace := func(effort string) {
		waiting, err := other.guard.WaitingPlans(context.Background(), boss)
		require.NoError(t, err)
		require.Len(t, waiting, 1)
		free.call("Todo.patch", `{"id":"t","changes":{"effort":`+effort+`}}`)
		_, outcome, err := other.approve(waiting[0].ID, boss)
		next = other.planned(outcome, err)
	}
	for _, answer := range []string{yes, no} {
		asker := answers(answer)
		asker.answer = func(string) string { replace("3"); return answer }
		_, _, err := o.run(asker, "doubles")
		require.Equal(t, fault.PlanStale, fault.CodeOf(err), "%v", err)
		require.Equal(t, next, detailsOf(err)["planId"])
		require.Equal(t, approve.PlanWaiting, o.find(next).State)
		require.EqualValues(t, 3, free.call("Todo.get-by-id", `{"id":"t"}`)["effort"])
		_, err = o.guard.Deny(context.Background(), approve.Verdict{Plan: o.find(next), By: boss, Snapshot: o.snapshot})
		require.NoError(t, err)
		free.call("Todo.patch", `{"id":"t","changes":{"effort":1}}`)
	}

	c := &caller{}
	_, _, err := o.run(c, "doubles")
	c.answer(t, err, yes)
	replace("4")
	_, _, err = o.run(c, "doubles")
	c.answer(t, err, yes)
	require.Contains(t, c.asked[1], "4 -> 8", "it is asked about the plan that stands now")
	_, _, err = o.run(c, "doubles")
	require.NoError(t, err)
	require.EqualValues(t, 8, free.call("Todo.get-by-id", `{"id":"t"}`)["effort"])
}
