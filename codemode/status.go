package codemode

import (
	"context"
	"encoding/json"
	"strings"
	"time"

	"github.com/koan-go/koan/codemode/internal/recording"
	"github.com/koan-go/koan/codemode/internal/wire"
	"github.com/koan-go/koan/framework/catalog"
	"github.com/koan-go/koan/framework/fault"
	"github.com/koan-go/koan/framework/journal"
	"github.com/koan-go/koan/framework/run"
	"github.com/koan-go/koan/framework/run/approve"
	"github.com/koan-go/koan/framework/run/live"
	"github.com/koan-go/koan/framework/run/replay"
	"github.com/koan-go/koan/framework/run/store"
)

// The states of a run.
const (
	stateRunning     = "running"
	stateWaiting     = "waiting" // for a person
	stateDone        = "done"
	stateFailed      = "failed"
	stateDenied      = "denied"
	stateInterrupted = "interrupted" // its process ended
)

var statusMembers = members{{name: "runId", required: true, check: isString, schema: map[string]any{"type": "string"}}}

const statusOutput = `{"type":"object","required":["runId","state"],"properties":{"runId":{"type":"string"},"state":{"type":"string"}}}`

// statusOperation is no tool of the lists, where it would cost each conversation: answers that
// need it name it.
func statusOperation() *catalog.Operation {
	return &catalog.Operation{
		ID: catalog.CodeID(faceKoan, "status"),
		Contract: catalog.Contract{
			Input: statusMembers.schema(), Output: json.RawMessage(statusOutput), Proven: true,
			Effects: catalog.Effects{ReadOnly: true, Idempotent: true},
		},
		Listing: catalog.Listing{
			Title:   "Ask about a run",
			Summary: "Says how far a run of yours is, what it returned, or what it waits for.", Unlisted: true,
			Reach: catalog.ReachTools,
		},
		Work: catalog.Work{Decode: decodeStatus, Handler: status},
	}
}

func decodeStatus(in catalog.Input) (catalog.Decoded, error) {
	v, err := statusMembers.read(in.JSON)
	return catalog.Decoded{Value: v.text("runId")}, err
}

// runStatus is the output of koan.code.status.
type runStatus struct {
	RunID    string            `json:"runId"`
	State    string            `json:"state"`
	Tool     string            `json:"tool,omitempty"`
	Started  string            `json:"started,omitempty"`
	Progress *live.Progress    `json:"progress,omitempty"`
	Emitted  []json.RawMessage `json:"emitted,omitempty"`
	Plan     *waitingPlan      `json:"plan,omitempty"`
	// Result is what the run's caller got: of a script as koan.code.execute returns it. Notes
	// say what of it is missing.
	Result json.RawMessage `json:"result,omitempty"`
	Notes  []string        `json:"notes,omitempty"`
}

// waitingPlan is what a person has to decide about.
type waitingPlan struct {
	PlanID       string              `json:"planId"`
	ExpiresAt    string              `json:"expiresAt"`
	ChangeCounts []store.ChangeCount `json:"changeCounts"`
	Text         string              `json:"text"`
}

// status serves koan.code.status.
func status(ctx context.Context, call catalog.Call) (json.RawMessage, error) {
	out, err := statusOf(ctx, call, call.Decoded().(string))
	if err != nil {
		return nil, err
	}
	return wire.Marshal(out)
}

// statusOf looks for a run where it may be: among those that run here, at its plan, in the journal.
func statusOf(ctx context.Context, call catalog.Call, id string) (*runStatus, error) {
	if strings.ContainsRune(id, 0) { // no database can look for it
		return nil, noRun(id)
	}
	out := &runStatus{RunID: id}
	now, running := live.Find(ctx, id)
	if running {
		out.State, out.Started, out.Progress, out.Emitted = stateRunning, now.Started.UTC().Format(time.RFC3339Nano), now.Progress, now.Emitted
		out.Tool = call.View().Snapshot().ToolName(now.Operation)
	}
	plan, guard, err := planOf(ctx, id)
	if err != nil {
		return nil, err
	}
	if plan != nil {
		out.RunID, out.Tool = plan.Run, plan.Request.Tool
		switch plan.State {
		case approve.PlanWaiting:
			out.State = stateWaiting
			out.Plan = &waitingPlan{PlanID: plan.ID, ExpiresAt: plan.Expires.Format(time.RFC3339), ChangeCounts: plan.Counts(), Text: guard.CallerText(plan)}
			return out, out.fail(ctx, guard, plan)
		case approve.PlanDenied:
			out.State = stateDenied
			return out, out.fail(ctx, guard, plan)
		case approve.PlanApproved:
			out.State = stateRunning
			return out, nil
		case approve.PlanApplied, approve.PlanReplaced:
		}
	}
	if running {
		return out, nil
	}
	return out, out.end(ctx, call)
}

// fail makes the result of a run that stands at a plan, or has ended there: nothing is changed but
// what it has done outside.
func (s *runStatus) fail(ctx context.Context, g *approve.Guard, p *approve.Plan) error {
	raw, err := wire.Marshal(failed{RunID: s.RunID, Error: run.Unrepeatable(g.Fault(p), p.Made), Calls: []run.CallRecord{}, Logs: []wire.Log{}, OutsideEffects: bounded(p.Made)})
	s.Result = run.RedactBody(ctx, raw)
	return err
}

// planOf returns the plan that a run stands at, by its id or that of one of its plans; nil
// where there is none for the caller.
func planOf(ctx context.Context, id string) (*approve.Plan, *approve.Guard, error) {
	const most = 100 // plans of one run, one after another
	var found *approve.Plan
	var guard *approve.Guard
	for range most {
		g, plan, err := approve.Find(ctx, id)
		switch {
		case fault.CodeOf(err) == fault.NotFound:
			return found, guard, nil
		case err != nil:
			return nil, nil, err
		}
		found, guard = plan, g
		if plan.State != approve.PlanReplaced {
			break
		}
		id = plan.ReplacedBy
	}
	return found, guard, nil
}

// endedRun is what the journal says of a run.
type endedRun struct {
	journal.Ending
	Subject   string              `json:"subject"`
	Operation string              `json:"operation"`
	Tool      string              `json:"tool"`
	Started   string              `json:"started"`
	Line      int                 `json:"line"`
	Changes   []store.ChangeCount `json:"changes"`
	Calls     []struct {
		Operation  string  `json:"operation"`
		Tool       string  `json:"tool"`
		Outcome    string  `json:"outcome"`
		DurationMs float64 `json:"durationMs"`
		Outside    bool    `json:"outside"`
	} `json:"calls"`
}

// noRun is the fault of an id that no run of the caller's has.
func noRun(id string) *fault.Fault {
	return fault.Newf(fault.NotFound, "no run of yours has the id %s", quoted(id)).WithPath("/runId").
		WithHint("Runs are known from their start to journal.retentionDays after their end, while they run only to the process that runs them. Without a database of the app's own there is no journal.")
}

// end fills in how a run ended.
func (s *runStatus) end(ctx context.Context, call catalog.Call) error {
	unknown := noRun(s.RunID)
	page := call.View().Snapshot().Document(catalog.RunReportURI)
	if page == nil {
		return unknown
	}
	text, err := page.Read(ctx, call.View(), s.RunID)
	switch {
	case fault.CodeOf(err) == fault.NotFound:
		return unknown
	case err != nil:
		return err
	}
	var r endedRun
	if err := json.Unmarshal(text, &r); err != nil {
		return fault.New(fault.Internal, "").Because(err)
	}
	s.Started, s.Tool = r.Started, r.Tool
	switch r.Outcome {
	case journal.OK:
		s.State = stateDone
	case journal.CutOff:
		s.State = stateInterrupted
	default:
		s.State = stateFailed
	}
	if r.Subject != call.Principal().Subject {
		s.Notes = append(s.Notes, "what the run returned is for its caller")
		return nil
	}
	id, err := catalog.ParseID(r.Operation)
	if err != nil || id.Kind != catalog.KindCode {
		s.Notes = append(s.Notes, "of a call of one tool the journal keeps how it ended; what it returned is not kept")
		return nil
	}
	return s.rebuild(ctx, &r)
}

// rebuild rebuilds what a script's run returned, from its recording where there is one.
func (s *runStatus) rebuild(ctx context.Context, r *endedRun) (err error) {
	ending := recording.Ending{Logs: []wire.Log{}}
	if script, why := recordingOf(ctx, s.RunID); script != nil {
		ending = script.Ending
		for i := range ending.Logs {
			ending.Logs[i].Message = run.RedactText(ctx, ending.Logs[i].Message)
		}
	} else {
		s.Notes = append(s.Notes, "answer, result and logs are missing: "+why)
	}
	if r.Outcome == journal.OK {
		s.Result, err = wire.Marshal(succeeded{
			Success: true, RunID: s.RunID, Answer: ending.Answer, Result: ending.Result, Emitted: ending.Emitted, Logs: orEmpty(ending.Logs), ChangeCounts: orEmpty(r.Changes),
		})
		return err
	}
	body := failed{RunID: s.RunID, Error: r.Fault(run.RequestOf(ctx).View.Snapshot().ActsOutside()), Committed: r.Committed, Calls: []run.CallRecord{}, Logs: orEmpty(ending.Logs), Emitted: ending.Emitted, OutsideEffects: []run.CallRecord{}}
	body.Error.Line = r.Line
	if ending.Fault != nil {
		if f, err := fault.Decode(ending.Fault); err == nil && string(f.Code) == r.Outcome {
			body.Error = f
		}
	}
	if r.Committed {
		body.ChangeCounts = r.Changes
	}
	for _, c := range r.Calls {
		id, err := catalog.ParseID(c.Operation)
		if err != nil {
			return fault.New(fault.Internal, "").Because(err)
		}
		rec := run.CallRecord{ServerID: catalog.ServerID(id), ToolName: c.Tool, OK: c.Outcome == journal.OK, DurationMs: int64(c.DurationMs)}
		if !rec.OK {
			rec.Error = c.Outcome
		}
		body.Calls = append(body.Calls, rec)
		if c.Outside && rec.OK {
			body.OutsideEffects = append(body.OutsideEffects, rec)
		}
	}
	if r.OutsideCount > 0 { // of what an action called with the app's rights, this has the count alone
		body.Error = body.Error.BesideEffects()
	}
	body.Calls, body.OutsideEffects = bounded(body.Calls), bounded(body.OutsideEffects)
	raw, err := wire.Marshal(body)
	s.Result = run.RedactBody(ctx, raw)
	return err
}

// recordingOf returns the recording of a run; nil says why there is none.
func recordingOf(ctx context.Context, id string) (s *recording.Script, why string) {
	tapes, ok := run.Joined[*replay.Tapes](ctx)
	if !ok {
		return nil, "this app keeps no runs"
	}
	k, err := tapes.Kept(ctx, id)
	if err != nil {
		f := fault.From(err)
		return nil, strings.TrimSpace(f.Message + ". " + f.Hint)
	}
	if k.Subject != run.RequestOf(ctx).Principal.Subject {
		return nil, "the run is somebody else's"
	}
	if s, err = recording.Decode(k.Script, "", nil); err != nil {
		return nil, "the recording cannot be read by this build"
	}
	return s, ""
}
