package run_test

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/koan-go/koan/framework/catalog"
	"github.com/koan-go/koan/framework/fault"
	"github.com/koan-go/koan/framework/run"
	"github.com/koan-go/koan/framework/run/store"
)

// recordingParticipant takes part in every phase and records its calls.
type recordingParticipant struct {
	name  string
	asked *[]string
	key   *run.Key // that it has runs claimed under
	claim func() (run.Claim, error)
	gate  func(c *run.OutsideCall) error
	run   *run.Run
}

func (g *recordingParticipant) note(phase string) { *g.asked = append(*g.asked, g.name+" "+phase) }

func (g *recordingParticipant) Open(r *run.Run) (run.Part, error) {
	g.note("open")
	if g.run = r; g.key != nil {
		r.RequireClaim(*g.key)
	}
	return g, nil
}

func (g *recordingParticipant) Resume(context.Context) error { g.note("resume"); return nil }

func (g *recordingParticipant) Claim(context.Context, *run.Outcome) (run.Claim, error) {
	g.note("claim")
	if g.claim == nil {
		return run.NotMine, nil
	}
	return g.claim()
}

func (g *recordingParticipant) Unclaim(context.Context)                 { g.note("unclaim") }
func (g *recordingParticipant) Begin(context.Context)                   { g.note("begin") }
func (g *recordingParticipant) EnterSet(context.Context) error          { g.note("enter"); return nil }
func (g *recordingParticipant) AdmitReader([]string) error              { return nil }
func (g *recordingParticipant) Foreign() bool                           { return false }
func (g *recordingParticipant) Inside(*run.Attempt, *catalog.Operation) { g.note("inside") }
func (g *recordingParticipant) Recorded(*run.OutsideCall)               { g.note("recorded") }
func (g *recordingParticipant) BeforeWrite(store.Store) error           { g.note("write"); return nil }

func (g *recordingParticipant) AfterCall(c run.CallEnd) { g.note("after " + c.ID.Op) }

func (g *recordingParticipant) BeforeCommit(context.Context, []string) error {
	g.note("commit")
	return nil
}
func (g *recordingParticipant) End(context.Context, *run.Conclusion) { g.note("end") }
func (g *recordingParticipant) Release(context.Context, *run.Conclusion) error {
	g.note("release")
	return nil
}

func (g *recordingParticipant) Outside(_ context.Context, c *run.OutsideCall) error {
	g.note("outside")
	if g.gate == nil {
		return nil
	}
	return g.gate(c)
}

func (g *recordingParticipant) BeforeOutside(context.Context, *run.OutsideCall) error {
	g.note("before")
	return nil
}

func (g *recordingParticipant) AfterOutside(context.Context, *run.OutsideCall, json.RawMessage, error) {
	g.note("after it")
}

func (g *recordingParticipant) Judge(context.Context, *run.Attempt, run.Effects) error {
	g.note("judge")
	return nil
}

func (g *recordingParticipant) Recover(_ context.Context, _ *run.Outcome, err error) error {
	g.note("recover")
	return err
}

// writes reads nothing, adds one and sends one message.
func writes(ctx context.Context, a *run.Attempt) (run.Return, error) {
	if _, err := call(ctx, a, add, `{"by":1}`); err != nil {
		return run.Return{}, err
	}
	_, err := call(ctx, a, send, `{}`)
	return run.Return{}, err
}

func TestParticipantsAreAskedInOrder(t *testing.T) {
	h, asked := newHouse(t, run.Options{}), []string{}
	h.engine.Join(&recordingParticipant{name: "1", asked: &asked}, &recordingParticipant{name: "2", asked: &asked})
	_, err := h.script(t.Context(), writes)
	require.NoError(t, err)
	var want []string
	for _, phase := range []string{"open", "resume", "begin", "enter", "inside", "write", "after add", "outside", "before", "after it", "after send", "judge", "commit"} {
		want = append(want, "1 "+phase, "2 "+phase)
	}
	require.Equal(t, append(want, "2 release", "1 release", "1 end", "2 end"), asked)
}

// pausing makes its run wait and require a claim.
type pausing struct {
	*recordingParticipant
	waited func(changes []store.Change) error
}

func (p pausing) Error() string { return "wait" }

func (p pausing) Code() fault.Code { return fault.ApprovalRequired }

func (p pausing) Wait(_ context.Context, changes []store.Change) error {
	p.note("wait")
	return p.waited(changes)
}

// TestPause checks that after a pause the run continues along its tape, after a claim if the pause
// requires one.
func TestPause(t *testing.T) {
	h, asked := newHouse(t, run.Options{}), []string{}
	g := &recordingParticipant{name: "g", asked: &asked, claim: func() (run.Claim, error) { return run.Taken, nil }}
	agreed := false
	g.gate = func(*run.OutsideCall) error {
		if agreed {
			return nil
		}
		return pausing{g, func(changes []store.Change) error {
			require.Len(t, changes, 1, "what the attempt changed")
			require.Zero(t, h.store.value["default"], "which is rolled back")
			agreed = true
			g.run.RequireClaim(run.Key{Operation: "test", Name: g.run.ID})
			return nil
		}}
	}
	h.engine.Join(g)
	var seeds []uint64
	o, err := h.script(t.Context(), func(ctx context.Context, a *run.Attempt) (run.Return, error) {
		seeds = append(seeds, a.Tape().Seed())
		return writes(ctx, a)
	})
	require.NoError(t, err)
	require.True(t, o.Committed)
	require.Len(t, seeds, 2)
	require.Equal(t, seeds[0], seeds[1])
	require.EqualValues(t, 1, h.slowN.Load())
	require.Equal(t, 1, h.store.value["default"])
	wait := slices.Index(asked, "g wait")
	require.Equal(t, []string{"g wait", "g claim", "g inside"}, asked[wait:wait+3])
	require.Equal(t, 1, len(slices.DeleteFunc(slices.Clone(asked), func(s string) bool { return s != "g begin" })), "it begins once")
}

func TestClaim(t *testing.T) {
	key := &run.Key{Operation: "test", Name: "k", Busy: fault.New(fault.InProgress, "")}
	taken := func() (run.Claim, error) { return run.Taken, nil }
	for name, c := range map[string]struct {
		second func() (run.Claim, error)
		first  func() (run.Claim, error)
		want   fault.Code
		ends   []string
	}{
		"taken":                {nil, taken, "", []string{"1 claim", "2 claim", "1 begin"}},
		"by nobody":            {nil, nil, fault.Internal, []string{"1 claim", "2 claim", "1 end"}},
		"over":                 {taken, func() (run.Claim, error) { return run.Over, nil }, "", []string{"1 claim", "1 end"}},
		"given up again":       {func() (run.Claim, error) { return run.NotMine, fault.New(fault.PlanStale, "") }, taken, fault.PlanStale, []string{"1 claim", "2 claim", "1 unclaim", "1 end"}},
		"no fault":             {func() (run.Claim, error) { return run.NotMine, errors.New("broken") }, taken, fault.Internal, []string{"1 claim", "2 claim", "1 unclaim", "1 end"}},
		"over, given up":       {func() (run.Claim, error) { return run.Over, nil }, taken, "", []string{"1 claim", "2 claim", "1 unclaim", "1 end"}},
		"refused by the first": {taken, func() (run.Claim, error) { return run.Over, fault.New(fault.InProgress, "") }, fault.InProgress, []string{"1 claim", "1 end"}},
	} {
		t.Run(name, func(t *testing.T) {
			h, asked := newHouse(t, run.Options{}), []string{}
			h.engine.Join(&recordingParticipant{name: "1", asked: &asked, key: key, claim: c.first}, &recordingParticipant{name: "2", asked: &asked, claim: c.second})
			ran := false
			_, err := h.script(t.Context(), func(context.Context, *run.Attempt) (run.Return, error) {
				ran = true
				return run.Return{}, nil
			})
			require.Equal(t, c.want, fault.CodeOf(err))
			require.Equal(t, name == "taken", ran)
			from := slices.Index(asked, "1 claim")
			require.Equal(t, c.ends, asked[from:from+len(c.ends)])
		})
	}
}
