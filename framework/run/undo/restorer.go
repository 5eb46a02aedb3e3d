package undo

import (
	"context"
	"encoding/json"
	"slices"

	"github.com/koan-go/koan/framework/catalog"
	"github.com/koan-go/koan/framework/fault"
	"github.com/koan-go/koan/framework/run"
	"github.com/koan-go/koan/framework/run/store"
)

// restorer is one attempt at undoing a run.
type restorer struct {
	*Kept
	a     *run.Attempt
	opts  Options
	index *index
	plan  []step  // in the order in which they are taken first
	kept  []table // whose rows record what happened
	// unread are those with fields that the caller may not read.
	unread []table

	at      map[int32]*Row    // the rows of the call that is being made
	reports map[int32]Report  // of rows of which there is something to say
	refused map[int32][]Place // by the row that a call names
}

// step is a call that restores rows, the first of which its input names.
type step struct {
	rows []int32
	// carries says that those after the first one are rows that nobody may write, and that rules of the app
	// have written: they are restored with it, or not at all.
	carries bool
}

// stepRows is how many rows one call restores at most.
const stepRows = 128

// Restore undoes a run within an attempt of another, by calls of the operations that its caller
// would need for the same. It ends in conflict where something was changed since.
func (k *Kept) Restore(ctx context.Context, a *run.Attempt, o Options) (*Result, error) {
	index, err := newIndex(k.Images)
	if err != nil {
		return nil, fault.New(fault.ServiceUnavailable, "the journal cannot be read").Because(err)
	}
	x := &restorer{Kept: k, a: a, opts: o, index: index, reports: map[int32]Report{}, refused: map[int32][]Place{}}
	if err := x.admit(x.partKept(index.newest())); err != nil {
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
		return nil, x.conflict(places)
	}
	return &Result{
		Undone: k.Run, Skipped: append([]Place{}, places...), NotUndone: k.outside(a.Run().View(), index.unnamed),
		Kept:   x.kindsOf(x.kept, "its rows record what happened, and stay"),
		Unread: x.kindsOf(x.unread, "fields that you may not read are restored where nobody has changed them since"),
	}, nil
}

// kindsOf says something of the rows of tables.
func (x *restorer) kindsOf(tables []table, message string) (out []Kind) {
	v, who := x.a.Run().View(), x.a.Run().Principal()
	for _, of := range tables {
		k := Kind{of.entity, of.set, message}
		if !v.Knows(of.entity) {
			k.Entity = ""
		}
		if !who.MayName(of.set) {
			k.Set = ""
		}
		if !slices.Contains(out, k) {
			out = append(out, k)
		}
	}
	return out
}

// partKept takes those out of rows that record what happened.
func (x *restorer) partKept(rows []int32) []int32 {
	return slices.DeleteFunc(rows, func(n int32) bool {
		of := x.index.tables[x.index.entries[n].table]
		resource := x.a.Run().View().Snapshot().Resource(of.entity)
		if resource == nil || !resource.Kept {
			return false
		}
		if !slices.Contains(x.kept, of) {
			x.kept = append(x.kept, of)
		}
		return true
	})
}

// maxRounds bounds how often rows are tried again that wait for others.
const maxRounds = 32

// restore restores rows, those again that wait for others as long as that leads on. It returns
// the places that are not as they were.
func (x *restorer) restore(ctx context.Context) (places []Place, err error) {
	left := x.plan
	for round := 0; len(left) > 0 && round < maxRounds; round++ {
		var again []step
		progress := false
		for _, s := range left {
			more, led, err := x.take(ctx, s)
			if err != nil {
				return nil, err
			}
			again, progress = append(again, more...), progress || led
		}
		if left = again; !progress {
			break
		}
		slices.Reverse(left) // a chain of rows that wait for each other is over in two rounds then
	}
	for _, s := range x.plan {
		for i, n := range s.rows {
			if i == 0 || !s.carries {
				places = append(places, x.refused[n]...)
			}
			for _, p := range slices.Concat(x.reports[n].Left, x.reports[n].Waiting) {
				p.Passing = true
				places = append(places, p)
			}
		}
	}
	return x.disclosed(places), nil
}

// take takes a step, and returns what is left of it: rows that were not restored, or that wait for others.
// led reports whether it has led on. Of several rows that one call cannot restore together, each gets a
// call of its own.
func (x *restorer) take(ctx context.Context, s step) (left []step, led bool, err error) {
	lead := s.rows[0]
	restored, waited := x.index.entries[lead].restored, x.waiting(s)
	conflicts, err := x.call(ctx, s)
	if err != nil {
		return nil, false, err
	}
	if conflicts != nil && len(s.rows) > 1 && !s.carries {
		for _, n := range s.rows {
			more, one, err := x.take(ctx, step{rows: []int32{n}})
			if err != nil {
				return nil, false, err
			}
			left, led = append(left, more...), led || one
		}
		return left, led, nil
	}
	delete(x.refused, lead)
	if conflicts != nil {
		x.refused[lead] = conflicts
	}
	led = conflicts == nil && (!restored || x.waiting(s) < waited)
	if s.carries {
		if !x.index.entries[lead].restored || x.waiting(s) > 0 {
			left = append(left, s)
		}
		return left, led, nil
	}
	for _, n := range s.rows {
		if !x.index.entries[n].restored || len(x.reports[n].Waiting) > 0 {
			left = append(left, step{rows: []int32{n}})
		}
	}
	return left, led, nil
}

// waiting counts the references of rows to rows that are not there yet.
func (x *restorer) waiting(s step) (n int) {
	for _, row := range s.rows {
		n += len(x.reports[row].Waiting)
	}
	return n
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

// call restores the rows of a step, and returns the places that keep them from that.
func (x *restorer) call(ctx context.Context, s step) ([]Place, error) {
	restoration := &Restoration{Skip: x.opts.Skip, Fate: x.fate}
	x.at = make(map[int32]*Row, len(s.rows))
	for _, n := range s.rows {
		r, err := x.index.row(n)
		if err != nil {
			return nil, fault.New(fault.ServiceUnavailable, "the journal cannot be read").Because(err)
		}
		r.Report = x.reports[n]
		r.Restored = x.index.entries[n].restored
		restoration.Rows, x.at[n] = append(restoration.Rows, r), r
	}
	defer func() { x.at = nil }()
	first := restoration.Rows[0]
	op, input := x.operation(x.index.tables[x.index.entries[s.rows[0]].table], first.Action(), first.ID)
	_, err := x.a.Invoke(With(ctx, restoration), x.a.Next(), catalog.EntityID(first.Entity, op), input)
	for i, n := range s.rows {
		x.note(n, x.at[n], i > 0 && s.carries)
	}
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
	return nil, x.explain(first, f)
}

// note keeps what there is to say of a row.
func (x *restorer) note(n int32, r *Row, carried bool) {
	x.index.entries[n].restored = r.Restored
	if of := x.index.tables[x.index.entries[n].table]; r.Unread && !carried && !slices.Contains(x.unread, of) {
		x.unread = append(x.unread, of)
	}
	if len(r.Left) > 0 || len(r.Waiting) > 0 {
		x.reports[n] = r.Report
	} else {
		delete(x.reports, n)
	}
}

// fate implements Restoration.Fate.
func (x *restorer) fate(set, entity, id string) (action string, restored bool) {
	n, known := x.index.find(set, entity, id)
	if !known {
		return "", false
	}
	if r := x.at[n]; r != nil {
		return r.Action(), r.Restored
	}
	return x.index.entries[n].action(), x.index.entries[n].restored
}

// explain says of which row a fault is.
func (x *restorer) explain(r *Row, f *fault.Fault) error {
	switch f.Code {
	case fault.ToolNotFound, fault.Forbidden, fault.UnknownSet, fault.Unauthorized:
	default:
		return f
	}
	name := x.nameOf(table{r.Set, r.Entity})
	why := ""
	if f.Code == fault.Forbidden {
		why = ": " + f.Message
	}
	return fault.Newf(fault.Forbidden, "undoing the run would %s %s, and you may not%s", opposite[r.Action()], name, why).
		WithHint("An undo needs the rights to each of its changes. Somebody who has them must undo the run.").WithPath(at).Because(f)
}

// nameOf says what a row is, for messages: not which, since the caller may not know that it is
// there.
func (x *restorer) nameOf(of table) string {
	a := x.a.Run()
	if !a.View().Knows(of.entity) || !a.Principal().MayName(of.set) {
		return "something that you may not see"
	}
	return "a " + of.entity
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
func (x *restorer) onlyApp(entity, action string) bool {
	offered := x.a.Run().View().Snapshot()
	return !slices.ContainsFunc(origins[action], func(name string) bool { return offered.Operation(catalog.EntityID(entity, name)) != nil })
}

// operation returns the operation that restores a row, and its input: "" where its entity has
// none.
func (x *restorer) operation(of table, action, id string) (op string, input json.RawMessage) {
	offered := x.a.Run().View().Snapshot()
	for _, name := range operations[action] {
		if offered.Operation(catalog.EntityID(of.entity, name)) != nil {
			op = name
			break
		}
	}
	resource := offered.Resource(of.entity)
	if op == "" || resource == nil {
		return op, nil
	}
	in := map[string]any{"set": of.set}
	model := map[string]any{resource.Key.Name: id}
	switch op {
	case "delete":
		in["id"] = id
	case "delete-many":
		in["ids"] = []string{id}
	case "patch":
		in["id"], in["changes"] = id, map[string]any{}
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

// admit plans who restores each row. Where no operation does what the run did, as with
// read-only entities, rules of the app did it: such rows are restored with a row beside them.
func (x *restorer) admit(rows []int32) error {
	v := x.a.Run().View()
	var direct, carried []int32
	var gone []Place
	for _, n := range rows {
		e := &x.index.entries[n]
		of := x.index.tables[e.table]
		resource := v.Snapshot().Resource(of.entity)
		op, _ := x.operation(of, e.action(), "")
		switch {
		case resource == nil:
			gone = append(gone, Place{Entity: store.HiddenEntity, Set: of.set, Message: "the app does not have this entity any more"})
		case op != "":
			direct = append(direct, n)
		case x.onlyApp(of.entity, e.action()):
			carried = append(carried, n)
		default:
			return fault.Newf(fault.Forbidden, "undoing the run would %s %s, and no operation of it does that", opposite[e.action()], x.nameOf(of)).
				WithHint("The app does not offer this operation to anybody. Make the opposite changes with a script.").WithPath(at)
		}
	}
	if len(gone) > 0 {
		return x.conflict(gone)
	}
	carriers := map[int32][]int32{}
	for _, n := range carried {
		of := x.index.tables[x.index.entries[n].table]
		i := slices.IndexFunc(direct, func(d int32) bool { return x.index.tables[x.index.entries[d].table].set == of.set })
		if i < 0 {
			return fault.Newf(fault.Forbidden, "the run changed %s alone, which only the app changes so", x.nameOf(of)).
				WithHint("Only the app itself can change them.").WithPath(at)
		}
		carriers[direct[i]] = append(carriers[direct[i]], n)
	}
	x.plan = x.steps(direct, carriers)
	return nil
}

// steps puts neighbours to which the run did the same into one step.
func (x *restorer) steps(direct []int32, carriers map[int32][]int32) (out []step) {
	alike := func(a, b int32) bool {
		p, q := &x.index.entries[a], &x.index.entries[b]
		return p.table == q.table && p.action() == q.action()
	}
	for _, n := range direct {
		last := len(out) - 1
		switch {
		case carriers[n] != nil:
			out = append(out, step{rows: append([]int32{n}, carriers[n]...), carries: true})
		case last >= 0 && !out[last].carries && len(out[last].rows) < stepRows && alike(out[last].rows[0], n):
			out[last].rows = append(out[last].rows, n)
		default:
			out = append(out, step{rows: []int32{n}})
		}
	}
	return out
}
