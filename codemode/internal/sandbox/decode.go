package sandbox

import (
	"encoding/json"

	"github.com/koan-go/koan/codemode/internal/wire"
	"github.com/koan-go/koan/framework/exact"
	"github.com/koan-go/koan/framework/fault"
)

// Limits on what a worker sends, in bytes. A compromised worker can send any frame that
// fits, so everything is checked before it is used.
const (
	maxProgress    = 16 << 10 // the message of one progress frame
	maxDiagnostics = 1 << 20  // the JSON of all diagnostics
)

// rawResult is a worker's result before it is checked. Members that can take many times
// the memory of their JSON are decoded after their length has been checked.
type rawResult struct {
	Result      json.RawMessage `json:"result"`
	Answer      json.RawMessage `json:"answer"`
	Files       []string        `json:"files"`
	Fault       json.RawMessage `json:"fault"`
	Diagnostics json.RawMessage `json:"diagnostics"`
	CPUMs       float64         `json:"cpuMs"`
	Last        bool            `json:"last"`
}

// acceptResult checks the worker's result and stores it in e.result.
func (e *execution) acceptResult(payload []byte) error {
	var c rawResult
	if err := json.Unmarshal(payload, &c); err != nil {
		return err
	}
	for _, value := range []json.RawMessage{c.Result, c.Answer} {
		if len(value) > e.job.Limits.MaxResultBytes || !exact.WellFormed(value) {
			return wire.ErrFrame
		}
	}
	if len(c.Files) > wire.MaxFiles {
		return wire.ErrFrame
	}
	r := wire.Result{Result: c.Result, Answer: c.Answer, Files: c.Files, Logs: e.result.Logs, Emitted: e.result.Emitted, CPUMs: max(c.CPUMs, 0)}
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
	if r.Fault != nil && !validFault(r.Fault) {
		return wire.ErrFrame
	}
	e.result, e.last = r, c.Last
	return nil
}

// validFault reports whether f could come from a worker that has not been compromised.
func validFault(f *fault.Fault) bool {
	_, known := fault.Lookup(f.Code)
	return known && f.Hint != "" && (f.Retry == fault.Safe || f.Retry == fault.Fix || f.Retry == fault.Never) && f.Line >= 0 && f.Column >= 0
}

// readLog decodes a log frame. The log budget bounds the length of the message.
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

// decodeCall decodes and checks a call. After a call that ended the script it returns that
// call's error.
func (e *execution) decodeCall(f wire.Frame) (id string, input json.RawMessage, err error) {
	if e.ended != nil {
		return "", nil, e.ended
	}
	id, input, err = wire.DecodeCall(f.Payload)
	if err == nil && (len(input) > e.job.Limits.MaxCallBytes || !exact.WellFormed(input)) {
		err = wire.ErrFrame
	}
	return id, input, err
}
