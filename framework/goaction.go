package framework

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"strings"
	"time"

	"github.com/koan-go/koan/framework/catalog"
	"github.com/koan-go/koan/framework/fault"
	"github.com/koan-go/koan/framework/run"
	"github.com/koan-go/koan/framework/schema"
	"github.com/koan-go/koan/framework/schema/gotype"
)

// GoAction is an action that is a Go function. Make it with Action.
type GoAction struct {
	name    string
	op      *catalog.Operation
	problem error // found by an option
}

// Call is what an action in Go, or the function of Instance.Tx, knows of its call, and makes its own
// calls through. They are part of the same run: in its transaction, with its quotas. So is what is
// done through ent's clients with the context that the action got: with that of ent.ClientOf(ctx),
// and with any client of a set that the app keeps. One goroutine at a time may use them.
//
// An action may be carried out several times in one run, since a run whose data has changed
// begins again. So it has to be repeatable: time and randomness come from Now and Rand,
// effects are those of its calls, and nothing is kept in variables of the program.
type Call struct {
	call catalog.Call
	nest *run.Nest
	now  time.Time
	rand *rand.Rand
}

// newCall returns the Call of a nested operation's handler.
func newCall(call catalog.Call, nest *run.Nest) (Call, error) {
	now, err := nest.Now()
	return Call{call, nest, now, rand.New(rand.NewPCG(nest.Seed(), 0))}, err
}

// Invoke makes a call by its catalog id, such as "koan::Order.patch". in is its input, a value
// that becomes a JSON object; out is where its output is decoded, nil to ignore it. The error
// is a fault.
func (c Call) Invoke(ctx context.Context, id string, in, out any) error {
	parsed, input, err := encodeCall(id, in)
	if err != nil {
		return err
	}
	raw, err := c.call.Invoke(ctx, parsed, input)
	if err != nil {
		c.nest.NoteFault(err)
		return err
	}
	return decodeOutput(id, raw, out)
}

// In returns a context in which ent's clients work on another set than Set, as a part of the same
// run. It ends in unknown_set for one that the action's calls may not name.
func (c Call) In(ctx context.Context, set string) (context.Context, error) {
	return c.nest.Enter(ctx, set)
}

// Principal is the caller of the action's calls: the action's own with AppRights.
func (c Call) Principal() Principal { return c.nest.Principal() }

// Set is the default set of the action's calls.
func (c Call) Set() string { return c.nest.Set() }

// Run is the id of the run that the call is part of.
func (c Call) Run() string { return c.call.Run() }

// DryRun reports whether the run will be rolled back.
func (c Call) DryRun() bool { return c.call.DryRun() }

// Now is the time at which the action was first called: the same however often the run begins
// again.
func (c Call) Now() time.Time { return c.now }

// Rand returns random numbers: the same however often the run begins again. It is for one
// goroutine.
func (c Call) Rand() *rand.Rand { return c.rand }

// Progress reports to the caller how far the action is. total 0 means unknown.
func (c Call) Progress(done, total float64, message string) { c.call.Progress(done, total, message) }

// Log sends the caller a message, if it reads them.
func (c Call) Log(level slog.Level, message string) { c.call.Log(level, message) }

// Action makes an action of a Go function. name is in kebab-case, description one or more
// sentences for people and models. The JSON Schemas come from In and Out, which must be
// structs: json tags name the fields, omitempty makes one optional, and jsonschema tags
// describe it. Fields that In does not have are rejected.
//
// A fault (package framework/fault) that fn makes reaches the caller unchanged, and so does that
// of a call, except with AppRights: it may be about what the caller may not know. Any other
// error is for the log, and the caller gets execution_error. Whatever the error, nothing that
// the action did is kept.
func Action[In, Out any](name, description string, fn func(context.Context, Call, In) (Out, error), opts ...ActionOption) GoAction {
	a := GoAction{name: name, op: &catalog.Operation{
		ID: catalog.ActionID(name),
		Contract: catalog.Contract{
			Effects: catalog.Effects{Destructive: true, Outside: true},
		},
		Listing: catalog.Listing{Summary: description, Reach: catalog.Everywhere},
		Work:    catalog.Work{Nested: true, Rights: &catalog.Rights{}},
	}}
	var err error
	if a.op.Input, err = gotype.Input[In](); err != nil {
		a.fail("input: %w", err)
	}
	if a.op.Output, err = gotype.Of[Out](); err != nil {
		a.fail("output: %w", err)
	}
	output := a.op.Output
	a.op.Handler = func(ctx context.Context, call catalog.Call) (json.RawMessage, error) {
		var in In
		raw, err := gotype.WithDefaults(a.op.Input, call.Input())
		if err != nil {
			return nil, err
		}
		if err := gotype.Decode(raw, &in); err != nil {
			return nil, err
		}
		ctx, c, err := beginOwnCode(ctx, call)
		if err != nil {
			return nil, err
		}
		out, err := fn(ctx, c, in)
		if err != nil {
			return nil, c.failure(ctx, name, err)
		}
		if raw, err = json.Marshal(out); err != nil {
			return nil, err
		}
		return gotype.Emptied(output, raw)
	}
	for _, o := range opts {
		o(&a)
	}
	return a
}

// failure is what the caller of an action gets for its error.
func (c Call) failure(ctx context.Context, name string, err error) error {
	var f *fault.Fault
	if run.Ends(err) || ctx.Err() != nil {
		return err
	}
	own := errors.As(err, &f)
	if own {
		if !c.nest.OfCall(f) { // the author's words
			return f
		}
	}
	if own && !c.nest.App() && (f.Code != fault.InvalidPayload || f.IsByRule()) {
		called := *f
		called.Path = "" // into the input of another call
		return &called
	}
	failed := fault.New(fault.ExecutionError, "the action "+name+" could not be carried out").Because(err).
		WithDetails(map[string]any{"action": name}).WithHint("Ask whoever runs the app: its log says what failed in the run %s.", c.Run())
	if own {
		failed = failed.WithRetry(f.Retry)
	}
	return failed
}

func (a *GoAction) fail(format string, args ...any) {
	a.problem = errors.Join(a.problem, fmt.Errorf(format, args...))
}

// ActionOption sets a property of an action in Go.
type ActionOption func(*GoAction)

// ActionEffects says what callers may rely on: "readOnly", "destructive", "idempotent" and
// "outside". Calls that contradict it are refused. Without it anything is possible.
func ActionEffects(effects ...string) ActionOption {
	return func(a *GoAction) {
		e := catalog.Effects{}
		for _, name := range effects {
			switch name {
			case "readOnly":
				e.ReadOnly = true
			case "destructive":
				e.Destructive = true
			case "idempotent":
				e.Idempotent = true
			case "outside":
				e.Outside = true
			default:
				a.fail("there is no effect %q%s", name, fault.DidYouMean(name, []string{"readOnly", "destructive", "idempotent", "outside"}))
			}
		}
		a.op.Effects, a.op.Rights.Declared = e, true
	}
}

// AppRights gives the action's calls the app's own rights in place of the caller's, within
// some sets; without any, within the sets of the caller.
func AppRights(sets ...string) ActionOption {
	return func(a *GoAction) {
		a.op.Rights.App = true
		if len(sets) > 0 {
			a.op.Rights.Sets = sets
		}
	}
}

// ActionScopes sets the scopes that a caller needs, all of them. Without any, an action that
// is not read-only needs actions:call.
func ActionScopes(scopes ...string) ActionOption {
	return func(a *GoAction) { a.op.Scopes = scopes }
}

// ActionTitle sets a title for people.
func ActionTitle(title string) ActionOption { return func(a *GoAction) { a.op.Title = title } }

// Unlisted keeps the action out of the list of tools; scripts and the command line have it.
func Unlisted() ActionOption {
	return func(a *GoAction) { a.op.Reach &^= catalog.ReachTools }
}

// Listed lists the action as a tool in mode `code` too, where other actions stand in the description
// of the tool for scripts.
func Listed() ActionOption {
	return func(a *GoAction) { a.op.ListedInCode = true }
}

// ActionExample sets an input that works on a fresh app.
func ActionExample(input any) ActionOption {
	return func(a *GoAction) {
		raw, err := json.Marshal(input)
		if err != nil {
			a.fail("example: %w", err)
			return
		}
		if a.op.Input != nil {
			if err := schema.Check(a.op.Input, raw); err != nil {
				a.fail("example: %w", err)
			}
		}
		a.op.Example = raw
	}
}

// goActions is the provider of the actions in Go.
type goActions struct {
	actions []GoAction
	offer   catalog.Offer
}

var _ Provider = (*goActions)(nil)

func (*goActions) Name() string { return "actions" }

// Start reports every mistake in the actions.
func (p *goActions) Start(context.Context, catalog.Host) error {
	var problems []string
	seen := map[string]bool{}
	for i := range p.actions {
		a := &p.actions[i]
		switch {
		case a.op == nil:
			problems = append(problems, fmt.Sprintf("action %d was not made with framework.Action", i))
			continue
		case !catalog.ValidAction(a.name):
			problems = append(problems, fmt.Sprintf("the action's name %q is not lower-case kebab of at most 48 characters", a.name))
		case seen[a.name]:
			problems = append(problems, fmt.Sprintf("the action %q is there twice", a.name))
		case strings.TrimSpace(a.op.Summary) == "":
			problems = append(problems, fmt.Sprintf("the action %q has no description", a.name))
		}
		seen[a.name] = true
		if a.problem != nil {
			problems = append(problems, fmt.Sprintf("the action %q: %v", a.name, a.problem))
		}
		p.offer.Operations = append(p.offer.Operations, a.op)
		p.offer.Prompts = append(p.offer.Prompts, catalog.ActionPrompt(a.op))
	}
	if len(problems) > 0 {
		return errors.New(strings.Join(problems, "; "))
	}
	return nil
}

func (p *goActions) Offer() catalog.Offer { return p.offer }

func (*goActions) Stop(context.Context) error { return nil }

// named says which action in Go has a name, "" for none.
func (a App) named(name string) string {
	for _, g := range a.GoActions {
		if g.name == name {
			return "an action in Go"
		}
	}
	return ""
}
