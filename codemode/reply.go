package codemode

import (
	"encoding/json"
	"slices"

	"github.com/koan-go/koan/codemode/wire"
	"github.com/koan-go/koan/framework/fault"
	"github.com/koan-go/koan/framework/run"
)

// succeeded is the result of koan.code.execute (CONTRACT section 2): only what is
// undefined is left out.
type succeeded struct {
	Success      bool              `json:"success"`
	Answer       json.RawMessage   `json:"answer,omitempty"`
	Result       json.RawMessage   `json:"result,omitempty"`
	Logs         []wire.Log        `json:"logs"`
	ChangeCounts []run.ChangeCount `json:"changeCounts"`
	Changes      *[]run.Change     `json:"changes,omitempty"`
	Calls        *[]run.CallRecord `json:"calls,omitempty"`
}

// failed is its failure: what was done and said before is always there.
type failed struct {
	Success        bool             `json:"success"`
	Error          *fault.Fault     `json:"error"`
	Committed      bool             `json:"committed"`
	Calls          []run.CallRecord `json:"calls"`
	Logs           []wire.Log       `json:"logs"`
	OutsideEffects []run.CallRecord `json:"outsideEffects"`
}

func (e *execution) logs() []wire.Log {
	logs := append([]wire.Log{}, e.notes...)
	if e.result != nil {
		logs = append(logs, e.result.Logs...)
	}
	return logs
}

func (e *execution) success() (json.RawMessage, error) {
	out := succeeded{
		Success: true, Answer: e.result.Answer, Result: e.result.Result, Logs: e.logs(),
		ChangeCounts: run.Counts(e.outcome.Changes),
	}
	if e.in.DryRun || slices.Contains(e.in.Include, includeChanges) {
		changes := orEmpty(e.outcome.Changes)
		out.Changes = &changes
	}
	if slices.Contains(e.in.Include, includeCalls) {
		calls := orEmpty(e.outcome.Calls)
		out.Calls = &calls
	}
	return wire.Marshal(out)
}

func (e *execution) failure(f *fault.Fault) (json.RawMessage, error) {
	out := failed{Error: f, Calls: []run.CallRecord{}, Logs: e.logs(), OutsideEffects: []run.CallRecord{}}
	if e.outcome != nil {
		out.Committed = e.outcome.Committed
		out.Calls = orEmpty(e.outcome.Calls)
		out.OutsideEffects = orEmpty(e.outcome.OutsideEffects)
	}
	return wire.Marshal(out)
}

// orEmpty makes nil an empty list, which JSON tells apart.
func orEmpty[T any](list []T) []T {
	if list == nil {
		return []T{}
	}
	return list
}
