// Package journal records runs: the record of a run, the sink that keeps it, and the
// redaction of texts before anybody keeps or sends them.
//
// What belongs here: the shape of records, and redaction. Not here: where
// records are kept (framework/ledger for durable ones), and any decision that
// depends on them; the truth of a commit is its receipt.
package journal

import (
	"context"
	"log/slog"
	"slices"
	"time"

	"github.com/koan-go/koan/framework/fault"
)

// Outcomes of a run that are not fault codes.
const (
	OK = "ok"
	// CutOff is a run whose process died before it ended: its caller got no answer,
	// and nothing of it is in the data unless Committed says so.
	CutOff = "cut_off"
)

// States of Approval.
const (
	NotRequired = "none"
	Required    = "required" // the run ended with a plan that waits for somebody
	Approved    = "approved"
	Denied      = "denied"
)

// Record is one run as the journal keeps it. What readers see of it has no values of the app's
// data: of inputs and changes it has digests and counts. Texts are redacted. Images have
// values, for an undo alone.
type Record struct {
	Run           string // its id, a UUID of version 7
	Trace         string // W3C trace id, 32 hexadecimal digits
	CorrelationID string // the caller's own word for what the run belongs to
	Started       time.Time
	Duration      time.Duration // by the clock

	Surface   string   // "mcp", "run", "rest", "app"
	Subject   string   // who called
	Operation string   // catalog ID of what was called
	Tool      string   // its name as tools have it
	Set       string   // default set of the calls
	Sets      []string // that the run named or used: who may not name all of them may not read it
	Undoes    string   // the run that it undid
	Left      int      // places that it did not restore, since somebody had changed them
	Keyed     bool     // it had an idempotency key
	RepeatOf  string   // the run whose reply was returned again; nothing was executed

	Script             // "" in all of it for others
	InputDigest string // "sha256:…" of the whole input
	ResultBytes int    // of the result, as JSON

	Attempts int
	Calls    int    // calls to providers in the last attempt
	Trail    []Call // these calls, in the order of their ends

	Outcome   string // OK, CutOff, or a fault's code
	Message   string // of the fault, redacted
	Line      int    // of the script, from 1; 0 is unknown
	Committed bool   // anything of its writes is in the data
	DryRun    bool
	Atomic    bool
	Created   int // entities
	Updated   int
	Deleted   int
	Changes   []Count // the same by entity and set
	// ChangesDigest is the digest of the changes as JSON: with before and after if the
	// run was dry or planned, or if they were requested.
	ChangesDigest string
	Outside       int // calls that had an effect outside this system
	Emitted       int // parts of the result that its caller got while it ran

	Approval   Approval
	Redactions int // secrets that were taken out of code, message, logs and calls' errors

	CatalogVersion string
	ToolVersion    string // of the build
	// Repaired says that the process that ran it did not write this record: it was
	// made from the note of its start and from receipts.
	Repaired bool
	// Lost is how many records before this one were dropped because the journal could
	// not be written in time.
	Lost int

	// Images are what an undo of the run needs; NoImages says why they are not there, though
	// the run has changed something.
	Images   *Images `json:"-"`
	NoImages string  `json:"-"`

	// Logged says that the log has the fault already, with its cause.
	Logged bool `json:"-"`
}

// Script is what a record has of a script.
type Script struct {
	Code       string // redacted
	CodeDigest string // "sha256:…" of the script as it came
	Language   string // as its caller named it; "" is JavaScript
	Runtime    string // that ran it: "goja", "python"
}

// How much a record keeps of texts that callers send or that quote them, in bytes.
const (
	MaxName    = 800 // of a set, a subject, a correlation id
	MaxMessage = 4 << 10
	// MaxTrail is how many calls a record lists: the first ones. Calls counts all.
	MaxTrail = 10_000
)

// Bounded returns the record with its texts cut to their bounds.
func (r Record) Bounded() Record {
	for _, name := range []*string{&r.CorrelationID, &r.Subject, &r.Set, &r.Approval.By} {
		*name = BoundedName(*name)
	}
	r.Sets = slices.Clone(r.Sets)
	for i := range r.Sets {
		r.Sets[i] = BoundedName(r.Sets[i])
	}
	r.Message = fault.ClipTo(r.Message, MaxMessage)
	for i := range r.Trail {
		c := &r.Trail[i]
		for _, name := range []*string{&c.Operation, &c.Tool, &c.Entity, &c.Set, &c.Build} {
			*name = BoundedName(*name)
		}
	}
	return r
}

// BoundedName returns a name cut to its bound in a record.
func BoundedName(name string) string { return fault.ClipTo(name, MaxName) }

// Call is one call of a run.
type Call struct {
	Position    string // number in the order of issue, "3.1" for what 3 nested
	Operation   string // catalog ID
	Tool        string
	Entity      string // that it was about, "" for none
	Set         string
	Started     time.Duration // after the run's start
	Duration    time.Duration
	Outcome     string // OK or a fault's code
	InputDigest string // "sha256:…"; "" of an input that an action made with the app's rights
	OutputBytes int
	Outside     bool // it had an effect outside this system
	App         bool // an action made it with the app's rights: it is not for the run's caller
	// Build is what of a plugin or server was called: its version and, of a plugin, the digest of its files.
	Build string
}

// Count is how many entities of one kind a run changed in one set.
type Count struct {
	Entity  string `json:"entity"`
	Set     string `json:"set"`
	Created int    `json:"created"`
	Updated int    `json:"updated"`
	Deleted int    `json:"deleted"`
}

// Approval is whether a run needed approval, and who approved it.
type Approval struct {
	State string // NotRequired (also ""), Required, Approved, Denied
	Plan  string // id of the plan
	By    string // subject of who decided
}

// Sink takes records. Its methods do not block a run for long, and do not fail it.
type Sink interface {
	// Begin records that a run starts, so that it can be found if its process dies. It is
	// called for scripts, before the first attempt, and at most once for each Append.
	Begin(ctx context.Context, r Record)
	// Append keeps a run that has ended.
	Append(ctx context.Context, r Record)
}

// Log is a sink that writes one structured line per run: of a run that was refused or has failed, unless
// the log has its fault already, at level info, or warn if the server is the reason; of others at level
// debug. The lines have no values of inputs, and no messages, which may quote them.
type Log struct{ Logger *slog.Logger }

var _ Sink = Log{}

// Begin does nothing: the log has a line for ended runs only.
func (Log) Begin(context.Context, Record) {}

// Append writes the record.
func (l Log) Append(ctx context.Context, r Record) {
	level, message := slog.LevelDebug, "run"
	if r.Outcome != OK && !r.Logged {
		level, message = levelOf(fault.Code(r.Outcome)), "a run was refused or has failed"
	}
	if !l.Logger.Enabled(ctx, level) {
		return // before its values are boxed, which costs most of it
	}
	l.Logger.Log(ctx, level, message, "run", r.Run, "surface", r.Surface, "subject", r.Subject, "operation", r.Operation, "tool", r.Tool,
		"code", r.Outcome, "attempts", r.Attempts, "calls", r.Calls, "committed", r.Committed, "dryRun", r.DryRun,
		"created", r.Created, "updated", r.Updated, "deleted", r.Deleted, "ms", r.Duration.Milliseconds())
}

// levelOf is the level of the line of a run that ended in a fault.
func levelOf(c fault.Code) slog.Level {
	const serverError = 500 // the first HTTP status of the server's own failures
	if e, ok := fault.Lookup(c); ok && e.HTTP >= serverError && c != fault.CapabilityUnsupported {
		return slog.LevelWarn
	}
	return slog.LevelInfo
}

// Both passes records to two sinks.
type Both [2]Sink

var _ Sink = Both{}

// Begin implements Sink.
func (b Both) Begin(ctx context.Context, r Record) {
	b[0].Begin(ctx, r)
	b[1].Begin(ctx, r)
}

// Append implements Sink.
func (b Both) Append(ctx context.Context, r Record) {
	b[0].Append(ctx, r)
	b[1].Append(ctx, r)
}

// Ending is what the report of a run says of how it ended.
type Ending struct {
	Outcome      string `json:"outcome"` // OK, CutOff, or a fault's code
	Message      string `json:"message"`
	Committed    bool   `json:"committed"`
	DryRun       bool   `json:"dryRun"`
	OutsideCount int    `json:"outsideCount"` // calls with an effect outside; those of a run that was cut off are unknown
}

// Fault returns the fault that the run ended in, nil for none. actsOutside reports whether runs of the
// app can have effects outside, so that one that was cut off may have had some.
func (f Ending) Fault(actsOutside bool) *fault.Fault {
	var out *fault.Fault
	switch {
	case f.Outcome == OK:
		return nil
	case f.Outcome != CutOff:
		out = fault.New(fault.Code(f.Outcome), f.Message)
	case f.Committed:
		out = fault.New(fault.Cancelled, "the server ended while the run was under way; what it had committed before stays").
			WithRetry(fault.Never).WithHint("Read what is in the data, and run the rest alone.")
	default:
		out = fault.New(fault.Cancelled, "the server ended while the run was under way; the data is as before it")
	}
	if f.OutsideCount > 0 || f.Outcome == CutOff && !f.DryRun && actsOutside {
		return out.BesideEffects()
	}
	return out
}
