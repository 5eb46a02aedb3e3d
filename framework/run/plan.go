package run

import (
	"context"
	"encoding/json"
	"errors"
	"time"

	"github.com/koan-go/koan/framework/auth"
	"github.com/koan-go/koan/framework/exposure"
)

// PlanState is how far a plan is.
type PlanState string

// The states. A plan that was approved is being applied, or was cut off in that: its
// run's key and receipt tell.
const (
	PlanWaiting  PlanState = "waiting"
	PlanApproved PlanState = "approved"
	PlanApplied  PlanState = "applied"
	PlanDenied   PlanState = "denied"
)

// Plan is a run that was rolled back until somebody agrees to what it does: the
// request that it came of, its tape, and its changes. Applying it is the next
// attempt of the same run, in any process.
type Plan struct {
	ID      string    `json:"id"` // of its run
	State   PlanState `json:"state"`
	By      string    `json:"by,omitempty"` // subject of who decided
	Created time.Time `json:"created"`
	Asked   time.Time `json:"asked"` // when it came to stand as it does
	Expires time.Time `json:"expires"`
	Request Planned   `json:"request"`

	Tape    json.RawMessage `json:"tape"`
	Changes []Change        `json:"changes"`
	// Shape is the digest of the changes in canonical form.
	Shape string `json:"shape"`
	// Call is the call outside that the run stands before; nil at its end.
	Call *PlannedCall `json:"call,omitempty"`
	// Agreed are calls outside that somebody has agreed to already.
	Agreed []PlannedCall `json:"agreed,omitempty"`
	// Made are calls outside that had their effect already, agreed to or not.
	Made []CallRecord `json:"made,omitempty"`
	// Differs says what became different since somebody agreed to it.
	Differs []string `json:"differs,omitempty"`
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
	Listed         bool            `json:"listed,omitempty"` // it was called as a tool of its own
	Principal      auth.Principal  `json:"principal"`
	Mode           exposure.Mode   `json:"mode"`
	Negotiated     bool            `json:"negotiated"`
	CatalogVersion string          `json:"catalogVersion"`
}

// PlannedCall is a call of a plan that somebody agrees to by itself.
type PlannedCall struct {
	Position  Position        `json:"position"`
	Digest    string          `json:"digest"` // of operation and input, hex
	Operation string          `json:"operation"`
	Tool      string          `json:"tool"`
	Input     json.RawMessage `json:"input"`
	// Inside: it is declared to have no effect outside, and a rule names it.
	Inside bool `json:"inside,omitempty"`
}

// effect is what to say of it.
func (c PlannedCall) effect() string {
	if c.Inside {
		return ""
	}
	return ", which has an effect outside"
}

// same tells whether two are one call.
func (c PlannedCall) same(o PlannedCall) bool {
	return c.Position == o.Position && c.Digest == o.Digest
}

// About stands for what the plan asks: for its changes, and the call that it stands
// before.
func (p *Plan) About() string {
	about := p.Shape
	if p.Call != nil {
		about += " " + string(p.Call.Position) + " " + p.Call.Digest
	}
	return Digest([]byte(about))
}

// Counts are the numbers of the plan's changes, as its caller may hear of them.
func (p *Plan) Counts() []ChangeCount { return Counts(Disclosed(p.Changes)) }

// ErrManyPlans is what a keeper of plans returns where too many plans of one subject
// wait.
var ErrManyPlans = errors.New("run: too many plans wait")

// ErrNoPlan is what a keeper of plans returns where there is none, or none any more.
var ErrNoPlan = errors.New("run: there is no such plan")

// MaxWaiting is how many plans of one subject may wait.
const MaxWaiting = 1000

// Plans keeps plans. It is the app's and no set's, it outlives the process, and all
// processes of the app share it.
type Plans interface {
	// KeepPlan keeps a plan, waiting, for so long from now on; one with the same id is
	// replaced. Plans that are older than their time are forgotten. It ends in
	// ErrManyPlans where MaxWaiting of the same subject wait.
	KeepPlan(ctx context.Context, p *Plan, life time.Duration) error
	// Plan gives a plan, or ErrNoPlan.
	Plan(ctx context.Context, id string) (*Plan, error)
	// WaitingPlans gives plans that nobody has decided about, the oldest first, at most
	// so many, without tapes.
	WaitingPlans(ctx context.Context, most int) ([]*Plan, error)
	// WidenPlan keeps the sets of an approved plan that is still about the same. ok is
	// false where there is none.
	WidenPlan(ctx context.Context, p *Plan) (ok bool, err error)
	// MovePlan changes the state of a plan that is in one of some states and still about
	// the same (Plan.About). ok is false where it is not.
	MovePlan(ctx context.Context, p *Plan, from []PlanState, to PlanState, by string) (ok bool, err error)
}

// PlanKeeper is a provider that keeps plans. Plans is called once it has started;
// nil means that it keeps none.
type PlanKeeper interface{ Plans() Plans }
