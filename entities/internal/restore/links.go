package restore

import (
	"context"
	"slices"

	"github.com/koan-go/koan/entities/internal/account"
	"github.com/koan-go/koan/entities/internal/filter"
	"github.com/koan-go/koan/entities/internal/model"
	"github.com/koan-go/koan/entities/shim"
	"github.com/koan-go/koan/framework/fault"
	"github.com/koan-go/koan/framework/run/store"
)

// link is a link of the row that the run made or took away.
type link struct {
	join  *account.Join
	other string
	added bool
}

// links are those of a row.
type links struct {
	*row
	changed []link // by the run in all, as far as their tables are still there
}

// linksOf returns the links of a row.
func linksOf(x *row) *links {
	if x.table == nil {
		return &links{row: x}
	}
	return &links{x, x.changedLinks()}
}

// changedLinks returns the links that the run changed in all, as far as their tables are still there.
func (x *row) changedLinks() (out []link) {
	type key struct{ table, own, other, id string }
	at := map[key]int{}
	for _, s := range x.Links {
		i := slices.IndexFunc(x.table.Joins, func(j account.Join) bool { return j.Table == s.Table && j.Own == s.Own && j.Other == s.Other })
		if i < 0 {
			continue
		}
		add := func(ids []string, added bool) {
			for _, id := range ids {
				k := key{s.Table, s.Own, s.Other, id}
				if n, known := at[k]; known { // made and taken away again, or the other way round
					if out[n].added != added {
						out[n].join = nil
					}
					continue
				}
				at[k] = len(out)
				out = append(out, link{&x.table.Joins[i], id, added})
			}
		}
		add(s.Added, true)
		add(s.Gone, false)
	}
	return slices.DeleteFunc(out, func(l link) bool { return l.join == nil })
}

// reads reports whether the caller may read a link.
func (x *links) reads(ctx context.Context, j *account.Join, other string) (bool, error) {
	if j.Edge == nil || !x.undo.caller.ReadsEdge(x.k, j.Edge) || !x.undo.caller.Shows(j.Edge.Target) {
		return false, nil
	}
	if !x.undo.caller.Hides(j.Edge.Target) {
		return true, nil
	}
	id, err := j.Edge.Target.ScanID(other)
	if err != nil {
		return false, nil
	}
	seen, err := x.undo.caller.Readable(ctx, j.Edge.Target, []any{id})
	return len(seen) > 0, err
}

// check notes the links that somebody changed since. Of a row that is to go, these are all
// that the run has not made.
func (x *links) check(ctx context.Context, whole bool) error {
	own, err := account.HeldID(x.k, x.id)
	if err != nil {
		return err
	}
	type linked struct {
		join  *account.Join
		other string
	}
	made := map[linked]bool{}
	var since []*account.Join
	for _, l := range x.changed {
		made[linked{l.join, l.other}] = l.added
		if x.undo.Past.HadLink(l.join, own, l.other) == l.added {
			continue
		}
		read, err := x.reads(ctx, l.join, l.other)
		if err != nil {
			return err
		}
		if read {
			since = append(since, l.join)
		}
	}
	for i := range x.table.Joins {
		j := &x.table.Joins[i]
		if !whole {
			continue
		}
		for _, other := range x.undo.Past.FoundLinks(j, own) {
			if !x.undo.Past.HadLink(j, own, other) || made[linked{j, other}] || x.goesWith(j, other) {
				continue
			}
			read, err := x.reads(ctx, j, other)
			if err != nil {
				return err
			}
			if read {
				since = append(since, j)
			}
		}
	}
	for _, j := range slices.Compact(since) {
		name := ""
		if j.Edge != nil && x.undo.caller.ReadsEdge(x.k, j.Edge) {
			name = j.Edge.JSON.Name
		}
		p := x.place(name, "its links were changed since")
		if x.all.Skip && !whole {
			x.of.Left = append(x.of.Left, p)
			continue
		}
		x.places = append(x.places, p)
	}
	return nil
}

// goesWith reports whether the row at the other side goes in this undo, too.
func (x *links) goesWith(j *account.Join, other string) bool {
	return x.otherAction(j, other) == string(store.Create)
}

// otherAction returns what the run did to the row at the other side of a link, where the undo restores
// it; else "".
func (x *links) otherAction(j *account.Join, other string) string {
	target := x.targetOf(j)
	if target == nil {
		return ""
	}
	id, err := target.ScanID(other)
	if err != nil {
		return ""
	}
	action, _ := x.all.Fate(x.of.Set, target.Name(), target.FormatID(id))
	return action
}

// targetOf returns the kind of the rows at the other side of a join table, nil where it is not
// exposed.
func (x *links) targetOf(j *account.Join) *model.Kind {
	for _, k := range x.undo.Model.ByName {
		if k.Entity.Table == j.Target {
			return k
		}
	}
	return nil
}

// isChanged reports whether somebody has changed a link since.
func (x *links) isChanged(own string, l link) bool {
	return x.undo.Past.HadLink(l.join, own, l.other) != l.added
}

// build puts links into the row's builder, and reports whether there are any.
func (x *links) build(ctx context.Context, w shim.Write, creating bool) (linked bool, err error) {
	own, err := account.HeldID(x.k, x.id)
	if err != nil {
		return false, err
	}
	for _, l := range x.changed {
		if l.join.Edge == nil || creating == l.added || x.isChanged(own, l) {
			continue
		}
		if creating && !x.k.Restores() { // its id is another one until the end
			continue
		}
		id, err := l.join.Edge.Target.ScanID(l.other)
		if err != nil {
			continue
		}
		there, err := x.undo.Exists(ctx, l.join.Edge.Target, id)
		if err != nil {
			return false, err
		}
		if !there {
			continue
		}
		change := shim.Link
		if l.added {
			change = shim.Unlink
		} else if now, err := x.isLinked(ctx, l); err != nil || now {
			if err != nil {
				return false, err
			}
			continue
		}
		if err := x.k.Edge(w.Mutation, l.join.Edge.Column.Ent, change, []any{id}); err != nil {
			return false, err
		}
		linked = true
	}
	return linked, nil
}

// restore makes the row's links what they were, those that no builder has made.
func (x *links) restore(ctx context.Context) error {
	own, err := account.HeldID(x.k, x.id)
	if err != nil {
		return err
	}
	for _, l := range x.changed {
		if x.isChanged(own, l) {
			continue
		}
		now, err := x.isLinked(ctx, l)
		if err != nil {
			return err
		}
		switch {
		case now == !l.added:
			continue
		case l.added:
			err = x.unlink(ctx, l)
		default:
			err = x.link(ctx, l)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func (x *links) isLinked(ctx context.Context, l link) (bool, error) {
	b := x.undo.Statement()
	b.Raw("SELECT count(*) FROM ").Name(l.join.Table).Raw(" WHERE ").Name(l.join.Own).Raw(" = ").Arg(x.k.BoundID(x.id)).Raw(" AND CAST(").Name(l.join.Other).Raw(" AS TEXT) = ").Arg(l.other)
	rows, err := x.undo.SQL.QueryContext(ctx, string(b.Text()), b.Args()...)
	if err != nil {
		return false, err
	}
	defer rows.Close()
	n := 0
	for rows.Next() {
		if err := rows.Scan(&n); err != nil {
			return false, err
		}
	}
	return n > 0, rows.Err()
}

func (x *links) unlink(ctx context.Context, l link) error {
	b := x.undo.Statement()
	b.Raw("DELETE FROM ").Name(l.join.Table).Raw(" WHERE ").Name(l.join.Own).Raw(" = ").Arg(x.k.BoundID(x.id)).Raw(" AND CAST(").Name(l.join.Other).Raw(" AS TEXT) = ").Arg(l.other)
	_, err := x.undo.SQL.ExecContext(ctx, string(b.Text()), b.Args()...)
	x.undo.Touched = x.undo.Touched || err == nil
	return err
}

// link links the row again. What it is linked with may come later in the undo.
func (x *links) link(ctx context.Context, l link) error {
	target := x.targetOf(l.join)
	var other any = l.other
	if target != nil {
		id, err := target.ScanID(l.other)
		if err != nil {
			return err
		}
		there, err := x.undo.Exists(ctx, target, id)
		if err != nil {
			return err
		}
		if !there {
			x.noteMissing(l)
			return nil
		}
		other = target.BoundID(id)
	}
	b := x.undo.Statement()
	b.Raw("INSERT INTO ").Name(l.join.Table).Raw(" (").Name(l.join.Own).Raw(", ").Name(l.join.Other).Raw(") VALUES (").Arg(x.k.BoundID(x.id)).Raw(", ").Arg(other).Raw(")")
	if _, err := x.undo.SQL.ExecContext(ctx, string(b.Text()), b.Args()...); err != nil {
		return x.refused(x.undo.host.WriteFault(ctx, x.k, x.values(), err))
	}
	x.undo.Touched = true
	return nil
}

// noteMissing notes that the other side of a link is not there.
func (x *links) noteMissing(l link) {
	name := ""
	if l.join.Edge != nil && x.undo.caller.ReadsEdge(x.k, l.join.Edge) {
		name = l.join.Edge.JSON.Name
	}
	p := x.place(name, "what it was linked with is not there any more")
	if name != "" && x.undo.caller.Knows(l.join.Edge.Target) {
		p.Message = l.join.Edge.Target.Name() + " " + filter.Quote(l.other) + ", which it was linked with, is not there any more"
	}
	switch {
	case x.otherAction(l.join, l.other) == string(store.Delete):
		x.of.Waiting = append(x.of.Waiting, p)
	case x.all.Skip:
		x.of.Left = append(x.of.Left, p)
	default:
		x.places = append(x.places, p)
	}
}

// mayWrite refuses to restore links that others may write, and the caller may not.
func (x *links) mayWrite() error {
	for _, l := range x.changed {
		if l.join.Edge != nil && !x.undo.caller.WritesEdge(x.k, l.join.Edge) {
			return fault.New(fault.Forbidden, "it changes a relationship that you may not write")
		}
	}
	return nil
}
