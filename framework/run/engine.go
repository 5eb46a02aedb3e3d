package run

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"time"

	"github.com/koan-go/koan/framework/auth"
	"github.com/koan-go/koan/framework/catalog"
	"github.com/koan-go/koan/framework/fault"
	"github.com/koan-go/koan/framework/journal"
	"github.com/koan-go/koan/framework/run/internal/aftercommit"
	"github.com/koan-go/koan/framework/run/internal/budget"
	"github.com/koan-go/koan/framework/run/internal/conform"
	"github.com/koan-go/koan/framework/run/observe"
)

// Options configure an Engine.
type Options struct {
	MaxAttempts int           // run.maxAttempts; 0 is 5
	Lock        time.Duration // run.lockMs; 0 is 250 ms
	// How many bytes this process may hold for one run (0 means 24 MiB), and for all runs
	// together (0 means 512 MiB).
	MaxBytes      int64
	MaxTotalBytes int64
	// AfterCommit is when the context of a function of AfterCommit ends; 0 is 30 s.
	AfterCommit time.Duration
	// RequireUndo refuses runs whose changes could not be undone before their commit.
	RequireUndo bool
	// Redactor redacts secrets in faults and texts.
	Redactor *journal.Redactor // nil means one for the general patterns
	Log      *slog.Logger      // nil means slog.Default
	// Clock is the clock of runs; nil means time.Now. Limits, leases and records use the
	// machine's clock.
	Clock func() time.Time
	// Expand returns the input that the handler of a call gets in place of the one that was
	// sent, nil for the same. Tape, approval and journal have the one that was sent. It may
	// be nil.
	Expand func(ctx context.Context, p auth.Principal, id catalog.ID, input json.RawMessage) (json.RawMessage, error)
}

// Engine carries out all calls. It is safe for concurrent use.
type Engine struct {
	admission
	participants []Participant
	observer     observe.Observer
	after        *aftercommit.Queue
	data         Data // of the app's own code; nil for none
}

// admission is what every call passes before it is made.
type admission struct {
	opts    Options
	schemas *conform.Checker
	budget  *budget.Budget
}

// NewEngine returns an engine.
func NewEngine(o Options) *Engine {
	if o.MaxAttempts == 0 {
		o.MaxAttempts = 5
	}
	if o.Lock == 0 {
		o.Lock = 250 * time.Millisecond
	}
	if o.MaxBytes == 0 {
		o.MaxBytes = 96 << 20
	}
	if o.MaxTotalBytes == 0 {
		o.MaxTotalBytes = 512 << 20
	}
	if o.Log == nil {
		o.Log = slog.Default()
	}
	if o.Clock == nil {
		o.Clock = time.Now
	}
	e := &Engine{admission: admission{opts: o, schemas: conform.New(o.Log), budget: budget.New(o.MaxBytes, o.MaxTotalBytes)}, observer: observe.Nobody{}}
	e.after = aftercommit.New(aftercommit.Options{
		Each: o.AfterCommit, Log: o.Log, Count: func(ctx context.Context, outcome string) { e.observer.AfterCommit(ctx, outcome) },
	})
	return e
}

// WaitAfterCommit waits until the functions of AfterCommit that runs have left so far have returned,
// or ctx is over.
func (e *Engine) WaitAfterCommit(ctx context.Context) error { return e.after.Wait(ctx) }

// Stop waits for the functions of AfterCommit, until ctx is over, and calls no more. It is for when no
// more calls are made.
func (e *Engine) Stop(ctx context.Context) { e.after.Stop(ctx) }

// MaxBytes returns how many bytes the host may hold for one run.
func (e *Engine) MaxBytes() int64 { return e.budget.Run() }

// CheckSchemas returns an error that names every operation of a catalog whose input or
// output schema cannot be used.
func (e *Engine) CheckSchemas(s *catalog.Snapshot) error { return e.schemas.Snapshot(s) }

// Redactor returns the redactor of secrets in texts.
func (e *Engine) Redactor() *journal.Redactor { return e.opts.Redactor }

// Observe sets the engine's observer, before the first call.
func (e *Engine) Observe(o observe.Observer) { e.observer = o }

// Join adds participants, before the first call.
func (e *Engine) Join(p ...Participant) { e.participants = append(e.participants, p...) }

// Refuse notifies the participants of a call for which no run was opened.
func (e *Engine) Refuse(ctx context.Context, r Refusal) {
	for _, p := range e.participants {
		if p, ok := p.(Refuser); ok {
			p.Refused(ctx, r)
		}
	}
}

// recover is deferred around code that is not the engine's: a panic becomes an internal fault and is
// logged.
func (e *Engine) recover(ctx context.Context, err *error, where ...any) {
	if p := recover(); p != nil {
		*err = e.report(ctx, fault.OfPanic(p), where...)
	}
}

// report logs a fault that no caller is responsible for, with its cause, which callers do not see. It
// returns the fault, which Logged reports from then on, so that nothing logs it again.
func (e *Engine) report(ctx context.Context, f *fault.Fault, where ...any) *fault.Fault {
	cause := errors.Unwrap(f)
	_, panicked := errors.AsType[*fault.Panic](cause)
	if cause == nil || Logged(f) || !panicked && f.Code != fault.Internal && f.Code != fault.ServiceUnavailable && f.Code != fault.ExecutionError {
		return f
	}
	e.opts.Log.ErrorContext(ctx, f.Message, append(where, "subject", auth.From(ctx).Subject, "code", f.Code, "error", cause)...)
	return f.Because(logged{cause})
}

// logged is the cause of a fault that is in the log.
type logged struct{ error }

func (l logged) Unwrap() error { return l.error }

// Logged reports whether an engine has logged a fault, with its cause.
func Logged(err error) bool {
	_, ok := errors.AsType[logged](err)
	return ok
}
