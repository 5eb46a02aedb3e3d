package invoke

import (
	"bytes"
	"encoding/json"

	"github.com/koan-go/koan/framework/catalog"
	"github.com/koan-go/koan/framework/fault"
	"github.com/koan-go/koan/framework/run"
)

// BadArguments reports whether a call failed because its input is invalid, before
// anything was done. A script that does not catch such a fault of one of its own calls
// is a failed run instead.
func (r Result) BadArguments(op *catalog.Operation, f *fault.Fault) bool {
	return f.Code == fault.InvalidPayload && len(r.Output) == 0 && (op.ID.Kind != catalog.KindCode || !r.Ran())
}

// Failure is the body of a call that failed in f. A body that the handler returned beside its
// error is the whole failure.
func (r Result) Failure(op *catalog.Operation, f *fault.Fault) json.RawMessage {
	refused := r.Outcome != nil && r.Outcome.Refused && len(r.Output) == 0
	switch {
	case refused, r.BadArguments(op, f):
		return Failure(refusedRun(op, r.Outcome), f)
	case len(r.Output) == 0 || f.Code == fault.ToolTimeout:
		return Failure(r.Output, f)
	}
	return r.Output
}

// refusedRun is the body of a rejected call but for the fault: the members of a run that
// was not opened, and its id in the journal.
func refusedRun(op *catalog.Operation, o *run.Outcome) json.RawMessage {
	if op.Refused == nil || o == nil {
		return op.Refused
	}
	return append([]byte(`{"runId":"`+o.Run+`",`), op.Refused[1:]...)
}

// failureBody is the body of a failed tool.
type failureBody struct {
	Success   bool         `json:"success"`
	Error     *fault.Fault `json:"error"`
	TimeoutMs any          `json:"timeoutMs,omitempty"`
}

// Failure makes a failure's body. What the handler returned beside its error, such as
// the logs of a script, is kept.
func Failure(given json.RawMessage, f *fault.Fault) json.RawMessage {
	own := failureBody{Error: f}
	if d, ok := f.Details.(map[string]any); ok && f.Code == fault.ToolTimeout {
		own.TimeoutMs = d["timeoutMs"]
	}
	raw, err := Encode(own)
	if err != nil { // details that are not JSON
		raw, _ = Encode(failureBody{Error: fault.New(f.Code, f.Message)})
	}
	var members, others map[string]json.RawMessage
	if json.Unmarshal(given, &others) != nil || json.Unmarshal(raw, &members) != nil {
		return raw
	}
	for k, v := range others {
		if members[k] == nil {
			members[k] = v
		}
	}
	if merged, err := Encode(members); err == nil {
		raw = merged
	}
	return raw
}

// Encode returns compact JSON, in which "<", ">" and "&" stand as they are.
func Encode(v any) (json.RawMessage, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return nil, err
	}
	return bytes.TrimRight(b.Bytes(), "\n"), nil
}
