package run

import (
	"context"
	"encoding/json"
	"time"

	"github.com/koan-go/koan/framework/catalog"
	"github.com/koan-go/koan/framework/fault"
	"github.com/koan-go/koan/framework/journal"
	"github.com/koan-go/koan/framework/run/internal/course"
	"github.com/koan-go/koan/framework/run/store"
	"github.com/koan-go/koan/framework/run/tape"
)

// Participant takes part in the runs of an engine. It is asked when a run opens, and returns its part
// in this run: a value that holds the participant's state for the run, and that is asked in those
// phases below that it implements. Participants are asked in the order in which they joined the
// engine, and in reverse order when a run is released:
//
//	Open -> Resume -> Claim -> Begin -> attempt {
//	    calls { EnterSet, Inside | Outside, BeforeWrite, BeforeOutside, AfterOutside, AfterCall }
//	    Judge -> BeforeCommit
//	} -> Recover -> Release -> End
//
// A run that need not be claimed skips Claim. If a Pause requires a claim, Claim follows when the
// pause is over, and then further attempts.
type Participant interface {
	// Open is called before anything else in a run. If the part is nil, the participant does
	// not take part; an error refuses the run.
	Open(r *Run) (Part, error)
}

// Part takes part in one run. It implements any of the phases.
type Part any

// Resumer continues an earlier run.
type Resumer interface {
	// Resume is called when the run is executed. It calls Run.ContinueFrom if the run
	// continues an earlier one. An error ends the run before its first attempt.
	Resume(ctx context.Context) error
}

// Continuation is the point from which a run continues.
type Continuation struct {
	Run     string // its id
	Tape    *tape.Tape
	Outside []CallRecord // calls whose effect has happened already
	Sets    []string     // the sets that calls named or used
}

// Claim is a part's answer when a run is claimed.
type Claim int

// The answers: the part does not decide; the run is claimed, so that no other process carries it
// out; nothing is left to run, since the outcome has the reply.
const (
	NotMine Claim = iota
	Taken
	Over
)

// Claimer claims a run that has a Key, before its first attempt under that key.
type Claimer interface {
	// Claim may replace the run's id and tape by those of an earlier holder. An error ends
	// the run, and parts that have claimed it are asked to Unclaim it. The run's ctx ends if
	// the claim is lost.
	Claim(ctx context.Context, out *Outcome) (Claim, error)
}

// Unclaimer gives up the claim of a run that does not take place after all.
type Unclaimer interface{ Unclaim(ctx context.Context) }

// Beginner is notified before the first attempt of a run.
type Beginner interface{ Begin(ctx context.Context) }

// Audience decides what the reader of a run's result may see, if that is not only its principal.
type Audience interface {
	// EnterSet is called before a run first reads anything in a set.
	EnterSet(ctx context.Context) error
	// AdmitReader returns a fault if the result may come from sets that its reader may not
	// name.
	AdmitReader(sets []string) error
	// Foreign reports whether the reader is someone other than the run's principal.
	Foreign() bool
}

// Gate decides whether calls may be made.
type Gate interface {
	// Inside is called for a call that transactions cover.
	Inside(a *Attempt, op *catalog.Operation)
	// Outside is called for a call that no transaction covers. An error refuses the call; a
	// Pause makes the run wait.
	Outside(ctx context.Context, c *OutsideCall) error
}

// Pause is an error of a Gate or a Judge that makes the run wait. It must not be wrapped.
type Pause interface {
	error
	// Wait is called with the changes of the attempt after it was rolled back, so that
	// nothing is locked. If it returns nil, the next attempt starts, along the same tape.
	Wait(ctx context.Context, changes []store.Change) error
	// Code is the outcome of the call before which the attempt paused.
	Code() fault.Code
}

// Whatever is a Pause to those who write one is a pause of the attempt, and the other way round.
var (
	_ course.Pause = Pause(nil)
	_ Pause        = course.Pause(nil)
)

// OutsideCall is a call that no transaction covers.
type OutsideCall struct {
	Attempt   *Attempt
	Position  Position
	Operation *catalog.Operation
	Input     json.RawMessage
	Expanded  json.RawMessage    // what the handler gets in place of Input (Options.Expand); nil for the same
	Digest    [32]byte           // that of the tape
	Effect    bool               // it has an effect outside
	App       bool               // an action makes it with the app's rights: its input is not for the run's caller
	request   *Request           // of the call
	current   *catalog.Operation // whose handler is called: Operation, or what Current returned
}

// Witness records calls that no transaction covers.
type Witness interface {
	// Recorded is called for a call that is not made because its result is on the tape.
	Recorded(c *OutsideCall)
	// BeforeOutside is called last before the call. An error prevents the call.
	BeforeOutside(ctx context.Context, c *OutsideCall) error
	// AfterOutside is called with the call's outcome, even if the attempt has ended before.
	AfterOutside(ctx context.Context, c *OutsideCall, out json.RawMessage, err error)
}

// Listener is notified of what handlers report to the run's caller while they work, from
// several goroutines.
type Listener interface {
	Progress(done, total float64, message string)
	Emit(index int, value json.RawMessage)
}

// AfterCaller is notified of the end of each call of an attempt, including refused calls, from
// several goroutines.
type AfterCaller interface{ AfterCall(c CallEnd) }

// CallEnd is a call that has ended.
type CallEnd struct {
	Attempt     *Attempt
	Position    Position
	ID          catalog.ID
	Operation   *catalog.Operation // nil if there is none for the caller
	Target      catalog.Target
	Input       json.RawMessage
	Started     time.Time
	OutputBytes int
	Code        fault.Code // the code of its fault, "" for none
	App         bool       // it was made with the app's rights: it is not for the run's caller
}

// Writer is called before the first write to a store in an attempt.
type Writer interface{ BeforeWrite(s store.Store) error }

// Judge decides whether an attempt that has ended well and is not a dry run may commit; with
// atomic: false, whether each call may.
type Judge interface {
	// Judge returns why nothing is committed, nil if the commit may proceed. A Pause makes
	// the run wait.
	Judge(ctx context.Context, a *Attempt, e Effects) error
}

// Effects are what an attempt is about to commit.
type Effects struct {
	Changes []store.Change  // all changes of the run so far
	Reply   json.RawMessage // the reply to the caller
	Whole   bool            // these are the effects of the whole attempt, not of a single call
}

// Committer is called right before a commit with the sets that get a receipt; none if nothing was
// written.
type Committer interface {
	BeforeCommit(ctx context.Context, sets []string) error
}

// Recoverer converts the error of a run into the one for its caller. If another process has committed
// the run, it sets the reply in the outcome and returns nil.
type Recoverer interface {
	Recover(ctx context.Context, out *Outcome, err error) error
}

// Releaser is called when no more attempts follow, in reverse order.
type Releaser interface {
	// Release returns an error of its own if the run's caller must learn it.
	Release(ctx context.Context, c *Conclusion) error
}

// Ender is notified of the end of every run, after all other phases.
type Ender interface {
	End(ctx context.Context, c *Conclusion)
}

// Conclusion is how a run ended.
type Conclusion struct {
	Outcome *Outcome
	Err     error // a fault; nil if the run succeeded
	// Transient means that the run failed for a reason that may be gone, whatever Err says of
	// another try: with effects outside, that would repeat them unless the run has a key.
	Transient bool
	// Ran means that the run made attempts; Return is what the last one returned.
	Ran    bool
	Return Return
	// Uncertain means that this process does not know whether the run has committed, or
	// whether another process carries it out.
	Uncertain bool
	// Receipts is how many receipts of the run the data has at least.
	Receipts int
	// Proposed are the changes of a plan that waits for a decision.
	Proposed []store.Change
}

// Refuser is a participant that is notified of calls for which no run was opened.
type Refuser interface {
	Refused(ctx context.Context, r Refusal)
}

// Refusal is a call for which no run was opened.
type Refusal struct {
	Request     *Request
	Outcome     *Outcome // has the ids of the refusal
	Started     time.Time
	ResultBytes int
	Err         error
	Approval    journal.Approval // for a plan that was denied
}
