package replay

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"github.com/koan-go/koan/framework/fault"
	"github.com/koan-go/koan/framework/run"
	"github.com/koan-go/koan/framework/run/tape"
)

// Kept says which runs are kept so that they can be replayed.
type Kept string

// What is kept: nothing; runs that failed; these and all scripts; everything, single
// calls of tools that read included.
const (
	KeepNone    Kept = "none"
	KeepFailed  Kept = "failed"
	KeepScripts Kept = "scripts"
	KeepAll     Kept = "all"
)

func (k Kept) keeps(script, failed bool) bool {
	return k == KeepAll || k == KeepScripts && (script || failed) || k == KeepFailed && failed
}

// Options say what is kept of runs for a replay. What is kept is what the caller
// and the script saw, secrets included: without them a replay would go another way.
type Options struct {
	Keep        Kept          // "" is KeepNone
	MaxRunBytes int           // of one run, uncompressed; 0 is 1 MiB; at most a quarter of what a run may hold
	MaxBytes    int64         // of all, compressed, shared by callers; 0 is 64 MiB
	Retention   time.Duration // 0 is a week
	ToolVersion string        // of the build
	Log         *slog.Logger  // nil is slog.Default
}

// Tapes keeps the runs of an engine, and executes them again.
type Tapes struct {
	engine *run.Engine
	opts   Options
	shelf  Shelf // nil where nothing can be kept
}

var _ run.Participant = (*Tapes)(nil)

// New makes the tapes of an engine, without a shelf.
func New(e *run.Engine, o Options) *Tapes {
	if o.MaxRunBytes == 0 {
		o.MaxRunBytes = 1 << 20
	}
	o.MaxRunBytes = int(min(int64(o.MaxRunBytes), e.MaxBytes()/4)) // a run that goes on holds it
	if o.MaxBytes == 0 {
		o.MaxBytes = 64 << 20
	}
	if o.Retention == 0 {
		o.Retention = 7 * 24 * time.Hour
	}
	if o.Log == nil {
		o.Log = slog.Default()
	}
	return &Tapes{engine: e, opts: o}
}

// Use sets the shelf, before the first call.
func (t *Tapes) Use(s Shelf) {
	t.shelf = s
	if t.keeping() {
		s.Bound(t.opts.Retention, t.opts.MaxBytes)
	}
}

// keeping reports whether any run is going to be kept.
func (t *Tapes) keeping() bool {
	return t.shelf != nil && t.opts.Keep != "" && t.opts.Keep != KeepNone
}

// again is a run that is executed once more against today's data.
type again struct{ tape *tape.Tape }

// Open implements run.Participant. A replay is no run to keep.
func (t *Tapes) Open(r *run.Run) (run.Part, error) {
	if g, ok := r.Request().Continues.(*again); ok {
		r.RepeatDry(g.tape)
		return nil, nil
	}
	if !t.keeping() {
		return nil, nil
	}
	return &keeping{tapes: t, run: r}, nil
}

// keeping is a run that may be kept.
type keeping struct {
	tapes *Tapes
	run   *run.Run

	mu     sync.Mutex
	script recorded // of the last attempt
}

// recorded is what a run's provider keeps of its last attempt.
type recorded struct {
	size   int
	encode func() ([]byte, error)
}

// Recording returns how many bytes of what a run's calls take and give may be kept;
// 0 is that nobody will.
func Recording(r *run.Run) int {
	if k, ok := run.PartOf[*keeping](r); ok {
		return k.tapes.opts.MaxRunBytes
	}
	return 0
}

// KeepScript sets what is kept of a run's last attempt. size is about its bytes,
// beyond Recording where it was too large and is not kept; encode is called at most
// once, after the run.
func KeepScript(r *run.Run, size int, encode func() ([]byte, error)) {
	if k, ok := run.PartOf[*keeping](r); ok {
		k.mu.Lock()
		defer k.mu.Unlock()
		k.script = recorded{size, encode}
	}
}

var _ run.Ender = (*keeping)(nil)

// End passes a run that made attempts to the shelf.
func (k *keeping) End(_ context.Context, e *run.Conclusion) {
	r, out, o := k.run, e.Outcome, k.tapes.opts
	k.mu.Lock()
	kept := k.script
	k.mu.Unlock()
	made := out.Attempts > 0 && (kept.encode != nil || !r.Scripted())
	if !made || out.Repeated || r.Spec().OwnCode || !o.Keep.keeps(r.Scripted(), e.Err != nil) {
		return
	}
	req := r.Request()
	p, snapshot := req.Principal, req.View.Snapshot()
	whole := &KeptRun{
		Version: keptVersion, Run: r.ID,
		KeptCall: KeptCall{
			Operation: r.Operation().ID.String(), Surface: req.Surface, Via: req.Via, Subject: p.Subject, Scopes: p.Scopes, Sets: p.Sets,
			Mode: string(req.View.Mode()), Set: r.Spec().Set,
		},
		Started: r.Started().UTC(), ToolVersion: o.ToolVersion,
		CatalogVersion: snapshot.Version(), Attempts: out.Attempts, Committed: out.Committed, Outcome: "ok", Input: req.Input,
	}
	if e.Err != nil {
		whole.Outcome = string(fault.CodeOf(e.Err))
	}
	if !r.Scripted() {
		whole.Output = e.Return.Result
		kept.size = len(whole.Output)
	}
	k.tapes.shelf.Take(newPendingTape(whole, r.Tape(), kept, e.Err, o))
}
