package codemode

import (
	"context"
	"encoding/json"
	"maps"
	"slices"

	"github.com/koan-go/koan/codemode/internal/wire"
	"github.com/koan-go/koan/framework/approval"
	"github.com/koan-go/koan/framework/catalog"
	"github.com/koan-go/koan/framework/fault"
	"github.com/koan-go/koan/framework/run"
	"github.com/koan-go/koan/framework/run/approve"
	"github.com/koan-go/koan/framework/run/store"
)

// The members that are about plans, with few words: every client reads them in every
// conversation. approval only makes the server's policy stricter: never is the policy
// unchanged.
func approvalMember() member {
	return choice("approval", "", string(approval.Never), string(approval.Destructive), string(approval.Writes), string(approval.Always))
}

func planMember() member { return filled("planId", "") }

// planMembers can be combined with planId: a plan has its own code and everything else.
var planMembers = members{planMember(), flag("dryRun", "", false), named("correlationId", "")}

// besidePlan rejects members of a run that cannot be combined with planId, since a plan
// has its own.
func besidePlan(in map[string]json.RawMessage) (wrong []fault.Detail) {
	named := func(in members, name string) bool {
		return slices.ContainsFunc(in, func(m member) bool { return m.name == name })
	}
	for _, name := range slices.Sorted(maps.Keys(in)) {
		if named(executeMembers, name) && !named(planMembers, name) {
			wrong = append(wrong, fault.Detail{Path: "/" + name, Message: "`" + name + "` cannot be combined with `planId`: a plan has its own"})
		}
	}
	return wrong
}

// shownPlan is a plan as a caller reads it before it is applied.
type shownPlan struct {
	PlanID    string               `json:"planId"`
	State     approve.PlanState    `json:"state"`
	Replaces  string               `json:"replaces,omitempty"`
	Tool      string               `json:"tool"`
	Subject   string               `json:"subject"`
	ExpiresAt string               `json:"expiresAt"`
	Call      *approve.PlannedCall `json:"call,omitempty"`
	Sample    bool                 `json:"sample,omitempty"` // changes are a part of them
	Text      string               `json:"text"`
}

// decide serves planId: with dryRun it shows the plan, else it applies it.
func decide(ctx context.Context, call catalog.Call, in executeInput) (json.RawMessage, error) {
	guard, plan, err := approve.Find(ctx, in.PlanID)
	if err != nil {
		return planFailure(call, nil, err)
	}
	if in.DryRun {
		plan = plan.SeenBy(call.Principal(), call.View())
		about, err := wire.Marshal(shownPlan{
			PlanID: plan.ID, State: plan.State, Replaces: plan.Replaces, Tool: plan.Request.Tool, Subject: plan.Request.Principal.Subject,
			ExpiresAt: plan.Expires.Format("2006-01-02T15:04:05Z07:00"), Call: plan.Call, Sample: plan.Sampled(), Text: guard.PlanText(plan),
		})
		if err != nil {
			return nil, err
		}
		changes := orEmpty(store.Disclosed(plan.Changes))
		return wire.Marshal(succeeded{Success: true, RunID: plan.Run, Result: about, Logs: []wire.Log{}, ChangeCounts: plan.Counts(), Changes: &changes})
	}
	out, outcome, err := guard.Apply(ctx, plan)
	switch {
	case plan.Request.Operation == call.Operation().ID.String() && len(out) > 0:
		return out, err
	case err != nil:
		return planFailure(call, outcome, err)
	}
	// Another tool or face: its output is the result.
	reply := succeeded{Success: true, RunID: plan.Run, Result: out, Logs: []wire.Log{}, ChangeCounts: []store.ChangeCount{}}
	if outcome != nil {
		reply.RunID = outcome.Run
		reply.ChangeCounts = store.Counts(store.Disclosed(outcome.Changes))
		if outcome.Repeated {
			reply.ChangeCounts = plan.Counts()
		}
	}
	return wire.Marshal(reply)
}

// planFailure is the body of a plan that could not be applied.
func planFailure(call catalog.Call, o *run.Outcome, err error) (json.RawMessage, error) {
	f := fault.From(err)
	e := execution{scriptRequest: scriptRequest{call: call}, outcome: o}
	body, merr := e.failure(f)
	if merr != nil {
		return nil, fault.New(fault.Internal, "").Because(merr)
	}
	return body, f
}
