package approve

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"time"

	"github.com/koan-go/koan/framework/auth"
	"github.com/koan-go/koan/framework/catalog"
	"github.com/koan-go/koan/framework/exposure"
	"github.com/koan-go/koan/framework/fault"
	"github.com/koan-go/koan/framework/run"
	"github.com/koan-go/koan/framework/run/store"
)

// PlanState is how far a plan is.
type PlanState string

// The states. A plan that was approved is being applied, or was cut off in that: its
// run's key and receipt say which. One is replaced when its run, applied, had more to ask
// or something else: that is another plan.
const (
	PlanWaiting  PlanState = "waiting"
	PlanApproved PlanState = "approved"
	PlanApplied  PlanState = "applied"
	PlanDenied   PlanState = "denied"
	PlanReplaced PlanState = "replaced"
)

// decided reports whether the plan is neither waiting for a decision nor being applied.
func (s PlanStatus) decided() bool {
	return s.State == PlanApplied || s.State == PlanDenied || s.State == PlanReplaced
}

// Plan is a run that was rolled back until somebody agrees to what it does: the
// request that it came of, its tape, and its changes. Applying it is the next
// attempt of the same run, in any process. What a plan asks never changes: who has read
// it and agrees to its id agrees to what was there to read.
type Plan struct {
	ID  string `json:"id"`
	Run string `json:"run"` // that it is a plan of; the first one has its id
	PlanStatus
	Request Planned `json:"request"`

	// Replaces is the plan of the same run that somebody had agreed to before, and
	// ReplacedBy the last one of those that came after this one.
	Replaces   string `json:"replaces,omitempty"`
	ReplacedBy string `json:"replacedBy,omitempty"`

	Tape    json.RawMessage `json:"tape"`
	Changes []store.Change  `json:"changes"`
	// Counted are the numbers of all changes where Changes are a sample: see Sampled.
	Counted []Counted `json:"counted,omitempty"`
	// Shape is the digest of all changes in canonical form.
	Shape string `json:"shape"`
	// Call is the call outside that the run stands before; nil at its end.
	Call *PlannedCall `json:"call,omitempty"`
	// Agreed are calls outside that somebody has agreed to already.
	Agreed []PlannedCall `json:"agreed,omitempty"`
	// Made are calls outside that had their effect already, agreed to or not.
	Made []run.CallRecord `json:"made,omitempty"`
	// Differs says what became different since somebody agreed to the plan before.
	Differs []string `json:"differs,omitempty"`

	withheld kinds // from who reads it: see SeenBy
}

// PlanStatus is how far a plan is, and how long it waits.
type PlanStatus struct {
	State   PlanState `json:"state"`
	By      string    `json:"by,omitempty"` // subject of who decided
	Created time.Time `json:"created"`
	Expires time.Time `json:"expires"`
}

// Planned is the request of a plan: what was called, with what, by whom, and how the
// caller saw the catalog.
type Planned struct {
	Operation      string          `json:"operation"` // catalog ID
	Tool           string          `json:"tool"`
	Input          json.RawMessage `json:"input"`
	Set            string          `json:"set"`  // of the call; what it came with may name another
	Sets           []string        `json:"sets"` // that the run's calls named or used: whoever decides must be able to name them, and those of the changes
	Surface        string          `json:"surface"`
	Via            catalog.Surface `json:"via,omitempty"`            // the surface that it was called by
	IdempotencyKey string          `json:"idempotencyKey,omitempty"` // that came beside the input
	Principal      auth.Principal  `json:"principal"`
	Mode           exposure.Mode   `json:"mode"`
	Negotiated     bool            `json:"negotiated"`
	CatalogVersion string          `json:"catalogVersion"`
	// Unlisted are servers whose tools the catalog did not have yet, and Rest is its version
	// without them.
	Unlisted []string `json:"unlisted,omitempty"`
	Rest     string   `json:"rest,omitempty"`
}

// PlannedCall is a call of a plan that somebody agrees to by itself.
type PlannedCall struct {
	Position  run.Position    `json:"position"`
	Digest    string          `json:"digest"` // of operation and input, hex
	Operation string          `json:"operation"`
	Tool      string          `json:"tool"`
	Input     json.RawMessage `json:"input"`
	// Declared is the digest of what a server's tool was when the plan was made.
	Declared string `json:"declared,omitempty"`
	// Inside: it is declared to have no effect outside, and a rule names it.
	Inside bool `json:"inside,omitempty"`
	// Strict: the caller asked for the approval itself, so that no grant covers it.
	Strict bool `json:"strict,omitempty"`
	// Carries are texts of untrusted servers in the input.
	Carries []Carried `json:"carries,omitempty"`
	// Voided is a grant that covered such calls until the operation changed.
	Voided *VoidedGrant `json:"voided,omitempty"`
	// App: an action makes it with the app's rights, so that its input is not for the run's caller.
	App bool `json:"app,omitempty"`
	// Pending: it was approved, and not made yet.
	Pending bool `json:"pending,omitempty"`
}

// effect is what to say of it.
func (c PlannedCall) effect() string {
	if c.Inside {
		return ""
	}
	return ", which has an effect outside"
}

// tainted is what to say of the texts of untrusted servers in its input.
func (c PlannedCall) tainted() string {
	from := c.sources()
	switch len(from) {
	case 0:
		return ""
	case 1:
		return " and whose input has text that the server " + from[0] + " returned, for which nobody vouches"
	}
	return " and whose input has text that the servers " + strings.Join(from, ", ") + " returned, for which nobody vouches"
}

// same reports whether two are one call, of a tool that is the same.
func (c PlannedCall) same(o PlannedCall) bool {
	return c.Position == o.Position && c.Digest == o.Digest && c.Declared == o.Declared
}

// Fault is what the caller of a plan's run gets while somebody has to decide about it, or when
// somebody has denied it; nil otherwise.
func (g *Guard) Fault(p *Plan) *fault.Fault {
	switch p.State {
	case PlanWaiting:
		return g.required(p, "", p.Request.Principal, true)
	case PlanDenied:
		return denied(p, "")
	case PlanApproved, PlanApplied, PlanReplaced:
	}
	return nil
}

// Counts are the numbers of the plan's changes, as its caller may hear of them.
func (p *Plan) Counts() []store.ChangeCount { return p.counts("") }

// ErrManyPlans is what a keeper of plans returns where too many plans of one subject
// wait.
var ErrManyPlans = errors.New("approve: too many plans wait")

// ErrNoPlan is what a keeper of plans returns for a plan that does not exist, or no longer.
var ErrNoPlan = errors.New("approve: the plan does not exist")

// ErrPlanOver is what a keeper of plans returns where the plan that is to be replaced is
// not one that is being applied.
var ErrPlanOver = errors.New("approve: the plan is no longer being applied")

// MaxWaiting is how many plans of one subject may wait.
const MaxWaiting = 1000

// Plans keeps plans. It is the app's and no set's, it outlives the process, and all
// processes of the app share it.
type Plans interface {
	// KeepPlan keeps a new plan, waiting, for so long from now on. The approved plan that
	// it replaces becomes that at the same moment; it ends in ErrPlanOver, and keeps
	// nothing, where that is in another state. Plans that are older than their time are
	// forgotten. It ends in ErrManyPlans where MaxWaiting of the same subject wait, and
	// this one replaces none.
	KeepPlan(ctx context.Context, p *Plan, life time.Duration) error
	// Plan returns a plan, or ErrNoPlan.
	Plan(ctx context.Context, id string) (*Plan, error)
	// WaitingPlans returns plans that nobody has decided about and that are to be listed, the
	// oldest first, at most so many, without tapes.
	WaitingPlans(ctx context.Context, most int, list func(*Plan) bool) ([]*Plan, error)
	// WidenPlan keeps the sets of an approved plan. ok is false where there is none.
	WidenPlan(ctx context.Context, p *Plan) (ok bool, err error)
	// MovePlan changes the state of a plan that is in another one. ok is false where it
	// is not.
	MovePlan(ctx context.Context, id string, from, to PlanState, by string) (ok bool, err error)
}
