package run

import (
	"bufio"
	"crypto/rand"
	"encoding/json"
	"maps"
	"sync"
	"time"

	"github.com/google/uuid"
	"github.com/koan-go/koan/framework/approval"
	"github.com/koan-go/koan/framework/catalog"
	"github.com/koan-go/koan/framework/run/internal/course"
	"github.com/koan-go/koan/framework/run/observe"
	"github.com/koan-go/koan/framework/run/store"
	"github.com/koan-go/koan/framework/run/tape"
)

// Position is the position of a call in its run: see package tape.
type Position = tape.Position

// Spec describes the run that a code operation opens.
type Spec struct {
	// View is what the run sees where the catalog has changed since the call was made; who
	// opens the run leases it. nil is the call's.
	View          *catalog.View
	Set           string // default set of every call; "" is "default"
	Atomic        bool   // one transaction for all; else every call commits by itself
	DryRun        bool   // everything executes, then rolls back
	Record        bool   // keep before and after of every change; implied by DryRun
	MaxCalls      int    // calls to providers per attempt; 0 is unlimited
	Only          catalog.Only
	Code          string // of a script, for the journal
	CodeDigest    string // "sha256:…"
	Runtime       string // the script's engine: "goja"
	CorrelationID string
	// Undoes is the run that this one undoes, "" for none.
	Undoes string
	// Approval is the minimal approval mode of the run; the configured policy may require
	// more.
	Approval approval.Mode
	// IdempotencyKey makes the run take effect once: another call with the same key gets its
	// reply. Fingerprint covers all of the input that decides what the run does. A dry run
	// has no key.
	IdempotencyKey string
	Fingerprint    string
	// Reply returns the reply to the caller. It is called before the commit, which an error
	// prevents, or with err after a failure; then the error that it returns is the run's. nil
	// means no reply.
	Reply func(ret Return, o *Outcome, err error) (json.RawMessage, error)

	// anySets says of a dry run that what it rehearses commits call by call: it may write
	// to several sets wherever they are, since nothing is committed.
	anySets bool
	// images says that stores keep what an undo needs.
	images bool
}

// rehearse makes the run a dry run. Since that may be repeated at will, it has no key.
func (s *Spec) rehearse() {
	s.anySets = s.anySets || !s.Atomic
	s.DryRun, s.Atomic, s.Record, s.IdempotencyKey = true, true, true, ""
}

// Return is what an attempt's body returns when it ends cleanly.
type Return struct {
	Result json.RawMessage // the result, kept in the receipt
	Answer json.RawMessage // nil if there is none
}

// CallRecord is one call as the result of a run lists it.
type CallRecord = course.Record

// Outcome describes a run after its last attempt. Execute returns it on success and on failure.
type Outcome struct {
	Run   string
	Trace string
	// Refused means that no run was opened: Run is the id of the refusal in the journal, and
	// only Wall is set besides.
	Refused   bool
	Attempts  int
	Committed bool // whether any of the run's writes were committed
	DryRun    bool
	Changes   []store.Change // committed, or those of a dry run
	// Counts sums the changes of one call of an operation, also of a repeated one.
	Counts         []store.ChangeCount
	Calls          []CallRecord
	OutsideEffects []CallRecord // calls with an effect outside, committed or not
	SDKCalls       int
	Wall           time.Duration
	// Metrics are added by the executor: cpuMs, peakMemoryBytes.
	Metrics map[string]any
	// Reply is what Spec.Reply returned. Repeated means that nothing ran, and that Reply is
	// that of the first run with this key.
	Reply    json.RawMessage
	Repeated bool
	// Approved means that the run needed an approval and got it.
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

// NoRun returns the outcome of a call to an app that did not start.
func NoRun() *Outcome { return &Outcome{Run: NewID(), Trace: observe.NewTraceID(), Refused: true} }

// NewID returns the id of a run to come.
func NewID() string {
	random.Lock()
	defer random.Unlock()
	return uuid.Must(uuid.NewV7FromReader(&random)).String()
}

// random reads for many ids at once: to ask the system takes longer than all else of an id.
var random = struct {
	sync.Mutex
	*bufio.Reader
}{Reader: bufio.NewReader(rand.Reader)}
