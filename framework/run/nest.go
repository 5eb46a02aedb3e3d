package run

import (
	"context"
	"encoding/json"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
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
	ended   atomic.Bool
	faults  sync.Map // of its calls
	made    madeCalls
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
	out, err := n.call.engine.invoke(ctx, &call{engine: n.call.engine, request: n.request, nest: n, callInput: callInput{input: input}, attempt: a, position: at, surface: surface}, id)
	if n.call.op.Converses && !course.Ends(err) {
		n.made.add(madeCall{At: at, Operation: id.String(), Input: input, Outcome: outcomeDigest(out, err)})
	}
	return out, err
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
	ms, err := n.call.attempt.run.tape.Clock(n.call.position, "begin", n.call.attempt.Clock)
	if err != nil {
		return time.Time{}, n.call.attempt.course.End(err)
	}
	return time.UnixMilli(ms).UTC(), nil
}

// Seed returns a seed for random numbers. It is the same in every attempt, and different for each
// call.
func (n *Nest) Seed() uint64 { return n.call.attempt.run.tape.SeedAt(n.call.position) }

// newNest returns the Nest of a nested call.
func (e *Engine) newNest(c *call) (*Nest, error) {
	n := &Nest{call: c, outer: c.nest, depth: 1, set: c.defaultSet()}
	if n.outer != nil {
		n.depth, n.app = n.outer.depth+1, n.outer.app
	}
	if n.depth > maxDepth {
		return nil, fault.Newf(fault.ExecutionError, "actions and functions call each other more than %d deep: %s", maxDepth, n.path()).
			WithHint("One that calls itself has to end: check what it does at the last step, or do the work in one.").WithRetry(fault.Fix)
	}
	n.app = n.app || c.op.Rights != nil && c.op.Rights.App
	request := *c.request
	who := c.op.CallsAs(request.Principal)
	n.set = who.SetOr(n.set)
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
