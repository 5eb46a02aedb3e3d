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
)

// maxDepth bounds how deep nested operations may call each other.
const maxDepth = 8

// Nest is what the handler of a nested operation makes its calls through. They are part of
// the same run: at positions behind that of the operation, in the same transactions, with
// the run's quotas. Its methods may be called from several goroutines.
type Nest struct {
	call    *call    // of the nested operation
	outer   *Nest    // that this one was called in; nil in the run itself
	request *Request // with the rights of its calls
	set     string   // in which its calls are that name none
	app     bool     // its calls have rights that the run's caller may not have
	depth   int
	queue   sync.Mutex // its serial calls run one at a time
}

// NestOf returns what the handler of a nested operation makes its calls through; ctx is the
// one that it got. It is nil outside of one.
func NestOf(ctx context.Context) *Nest {
	if c := currentCall(ctx); c != nil {
		return c.inner
	}
	return nil
}

// Next takes the position of the next call. An executor takes it when the script issues a
// call, as it does that of Attempt.Next.
func (n *Nest) Next() Position { return n.call.next() }

// Deliveries is the position before that of the first call, which no call has.
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

// Attempt is the attempt that the nested call is part of.
func (n *Nest) Attempt() *Attempt { return n.call.attempt }

// View is the catalog as its calls see it. It is that of scripts, whatever the caller of the
// run is shown.
func (n *Nest) View() *catalog.View { return n.request.View }

// Principal is the caller of its calls.
func (n *Nest) Principal() auth.Principal { return n.request.Principal }

// Set is the default set of its calls.
func (n *Nest) Set() string { return n.set }

// App reports whether its calls have the app's own rights: what they read and end in is not
// for the run's caller.
func (n *Nest) App() bool { return n.app }

// Now is the time at which the nested call was first made: the same in every attempt.
func (n *Nest) Now() (time.Time, error) {
	v, err := n.call.attempt.run.tape.Value(n.call.position, "begin", func() (any, error) { return time.Now().UnixMilli(), nil })
	if err != nil {
		return time.Time{}, n.call.attempt.finish(err)
	}
	ms, ok := v.(int64)
	if !ok {
		return time.Time{}, fault.Newf(fault.Internal, "the tape holds a time of type %T", v)
	}
	return time.UnixMilli(ms).UTC(), nil
}

// Seed seeds random numbers: the same in every attempt, and another one for each call.
func (n *Nest) Seed() uint64 {
	h := uint64(14695981039346656037) // FNV-1a
	for _, b := range []byte(n.call.position) {
		h = (h ^ uint64(b)) * 1099511628211
	}
	return rand.NewPCG(n.call.attempt.run.tape.Seed(), h).Uint64()
}

// newNest returns what a nested call makes its calls through.
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

// path names the nested operations that called each other.
func (n *Nest) path() string {
	var names []string
	for at := n; at != nil; at = at.outer {
		names = append(names, at.call.op.ID.Op)
	}
	slices.Reverse(names)
	return strings.Join(names, " > ")
}

// admits refuses a call that contradicts what the nested operation says of its effects.
func (n *Nest) admits(op *catalog.Operation) error {
	for at := n; at != nil; at = at.outer {
		own, does := at.call.op, op.Effects
		if own.Rights == nil || !own.Rights.Declared || op.Nested { // whose own calls are looked at
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

// turn is whose turn it is among serial and nested calls: those of an attempt, or of a
// nested call, run one at a time, save what they call themselves.
type turn struct {
	queue *sync.Mutex
	taken bool
}

type turnKey struct{ a *Attempt }

// takeTurn waits until the call may run. done gives the turn to the next one.
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
	if err := c.attempt.closed(); err != nil {
		t.queue.Unlock()
		return nil, nil, err
	}
	return context.WithValue(ctx, key, turn{t.queue, true}), t.queue.Unlock, nil
}

// callNested makes a call that consists of calls.
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
		if ended := a.closed(); ended != nil && !Ends(err) && a.ended() != nil {
			err = ended // whatever the handler made of it
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	return out, nil
}

// hides reports whether the caller of the run may not learn that a call was made.
func (c *call) hides(id catalog.ID) bool {
	return c.nest != nil && c.nest.app && !c.attempt.run.View().Allowed(id)
}

// defaultSet is the set of a call that names none.
func (c *call) defaultSet() string {
	if c.nest != nil {
		return c.nest.set
	}
	return c.attempt.run.spec.Set
}

// Reader is who gets what a run reports.
type Reader struct {
	Principal auth.Principal
	View      *catalog.View
}

// ReaderOf returns who gets what the run reports that ctx belongs to, where that is not the
// caller of the call: what the call may see is more. ok is false elsewhere.
func ReaderOf(ctx context.Context) (reader Reader, ok bool) {
	c := currentCall(ctx)
	if c == nil || c.nest == nil || !c.nest.app {
		return Reader{}, false
	}
	r := c.attempt.run
	return Reader{r.request.Principal, r.View()}, true
}
