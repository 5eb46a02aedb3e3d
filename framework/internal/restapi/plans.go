package restapi

import (
	"cmp"
	"context"
	"encoding/json"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/koan-go/koan/framework/auth"
	"github.com/koan-go/koan/framework/catalog"
	"github.com/koan-go/koan/framework/fault"
	"github.com/koan-go/koan/framework/internal/invoke"
	"github.com/koan-go/koan/framework/run/approve"
	"github.com/koan-go/koan/framework/run/store"
)

// planSummary is a plan in a list.
type planSummary struct {
	ID           string              `json:"id"`
	Run          string              `json:"runId"`
	State        approve.PlanState   `json:"state"`
	Created      time.Time           `json:"created"`
	Expires      time.Time           `json:"expires"`
	Subject      string              `json:"subject"` // whose run it is
	Tool         string              `json:"tool"`
	Set          string              `json:"set"`
	Summary      string              `json:"summary"`
	ChangeCounts []store.ChangeCount `json:"changeCounts"`
}

// planText is a plan as a person reads it who decides about it.
type planText struct {
	planSummary
	DecidedBy  string               `json:"decidedBy,omitempty"`
	Replaces   string               `json:"replaces,omitempty"`
	ReplacedBy string               `json:"replacedBy,omitempty"`
	Differs    []string             `json:"differs,omitempty"` // from the plan that it replaces
	Call       *approve.PlannedCall `json:"call,omitempty"`    // outside, that the run waits before
	Changes    []store.Change       `json:"changes"`
	Sample     bool                 `json:"sample,omitempty"` // changes are a part of them
	Text       string               `json:"text"`
	Code       string               `json:"code,omitempty"` // of a script, without secrets
	Language   string               `json:"language,omitempty"`
}

func summarize(p *approve.Plan) planSummary {
	return planSummary{
		ID: p.ID, Run: p.Run, State: p.State, Created: p.Created, Expires: p.Expires, Subject: p.Request.Principal.Subject,
		Tool: p.Request.Tool, Set: p.Request.Set, Summary: p.Summary(), ChangeCounts: p.Counts(),
	}
}

// servePlans serves GET /api/console/plans: those that wait and that the caller may decide about.
func (h consoleRoutes) servePlans(w http.ResponseWriter, r *http.Request) {
	if !h.allows(w, r, http.MethodGet) {
		return
	}
	found, err := h.opts.Console.Plans.WaitingPlans(r.Context(), auth.From(r.Context()))
	if err != nil {
		h.reject(w, r, fault.From(err))
		return
	}
	plans, by := []planSummary{}, auth.From(r.Context())
	for _, p := range found {
		plans = append(plans, summarize(p.SeenBy(by, h.view(by))))
	}
	h.respondJSON(w, r, map[string]any{"plans": plans})
}

// servePlan serves GET /api/console/plans/ID.
func (h consoleRoutes) servePlan(w http.ResponseWriter, r *http.Request) {
	if !h.allows(w, r, http.MethodGet) {
		return
	}
	by := auth.From(r.Context())
	p, err := h.opts.Console.Plans.FindPlan(r.Context(), r.PathValue("id"), by)
	if err != nil {
		h.reject(w, r, fault.From(err))
		return
	}
	p = p.SeenBy(by, h.view(by))
	out := planText{
		planSummary: summarize(p), DecidedBy: p.By, Replaces: p.Replaces, ReplacedBy: p.ReplacedBy, Differs: p.Differs, Call: p.Call,
		Changes: store.Disclosed(p.Changes), Sample: p.Sampled(), Text: h.opts.Console.Plans.WholePlanText(p),
	}
	if out.Changes == nil {
		out.Changes = []store.Change{}
	}
	var in struct{ Code, Language string }
	if id, err := catalog.ParseID(p.Request.Operation); err == nil && id.Kind == catalog.KindCode && json.Unmarshal(p.Request.Input, &in) == nil {
		out.Code, _ = h.opts.Engine.Redactor().Text(in.Code)
		if out.Language = cmp.Or(in.Language, fencedLanguage(in.Code)); out.Language == "" {
			out.Language = slices.Concat(languagesOf(h.view(by).Operation(id)), []string{"javascript"})[0]
		}
	}
	h.respondJSON(w, r, out)
}

// fencedLanguage returns the language that the code fence around a script names, "" if there is none.
func fencedLanguage(code string) string {
	line, _, _ := strings.Cut(strings.TrimSpace(code), "\n")
	name, fenced := strings.CutPrefix(line, "```")
	switch name = strings.ToLower(strings.TrimSpace(name)); {
	case !fenced:
		return ""
	case name == "py":
		return "python"
	case name == "js", name == "ts":
		return "javascript"
	}
	return name
}

// serveApprove serves POST /api/console/plans/ID/approve: the plan is applied, and the result is
// that of its run.
func (h consoleRoutes) serveApprove(w http.ResponseWriter, r *http.Request) {
	h.decide(w, r, func(ctx context.Context, v approve.Verdict) (any, error) {
		out, outcome, err := h.opts.Console.Plans.Approve(ctx, v)
		if err != nil {
			return nil, err
		}
		reply := map[string]any{"planId": v.Plan.ID, "state": approve.PlanApplied, "runId": v.Plan.Run}
		if outcome != nil {
			reply["runId"] = outcome.Run
		}
		if id, err := catalog.ParseID(v.Plan.Request.Operation); err == nil {
			if op := v.Snapshot.Operation(id); op != nil {
				reply["result"] = invoke.Success(h.view(v.By), op, out)
			}
		}
		return reply, nil
	})
}

// serveDeny serves POST /api/console/plans/ID/deny.
func (h consoleRoutes) serveDeny(w http.ResponseWriter, r *http.Request) {
	h.decide(w, r, func(ctx context.Context, v approve.Verdict) (any, error) {
		if _, err := h.opts.Console.Plans.Deny(ctx, v); err != nil {
			return nil, err
		}
		return map[string]any{"planId": v.Plan.ID, "state": approve.PlanDenied, "runId": v.Plan.Run}, nil
	})
}

// decide carries out a decision about a plan.
func (h consoleRoutes) decide(w http.ResponseWriter, r *http.Request, do func(context.Context, approve.Verdict) (any, error)) {
	if !h.allows(w, r, http.MethodPost) {
		return
	}
	if _, given, err := h.members(w, r, jsonType); err != nil {
		h.rejectAs(w, r, asRejection(err))
		return
	} else if len(given) > 0 {
		h.reject(w, r, fault.Invalid(fault.Detail{Message: "the body has no members"}).WithHint("Send {}."))
		return
	}
	h.limited(w, r, func(ctx context.Context) (any, error) {
		by := auth.From(ctx)
		p, err := h.opts.Console.Plans.FindPlan(ctx, r.PathValue("id"), by)
		if err != nil {
			return nil, err
		}
		return do(ctx, approve.Verdict{Plan: p, By: by, Surface: surface, Snapshot: h.opts.Catalog()})
	})
}
