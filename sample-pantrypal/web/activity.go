package web

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/koan-go/koan/framework/catalog"
	"github.com/koan-go/koan/framework/exposure"
	"github.com/koan-go/koan/framework/fault"
	"github.com/koan-go/koan/framework/journal"
	"github.com/koan-go/koan/framework/run/approve"
	"github.com/koan-go/koan/framework/run/store"
)

// record is a run as the journal has it.
type record struct {
	ID        string              `json:"id"`
	Started   time.Time           `json:"started"`
	Surface   string              `json:"surface"`
	Subject   string              `json:"subject"`
	Tool      string              `json:"tool"`
	Operation string              `json:"operation"`
	Outcome   string              `json:"outcome"`
	Message   *string             `json:"message"`
	Committed bool                `json:"committed"`
	DryRun    bool                `json:"dryRun"`
	Approval  string              `json:"approval"`
	PlanID    *string             `json:"planId"`
	Changes   []store.ChangeCount `json:"changes"`
	Code      *string             `json:"code"`

	What string // in words
}

// Undoable reports whether there is something to undo.
func (r record) Undoable() bool { return r.Committed && len(r.Changes) > 0 }

// surfaces are the places that calls come from, in words.
var surfaces = map[string]string{"mcp": "an agent", "app": "these pages", "rest": "a program", "run": "the command line"}

// Who says who it was.
func (r record) Who() string {
	where := cmp.Or(surfaces[r.Surface], r.Surface)
	if r.Subject == "" || r.Subject == "local" {
		return title(where)
	}
	return r.Subject + " by " + where
}

type activityPage struct {
	Waiting []*waitingPlan
	Runs    []record
	Next    string
}

type waitingPlan struct {
	ID, Subject, What, Summary string
	Created                    time.Time
}

// runsPage is how many runs a page has.
const runsPage = 40

func (s *site) activity(v *visit) (any, error) {
	p := &activityPage{}
	if plans, err := s.app.Plans().WaitingPlans(v.Context(), principal(v.Context())); err == nil { // whoever may not decide has none
		for _, one := range plans {
			p.Waiting = append(p.Waiting, &waitingPlan{one.ID, one.Request.Principal.Subject, s.words(one.Request.Operation, one.Request.Tool), counted(one.Summary()), one.Created})
		}
	}
	view := s.app.View(principal(v.Context()), exposure.Understands)
	page, err := s.app.Runs(v.Context(), journal.Query{Changed: true, Most: runsPage, Before: v.URL.Query().Get("before"), Knows: view.Knows})
	if err != nil {
		return nil, err
	}
	for _, raw := range page.Runs {
		var r record
		if err := json.Unmarshal(raw, &r); err != nil {
			return nil, err
		}
		if r.DryRun { // it shows what would change, such as before an undo
			continue
		}
		r.What = s.words(r.Operation, r.Tool)
		p.Runs = append(p.Runs, r)
	}
	p.Next = page.Next
	return p, nil
}

// words is what an operation does, for people.
func (s *site) words(operation, tool string) string {
	id, err := catalog.ParseID(operation)
	if err != nil {
		return tool
	}
	switch {
	case id.Kind == catalog.KindCode && id.Op == "undo":
		return "Undo"
	case id.Kind == catalog.KindCode:
		return "A script"
	}
	if id.Kind == catalog.KindEntity && verbs[id.Op] != "" {
		return verbs[id.Op] + " " + strings.ReplaceAll(catalog.Kebab(id.Owner), "-", " ")
	}
	if op := s.app.Snapshot().Operation(id); op != nil {
		return op.Title
	}
	return tool
}

// verbs are what the operations of entities do, for people.
var verbs = map[string]string{
	"upsert": "Store a", "upsert-many": "Store several of", "patch": "Change a", "update-by-query": "Change several of",
	"delete": "Delete a", "delete-many": "Delete several of", "delete-by-query": "Delete several of",
}

// event is a line of the pantry's diary.
type event struct {
	ItemName string  `json:"itemName"`
	Kind     string  `json:"kind"`
	Reason   string  `json:"reason"`
	Amount   float64 `json:"amount"`
	Unit     string  `json:"unit"`
}

type runPage struct {
	record
	Events  []event
	Rows    []changedRow
	Problem *fault.Fault // of what an undo would end in
}

func (s *site) run(v *visit) (any, error) {
	one, err := s.find(v, v.PathValue("id"))
	if err != nil {
		return nil, err
	}
	p := &runPage{record: one}
	p.What = s.words(p.Operation, p.Tool)
	if p.Events, err = rows[event](v, "PantryEvent", query{"filter": query{"run": p.ID}, "sort": "itemName,id"}, pageRows); err != nil {
		return nil, err
	}
	if p.Undoable() {
		var back []store.Change
		back, p.Problem = s.undoing(v, p.ID)
		if p.Rows, err = describe(v, back); err != nil {
			return nil, err
		}
	}
	return p, nil
}

// find reads a run out of the journal.
func (s *site) find(v *visit, id string) (record, error) {
	var one record
	view := s.app.View(principal(v.Context()), exposure.Understands)
	report := s.app.Snapshot().Document(catalog.RunReportURI)
	if report == nil {
		return one, fault.New(fault.CapabilityUnsupported, "This app keeps no journal of its runs.")
	}
	raw, err := report.Read(v.Context(), view, id)
	if err != nil {
		return one, err
	}
	return one, json.Unmarshal(raw, &one)
}

// undoing is what an undo of a run would change, turned round: what the run changed.
func (s *site) undoing(v *visit, run string) ([]store.Change, *fault.Fault) {
	_, outcome, err := s.app.Invoke(v.Context(), principal(v.Context()), catalog.CodeID("koan", "undo"), fmt.Appendf(nil, `{"runId":%q,"dryRun":true}`, run))
	if err != nil {
		return nil, fault.From(err)
	}
	if outcome == nil {
		return nil, nil
	}
	back := slices.Clone(store.Disclosed(outcome.Changes))
	for i, c := range back {
		back[i].Before, back[i].After = c.After, c.Before
		switch c.Action {
		case store.Create:
			back[i].Action = store.Delete
		case store.Delete:
			back[i].Action = store.Create
		}
	}
	return back, nil
}

// undo undoes a run. If a person has to approve that, the plan is shown first, as that of any other
// run. But the Undo beside what somebody has done on these pages takes it back at once, for who may
// decide anyway.
func (s *site) undo(v *visit) (done, error) {
	id := v.PathValue("id")
	run, err := v.submit(catalog.CodeID("koan", "undo"), map[string]any{"runId": id}, nil)
	if plan := planOf(err); plan != "" && v.FormValue("now") != "" && mayDecide(v) {
		one, unknown := s.find(v, id)
		if unknown == nil && one.Surface == surface && one.Subject == principal(v.Context()).Subject {
			run, _, err = s.approve(v, plan)
		}
	}
	return done{v.back("/activity"), "undone", run}, err
}

// mayDecide reports whether the caller may decide about plans.
func mayDecide(v *visit) bool { return slices.Contains(principal(v.Context()).Scopes, approve.Scope) }

// approve carries a plan out, and returns its run and what it was.
func (s *site) approve(v *visit, id string) (run, operation string, err error) {
	caller := principal(v.Context())
	one, err := s.app.Plans().FindPlan(v.Context(), id, caller)
	if err != nil {
		return "", "", err
	}
	_, outcome, err := s.app.Plans().Approve(v.Context(), approve.Verdict{Plan: one, By: caller, Surface: surface, Snapshot: s.app.Snapshot()})
	run = one.Run
	if outcome != nil {
		run = outcome.Run
	}
	return run, one.Request.Operation, err
}

// surface names the pages in the journal, as Instance.Invoke does.
const surface = "app"

type planPage struct {
	ID, State, What, Subject, Summary string
	Created, Expires                  time.Time
	Rows                              []changedRow
	MayDecide                         bool
	Back                              string // the page that led here, "" for none
	Waits                             bool
}

func (s *site) plan(v *visit) (any, error) {
	caller := principal(v.Context())
	one, err := s.app.Plans().FindPlan(v.Context(), v.PathValue("id"), caller)
	if err != nil {
		return nil, err
	}
	changed, err := describe(v, store.Disclosed(one.Changes))
	if err != nil {
		return nil, err
	}
	return &planPage{
		ID: one.ID, State: string(one.State), What: s.words(one.Request.Operation, one.Request.Tool), Subject: one.Request.Principal.Subject,
		Summary: counted(one.Summary()), Created: one.Created, Expires: one.Expires, Rows: changed,
		MayDecide: mayDecide(v), Back: v.back(""), Waits: one.State == approve.PlanWaiting,
	}, nil
}

// decide approves a plan, which is then carried out, or denies it.
func (s *site) decide(v *visit) (done, error) {
	switch v.FormValue("do") {
	case "approve":
		run, operation, err := s.approve(v, v.PathValue("id"))
		return done{v.back(afterPlan(operation)), "approved", run}, err
	case "deny":
		caller := principal(v.Context())
		one, err := s.app.Plans().FindPlan(v.Context(), v.PathValue("id"), caller)
		if err == nil {
			_, err = s.app.Plans().Deny(v.Context(), approve.Verdict{Plan: one, By: caller, Surface: surface, Snapshot: s.app.Snapshot()})
		}
		return done{to: v.back("/activity")}, err
	}
	return done{}, fault.New(fault.InvalidPayload, "The form says nothing to do.")
}

// afterPlan is the page on which one sees what an operation did.
func afterPlan(operation string) string {
	switch operation {
	case "action::shop", "action::check-off":
		return "/shopping"
	case "action::replan", "action::week-plan":
		return "/week"
	}
	return "/activity"
}
