package sandbox

import (
	"encoding/json"

	"github.com/koan-go/koan/codemode/internal/wire"
	"github.com/koan-go/koan/framework/fault"
)

// What a worker may say at most, in bytes. A script can have taken it over, and then it
// says whatever its frames allow.
const (
	maxProgress    = 16 << 10 // a message of progress
	maxDiagnostics = 1 << 20  // JSON of all that validating found
)

// claim is a result as a worker says it, before anything of it is believed. What can
// take many times its text is decoded when its length is known.
type claim struct {
	Result      json.RawMessage `json:"result"`
	Answer      json.RawMessage `json:"answer"`
	Fault       json.RawMessage `json:"fault"`
	Diagnostics json.RawMessage `json:"diagnostics"`
	CPUMs       float64         `json:"cpuMs"`
	Last        bool            `json:"last"`
}

// finish takes the result over.
func (e *execution) finish(payload []byte) error {
	var c claim
	if err := json.Unmarshal(payload, &c); err != nil {
		return err
	}
	for _, value := range []json.RawMessage{c.Result, c.Answer} {
		if len(value) > e.job.Limits.MaxResultBytes || !wire.WellFormed(value) {
			return wire.ErrFrame
		}
	}
	r := wire.Result{Result: c.Result, Answer: c.Answer, Logs: e.result.Logs, Emitted: e.result.Emitted, CPUMs: max(c.CPUMs, 0)}
	if len(c.Fault) > fault.MaxBytes || len(c.Diagnostics) > maxDiagnostics {
		return wire.ErrFrame
	}
	if c.Fault != nil {
		if err := json.Unmarshal(c.Fault, &r.Fault); err != nil {
			return err
		}
	}
	if c.Diagnostics != nil {
		if err := json.Unmarshal(c.Diagnostics, &r.Diagnostics); err != nil {
			return err
		}
	}
	if r.Fault != nil && !genuine(r.Fault) {
		return wire.ErrFrame
	}
	e.result, e.last = r, c.Last
	return nil
}

// genuine reports whether a fault is one that a worker can come to.
func genuine(f *fault.Fault) bool {
	_, known := fault.Lookup(f.Code)
	return known && f.Hint != "" && (f.Retry == fault.Safe || f.Retry == fault.Fix || f.Retry == fault.Never) && f.Line >= 0 && f.Column >= 0
}

// readLog reads a message of the script, whose length the logs' budget bounds.
func readLog(payload []byte) (l wire.Log, err error) {
	if err = json.Unmarshal(payload, &l); err != nil {
		return l, err
	}
	switch l.Level {
	case "debug", "info", "warn", "error":
		return l, nil
	}
	return l, wire.ErrFrame
}

func readProgress(payload []byte) (p wire.Progress, err error) {
	if err = json.Unmarshal(payload, &p); err == nil && len(p.Message) > maxProgress {
		err = wire.ErrFrame
	}
	return p, err
}

// decodeCall reads a call. None is made after one that ended the script.
func (e *execution) decodeCall(f wire.Frame) (id string, input json.RawMessage, err error) {
	if e.ended != nil {
		return "", nil, e.ended
	}
	id, input, err = wire.DecodeCall(f.Payload)
	if err == nil && (len(input) > e.job.Limits.MaxCallBytes || !wire.WellFormed(input)) {
		err = wire.ErrFrame
	}
	return id, input, err
}
