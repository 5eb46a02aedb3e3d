package web

import (
	"cmp"
	"encoding/json"
	"slices"
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

// Who says who it was, and from where the call came.
func (r record) Who(d day) string {
	where := d.word("surface", r.Surface)
	if r.Subject == "" || r.Subject == "local" {
		return title(where)
	}
	return d.t("run.by", r.Subject, where)
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

func activity(v *visit) (any, error) {
	s := v.site
	p := &activityPage{}
	if plans, err := s.app.Plans().WaitingPlans(v.Context(), principal(v.Context())); err == nil { // whoever may not decide has none
		for _, one := range plans {
			p.Waiting = append(p.Waiting, &waitingPlan{one.ID, one.Request.Principal.Subject, s.words(v.day, one.Request.Operation, one.Request.Tool, one.Counts()), summed(v.day, one), one.Created})
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
		r.What = s.words(v.day, r.Operation, r.Tool, r.Changes)
		p.Runs = append(p.Runs, r)
	}
	p.Next = page.Next
	return p, nil
}

// summed is what a plan would do, in numbers.
func summed(d day, one *approve.Plan) string {
	return cmp.Or(capital(d.happened(one.Counts())), d.counted(one.Summary()))
}

// undoID is the operation that undoes runs.
var undoID = catalog.CodeID("koan", "undo")

// words is what an operation did or would do, for people.
func (s *site) words(d day, operation, tool string, changes []store.ChangeCount) string {
	id, err := catalog.ParseID(operation)
	if err != nil {
		return tool
	}
	switch {
	case id == undoID:
		return d.t("do.undo")
	case id.Kind == catalog.KindCode:
		return d.t("run.script")
	}
	if id.Kind == catalog.KindEntity {
		entity := id.Owner
		if s.app.Snapshot().Resource(entity) == nil && len(changes) > 0 { // a write on a condition names none
			entity = changes[0].Entity
		}
		if did := d.deed(entity, changes); did != "" {
			return did
		}
	}
	if op := s.app.Snapshot().Operation(id); op != nil {
		if name := "action." + id.Op; id.Kind == catalog.KindAction && d.knows(name) {
			return d.t(name)
		}
		return op.Title
	}
	return tool
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
	Did     []string // in kitchen words
	Undo    []string // what an undo would do
	Rows    []changedRow
	Problem *trouble // of what an undo would end in
}

func (s *site) run(v *visit) (any, error) {
	one, err := s.find(v, v.PathValue("id"))
	if err != nil {
		return nil, err
	}
	p := &runPage{record: one}
	p.What = s.words(v.day, p.Operation, p.Tool, p.Changes)
	if !p.Undoable() {
		return p, nil
	}
	back, err := s.undoing(v, p.ID)
	if err != nil {
		p.Problem = v.forPeople(err)
	}
	if p.Undo, err = deeds(v, back); err != nil {
		return nil, err
	}
	did := turned(back)
	if p.Did, err = deeds(v, did); err != nil {
		return nil, err
	}
	p.Rows, err = describe(v, did)
	return p, err
}

// find reads a run out of the journal.
func (s *site) find(v *visit, id string) (record, error) {
	var one record
	view := s.app.View(principal(v.Context()), exposure.Understands)
	report := s.app.Snapshot().Document(catalog.RunReportURI)
	if report == nil {
		return one, failure(v, fault.CapabilityUnsupported, "fault.noJournal")
	}
	raw, err := report.Read(v.Context(), view, id)
	if isMissing(err) {
		return one, failure(v, fault.NotFound, "fault.forgotten").WithHint("%s", v.day.t("hint.forgotten")).Because(err)
	}
	if err != nil {
		return one, err
	}
	return one, json.Unmarshal(raw, &one)
}

// undoing is what an undo of a run would change.
func (s *site) undoing(v *visit, run string) ([]store.Change, error) {
	outcome, err := s.app.Invoke(v.Context(), principal(v.Context()), undoID.String(), map[string]any{"runId": run, "dryRun": true}, nil)
	if err != nil {
		return nil, refusal{err}
	}
	if outcome == nil {
		return nil, nil
	}
	return store.Disclosed(outcome.Changes), nil
}

// turned are changes the other way round: of an undo, what the run did.
func turned(changes []store.Change) []store.Change {
	back := slices.Clone(changes)
	for i, c := range back {
		back[i].Before, back[i].After = c.After, c.Before
		switch c.Action {
		case store.Create:
			back[i].Action = store.Delete
		case store.Delete:
			back[i].Action = store.Create
		}
	}
	return back
}

// undo undoes a run. If a person has to approve that, the plan is shown first, as that of any other
// run. But the Undo beside what somebody has done on these pages takes it back at once, for who may
// decide anyway.
func (s *site) undo(v *visit) (done, error) {
	id := v.PathValue("id")
	run, err := v.submit(undoID, map[string]any{"runId": id}, nil)
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

// approve carries a plan out, and returns its run and the page on which one sees what it did.
func (s *site) approve(v *visit, id string) (run, next string, err error) {
	one, err := s.findPlan(v, id)
	if err != nil {
		return "", "", err
	}
	out, outcome, err := s.app.Plans().Approve(v.Context(), s.verdict(v, one))
	run = one.Run
	if outcome != nil {
		run = outcome.Run
	}
	if err == nil {
		return run, afterPlan(one.Request, out), nil
	}
	if one.Request.Operation == undoID.String() && fault.CodeOf(err) == fault.Conflict { // it would wait for ever
		if _, kept := s.app.Plans().Deny(v.Context(), s.verdict(v, one)); kept != nil {
			s.app.Log().Warn("an undo that cannot be carried out waits on", "plan", id, "error", kept)
		}
	}
	return run, "", refusal{err}
}

// findPlan returns a plan that the caller may see.
func (s *site) findPlan(v *visit, id string) (*approve.Plan, error) {
	one, err := s.app.Plans().FindPlan(v.Context(), id, principal(v.Context()))
	if isMissing(err) {
		err = failure(v, fault.NotFound, "fault.noPlan").
			WithHint("%s", v.day.t("hint.noPlan")).Because(err)
	}
	return one, err
}

// verdict is the caller's decision about a plan.
func (s *site) verdict(v *visit, one *approve.Plan) approve.Verdict {
	return approve.Verdict{Plan: one, By: principal(v.Context()), Surface: surface, Snapshot: s.app.Snapshot()}
}

// unfit says why a plan that waits cannot be carried out any more; nil if it can.
func (s *site) unfit(v *visit, one *approve.Plan) error {
	if err := s.app.Plans().Admit(v.Context(), s.verdict(v, one)); fault.CodeOf(err) == fault.PlanStale {
		return failure(v, fault.PlanStale, "fault.stale").WithHint("%s", v.day.t("hint.askAgain")).Because(err)
	}
	var in struct{ RunID, OnConflict string }
	if one.Request.Operation != undoID.String() || json.Unmarshal(one.Request.Input, &in) != nil || in.OnConflict == "skip" {
		return nil
	}
	if _, err := s.undoing(v, in.RunID); fault.CodeOf(err) == fault.Conflict {
		return err
	}
	return nil
}

// surface names the pages in the journal, as Instance.Invoke does.
const surface = "app"

type planPage struct {
	ID, State, What, Subject, Summary string
	Created, Expires                  time.Time
	Does                              []string // in kitchen words
	Rows                              []changedRow
	MayDecide                         bool
	Back                              string // the page that led here, "" for none
	Waits                             bool
	Deletes                           bool
	Things                            int      // that change
	Problem                           *trouble // why it cannot be carried out any more
}

func (s *site) plan(v *visit) (any, error) {
	one, err := s.findPlan(v, v.PathValue("id"))
	if err != nil {
		return nil, err
	}
	changed, err := describe(v, store.Disclosed(one.Changes))
	if err != nil {
		return nil, err
	}
	does, err := deeds(v, store.Disclosed(one.Changes))
	if err != nil {
		return nil, err
	}
	p := &planPage{
		Does: does, ID: one.ID, State: string(one.State), What: s.words(v.day, one.Request.Operation, one.Request.Tool, one.Counts()), Subject: one.Request.Principal.Subject,
		Summary: summed(v.day, one), Created: one.Created, Expires: one.Expires, Rows: changed,
		MayDecide: mayDecide(v), Back: v.back(""), Waits: one.State == approve.PlanWaiting,
	}
	for _, c := range one.Counts() {
		p.Deletes, p.Things = p.Deletes || c.Deleted > 0, p.Things+c.Created+c.Updated+c.Deleted
	}
	if p.Waits {
		if err := s.unfit(v, one); err != nil {
			p.Problem = v.forPeople(err)
		}
	}
	return p, nil
}

// decide approves a plan, which is then carried out, or denies it.
func decide(v *visit) (done, error) {
	s := v.site
	switch v.FormValue("do") {
	case "approve":
		run, next, err := s.approve(v, v.PathValue("id"))
		return done{v.back(next), "approved", run}, err
	case "deny":
		one, err := s.findPlan(v, v.PathValue("id"))
		if err == nil {
			_, err = s.app.Plans().Deny(v.Context(), s.verdict(v, one))
		}
		return done{to: v.back("/activity")}, err
	}
	return done{}, v.refuse("fault.nothing")
}

// afterPlan is the page on which one sees what a plan's call did.
func afterPlan(call approve.Planned, out json.RawMessage) string {
	switch call.Operation {
	case "action::shop", "action::check-off":
		var list struct{ ListID string }
		for _, raw := range []json.RawMessage{call.Input, out} {
			_ = json.Unmarshal(raw, &list) // where neither names a list, the newest one is shown
		}
		return listPage(list.ListID)
	case "action::replan", "action::week-plan":
		return "/week"
	}
	return "/activity"
}
