package codemode

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/koan-go/koan/codemode/internal/wire"
	"github.com/koan-go/koan/framework/fault"
	"github.com/koan-go/koan/framework/run"
	"github.com/koan-go/koan/framework/run/store"
)

// succeeded is the result of koan.code.execute (CONTRACT section 2): only undefined values
// are left out.
type succeeded struct {
	Success      bool                `json:"success"`
	RunID        string              `json:"runId"`
	Atomic       *bool               `json:"atomic,omitempty"` // false where each call committed by itself
	Answer       json.RawMessage     `json:"answer,omitempty"`
	Result       json.RawMessage     `json:"result,omitempty"`
	Emitted      []json.RawMessage   `json:"emitted,omitempty"`
	Files        []json.RawMessage   `json:"files,omitempty"`
	Logs         []wire.Log          `json:"logs"`
	ChangeCounts []store.ChangeCount `json:"changeCounts"`
	Changes      *[]store.Change     `json:"changes,omitempty"`
	Calls        *[]run.CallRecord   `json:"calls,omitempty"`
}

// failed is its failure: calls and logs up to the failure are always there, and with
// atomic: false what was committed.
type failed struct {
	Success        bool                `json:"success"`
	RunID          string              `json:"runId"`
	Error          *fault.Fault        `json:"error"`
	Committed      bool                `json:"committed"`
	Atomic         *bool               `json:"atomic,omitempty"`
	ChangeCounts   []store.ChangeCount `json:"changeCounts,omitempty"`
	Calls          []run.CallRecord    `json:"calls"`
	Emitted        []json.RawMessage   `json:"emitted,omitempty"`
	Logs           []wire.Log          `json:"logs"`
	OutsideEffects []run.CallRecord    `json:"outsideEffects"`
}

func (e *execution) logs() []wire.Log {
	logs := append([]wire.Log{}, e.notes...)
	if e.result != nil {
		logs = append(logs, e.result.Logs...)
	}
	if e.notUndoable != "" {
		logs = append(logs, wire.Log{Level: "warn", Message: e.notUndoable})
	}
	return logs
}

// reply makes the caller's reply, for a run that is about to commit or that has failed.
func (e *execution) reply(o *run.Outcome, err error) (json.RawMessage, error) {
	e.notUndoable = ""
	if err == nil {
		e.notUndoable = o.NotUndoable
	}
	switch {
	case e.module:
		e.outcome = o
		return e.moduleReply(err)
	case err == nil:
		return e.success(o)
	}
	e.outcome = o
	f := fault.From(err)
	body, merr := e.failure(f)
	if merr != nil {
		return nil, fault.New(fault.Internal, "").Because(errors.Join(err, merr))
	}
	return body, f
}

func (e *execution) success(o *run.Outcome) (json.RawMessage, error) {
	out := succeeded{
		Success: true, RunID: o.Run, Atomic: e.atomicFlag(), Answer: e.result.Answer, Result: e.result.Result, Emitted: e.result.Emitted, Files: e.files, Logs: e.logs(),
		ChangeCounts: store.Counts(store.Disclosed(o.Changes)),
	}
	if e.in.DryRun || slices.Contains(e.in.Include, includeChanges) {
		changes := orEmpty(store.Disclosed(o.Changes))
		out.Changes = &changes
	}
	if slices.Contains(e.in.Include, includeCalls) {
		calls := bounded(o.Calls)
		out.Calls = &calls
	}
	return wire.Marshal(out)
}

// runID is the id of the run, also of one that was rejected before it began.
func (e *execution) runID() string {
	if e.outcome != nil {
		return e.outcome.Run
	}
	return e.call.Run()
}

// atomicFlag returns false for a run whose calls commit by themselves, else nil.
func (e *scriptRequest) atomicFlag() *bool {
	if e.in.Atomic == nil || *e.in.Atomic || e.in.DryRun {
		return nil
	}
	return e.in.Atomic
}

func (e *execution) failure(f *fault.Fault) (json.RawMessage, error) {
	out := failed{RunID: e.runID(), Error: f, Atomic: e.atomicFlag(), Calls: []run.CallRecord{}, Logs: e.logs(), OutsideEffects: []run.CallRecord{}}
	if e.result != nil {
		out.Emitted = e.result.Emitted
	}
	if e.outcome != nil {
		if out.Committed = e.outcome.Committed; out.Committed {
			out.ChangeCounts = store.Counts(store.Disclosed(e.outcome.Changes))
		}
		out.Calls = bounded(e.outcome.Calls)
		out.OutsideEffects = bounded(e.outcome.OutsideEffects)
	}
	return wire.Marshal(out)
}

const (
	// maxCalls is how many calls a reply lists at most.
	maxCalls = 1000
	// maxCallsBytes bounds their JSON.
	maxCallsBytes = 64 << 10
)

// bounded returns the first calls that a reply has room for. If some are left out, a last
// record represents them: its tool is "…", it is ok if all of them were, its duration is
// their sum, and its error says how many.
func bounded(calls []run.CallRecord) []run.CallRecord {
	out := []run.CallRecord{}
	size := 0
	for i, c := range calls {
		b, err := wire.Marshal(c)
		if size += len(b) + 1; err == nil && i < maxCalls && size <= maxCallsBytes {
			out = append(out, c)
			continue
		}
		rest := run.CallRecord{ServerID: c.ServerID, ToolName: "…", OK: true}
		failed := 0
		for _, c := range calls[i:] {
			rest.DurationMs += c.DurationMs
			if !c.OK {
				rest.OK = false
				failed++
			}
		}
		rest.Error = fmt.Sprintf("%d more calls are left out, %d of them failed", len(calls)-i, failed)
		return append(out, rest)
	}
	return out
}

// orEmpty makes nil an empty list, so that JSON has [] and not null.
func orEmpty[T any](list []T) []T {
	if list == nil {
		return []T{}
	}
	return list
}
