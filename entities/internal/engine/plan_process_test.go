package engine_test

import (
	"context"
	"encoding/json"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/koan-go/koan/framework/approval"
	"github.com/koan-go/koan/framework/ask"
	"github.com/koan-go/koan/framework/auth"
	"github.com/koan-go/koan/framework/catalog"
	"github.com/koan-go/koan/framework/exposure"
	"github.com/koan-go/koan/framework/fault"
	"github.com/koan-go/koan/framework/run"
	"github.com/koan-go/koan/framework/run/approve"
	"github.com/koan-go/koan/framework/run/once"
)

// desk is one process of an app whose runs somebody has to agree to. Its scripts
// are jobs, by name, so that another process can run them again.
type desk struct {
	*process
	guard    *approve.Guard
	snapshot *catalog.Snapshot
	jobs     map[string]job
	spec     run.Spec
}

// robot runs scripts and may not approve them; boss may.
var (
	robot = auth.Principal{Subject: "robot", Scopes: []string{auth.All}, Sets: []string{auth.All}}
	boss  = auth.Principal{Subject: "boss", Scopes: []string{auth.All, approve.Scope}, Sets: []string{auth.All}}
)

func newDesk(t *testing.T, place string, w *world, a approve.Settings, jobs map[string]job) *desk {
	t.Helper()
	o := &desk{process: newProcess(t, place, w, once.Options{}), jobs: jobs, spec: atomic}
	o.engine = run.NewEngine(run.Options{})
	o.guard = approve.New(o.engine, approve.Options{Settings: a})
	o.guard.Use(o.provider.Books().Keys.Plans(), o.provider.Books().Keys.Grants())
	o.engine.Join(keysOf(o.ledger, once.Options{Lease: lease}), o.guard)
	o.as = robot
	script := &catalog.Operation{ID: catalog.CodeID("test", "script"), Contract: catalog.Contract{Input: json.RawMessage(`{"type":"object"}`), Output: json.RawMessage(`{}`)}, Work: catalog.Work{Handler: o.script}}
	s, err := catalog.NewSnapshot(o.provider.Offer(), catalog.Offer{Operations: []*catalog.Operation{
		script, w.operation("send", catalog.Effects{Outside: true}), w.operation("look", catalog.Effects{Outside: true, ReadOnly: true}), w.operation("sum", catalog.Effects{}),
	}})
	require.NoError(t, err)
	o.snapshot, o.view = s, s.View(robot, exposure.Full, false)
	return o
}

// script runs the job that its input names.
func (o *desk) script(ctx context.Context, c catalog.Call) (json.RawMessage, error) {
	var in struct{ Job string }
	if err := json.Unmarshal(c.Input(), &in); err != nil {
		return nil, err
	}
	spec := o.spec
	spec.Reply = func(ret run.Return, _ *run.Outcome, err error) (json.RawMessage, error) { return ret.Result, err }
	r, err := run.Open(ctx, spec)
	if err != nil {
		return nil, err
	}
	out, err := r.Execute(ctx, func(ctx context.Context, a *run.Attempt) (run.Return, error) {
		out, err := o.jobs[in.Job](func(id, input string) (string, error) {
			parsed, err := catalog.ParseID(id)
			if err != nil {
				return "", err
			}
			raw, err := a.Invoke(ctx, a.Next(), parsed, json.RawMessage(input))
			return string(raw), err
		}, a)
		return run.Return{Result: json.RawMessage(`"` + out + `"`)}, err
	})
	return out.Reply, err
}

// run runs a job; person answers, nil where nobody can be asked. Its input is as many
// clients write JSON, with blanks, and stays so whatever becomes of the run.
func (o *desk) run(person ask.Client, name string) (string, *run.Outcome, error) {
	o.Helper()
	return o.runWithin(context.Background(), person, name)
}

func (o *desk) runWithin(ctx context.Context, person ask.Client, name string) (string, *run.Outcome, error) {
	o.Helper()
	text := `{ "job": "` + name + `" }`
	input := json.RawMessage(text)
	out, outcome, err := o.engine.Invoke(ask.With(ctx, person), run.Request{
		View: o.view, Principal: o.as, ID: catalog.CodeID("test", "script"), Input: input, Surface: "app",
	})
	require.Equal(o, text, string(input))
	return string(out), outcome, err
}

// plan runs a job that needs somebody's yes, with nobody to ask, and returns its plan.
func (o *desk) plan(name string) string {
	o.Helper()
	_, outcome, err := o.run(nil, name)
	return o.planned(outcome, err)
}

func (o *desk) planned(outcome *run.Outcome, err error) string {
	o.Helper()
	require.Equal(o, fault.ApprovalRequired, fault.CodeOf(err), "%v", err)
	require.False(o, outcome.Committed)
	details, _ := fault.From(err).Details.(map[string]any)
	require.NotEmpty(o, details["planId"])
	return details["planId"].(string)
}

// find returns a plan as it is kept now.
func (o *desk) find(id string) *approve.Plan {
	o.Helper()
	p, err := o.guard.FindPlan(context.Background(), id, boss)
	require.NoError(o, err)
	return p
}

func detailsOf(err error) map[string]any {
	details, _ := fault.From(err).Details.(map[string]any)
	return details
}

// approve applies a plan as somebody.
func (o *desk) approve(id string, by auth.Principal) (string, *run.Outcome, error) {
	p, err := o.guard.FindPlan(context.Background(), id, by)
	if err != nil {
		return "", nil, err
	}
	out, outcome, err := o.guard.Approve(context.Background(), approve.Verdict{Plan: p, By: by, Surface: "app", Snapshot: o.snapshot})
	return string(out), outcome, err
}

// clerk is a client whose user answers, and notes what was asked.
type clerk struct {
	mu     sync.Mutex
	asked  []string
	answer func(text string) string
}

func (p *clerk) Can(q ask.Question) bool { return q.Method == ask.Elicitation }

func (p *clerk) Ask(ctx context.Context, questions ...ask.Question) ([]json.RawMessage, error) {
	var in struct{ Message string }
	if err := json.Unmarshal(questions[0].Params, &in); err != nil {
		return nil, err
	}
	p.mu.Lock()
	p.asked = append(p.asked, in.Message)
	p.mu.Unlock()
	answer := p.answer(in.Message)
	if answer == "" {
		<-ctx.Done()
		return nil, ctx.Err()
	}
	return []json.RawMessage{json.RawMessage(answer)}, nil
}

// failing is a client that says that it can be asked, and cannot.
type failing struct{ err error }

func (failing) Can(ask.Question) bool { return true }

func (f failing) Ask(context.Context, ...ask.Question) ([]json.RawMessage, error) { return nil, f.err }

const (
	yes = `{"action":"accept","content":{"approve":true}}`
	no  = `{"action":"accept","content":{"approve":false}}`
)

func answers(all ...string) *clerk {
	n := 0
	return &clerk{answer: func(string) string { n++; return all[min(n, len(all))-1] }}
}

var asksWrites = approve.Settings{Policy: approval.Policy{Mode: approval.Writes}}
