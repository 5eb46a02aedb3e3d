package cli

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/koan-go/koan/framework/exact"
	"github.com/koan-go/koan/framework/fault"
	"github.com/koan-go/koan/framework/journal"
	"github.com/koan-go/koan/framework/run"
	"github.com/koan-go/koan/framework/run/approve"
	"github.com/koan-go/koan/framework/run/store"
)

// executeTool is the tool of a line, unless another one was called.
const executeTool = "koan.code.execute"

// maxLine bounds the one line of `APP run` (CONTRACT section 7), in bytes.
const maxLine = 64 << 10

// lineFrame is about what a line has besides a result and an answer: ids, digests, counts.
const lineFrame = 4 << 10

// line is the one line that `APP run` prints (CONTRACT section 7).
type line struct {
	RunID         string     `json:"run_id"`
	TraceID       string     `json:"trace_id"`
	ToolName      string     `json:"tool_name"`
	ToolVersion   string     `json:"tool_version"`
	InputDigest   string     `json:"input_digest"`
	OutputDigest  string     `json:"output_digest"`
	SandboxImage  *string    `json:"sandbox_image"`
	DurationMs    int64      `json:"duration_ms"`
	ApprovalState string     `json:"approval_state"`
	PlanID        string     `json:"plan_id,omitempty"`
	Result        lineResult `json:"result"`
}

// lineResult has data and answer on success, null if the script returned none, and error
// on failure.
type lineResult struct {
	OK      bool            `json:"ok"`
	Data    json.RawMessage `json:"data,omitempty"`
	Answer  json.RawMessage `json:"answer,omitempty"`
	Emitted json.RawMessage `json:"emitted,omitempty"`
	// Committed says of a failure that some of its calls have changed data for good, with their changes.
	Committed bool            `json:"committed,omitempty"`
	Changes   json.RawMessage `json:"changes,omitempty"`
	// ChangeCounts and ChangesLeftOut are of a line that has no room for all changes, or of such a failure.
	ChangeCounts   json.RawMessage `json:"changeCounts,omitempty"`
	ChangesLeftOut int             `json:"changesLeftOut,omitempty"`
	Calls          json.RawMessage `json:"calls,omitempty"`
	// OutsideEffects are those of a failure, which nothing rolls back; empty ones are left out.
	OutsideEffects json.RawMessage `json:"outsideEffects,omitempty"`
	Error          *lineError      `json:"error,omitempty"`
	Metrics        map[string]any  `json:"metrics"`

	counts json.RawMessage // of all changes, whether or not the line shows them
}

type lineError struct {
	Type      string `json:"type"` // the class of @codemode/errors
	Message   string `json:"message"`
	Retryable bool   `json:"retryable"`
	Code      string `json:"code"`
	Hint      string `json:"hint,omitempty"`
	Path      string `json:"path,omitempty"`
	Details   any    `json:"details,omitempty"`
	Line      int    `json:"line,omitempty"`
	Column    int    `json:"column,omitempty"`
}

// body is the result of koan.code.execute, as far as the line needs it.
type body struct {
	Answer  json.RawMessage `json:"answer,omitempty"`
	Result  json.RawMessage `json:"result,omitempty"`
	Emitted json.RawMessage `json:"emitted,omitempty"`
	Changes json.RawMessage `json:"changes,omitempty"`
	Calls   json.RawMessage `json:"calls,omitempty"`

	Committed      bool            `json:"committed,omitempty"`
	ChangeCounts   json.RawMessage `json:"changeCounts,omitempty"`
	OutsideEffects json.RawMessage `json:"outsideEffects,omitempty"`
	Logs           []struct {
		Level   string `json:"level"`
		Message string `json:"message"`
	} `json:"logs,omitempty"`
}

// line makes the line of a run that ended. out is without secrets. Without an outcome
// the caller knows the run's id.
func (c *invocation) line(code string, out json.RawMessage, o *run.Outcome, callErr error, took time.Duration) (*line, error) {
	l := &line{
		ToolName: executeTool, ToolVersion: c.app.Version, InputDigest: journal.Digest([]byte(code)),
		DurationMs: took.Milliseconds(), ApprovalState: notRequired,
	}
	l.Result.Metrics = map[string]any{"duration_ms": l.DurationMs}
	if o != nil {
		l.RunID, l.TraceID = o.Run, o.Trace
	} else {
		l.TraceID = run.NoRun().Trace
	}
	var err error
	if callErr != nil {
		l.keep(out)
		err = l.fail(fault.From(callErr))
	} else {
		err = l.succeed(out)
	}
	if l.ApprovalState == notRequired && o != nil && o.Approved {
		l.ApprovalState = approved
	}
	return l, err
}

// omit leaves out what the caller has not asked to be included.
func (l *line) omit(include []string) {
	if !slices.Contains(include, "calls") {
		l.Result.Calls = nil
	}
}

// firstRecords keeps the first calls of a list that take at most that many bytes. A last one
// says how many are left out.
func firstRecords(list json.RawMessage, most int) json.RawMessage {
	var all, kept []json.RawMessage
	if len(list) <= most || json.Unmarshal(list, &all) != nil {
		return list
	}
	size := 0
	for _, one := range all {
		if size += len(one); size > most {
			break
		}
		kept = append(kept, one)
	}
	rest, err := compactJSON(map[string]any{"toolName": "…", "error": fmt.Sprintf("and %d more", len(all)-len(kept))})
	if err != nil {
		return list
	}
	out, err := compactJSON(append(kept, rest))
	if err != nil {
		return list
	}
	return out
}

// keep takes over what the body of a failure says of its calls, and of what it has changed all the same.
func (l *line) keep(out json.RawMessage) {
	var b body
	if out == nil || json.Unmarshal(out, &b) != nil {
		return
	}
	if b.Committed {
		l.Result.Committed, l.Result.Changes, l.Result.ChangeCounts = true, b.Changes, b.ChangeCounts
	}
	if l.Result.Calls = b.Calls; string(b.OutsideEffects) != "[]" {
		l.Result.OutsideEffects = b.OutsideEffects
	}
}

// succeed fills in the result of a run.
func (l *line) succeed(out json.RawMessage) (err error) {
	var b body
	if out != nil {
		if err := json.Unmarshal(out, &b); err != nil {
			return err
		}
	}
	r := &l.Result
	r.OK, r.Data, r.Answer, r.Emitted, r.Changes, r.Calls = true, orNull(b.Result), orNull(b.Answer), b.Emitted, b.Changes, b.Calls
	r.counts = b.ChangeCounts
	l.OutputDigest, err = digest(map[string]json.RawMessage{"data": r.Data, "answer": r.Answer})
	return err
}

func orNull(raw json.RawMessage) json.RawMessage {
	if raw == nil {
		return json.RawMessage("null")
	}
	return raw
}

// fail fills in why a run failed. The lists of calls, and the fault's details, path, hint and
// message are shortened if the line has no room for them.
func (l *line) fail(f *fault.Fault) (err error) {
	entry, _ := fault.Lookup(f.Code)
	e := &lineError{
		Type: entry.Class, Message: fault.Clip(f.Message, 8<<10), Retryable: f.Retry == fault.Safe, Code: string(f.Code),
		Hint: f.Hint, Path: f.Path, Details: f.Details, Line: f.Line, Column: f.Column,
	}
	l.Result.Error = e
	l.ApprovalState, l.PlanID = approvalOf(f)
	const someCalls, someEffects = 8 << 10, 24 << 10 // bytes
	for _, shorten := range []func(){
		func() { l.Result.Changes = nil },
		func() { l.Result.Calls = firstRecords(l.Result.Calls, someCalls) },
		func() { l.Result.OutsideEffects = firstRecords(l.Result.OutsideEffects, someEffects) },
		func() { e.Details = firstDetails(f.Details) },
		func() { e.Details = nil },
		func() { e.Path, e.Hint = "", fault.Clip(f.Hint, 1<<10) },
		func() { e.Message = fault.Clip(f.Message, 1<<10) },
	} {
		text, err := l.text()
		if err != nil {
			return err
		}
		if len(text) < maxLine-len(journal.Digest(nil)) {
			break
		}
		shorten()
	}
	l.OutputDigest, err = digest(e)
	return err
}

// firstDetails keeps the first few of several details, and says how many are left out.
func firstDetails(details any) any {
	const few = 10
	list, ok := details.([]fault.Detail)
	if !ok || len(list) <= few {
		return nil
	}
	return append(slices.Clone(list[:few]), fault.Detail{Message: fmt.Sprintf("and %d more", len(list)-few)})
}

// namePlan names the plan that the line is about, unless a fault names the one that has
// replaced it, and the plan's run, unless another one was applied under its idempotency
// key.
func (l *line) namePlan(p *approve.Plan) {
	l.PlanID, l.RunID = cmp.Or(l.PlanID, p.ID), cmp.Or(l.RunID, p.Run)
}

// setPlan names the plan that the line is about, which was applied unless it was only shown.
func (l *line) setPlan(p *approve.Plan, shown bool) {
	l.namePlan(p)
	switch {
	case !l.Result.OK: // the fault says it
	case shown && p.State == approve.PlanWaiting:
		l.ApprovalState = required
	case shown && p.State == approve.PlanDenied:
		l.ApprovalState = denied
	default:
		l.ApprovalState = approved
	}
}

// text is the line as it is printed, without the newline.
func (l *line) text() ([]byte, error) { return compactJSON(l) }

// shortenChanges leaves out the last changes of a line that has no room for all of them, and
// counts all of them there instead. Of a dry run nobody could ask for fewer.
func (l *line) shortenChanges() error {
	text, err := l.text()
	if err != nil || len(text)+len("\n") <= maxLine {
		return err
	}
	r := &l.Result
	var all []json.RawMessage
	if json.Unmarshal(r.Changes, &all) != nil || len(all) == 0 {
		return nil
	}
	r.Changes, r.ChangeCounts, r.ChangesLeftOut = json.RawMessage("[]"), r.counts, len(all)
	if text, err = l.text(); err != nil {
		return err
	}
	room, kept := maxLine-len("\n")-len(text), 0
	for ; kept < len(all); kept++ {
		if room -= len(all[kept]) + len(","); room < 0 {
			break
		}
	}
	r.ChangesLeftOut = len(all) - kept
	r.Changes, err = compactJSON(append([]json.RawMessage{}, all[:kept]...))
	return err
}

// fitsLine refuses, before the commit, a run whose line would be too long even without its changes.
func (c *invocation) fitsLine(include []string, plan *approve.Plan, redactor *journal.Redactor) func(run.Return, *run.Outcome) error {
	return func(ret run.Return, o *run.Outcome) error {
		b := body{Result: ret.Result, Answer: ret.Answer}
		if len(ret.Emitted) > 0 {
			raw, err := compactJSON(ret.Emitted)
			if err != nil {
				return err
			}
			b.Emitted = raw
		}
		for _, part := range []struct {
			shown bool
			value any
			to    *json.RawMessage
		}{
			{o.DryRun || slices.Contains(include, "changes"), o.Changes, &b.Changes},
			{slices.Contains(include, "calls"), o.Calls, &b.Calls},
			{true, store.Counts(store.Disclosed(o.Changes)), &b.ChangeCounts},
		} {
			if !part.shown {
				continue
			}
			raw, err := compactJSON(part.value)
			if err != nil {
				return err
			}
			*part.to = raw
		}
		out, err := compactJSON(b)
		if err != nil {
			return err
		}
		out, o.Redacted = redactor.JSON(out)
		l, err := c.line("", out, o, nil, time.Hour) // what it took is not known yet: room for more than it can
		if err != nil {
			return err
		}
		if plan != nil {
			l.setPlan(plan, false)
		}
		if err := l.shortenChanges(); err != nil {
			return err
		}
		return l.fits()
	}
}

// shorten leaves out of a line what it has no room for. One that is too long all the same, perhaps since what is repeated
// was made for another surface, says only that.
func (l *line) shorten() error {
	if err := l.shortenChanges(); err != nil {
		return err
	}
	if err := l.fits(); err != nil {
		l.Result = lineResult{Metrics: l.Result.Metrics}
		return l.fail(fault.From(err))
	}
	return nil
}

// fits refuses a line that is too long.
func (l *line) fits() error {
	text, err := l.text()
	if err != nil {
		return err
	}
	if size := len(text) + len("\n"); size > maxLine {
		return fault.Newf(fault.ResultTooLarge, "the result's line takes %d bytes, at most %d are allowed", size, maxLine)
	}
	return nil
}

// approvalOf returns the approval state of a run that ended with a fault, and the plan
// that the fault names.
func approvalOf(f *fault.Fault) (state, plan string) {
	var details struct {
		PlanID string `json:"planId"`
	}
	if raw, err := json.Marshal(f.Details); err == nil {
		_ = json.Unmarshal(raw, &details) // a list of details names no plan
	}
	switch f.Code {
	case fault.ApprovalRequired, fault.PlanStale: // a yes that was given was not taken
		return required, details.PlanID
	case fault.ApprovalDenied:
		return denied, details.PlanID
	}
	return notRequired, details.PlanID
}

// compactJSON returns a value without spaces, and without the escapes that only HTML
// needs.
func compactJSON(v any) ([]byte, error) {
	var b strings.Builder
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return nil, err
	}
	return []byte(strings.TrimSuffix(b.String(), "\n")), nil
}

// digest is over the canonical JSON of a value, so that equal data has equal digests.
func digest(v any) (string, error) {
	raw, err := compactJSON(v)
	if err != nil {
		return "", err
	}
	canonical, err := exact.Canonical(raw)
	if err != nil {
		return "", err
	}
	return journal.Digest(canonical), nil
}
