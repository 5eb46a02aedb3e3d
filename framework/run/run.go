package run

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/koan-go/koan/framework/approval"
	"github.com/koan-go/koan/framework/auth"
	"github.com/koan-go/koan/framework/catalog"
	"github.com/koan-go/koan/framework/fault"
	"github.com/koan-go/koan/framework/journal"
	"github.com/koan-go/koan/framework/run/internal/budget"
	"github.com/koan-go/koan/framework/run/tape"
)

// Spec says what kind of run a code operation opens.
type Spec struct {
	Set           string   // default set of every call; "" is "default"
	Atomic        bool     // one transaction for all; else every call commits by itself
	DryRun        bool     // everything executes, then rolls back
	Record        bool     // keep before and after of every change; implied by DryRun
	MaxCalls      int      // calls to providers per attempt; 0 is unlimited
	Only          []string // nil permits everything, else entities, "plugin:domain", "server:id"
	Code          string   // of a script, for the journal
	CodeDigest    string   // "sha256:…"
	Runtime       string   // what runs the script: "goja"
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
	ToolName   string `json:"toolName"`
	OK         bool   `json:"ok"`
	DurationMs int64  `json:"durationMs"`
	Error      string `json:"error,omitempty"` // at most 300 characters

	Elapsed time.Duration `json:"-"`
}

// Outcome is what is true of a run after its last attempt. Execute returns it on
// success and on failure alike.
type Outcome struct {
	Run   string
	Trace string
	// Refused reports that no run was opened: Run is the id under which the journal has
	// the refusal, and nothing else is set but Wall.
	Refused        bool
	Attempts       int
	Committed      bool // whether anything of the run's writes is in the data
	DryRun         bool
	Changes        []Change // committed, or of the dry run
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

// NoRun is the outcome of a call that nobody could make: the app did not start.
func NoRun() *Outcome { return &Outcome{Run: newRunID(), Trace: newTrace(), Refused: true} }

// Body is one attempt: it makes calls through the attempt and returns what the
// run gives. It must have stopped everything that it started when it returns. It
// returns early, with the error it got, when Ends(err) is true for a call's
// error.
type Body func(ctx context.Context, a *Attempt) (Return, error)

// Run is one script, or one call, from its first attempt to its receipt.
type Run struct {
	ID        string
	Trace     string
	engine    *Engine
	request   Request
	spec      Spec
	tape      *tape.Tape
	account   *budget.Account // of what the host holds for the run
	started   time.Time
	principal auth.Principal

	mu       sync.Mutex
	pending  sync.WaitGroup // outside calls that outlive their attempt
	outside  []CallRecord
	sets     []string // that its calls named or used, in all attempts
	applied  []Change // of calls committed one by one
	commits  int
	wrote    bool // one of them wrote something
	metrics  map[string]any
	after    []func(context.Context)
	op       *catalog.Operation
	finished *Outcome

	parts      []Part // who takes part in the run
	fresh      string // the id that the run had before its key gave it another
	last       Return // of the last attempt
	redactions atomic.Int64
	approval   journal.Approval
	digested   struct {
		changes []Change
		digest  string
	}

	key       *Key        // that the run has to be claimed under; nil for none
	claimed   bool        // and is
	lose      func(error) // ends the run where the claim is lost
	keepsTape bool        // whoever claims the run may not give it another tape
	uncertain bool        // nobody knows whether the run committed
	hidden    atomic.Bool // whoever gets what the run returns may not see it

	narrow   sync.Once
	narrowed *catalog.View
}

// Request is the call that the run was opened for.
func (r *Run) Request() *Request { return &r.request }

// Operation is what was called.
func (r *Run) Operation() *catalog.Operation { return r.op }

// Scripted reports whether the run is more than the one call of its client.
func (r *Run) Scripted() bool { return r.op.ID.Kind == catalog.KindCode }

// Started is when the run was opened.
func (r *Run) Started() time.Time { return r.started }

// OwnID is the id that the run was opened with; its key may have given it another.
func (r *Run) OwnID() string { return r.fresh }

// NoteApproval says who agreed to the run's effect, or has to.
func (r *Run) NoteApproval(a journal.Approval) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.approval = a
}

// Approval is what NoteApproval said last.
func (r *Run) Approval() journal.Approval {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.approval
}

// Spec returns what the run was opened with.
func (r *Run) Spec() Spec { return r.spec }

// Tape is what is not deterministic in the run.
func (r *Run) Tape() *tape.Tape { return r.tape }

// RepeatDry makes the run a dry run along a tape, when it opens.
func (r *Run) RepeatDry(t *tape.Tape) {
	r.spec.rehearse()
	r.useTape(t)
}

// UseTape takes a tape of what an earlier holder of the run saw, when it is claimed.
func (r *Run) UseTape(t *tape.Tape) { r.useTape(t) }

// Principal is who made the run's call.
func (r *Run) Principal() auth.Principal { return r.principal }

// RecordChanges has stores keep what rows were before and after each change, when the run
// opens.
func (r *Run) RecordChanges() { r.spec.Record = true }

// Keep counts n more bytes that the host keeps for the run, or fewer.
func (r *Run) Keep(n int64) { r.account.Add(n) }

// OutsideEffects are the calls so far that had an effect outside.
func (r *Run) OutsideEffects() []CallRecord {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.outside)
}

// Annotate adds a figure to the outcome's metrics.
func (r *Run) Annotate(key string, value any) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.metrics[key] = value
}

// Execute makes attempts until one commits, fails, or run.maxAttempts is
// reached (conflict). Where a person has to agree to what the run does, it asks
// (approval_denied), or keeps a plan and ends in approval_required or
// input_required. With an idempotency key that stands for a run already, it
// makes none: it returns what that run returned, or in_progress, conflict or
// outcome_unknown. The outcome is never nil. The error is a fault or nil.
func (r *Run) Execute(ctx context.Context, body Body) (*Outcome, error) {
	ctx, over := r.observed(ctx)
	out, err := r.execute(ctx, body)
	over(out, err)
	return out, err
}

func (r *Run) execute(ctx context.Context, body Body) (*Outcome, error) {
	out := &Outcome{Run: r.ID, Trace: r.Trace, DryRun: r.spec.DryRun}
	if err := r.resume(ctx, out); err != nil {
		return r.finishWithoutRunning(ctx, out, err)
	}
	err := error(errUnclaimed)
	begun := r.key == nil
	if begun {
		r.begin(ctx)
		err = r.attempts(ctx, body, out)
	}
	if errors.Is(err, errUnclaimed) { // or the run had a key from the start
		held, cancel := context.WithCancelCause(ctx)
		defer cancel(nil)
		r.lose = cancel
		if over, err := r.claim(held, out); over || err != nil {
			return r.finishWithoutRunning(ctx, out, err)
		}
		if ctx = held; !begun {
			r.begin(ctx)
		}
		err = r.attempts(ctx, body, out)
	}
	return r.conclude(ctx, out, err)
}

// conclude ends a run whose attempts ended in err.
func (r *Run) conclude(ctx context.Context, out *Outcome, err error) (*Outcome, error) {
	if errors.Is(context.Cause(ctx), ErrLost) && err != nil {
		err = ErrLost
	}
	lost := errors.Is(err, ErrLost)
	if err = r.recover(ctx, out, err); err != nil {
		if isContextEnd(ctx, err) {
			err = contextFault(ctx, err)
		}
		err = r.failed(out, err)
	}
	c := &Conclusion{Outcome: out, Err: err, Ran: true, Return: r.last, Uncertain: lost || r.uncertain}
	r.release(ctx, c)
	if c.Err == nil && !r.spec.DryRun {
		for _, fn := range r.after {
			fn(context.WithoutCancel(ctx))
		}
	}
	r.finished = out
	r.end(ctx, c)
	return out, c.Err
}

// finishWithoutRunning ends a run that did not need to run, or could not.
func (r *Run) finishWithoutRunning(ctx context.Context, out *Outcome, err error) (*Outcome, error) {
	out.Metrics, out.OutsideEffects, out.Wall = r.metrics, r.outside, time.Since(r.started)
	if err != nil && out.Reply == nil {
		err = r.failed(out, err)
	}
	r.finished = out
	r.end(ctx, &Conclusion{Outcome: out, Err: err, Return: r.last})
	return out, err
}

// failed makes the reply of a failure.
func (r *Run) failed(out *Outcome, err error) error {
	f := r.redacted(fault.From(err))
	if r.spec.Reply == nil {
		return f
	}
	reply, err := r.spec.Reply(Return{}, out, f)
	out.Reply = reply
	if err == nil {
		return f
	}
	return fault.From(err)
}

// attempts makes the attempts, and says in out what is true after the last.
func (r *Run) attempts(ctx context.Context, body Body, out *Outcome) error {
	var err error
	var last *Attempt
	for tries := 1; ; tries++ {
		out.Attempts++
		a := newAttempt(ctx, r, out.Attempts)
		defer a.abort()
		if last != nil {
			last.dropShare()
		}
		last = a
		actx, over := a.observed(ctx)
		err = r.attempt(actx, a, body, out)
		over(err)
		if p, ok := err.(Pause); ok { //nolint:errorlint // never wrapped
			r.pending.Wait()
			a.dropShare() // whoever waits keeps what it needs
			if err = r.wait(ctx, p, a.paused); err != nil {
				break
			}
			tries = 0
			continue
		}
		if !isRestart(err) {
			break
		}
		if isUncounted(err) {
			tries--
		} else if tries >= r.engine.opts.MaxAttempts {
			err = fault.Newf(fault.Conflict, "the data kept changing under this run; %d attempts were made", tries).Because(err)
			break
		}
		r.pending.Wait() // the slow call's result is on the tape before the next attempt
	}
	r.pending.Wait()
	out.Calls, out.SDKCalls = last.trace()
	r.mu.Lock()
	out.OutsideEffects = r.outside
	if !r.spec.Atomic && r.wrote {
		out.Committed, out.Changes = true, r.applied
	}
	out.Metrics = r.metrics
	r.mu.Unlock()
	out.Wall = time.Since(r.started)
	return err
}

// attempt makes one attempt and ends its transactions.
func (r *Run) attempt(ctx context.Context, a *Attempt, body Body, out *Outcome) error {
	actx, stop := context.WithCancel(ctx)
	defer stop()
	ret, err := body(actx, a)
	stop()
	a.close()
	if !allowsAnotherAttempt(a.ended()) {
		a.abort() // nobody waits for calls still in flight
	}
	if ended := a.ended(); ended != nil && (err == nil || !isFault(err) || allowsAnotherAttempt(ended)) {
		err = ended
	}
	if err == nil {
		err = ctx.Err()
	}
	err = r.rejectRepeatedEffects(err)
	r.last = ret
	clean := context.WithoutCancel(ctx) // a rollback must run after a cancel
	if isPause(err) {
		var failed error
		if a.paused, failed = a.changes(ctx); failed != nil {
			err = failed
		}
	}
	if err != nil {
		a.rollback(clean)
		return err
	}
	changes, err := a.changes(ctx)
	if err != nil {
		a.rollback(clean)
		return err
	}
	out.Changes = changes
	out.Calls, out.SDKCalls = a.trace()
	if check, ok := ctx.Value(beforeCommitKey{}).(func(Return, *Outcome) error); ok {
		if err := check(ret, out); err != nil {
			a.rollback(clean)
			out.Changes = nil
			return err
		}
	}
	if err := r.reply(ret, out); err != nil {
		a.rollback(clean)
		out.Changes = nil
		return err
	}
	if r.spec.DryRun {
		a.rollback(clean)
		return nil
	}
	if err := r.judge(ctx, a, Effects{Changes: changes, Reply: out.Reply, Whole: true}); err != nil {
		a.paused = changes
		a.rollback(clean)
		out.Changes, out.Reply = nil, nil
		return err
	}
	wrote := a.wrote()
	var receipt Receipt
	if wrote || r.claimed { // or nobody writes it down
		receipt = r.receipt(a, ret, changes)
	}
	if r.claimed {
		receipt.Reply = out.Reply
	}
	if err := a.commit(clean, receipt); err != nil {
		a.rollback(clean)
		r.uncommitted(ctx, err)
		out.Changes, out.Reply = nil, nil
		return err
	}
	out.Committed = wrote
	r.after = a.after
	return nil
}

// reply makes what the caller gets of a run that is about to commit.
func (r *Run) reply(ret Return, out *Outcome) (err error) {
	if r.spec.Reply == nil {
		return nil
	}
	shown := *out
	if !r.spec.Atomic {
		r.mu.Lock()
		shown.Changes = r.applied
		r.mu.Unlock()
	}
	out.Reply, err = r.spec.Reply(ret, &shown, nil)
	return err
}

// uncommitted looks at why a commit failed.
func (r *Run) uncommitted(ctx context.Context, err error) {
	switch {
	case isRestart(err), errors.Is(err, ErrCommitted), errors.Is(err, ErrLost):
		return
	case fault.CodeOf(err) == fault.OutcomeUnknown:
		r.MarkUncertain()
	}
	r.engine.report(ctx, fault.From(err), "run", r.ID, "operation", "commit")
}

func (r *Run) receipt(a *Attempt, ret Return, changes []Change) Receipt {
	return Receipt{
		Run: r.ID, Attempt: a.number, IdempotencyKey: r.spec.IdempotencyKey, Subject: r.principal.Subject,
		CodeDigest: r.spec.CodeDigest, ResultDigest: Digest(ret.Result), Result: ret.Result, ChangesDigest: r.ChangesDigest(changes),
		CatalogVersion: r.request.View.Snapshot().Version(), At: r.tape.Now(),
	}
}

// NoteOutsideEffect records a call that had its effect outside.
func (r *Run) NoteOutsideEffect(rec CallRecord) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.outside = append(r.outside, rec)
}

// View is the catalog as the run's calls see it: the caller's, narrowed to what the
// run's `only` names.
func (r *Run) View() *catalog.View {
	if r.spec.Only == nil {
		return r.request.View
	}
	r.narrow.Do(func() { r.narrowed = r.request.View.Narrow(r.permits) })
	return r.narrowed
}

// permits reports whether the run's `only` lets an operation through.
func (r *Run) permits(id catalog.ID) bool {
	if r.spec.Only == nil {
		return true
	}
	for _, o := range r.spec.Only {
		family, name, ok := strings.Cut(o, ":")
		switch {
		case !ok && id.Kind == catalog.KindEntity && id.Owner == o,
			family == "plugin" && ok && id.Kind == catalog.KindPlugin && strings.EqualFold(id.Owner, name),
			family == "server" && ok && id.Kind == catalog.KindUpstream && id.Owner == name:
			return true
		}
	}
	return false
}

type beforeCommitKey struct{}

// WithBeforeCommit lets check look at what a run is about to give before it
// commits; an error rolls back and becomes the run's. A check that ctx has already
// comes first.
func WithBeforeCommit(ctx context.Context, check func(Return, *Outcome) error) context.Context {
	if first, ok := ctx.Value(beforeCommitKey{}).(func(Return, *Outcome) error); ok {
		second := check
		check = func(ret Return, o *Outcome) error {
			if err := first(ret, o); err != nil {
				return err
			}
			return second(ret, o)
		}
	}
	return context.WithValue(ctx, beforeCommitKey{}, check)
}

func isFault(err error) bool {
	var f *fault.Fault
	return errors.As(err, &f)
}

func unknownOperation(name string) error {
	return fault.Newf(fault.ToolNotFound, "there is no %s here", fmt.Sprintf("%q", name))
}
