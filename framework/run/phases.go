package run

import (
	"context"
	"encoding/json"
	"time"

	"github.com/koan-go/koan/framework/catalog"
	"github.com/koan-go/koan/framework/fault"
	"github.com/koan-go/koan/framework/journal"
	"github.com/koan-go/koan/framework/run/store"
	"github.com/koan-go/koan/framework/run/tape"
)

// Participant takes part in the runs of an engine. It is asked when a run opens; what it
// returns, its part in this run, is asked in those phases below that it implements, and holds
// what the participant has to remember of the run. Participants are asked in the order in
// which they joined the engine, when a run is released in the reverse one:
//
//	Open -> Resume -> Claim -> Begin -> attempt {
//	    calls { EnterSet, Inside | Outside, BeforeWrite, BeforeOutside, AfterOutside, AfterCall }
//	    Judge -> BeforeCommit
//	} -> Recover -> Release -> End
//
// A run that nobody has to claim skips Claim. It may come to it later: when a Pause is over that
// requires it. Then attempts begin anew.
type Participant interface {
	// Open is asked before anything of a run is done. nil takes no part in it; an error
	// refuses the run.
	Open(r *Run) (Part, error)
}

// Part takes part in one run. It implements any of the phases.
type Part any

// Resumer knows where a run goes on from.
type Resumer interface {
	// Resume is asked once the run is executed, and calls Run.ContinueFrom where the run
	// does not begin at its start. An error ends the run before its first attempt.
	Resume(ctx context.Context) error
}

// Continuation is where a run goes on from.
type Continuation struct {
	Run     string // its id
	Tape    *tape.Tape
	Outside []CallRecord // calls that had their effect already
	Sets    []string     // that calls named or used
}

// Key is what a run is claimed under, so that it is carried out once.
type Key struct {
	Operation string // with Name and the principal's subject unique
	Name      string
	Busy      *fault.Fault // what others get meanwhile
}

// Claim is what a part says to the claim of a run.
type Claim int

// The claims: it is not the part's to decide; nobody else carries the run out from now
// on; nothing is left to run, since the outcome has the reply.
const (
	NotMine Claim = iota
	Taken
	Over
)

// Claimer is asked to claim a run that has a Key, before its first attempt under it.
type Claimer interface {
	// Claim may give the run another id and tape: those under which it was begun. An error
	// ends the run, and has those who have taken it give it up again. Its ctx ends with
	// the claim.
	Claim(ctx context.Context, out *Outcome) (Claim, error)
}

// Unclaimer gives up a claim of a run that is not made after all.
type Unclaimer interface{ Unclaim(ctx context.Context) }

// Beginner hears that the first attempt of a run begins.
type Beginner interface{ Begin(ctx context.Context) }

// Audience knows who gets what a run returns, where that is not its principal alone.
type Audience interface {
	// EnterSet is asked before a run reads anything in a set that it did not use before.
	EnterSet(ctx context.Context) error
	// AdmitReader refuses whoever gets what the run returns where it comes from sets that
	// he may not name.
	AdmitReader(sets []string) error
	// Foreign reports whether he is somebody else than the run's principal.
	Foreign() bool
}

// Gate is asked whether calls may be made.
type Gate interface {
	// Inside hears of a call that transactions cover.
	Inside(a *Attempt, op *catalog.Operation)
	// Outside refuses a call that no transaction covers, or has the run wait: with a Pause.
	Outside(ctx context.Context, c *OutsideCall) error
}

// OutsideCall is a call that no transaction covers.
type OutsideCall struct {
	Attempt   *Attempt
	Position  Position
	Operation *catalog.Operation
	Input     json.RawMessage
	Digest    [32]byte // as the tape has it
	Effect    bool     // it has one outside
}

// Witness notes calls that no transaction covers.
type Witness interface {
	// Recorded hears of a call that is not made, since the tape has how it ended.
	Recorded(c *OutsideCall)
	// BeforeOutside is asked when nobody refuses the call any more: after an error it is not
	// made.
	BeforeOutside(ctx context.Context, c *OutsideCall) error
	// AfterOutside hears how it ended, also when the attempt has ended before.
	AfterOutside(ctx context.Context, c *OutsideCall, out json.RawMessage, err error)
}

// Listener hears what handlers of the run's calls say to its caller while they work, from
// several goroutines.
type Listener interface {
	Progress(done, total float64, message string)
	Emit(index int, value json.RawMessage)
}

// AfterCaller hears of each call of an attempt that has ended, also of one that was
// refused. Calls end in several goroutines.
type AfterCaller interface{ AfterCall(c CallEnd) }

// CallEnd is a call that has ended.
type CallEnd struct {
	Attempt     *Attempt
	Position    Position
	ID          catalog.ID
	Operation   *catalog.Operation // nil where there is none for the caller
	Target      catalog.Target
	Input       json.RawMessage
	Started     time.Time
	OutputBytes int
	Code        fault.Code // of the fault that it ended in, "" for none
}

// Writer is asked before the first write to a store in an attempt.
type Writer interface{ BeforeWrite(s store.Store) error }

// Judge is asked about an attempt that has ended well and is no dry run, before it commits;
// with atomic: false about each call that is going to commit.
type Judge interface {
	// Judge returns why nothing is committed: a Pause has the run wait.
	Judge(ctx context.Context, a *Attempt, e Effects) error
}

// Effects are what an attempt is going to commit.
type Effects struct {
	Changes []store.Change  // all of the run so far
	Reply   json.RawMessage // what the caller is going to get
	Whole   bool            // it is all that the attempt does, and no single call
}

// Committer is asked right before a commit, with the sets that are going to have a receipt;
// none where nothing was written.
type Committer interface {
	BeforeCommit(ctx context.Context, sets []string) error
}

// Recoverer is asked what the error of a run means to its caller, which may be that somebody
// else has committed the run: then the outcome has the reply, and the error is nil.
type Recoverer interface {
	Recover(ctx context.Context, out *Outcome, err error) error
}

// Releaser is asked when no more attempts follow, in the reverse order of the others.
type Releaser interface {
	// Release returns what else the run ended in, if its caller has to know.
	Release(ctx context.Context, c *Conclusion) error
}

// Ender hears last of a run, whatever became of it.
type Ender interface {
	End(ctx context.Context, c *Conclusion)
}

// Conclusion is how a run ended.
type Conclusion struct {
	Outcome *Outcome
	Err     error // a fault; nil where the run succeeded
	// Ran reports that attempts ended the run, and Return is what the last one returned.
	Ran    bool
	Return Return
	// Uncertain reports that this process does not know whether the run has committed, or
	// whether another one carries it out.
	Uncertain bool
	// Proposed are the changes of a plan that waits.
	Proposed []store.Change
}

// Refuser is a participant that hears of calls for which no run was opened.
type Refuser interface {
	Refused(ctx context.Context, r Refusal)
}

// Refusal is such a call.
type Refusal struct {
	Request     *Request
	Outcome     *Outcome // with the ids under which it is known
	Started     time.Time
	ResultBytes int
	Err         error
	Approval    journal.Approval // of a plan that was denied
}
