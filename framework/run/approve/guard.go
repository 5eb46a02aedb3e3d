// Package approve is the participant that asks people to agree to what runs do, before it is
// kept: a run that needs it is rolled back, and kept as a plan until somebody decides.
//
// What belongs here: which runs need approval, plans and how they are read, questions about
// them, and how a decision is carried out. Not here: where plans are kept (Plans), or
// how a run is made to happen once, which applying a plan needs.
package approve

import (
	"log/slog"
	"strings"
	"sync/atomic"
	"time"

	"github.com/koan-go/koan/framework/approval"
	"github.com/koan-go/koan/framework/auth"
	"github.com/koan-go/koan/framework/catalog"
	"github.com/koan-go/koan/framework/fault"
	"github.com/koan-go/koan/framework/run"
)

// Settings say what a person has to agree to, and how long plans are kept and
// waited for. The zero value asks nobody.
type Settings struct {
	Policy   approval.Policy
	Wait     time.Duration // for one answer; 0 is 5 minutes
	Life     time.Duration // of a plan; 0 is a day, and Options.KeyRetention the most
	MaxBytes int           // of a plan; 0 is 4 MiB
}

// Options configure a Guard.
type Options struct {
	Settings
	Command      string        // how the app is called on a command line, for hints
	Again        catalog.Again // with which variables and flags
	KeyRetention time.Duration // how long it is known that a plan was applied; 0 is a week
	Log          *slog.Logger  // nil is slog.Default
}

// Guard has people agree to the runs of an engine.
type Guard struct {
	planTexts
	keptPlans
	opts     Options
	grants   Grants                   // nil where plans are not kept
	settings atomic.Pointer[Settings] // that hold now
}

// planTexts shows plans without the engine's secrets.
type planTexts struct{ engine *run.Engine }

// keptPlans finds plans where they are kept.
type keptPlans struct {
	plans Plans // nil where they are not
}

var _ run.Participant = (*Guard)(nil)

// New makes the guard of an engine, which keeps no plans.
func New(e *run.Engine, o Options) *Guard {
	if o.KeyRetention == 0 {
		o.KeyRetention = 7 * 24 * time.Hour
	}
	if o.Log == nil {
		o.Log = slog.Default()
	}
	g := &Guard{planTexts: planTexts{e}, opts: o}
	g.Set(o.Settings)
	return g
}

// Set has other settings hold from now on, also for runs that have not come to their end
// yet.
func (g *Guard) Set(s Settings) {
	if s.Wait == 0 {
		s.Wait = 5 * time.Minute
	}
	if s.Life == 0 {
		s.Life = 24 * time.Hour
	}
	// A plan must be gone before the key that says whether it was applied.
	s.Life = min(s.Life, g.opts.KeyRetention)
	if s.MaxBytes == 0 {
		s.MaxBytes = 4 << 20
	}
	g.settings.Store(&s)
}

// Use sets where plans and grants are kept, before the first call.
func (g *Guard) Use(p Plans, grants Grants) { g.plans, g.grants = p, grants }

// command is how a person calls the app's command `approve`. Flags of this process name folders of the
// machine, so only its operator gets them.
func (g *Guard) command(arguments string, by auth.Principal) string {
	again := g.opts.Again
	if !by.IsLocal() {
		again = catalog.Again{}
	}
	return again.Typed(strings.TrimSpace(g.opts.Command+" approve"), arguments)
}

// KeepsPlans reports whether runs can be approved here.
func (g *keptPlans) KeepsPlans() bool { return g.plans != nil }

// Open implements run.Participant. Whatever some runs do, nobody is asked.
func (g *Guard) Open(r *run.Run) (run.Part, error) {
	spec, policy, p := r.Spec(), g.settings.Load().Policy, r.Principal()
	applied, _ := r.Request().Continues.(*application)
	id := r.Operation().ID
	reads := !r.Scripted() && r.Operation().Effects.ReadOnly && !policy.AlwaysByName(p.Subject, id.String())
	policy.Tainted = policy.Tainted && r.Request().View.Snapshot().Untrusted()
	if applied == nil && (reads || spec.DryRun || spec.OwnCode || policy.AllowsAll(p.Subject, spec.Approval) && !policy.Tainted) {
		return nil, nil
	}
	switch {
	case !g.KeepsPlans():
		return nil, fault.New(fault.CapabilityUnsupported, "this app has nowhere to keep plans, so nothing can be approved").
			WithHint("Leave `approval` out.").WithPath("/approval")
	case !spec.Atomic && len(policy.NeedApproval(p.Subject, spec.Approval, nil)) > 0:
		return nil, notAtomic().WithPath("/atomic")
	}
	c := &consent{
		decision: decision{guard: g, run: r, subject: p.Subject, applied: applied},
		taint:    taint{of: r, asks: policy.Tainted}, policy: policy, floor: spec.Approval,
	}
	if applied != nil {
		r.ID = applied.plan.Run
	}
	r.RecordChanges()
	return c, nil
}

func notAtomic() *fault.Fault {
	return fault.New(fault.ApprovalRequired, "this run needs approval, and a run that commits call by call cannot be approved").
		WithHint("Leave `atomic: false` out.")
}
