package run

import (
	"encoding/json"
	"log/slog"

	"github.com/koan-go/koan/framework/approval"
	"github.com/koan-go/koan/framework/auth"
	"github.com/koan-go/koan/framework/catalog"
	"github.com/koan-go/koan/framework/run/internal/budget"
	"github.com/koan-go/koan/framework/run/observe"
)

// Request is one call from a surface.
type Request struct {
	View      *catalog.View // whose snapshot the run leases
	Principal auth.Principal
	ID        catalog.ID
	Input     json.RawMessage // a JSON object; nil counts as {}
	Surface   string          // "mcp", "run", "rest", "app"
	// Via is the surface that the call comes by: what the view hides there is refused as
	// unknown.
	Via catalog.Surface
	// IdempotencyKey makes a call of one operation happen once: who calls again with the
	// same key and input gets what the first call returned. A code operation has it in its
	// input.
	IdempotencyKey string
	Run            string // id of the run that the call opens, a UUID of version 7; "" makes one
	Set            string // default set, "" is the principal's (auth.Principal.DefaultSet)
	// Trace is the caller's trace id, "" makes one.
	Trace string
	// Parent is the caller's trace context; its id is Trace.
	Parent observe.TraceContext
	Reports

	// Continues is a participant's word to itself of what the run goes on from, nil for
	// nothing.
	Continues any

	account *budget.Account
}

// Reports take what a run says while it goes on. What nobody takes is nil, and dropped.
type Reports struct {
	Progress func(done, total float64, message string)
	Emit     func(index int, value json.RawMessage) // parts of the result
	Notify   func(level slog.Level, message string) // what handlers say with Call.Log
}

// Spec describes the run that a code operation opens.
type Spec struct {
	// View is what the run sees where the catalog has changed since the call was made; who
	// opens the run leases it. nil is the call's.
	View     *catalog.View
	Set      string // default set of every call; "" is "default"
	Atomic   bool   // one transaction for all; else every call commits by itself
	DryRun   bool   // everything executes, then rolls back
	Record   bool   // keep before and after of every change; implied by DryRun
	MaxCalls int    // calls to providers per attempt; 0 is unlimited
	Only     catalog.Only
	Script
	CorrelationID string
	// Undoes is the run that this one undoes, "" for none.
	Undoes string
	// Approval is the minimal approval mode of the run; the configured policy may require
	// more.
	Approval approval.Mode
	Once
	// OwnCode says that the run is code of the app itself (Engine.Do): it cannot be begun again by
	// anybody else.
	OwnCode bool
	// Reply returns the reply to the caller. It is called before the commit, which an error
	// prevents, or with err after a failure; then the error that it returns is the run's. nil
	// means no reply.
	Reply func(ret Return, o *Outcome, err error) (json.RawMessage, error)

	granted
}

// Once makes a run take effect once: another call with the same key gets its reply. A dry run has
// no key.
type Once struct {
	IdempotencyKey string
	Fingerprint    string // covers all of the input that decides what the run does
}

// Script is the code that a run executes.
type Script struct {
	Code       string // for the journal
	CodeDigest string // "sha256:…"
	Runtime    string // what runs it: "goja", "python"
	Language   string // as its caller named it; "" is JavaScript
}

// granted is what the engine and the participants settle beside a Spec.
type granted struct {
	// anySets says of a dry run that what it rehearses commits call by call: it may write
	// to several sets wherever they are, since nothing is committed.
	anySets bool
	// images says that stores keep what an undo needs; noImages says why they do not, where that is
	// not for want of a journal.
	images   bool
	noImages string
}

// rehearse makes the run a dry run. Since that may be repeated at will, it has no key.
func (s *Spec) rehearse() {
	s.anySets = s.anySets || !s.Atomic
	s.DryRun, s.Atomic, s.Record, s.IdempotencyKey = true, true, true, ""
}
