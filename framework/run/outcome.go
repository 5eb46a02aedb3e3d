package run

import (
	"encoding/json"
	"maps"
	"time"

	"github.com/google/uuid"
	"github.com/koan-go/koan/framework/approval"
	"github.com/koan-go/koan/framework/catalog"
	"github.com/koan-go/koan/framework/run/observe"
	"github.com/koan-go/koan/framework/run/store"
	"github.com/koan-go/koan/framework/run/tape"
)

// Position is where in a run a call stands: see package tape.
type Position = tape.Position

// Spec says what kind of run a code operation opens.
type Spec struct {
	Set           string // default set of every call; "" is "default"
	Atomic        bool   // one transaction for all; else every call commits by itself
	DryRun        bool   // everything executes, then rolls back
	Record        bool   // keep before and after of every change; implied by DryRun
	MaxCalls      int    // calls to providers per attempt; 0 is unlimited
	Only          catalog.Only
	Code          string // of a script, for the journal
	CodeDigest    string // "sha256:…"
	Runtime       string // what runs the script: "goja"
	CorrelationID string
	// Approval is the least mode in which a person has to agree to the run; the
	// configuration's policy may ask for more.
	Approval approval.Mode
	// IdempotencyKey makes the run happen once: whoever calls again with the same key
	// gets what it gave. Fingerprint is all of the input that decides what it does. A
	// dry run takes no key.
	IdempotencyKey string
	Fingerprint    string
	// Reply makes what the caller gets: before the commit, where an error refuses it,
	// or with err after a failure, where the error that it gives back is the run's. nil
	// makes nothing.
	Reply func(ret Return, o *Outcome, err error) (json.RawMessage, error)
}

// rehearse makes it that of a dry run. Such a run happens as often as somebody wants to see
// it, so that it takes no key.
func (s *Spec) rehearse() {
	s.DryRun, s.Atomic, s.Record, s.IdempotencyKey = true, true, true, ""
}

// Return is what an attempt's body returns when it ends cleanly.
type Return struct {
	Result json.RawMessage // the result, kept in the receipt
	Answer json.RawMessage // nil if none was given
}

// CallRecord is one call as the result of a run lists it (CONTRACT section 2).
type CallRecord struct {
	ServerID   string `json:"serverId"`
	ToolName   string `json:"toolName"`         // "" of a call that the run's caller may not know of
	Parent     string `json:"parent,omitempty"` // the action that made the call
	OK         bool   `json:"ok"`
	DurationMs int64  `json:"durationMs"`
	Error      string `json:"error,omitempty"` // at most 300 characters

	Elapsed time.Duration `json:"-"`
}

// maxCallError bounds the error's text in a CallRecord, in characters.
const maxCallError = 300

// Excerpt is the beginning of a text, as a CallRecord has it.
func Excerpt(text string) string {
	if r := []rune(text); len(r) > maxCallError {
		return string(r[:maxCallError]) + "…"
	}
	return text
}

// Outcome is what is true of a run after its last attempt. Execute returns it on
// success and on failure alike.
type Outcome struct {
	Run   string
	Trace string
	// Refused reports that no run was opened: Run is the id under which the journal has
	// the refusal, and nothing else is set but Wall.
	Refused   bool
	Attempts  int
	Committed bool // whether anything of the run's writes is in the data
	DryRun    bool
	Changes   []store.Change // committed, or of the dry run
	// Counts sums Changes of one call of an operation, also of a repeated one.
	Counts         []store.ChangeCount
	Calls          []CallRecord
	OutsideEffects []CallRecord // calls with an effect outside, committed or not
	SDKCalls       int
	Wall           time.Duration
	// Metrics are what the executor adds: cpuMs, peakMemoryBytes.
	Metrics map[string]any
	// Reply is what Spec.Reply made. Repeated reports that nothing ran: it is what the
	// first run with this key returned.
	Reply    json.RawMessage
	Repeated bool
	// Approved reports that somebody had to agree to the run, and did.
	Approved bool
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

// NoRun is the outcome of a call that nobody could make: the app did not start.
func NoRun() *Outcome { return &Outcome{Run: newRunID(), Trace: observe.NewTraceID(), Refused: true} }

func newRunID() string { return uuid.Must(uuid.NewV7()).String() }
