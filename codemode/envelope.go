package codemode

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/koan-go/koan/codemode/internal/bind"
	"github.com/koan-go/koan/codemode/internal/wire"
	"github.com/koan-go/koan/framework/catalog"
	"github.com/koan-go/koan/framework/fault"
	"github.com/koan-go/koan/framework/run"
)

// envelope is the response of codemode.run, success and failure alike
// (codemode-run-spec section 3.3).
type envelope struct {
	Logs        []wire.Log        `json:"logs"`
	Result      json.RawMessage   `json:"result"`
	Diagnostics []diagnostic      `json:"diagnostics"`
	ToolTrace   []run.CallRecord  `json:"toolTrace"`
	Emitted     []json.RawMessage `json:"emitted,omitempty"` // beyond the text, as runId
	RunID       string            `json:"runId"`             // beyond the text: what undo, replay and the journal ask for
}

// diagnostic is one diagnostic (codemode-run-spec section 3.3.3).
type diagnostic struct {
	Severity   string `json:"severity"` // error, warning, info
	Code       string `json:"code"`
	Message    string `json:"message"`
	Hint       string `json:"hint,omitempty"`
	Path       string `json:"path,omitempty"` // "script:LINE:COLUMN", or a JSON Pointer into the request
	ErrorClass string `json:"errorClass,omitempty"`
}

const severityInfo = "info"

// null is the result of a script that assigned none.
var null = json.RawMessage("null")

// diagnose turns a fault into a diagnostic.
func diagnose(f *fault.Fault) diagnostic {
	entry, _ := fault.Lookup(f.Code)
	d := diagnostic{
		Severity: wire.SeverityError, Code: entry.Diagnostic(), Message: f.Message, Hint: f.Hint, Path: f.Path, ErrorClass: entry.ErrorClass(),
	}
	if about, ok := f.Details.(map[string]any); ok && about["import"] != nil {
		d.Code = fault.DiagnosticImport
	}
	if f.Line > 0 {
		if f.Path != "" { // of the call's input
			d.Message = f.Path + ": " + d.Message
		}
		d.Path = fmt.Sprintf("script:%d:%d", f.Line, max(f.Column, 1))
	}
	return d
}

// refusal is the envelope of an invalid request: no script ran.
func refusal(call catalog.Call, f *fault.Fault) envelope {
	e := envelope{RunID: call.Run(), Logs: []wire.Log{}, Result: null, ToolTrace: []run.CallRecord{}}
	wrong, _ := f.Details.([]fault.Detail)
	if f.Code != fault.InvalidPayload || len(wrong) == 0 {
		e.Diagnostics = []diagnostic{diagnose(f)}
		return e
	}
	for _, w := range wrong {
		entry, _ := fault.Lookup(f.Code)
		e.Diagnostics = append(e.Diagnostics, diagnostic{
			Severity: wire.SeverityError, Code: fault.DiagnosticRequest, Message: w.Message, Hint: f.Hint, Path: w.Path, ErrorClass: entry.Class,
		})
	}
	return e
}

// envelope returns how the run of a module ended; err is nil if it succeeded.
func (e *execution) envelope(err error, before []diagnostic) envelope {
	out := envelope{RunID: e.runID(), Logs: e.moduleLogs(), Result: null, Diagnostics: []diagnostic{}, ToolTrace: []run.CallRecord{}}
	if e.result != nil {
		out.Emitted = e.result.Emitted
	}
	if e.outcome != nil {
		out.ToolTrace = bounded(e.traced(e.outcome.Calls))
	}
	if err != nil {
		out.Diagnostics = append(out.Diagnostics, diagnose(fault.From(err)))
	}
	out.Diagnostics = append(out.Diagnostics, before...)
	for _, n := range e.notes {
		out.Diagnostics = append(out.Diagnostics, diagnostic{Severity: wire.SeverityWarning, Code: fault.DiagnosticLowered, Message: n.Message, Path: "/limits"})
	}
	if err != nil {
		out.Diagnostics = append(out.Diagnostics, e.aftermath()...)
		return out
	}
	if e.result.Result != nil {
		out.Result = e.result.Result
		return out
	}
	out.Diagnostics = append(out.Diagnostics, diagnostic{
		Severity: severityInfo, Code: fault.DiagnosticNoResult, Message: "the script assigned no result",
		Hint: "Assign what you want back: globalThis." + wire.ResultName + " = value.",
	})
	return out
}

// aftermath returns diagnostics about what a failed run has left: commits and outside
// effects.
func (e *execution) aftermath() []diagnostic {
	if e.outcome == nil {
		return nil
	}
	var out []diagnostic
	if !e.outcome.Committed {
		out = append(out, diagnostic{Severity: severityInfo, Code: fault.DiagnosticNotCommitted, Message: "nothing that the script changed in the data was kept"})
	}
	if n := len(e.outcome.OutsideEffects); n > 0 {
		var names []string
		for _, c := range bounded(e.traced(e.outcome.OutsideEffects)) {
			names = append(names, c.ServerID+" "+c.ToolName)
		}
		out = append(out, diagnostic{
			Severity: wire.SeverityWarning, Code: fault.DiagnosticOutsideEffects,
			Message: "these calls had effects outside that cannot be undone: " + strings.Join(names, ", "),
			Hint:    "Do not repeat them without checking.",
		})
	}
	return out
}

// moduleLogs are the logs with the levels of codemode-run-spec section 3.3.1.
func (e *execution) moduleLogs() []wire.Log {
	out := []wire.Log{}
	if e.result == nil {
		return out
	}
	for _, l := range e.result.Logs {
		if l.Level == "info" {
			l.Level = "log"
		}
		out = append(out, l)
	}
	return out
}

// traced names calls as scripts import them.
func (e *execution) traced(calls []run.CallRecord) []run.CallRecord {
	v := e.call.View()
	names := catalog.Memo(v, tracedKey{}, func() map[string]run.CallRecord {
		out := map[string]run.CallRecord{}
		for _, s := range bind.Servers(v, e.scripts.app) {
			for i, op := range s.Operations {
				out[v.Snapshot().ToolName(op.ID)] = run.CallRecord{ServerID: s.ID, ToolName: s.Tools[i].Name}
			}
		}
		return out
	})
	out := make([]run.CallRecord, len(calls))
	for i, c := range calls {
		if n, ok := names[c.ToolName]; ok {
			c.ServerID, c.ToolName = n.ServerID, n.ToolName
		}
		out[i] = c
	}
	return out
}

type tracedKey struct{}

// replyWithoutRun returns the envelope of a request that never ran.
func replyWithoutRun(ctx context.Context, e envelope) (json.RawMessage, error) {
	body, err := encodeEnvelope(e)
	return run.RedactBody(ctx, body), err
}

func encodeEnvelope(e envelope) (json.RawMessage, error) { return wire.Marshal(e) }
