package undo

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/koan-go/koan/framework/catalog"
	"github.com/koan-go/koan/framework/fault"
	"github.com/koan-go/koan/framework/run"
	"github.com/koan-go/koan/framework/run/internal/course"
	"github.com/koan-go/koan/framework/run/store"
)

// Undos knows the runs of an engine that can be undone.
type Undos struct{ archive Archive } // nil where nothing is kept

var _ run.Participant = (*Undos)(nil)

// Open implements run.Participant. It takes part in no run: it is found by those who undo one.
func (u *Undos) Open(*run.Run) (run.Part, error) { return nil, nil }

// Use sets where runs are kept, before the first call.
func (u *Undos) Use(a Archive) { u.archive = a }

// at is the run's place in the input of an undo.
const at = "/runId"

// Find returns a run that can be undone. Its fault says why one cannot.
func (u *Undos) Find(ctx context.Context, id string) (*Kept, error) {
	if u.archive == nil {
		return nil, fault.New(fault.CapabilityUnsupported, "this app keeps no journal, so no run can be undone").
			WithHint("Set journal.enabled to true, which it is by default. An app without entities keeps none, unless framework.App says Ledger.").WithPath(at)
	}
	k, err := u.archive.Undoable(ctx, id)
	switch {
	case err != nil:
		var f *fault.Fault
		if errors.As(err, &f) || ctx.Err() != nil {
			return nil, err
		}
		return nil, fault.New(fault.ServiceUnavailable, "the journal cannot be read").Because(err)
	case k == nil:
		return nil, fault.Newf(fault.NotFound, "there is no run %q that is yours", course.Excerpt(id)).
			WithHint("Take `runId` from the result of the run. Runs are kept %s; what is older cannot be undone.", u.archive.Retention()).WithPath(at)
	case k.UnderWay:
		return nil, fault.New(fault.InProgress, "the run has not ended yet").WithHint("Wait for its result, then undo it.").WithPath(at)
	}
	return k, k.refusal(run.RequestOf(ctx).View)
}

// refusal says why a run cannot be undone, and lists what it did outside the data, as far as the
// view has it.
func (k *Kept) refusal(v *catalog.View) error {
	refuse := func(why string) *fault.Fault {
		f := fault.New(fault.InvalidPayload, why).WithPath(at)
		if k.OutsideCount == 0 {
			return f.WithHint("There is nothing to undo.")
		}
		return f.WithDetails(map[string]any{"notUndone": k.outside(v)}).
			WithHint("`notUndone` in the details is what it did outside, which only a call outside can make good.")
	}
	changed := "nothing"
	if k.OutsideCount > 0 {
		changed = "nothing in the data, but had an effect outside, which cannot be undone"
	}
	switch {
	case k.RepeatOf != "":
		return refuse("the run changed nothing: it returned the reply of run "+k.RepeatOf+" again").WithHint("Undo run %s.", k.RepeatOf)
	case k.DryRun:
		return refuse("the run was a dry run, which keeps nothing")
	case !k.Committed && k.Outcome != "ok":
		return refuse("the run ended in " + k.Outcome + ", and nothing of it was kept")
	case !k.Committed:
		return refuse("the run changed " + changed)
	case k.NoImages != "":
		return unrecorded("the run was recorded without its changes: " + k.NoImages)
	case k.Images == nil && k.Repaired:
		return unrecorded("the run was recorded without its changes: the process that ran it ended before they were written")
	case k.Images == nil && k.Changes > 0:
		return unrecorded("the run was recorded without its changes")
	case k.Images == nil:
		return refuse("the run left every row as it was")
	}
	return nil
}

func unrecorded(why string) *fault.Fault {
	return fault.New(fault.CapabilityUnsupported, why).
		WithHint("Make the opposite changes with a script. Runs that are to be undone need journal.changes, which is on by default.").WithPath(at)
}

// Result is what an undo returns.
type Result struct {
	Undone    string    `json:"undone"` // the run
	Skipped   []Place   `json:"skipped"`
	NotUndone []Outside `json:"notUndone"`
	// Kept are the entities whose rows record what happened, which no undo takes back.
	Kept []Kind `json:"kept,omitempty"`
	// Unread are the entities with fields that the caller may not read: where somebody has
	// changed one of them since, it stays, and nothing says so.
	Unread []Kind `json:"unread,omitempty"`
}

// Kind is an entity in a set, of whose rows something is said.
type Kind struct {
	Entity  string `json:"entity"` // "" of one that the caller may not know of
	Set     string `json:"set"`
	Message string `json:"message"`
}

// kindsOf says something of the entities of rows, once of each.
func (x *restorer) kindsOf(rows []*Row, message string) (out []Kind) {
	v, who := x.a.Run().View(), x.a.Run().Principal()
	for _, r := range rows {
		k := Kind{r.Entity, r.Set, message}
		if !v.Knows(r.Entity) {
			k.Entity = ""
		}
		if !who.MayName(r.Set) {
			k.Set = ""
		}
		if !slices.Contains(out, k) {
			out = append(out, k)
		}
	}
	return out
}

// Outside is what an undo does not reach: calls with an effect outside, and rows that belong to
// no entity.
type Outside struct {
	Tool    string `json:"toolName,omitempty"`
	Outcome string `json:"outcome,omitempty"`
	Message string `json:"message"`
}

// outside lists what an undo of the run does not reach.
func (k *Kept) outside(v *catalog.View) []Outside {
	out := []Outside{}
	made := 0
	for _, c := range k.Outside {
		if c.Outcome == string(fault.ApprovalRequired) || c.Outcome == string(fault.ApprovalDenied) {
			continue // nobody agreed to it
		}
		made++
		o := Outside{Outcome: c.Outcome, Message: "its effect is outside the data"}
		if id, err := catalog.ParseID(c.Operation); err == nil && v.Allowed(id) {
			o.Tool = c.Tool
		}
		out = append(out, o)
	}
	switch more := k.OutsideCount - made; {
	case more == 1:
		out = append(out, Outside{Message: "1 more call had an effect outside the data"})
	case more > 1:
		out = append(out, Outside{Message: fmt.Sprintf("%d more calls had an effect outside the data", more)})
	}
	unnamed := 0
	for i := range k.Images {
		if k.Images[i].Entity == "" {
			unnamed++
		}
	}
	if unnamed > 0 {
		often := "once"
		if unnamed > 1 {
			often = fmt.Sprintf("%d times", unnamed)
		}
		out = append(out, Outside{Message: "the app's code wrote " + often + " to tables that no entity has, or to rows that nobody knew before it: they stay as they are"})
	}
	return out
}

// rows are the rows that the run changed, the newest change first.
func (k *Kept) rows() []*Row {
	known := map[[3]string]*Row{}
	var out []*Row
	for _, image := range k.Images {
		if image.Entity == "" {
			continue
		}
		key := [3]string{image.Set, image.Entity, image.ID}
		r := known[key]
		if r == nil {
			r = &Row{Entity: image.Entity, Set: image.Set, ID: image.ID}
			known[key] = r
		} else {
			out = slices.DeleteFunc(out, func(other *Row) bool { return other == r })
		}
		r.Images = append(r.Images, image)
		out = append(out, r)
	}
	slices.Reverse(out)
	return slices.DeleteFunc(out, func(r *Row) bool { return r.Action() == "" })
}

// Options say how a run is undone.
type Options struct {
	// Skip leaves what somebody changed since as it is; else it is a conflict.
	Skip bool
}

// restorer is one attempt at undoing a run.
type restorer struct {
	*Kept
	a    *run.Attempt
	opts Options
	rows []*Row
	kept []*Row // that record what happened
	by   map[[3]string]*Row
	// carried are rows that nobody may write, and that rules of the app have written: by the
	// row with whose call they are restored.
	carried map[*Row][]*Row
}

// Restore undoes a run within an attempt of another, by calls of the operations that its caller
// would need for the same. It ends in conflict where something was changed since.
func (k *Kept) Restore(ctx context.Context, a *run.Attempt, o Options) (*Result, error) {
	x := &restorer{Kept: k, a: a, opts: o, rows: k.rows(), by: map[[3]string]*Row{}, carried: map[*Row][]*Row{}}
	for _, r := range x.rows {
		x.by[[3]string{r.Set, r.Entity, r.ID}] = r
	}
	x.rows, x.kept = x.partKept(x.rows)
	if err := x.admit(); err != nil {
		return nil, err
	}
	places, err := x.restore(ctx)
	if fault.CodeOf(err) == fault.CrossSet {
		return nil, fault.New(fault.CrossSet, "the run wrote to several sets, each with a commit of its own, and an undo is one transaction").
			WithHint("Make the opposite changes with a script that is sent with `atomic: false`.")
	}
	if err != nil {
		return nil, err
	}
	if len(places) > 0 && !o.Skip {
		return nil, conflict(places)
	}
	unread := slices.DeleteFunc(slices.Clone(x.rows), func(r *Row) bool { return !r.Unread })
	return &Result{
		Undone: k.Run, Skipped: append([]Place{}, places...), NotUndone: k.outside(a.Run().View()),
		Kept:   x.kindsOf(x.kept, "its rows record what happened, and stay"),
		Unread: x.kindsOf(unread, "fields that you may not read are restored where nobody has changed them since"),
	}, nil
}

// partKept parts rows from those that record what happened.
func (x *restorer) partKept(rows []*Row) (restored, kept []*Row) {
	for _, r := range rows {
		if resource := x.a.Run().View().Snapshot().Resource(r.Entity); resource != nil && resource.Kept {
			kept = append(kept, r)
			continue
		}
		restored = append(restored, r)
	}
	return restored, kept
}

// maxRounds bounds how often rows are tried again that wait for others.
const maxRounds = 32

// restore restores rows, those again that wait for others as long as that leads on. It returns
// the places that are not as they were.
func (x *restorer) restore(ctx context.Context) (places []Place, err error) {
	left := x.rows
	refused := map[*Row][]Place{}
	for round := 0; len(left) > 0 && round < maxRounds; round++ {
		var again []*Row
		progress := false
		for _, r := range left {
			restored, waited := r.Restored, x.waiting(r)
			conflicts, err := x.call(ctx, r)
			if err != nil {
				return nil, err
			}
			refused[r] = conflicts
			waits := x.waiting(r)
			progress = progress || conflicts == nil && (!restored || waits < waited)
			if !r.Restored || waits > 0 {
				again = append(again, r)
			}
		}
		if left = again; !progress {
			break
		}
		slices.Reverse(left) // a chain of rows that wait for each other is over in two rounds then
	}
	for _, r := range x.rows {
		places = append(places, refused[r]...)
		for _, one := range append([]*Row{r}, x.carried[r]...) {
			for _, p := range slices.Concat(one.Left, one.Waiting) {
				p.Passing = true
				places = append(places, p)
			}
		}
	}
	return x.disclosed(places), nil
}

// disclosed returns places as the caller may hear of them. Of rows that rules of the app have
// written and that it may not see, only what keeps the rest from being restored is said.
func (x *restorer) disclosed(places []Place) (out []Place) {
	v := x.a.Run().View()
	for _, p := range places {
		switch {
		case p.Entity == "" && p.Passing:
			continue
		case p.Entity == "" || !v.Knows(p.Entity):
			p = Place{Entity: store.HiddenEntity, Set: p.Set, Message: "a row of it keeps the run from being undone"}
		}
		out = append(out, p)
	}
	return out
}

// waiting counts the references of a row, and of those that it carries, to rows that are not there yet.
func (x *restorer) waiting(r *Row) int {
	n := len(r.Waiting)
	for _, one := range x.carried[r] {
		n += len(one.Waiting)
	}
	return n
}

// call restores a row, and returns the places that keep it from that.
func (x *restorer) call(ctx context.Context, r *Row) ([]Place, error) {
	op, input := x.operation(r)
	restoration := &Restoration{
		Rows: append([]*Row{r}, x.carried[r]...), Skip: x.opts.Skip,
		Row: func(set, entity, id string) *Row { return x.by[[3]string{set, entity, id}] },
	}
	_, err := x.a.Invoke(With(ctx, restoration), x.a.Next(), catalog.EntityID(r.Entity, op), input)
	if err == nil {
		return nil, nil
	}
	if run.Ends(err) {
		return nil, err
	}
	f := fault.From(err)
	if p, ok := f.Details.([]Place); ok && f.Code == fault.Conflict {
		return p, nil
	}
	return nil, x.explain(r, f)
}

// explain says of which row a fault is.
func (x *restorer) explain(r *Row, f *fault.Fault) error {
	switch f.Code {
	case fault.ToolNotFound, fault.Forbidden, fault.UnknownSet, fault.Unauthorized:
	default:
		return f
	}
	name := x.nameOf(r)
	why := ""
	if f.Code == fault.Forbidden {
		why = ": " + f.Message
	}
	return fault.Newf(fault.Forbidden, "undoing the run would %s %s, and you may not%s", opposite[r.Action()], name, why).
		WithHint("An undo needs the rights to each of its changes. Somebody who has them must undo the run.").WithPath(at).Because(f)
}

// nameOf says what a row is, for messages: not which, since the caller may not know that it is
// there.
func (x *restorer) nameOf(r *Row) string {
	a := x.a.Run()
	if !a.View().Knows(r.Entity) || !a.Principal().MayName(r.Set) {
		return "something that you may not see"
	}
	return "a " + r.Entity
}

var opposite = map[string]string{created: "delete", updated: "change back", deleted: "store again"}

// operations are those by which a row is restored, the first that its entity has.
var operations = map[string][]string{
	created: {"delete", "delete-many"},
	updated: {"patch", "upsert", "upsert-many"},
	deleted: {"upsert", "upsert-many", "create"},
}

// origins are the operations by which a caller can have changed a row.
var origins = map[string][]string{
	created: {"create", "upsert", "upsert-many"},
	updated: {"patch", "upsert", "upsert-many", "update-by-query"},
	deleted: {"delete", "delete-many", "delete-by-query"},
}

// onlyApp reports whether no operation does to an entity what the run did, so that rules of
// the app did it.
func (x *restorer) onlyApp(r *Row) bool {
	offered := x.a.Run().View().Snapshot()
	return !slices.ContainsFunc(origins[r.Action()], func(name string) bool { return offered.Operation(catalog.EntityID(r.Entity, name)) != nil })
}

// operation returns the operation that restores a row, and its input: "" where its entity has
// none.
func (x *restorer) operation(r *Row) (op string, input json.RawMessage) {
	offered := x.a.Run().View().Snapshot()
	for _, name := range operations[r.Action()] {
		if offered.Operation(catalog.EntityID(r.Entity, name)) != nil {
			op = name
			break
		}
	}
	resource := offered.Resource(r.Entity)
	if op == "" || resource == nil {
		return op, nil
	}
	in := map[string]any{"set": r.Set}
	model := map[string]any{resource.Key.Name: r.ID}
	switch op {
	case "delete":
		in["id"] = r.ID
	case "delete-many":
		in["ids"] = []string{r.ID}
	case "patch":
		in["id"], in["changes"] = r.ID, map[string]any{}
	case "upsert", "create":
		in["model"] = model
	case "upsert-many":
		in["models"] = []any{model}
	}
	input, err := json.Marshal(in)
	if err != nil {
		panic(err) // strings have JSON
	}
	return op, input
}

// admit finds for each row who restores it. Where no operation does what the run did, as with
// read-only entities, rules of the app did it: such rows are restored with a row beside them.
func (x *restorer) admit() error {
	v := x.a.Run().View()
	var direct, carried []*Row
	var gone []Place
	for _, r := range x.rows {
		resource := v.Snapshot().Resource(r.Entity)
		op, _ := x.operation(r)
		switch {
		case resource == nil:
			gone = append(gone, Place{Entity: store.HiddenEntity, Set: r.Set, Message: "the app does not have this entity any more"})
		case op != "":
			direct = append(direct, r)
		case x.onlyApp(r):
			carried = append(carried, r)
		default:
			return fault.Newf(fault.Forbidden, "undoing the run would %s %s, and no operation of it does that", opposite[r.Action()], x.nameOf(r)).
				WithHint("The app does not offer this operation to anybody. Make the opposite changes with a script.").WithPath(at)
		}
	}
	if len(gone) > 0 {
		return conflict(gone)
	}
	for _, r := range carried {
		i := slices.IndexFunc(direct, func(d *Row) bool { return d.Set == r.Set })
		if i < 0 {
			return fault.Newf(fault.Forbidden, "the run changed %s alone, which only the app changes so", x.nameOf(r)).
				WithHint("Only the app itself can change them.").WithPath(at)
		}
		x.carried[direct[i]] = append(x.carried[direct[i]], r)
	}
	x.rows = direct
	return nil
}
