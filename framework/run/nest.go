package run

import (
	"context"
	"encoding/json"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/koan-go/koan/framework/auth"
	"github.com/koan-go/koan/framework/catalog"
	"github.com/koan-go/koan/framework/fault"
	"github.com/koan-go/koan/framework/run/internal/course"
)

// maxDepth is how deep nested operations may call each other.
const maxDepth = 8

// Nest makes the calls of a nested operation's handler. They are part of the same run: at positions
// below that of the operation, in the same transactions, with the run's quotas. Its methods are
// safe for concurrent use.
type Nest struct {
	call    *call    // the nested call
	outer   *Nest    // that of the call around the nested one; nil if that is the run
	request *Request // has the rights of its calls
	set     string   // the default set of its calls
	app     bool     // its calls have the app's rights, which the run's caller may not have
	depth   int
	queue   sync.Mutex // its serial calls run one at a time
}

// NestOf returns the Nest of the nested operation whose handler got ctx, nil outside of one.
func NestOf(ctx context.Context) *Nest {
	if c := currentCall(ctx); c != nil {
		return c.inner
	}
	return nil
}

// Next returns the position of the next call. An executor calls it when the script makes a call,
// like Attempt.Next.
func (n *Nest) Next() Position { return n.call.next() }

// Deliveries returns the position before that of the first call, which no call has.
func (n *Nest) Deliveries() Position { return n.call.position + ".0" }

// Invoke makes a call for a script. The error is a fault, or Ends(err) is true.
func (n *Nest) Invoke(ctx context.Context, at Position, id catalog.ID, input json.RawMessage) (json.RawMessage, error) {
	return n.invoke(ctx, at, id, input, catalog.SurfaceScript)
}

func (n *Nest) invoke(ctx context.Context, at Position, id catalog.ID, input json.RawMessage, surface catalog.Surface) (json.RawMessage, error) {
	a := n.call.attempt
	if err := a.count(); err != nil {
		return nil, err
	}
	return n.call.engine.invoke(ctx, &call{engine: n.call.engine, request: n.request, nest: n, input: input, attempt: a, position: at, surface: surface}, id)
}

// Attempt returns the attempt of the nested call.
func (n *Nest) Attempt() *Attempt { return n.call.attempt }

// View returns the catalog as its calls see it: that of scripts, whatever the exposure mode of the
// run's caller is.
func (n *Nest) View() *catalog.View { return n.request.View }

// Principal returns the caller of its calls.
func (n *Nest) Principal() auth.Principal { return n.request.Principal }

// Set returns the default set of its calls.
func (n *Nest) Set() string { return n.set }

// App reports whether its calls have the app's own rights. The run's caller must not see what they
// read and which faults they end in.
func (n *Nest) App() bool { return n.app }

// Now returns the time at which the nested call was first made. It is the same in every attempt.
func (n *Nest) Now() (time.Time, error) {
	v, err := n.call.attempt.run.tape.Value(n.call.position, "begin", func() (any, error) { return n.call.attempt.Clock().UnixMilli(), nil })
	if err != nil {
		return time.Time{}, n.call.attempt.course.End(err)
	}
	ms, ok := v.(int64)
	if !ok {
		return time.Time{}, fault.Newf(fault.Internal, "the tape holds a time of type %T", v)
	}
	return time.UnixMilli(ms).UTC(), nil
}

// Seed returns a seed for random numbers. It is the same in every attempt, and different for each
// call.
func (n *Nest) Seed() uint64 {
	h := uint64(14695981039346656037) // FNV-1a
	for _, b := range []byte(n.call.position) {
		h = (h ^ uint64(b)) * 1099511628211
	}
	return rand.NewPCG(n.call.attempt.run.tape.Seed(), h).Uint64()
}

// newNest returns the Nest of a nested call.
func (e *Engine) newNest(c *call) (*Nest, error) {
	n := &Nest{call: c, outer: c.nest, depth: 1, set: c.defaultSet()}
	if n.outer != nil {
		n.depth, n.app = n.outer.depth+1, n.outer.app
	}
	if n.depth > maxDepth {
		return nil, fault.Newf(fault.ExecutionError, "actions call each other more than %d deep: %s", maxDepth, n.path()).
			WithHint("An action that calls itself has to end: check what it does at the last step, or do the work in one action.").WithRetry(fault.Fix)
	}
	rights := c.op.Rights
	if rights == nil {
		rights = &catalog.Rights{}
	}
	request, who := *c.request, c.request.Principal
	switch {
	case rights.App:
		n.app = true
		who = auth.Principal{Subject: c.op.ID.String(), Scopes: []string{auth.All}, Sets: who.Sets}
		if rights.Sets != nil {
			who.Sets = rights.Sets
		}
	case rights.Sets != nil:
		who.Sets = who.Covered(rights.Sets)
	}
	if !who.MayName(n.set) && len(who.Sets) > 0 && !strings.HasSuffix(who.Sets[0], auth.All) {
		n.set = who.Sets[0]
	}
	view := request.View.OfScripts(who)
	if r := c.attempt.run; r.spec.Only != nil && !n.app {
		view = view.Narrow(r.spec.Only.Permits)
	}
	request.Principal, request.View = who, view
	n.request = &request
	return n, nil
}

// path returns the names of the nested operations that called each other.
func (n *Nest) path() string {
	var names []string
	for at := n; at != nil; at = at.outer {
		names = append(names, at.call.op.ID.Op)
	}
	slices.Reverse(names)
	return strings.Join(names, " > ")
}

// admits returns a fault for a call that contradicts the declared effects of the nested operation.
func (n *Nest) admits(op *catalog.Operation) error {
	for at := n; at != nil; at = at.outer {
		own, does := at.call.op, op.Effects
		if own.Rights == nil || !own.Rights.Declared || op.Nested { // the calls of op are checked themselves
			continue
		}
		wrong, member := "", ""
		switch {
		case own.Effects.ReadOnly && !does.ReadOnly:
			wrong, member = "read-only", "effects.readOnly"
		case !own.Effects.Outside && does.ActsOutside():
			wrong, member = "without effects outside", "effects.outside"
		default:
			continue
		}
		return fault.Newf(fault.Forbidden, "%s is declared %s, so it cannot call %s", own.ID.Op, wrong, n.request.View.Snapshot().ToolName(op.ID)).
			WithHint("Correct %s in the declaration of the action.", member)
	}
	return nil
}

// turn is a place in the queue of serial and nested calls: those of an attempt, or of a nested call,
// run one at a time, except for calls that they make themselves.
type turn struct {
	queue *sync.Mutex
	taken bool
}

type turnKey struct{ a *Attempt }

// takeTurn waits until the call may run. done lets the next one run.
func (c *call) takeTurn(ctx context.Context) (taken context.Context, done func(), err error) {
	key := turnKey{c.attempt}
	t, ok := ctx.Value(key).(turn)
	switch {
	case !ok:
		t.queue = &c.attempt.serial
	case t.taken:
		return ctx, func() {}, nil
	}
	t.queue.Lock()
	if err := c.attempt.course.Closed(); err != nil {
		t.queue.Unlock()
		return nil, nil, err
	}
	return context.WithValue(ctx, key, turn{t.queue, true}), t.queue.Unlock, nil
}

// callNested makes a call of a nested operation.
func (e *Engine) callNested(ctx context.Context, c *call) (out json.RawMessage, err error) {
	ctx, done, err := c.takeTurn(ctx)
	if err != nil {
		return nil, err
	}
	defer done()
	if c.inner, err = e.newNest(c); err != nil {
		return nil, err
	}
	a := c.attempt
	notify(a.run.parts, func(p Gate) { p.Inside(a, c.op) })
	ctx = context.WithValue(auth.With(ctx, c.inner.request.Principal), turnKey{a}, turn{queue: &c.inner.queue})
	err = a.txs.together(ctx, func() error {
		if out, err = e.handle(ctx, c); err == nil {
			err = e.checkOutput(ctx, c, out)
		}
		if ended := a.course.Ended(); ended != nil && !course.Ends(err) {
			err = ended // even if the handler ignored it
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	return out, nil
}

// hides reports whether the run's caller must not learn that the call was made.
func (c *call) hides() bool {
	return c.nest != nil && c.nest.app && !c.attempt.run.View().Allowed(c.called) // what that stands for was not in the catalog when the run began
}

// defaultSet returns the set of a call that names none.
func (c *call) defaultSet() string {
	if c.nest != nil {
		return c.nest.set
	}
	return c.attempt.run.spec.Set
}

// Reader identifies who gets what a run reports.
type Reader struct {
	Principal auth.Principal
	View      *catalog.View
}

// ReaderOf returns who gets what the run of ctx reports if that is not the caller of the call, which
// may see more. ok is false otherwise.
func ReaderOf(ctx context.Context) (reader Reader, ok bool) {
	c := currentCall(ctx)
	if c == nil || c.nest == nil || !c.nest.app {
		return Reader{}, false
	}
	r := c.attempt.run
	return Reader{r.request.Principal, r.View()}, true
}
