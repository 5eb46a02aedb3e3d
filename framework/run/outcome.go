package run

import (
	"encoding/json"
	"maps"
	"time"

	"github.com/koan-go/koan/framework/fault"
	"github.com/koan-go/koan/framework/run/internal/course"
	"github.com/koan-go/koan/framework/run/observe"
	"github.com/koan-go/koan/framework/run/store"
	"github.com/koan-go/koan/framework/run/tape"
)

// Position is the position of a call in its run: see package tape.
type Position = tape.Position

// Return is what an attempt's body returns when it ends cleanly.
type Return struct {
	Result json.RawMessage // the result, kept in the receipt
	Answer json.RawMessage // nil if there is none
	// Emitted are the values that the script emitted.
	Emitted []json.RawMessage
	Left    int // places that an undo left as they are
}

// CallRecord is one call as the result of a run lists it (CONTRACT section 2).
type CallRecord struct {
	// ServerID is "koan", the domain of a plugin or the id of an upstream server.
	ServerID string `json:"serverId"`
	ToolName string `json:"toolName"`         // "" for a call that the run's caller must not learn of
	Parent   string `json:"parent,omitempty"` // the action that made the call
	OK       bool   `json:"ok"`
	// DurationMs is how long the call took; Elapsed is the same, exactly.
	DurationMs int64  `json:"durationMs"`
	Error      string `json:"error,omitempty"` // at most 300 characters

	Elapsed time.Duration `json:"-"`
}

// callRecords are the records of calls as others read them; none stay nil or empty.
func callRecords(records []course.Record) []CallRecord {
	var out []CallRecord
	if records != nil {
		out = make([]CallRecord, 0, len(records))
	}
	for _, r := range records {
		out = append(out, CallRecord(r))
	}
	return out
}

// Outcome describes a run after its last attempt. Execute returns it on success and on failure.
type Outcome struct {
	Run   string
	Trace string
	// Refused means that no run was opened: Run is the id of the refusal in the journal, and
	// only Wall is set besides.
	Refused   bool
	Committed bool // whether any of the run's writes were committed
	DryRun    bool
	Changes   []store.Change // committed, or those of a dry run
	// Counts sums the changes of one call of an operation, also of a repeated one.
	Counts         []store.ChangeCount
	Calls          []CallRecord
	OutsideEffects []CallRecord // calls with an effect outside, committed or not
	Effort
	// NotUndoable is a sentence about what of the run's changes could not be undone, and why; "" if all
	// of them can.
	NotUndoable string
	// Redacted is how many secrets a check of WithBeforeCommit takes out of the result for its surface.
	Redacted int
	// Reply is what Spec.Reply returned. Repeated means that nothing ran, and that Reply is
	// that of the first run with this key.
	Reply    json.RawMessage
	Repeated bool
	// Approved means that the run needed an approval and got it.
	Approved bool
}

// Effort is what a run took.
type Effort struct {
	Attempts int
	SDKCalls int
	Wall     time.Duration
	// Metrics are added by the executor: cpuMs, peakMemoryBytes.
	Metrics map[string]any
}

// ScriptMetrics are what clients hear of a script's run: what the executor measured, its calls
// and its time.
func (o *Outcome) ScriptMetrics() map[string]any {
	metrics := maps.Clone(o.Metrics)
	if metrics == nil {
		metrics = map[string]any{}
	}
	metrics["sdkCalls"], metrics["wallMs"] = o.SDKCalls, (o.Wall + time.Millisecond - 1).Milliseconds() // rounded up: no run takes no time
	return metrics
}

// Unrepeatable returns a run's fault as its caller gets it, where effects are the run's outside ones:
// with any, it never says that trying again is safe, since that would repeat them.
func Unrepeatable(f *fault.Fault, effects []CallRecord) *fault.Fault {
	if len(effects) == 0 {
		return f
	}
	return f.BesideEffects()
}

// NoRun returns the outcome of a call to an app that did not start.
func NoRun() *Outcome {
	return &Outcome{Run: observe.NewRunID(), Trace: observe.NewTraceID(), Refused: true}
}
