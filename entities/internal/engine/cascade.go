package engine

import (
	"context"

	"entgo.io/ent"

	"github.com/koan-go/koan/entities/descriptor"
	"github.com/koan-go/koan/entities/internal/changes"
	"github.com/koan-go/koan/entities/internal/model"
	"github.com/koan-go/koan/framework/fault"
)

// What foreign keys do when a row goes is decided by one rule: deleting does to other
// rows only what the caller might do to them by themselves. It takes rows with it
// (ON DELETE CASCADE) that he may delete, and clears references (ON DELETE SET NULL)
// that he may write, in rows that he sees and that the app's policies let him change.
// Rows of schemas that are not exposed are nobody's to delete or to change. Anything
// else is refused before anything is deleted, unless the entity that is deleted
// allows it (expose.Entity.Cascades).

// remove deletes one row that the caller may read. It counts unless a rule of the
// app kept the row.
func (e *Engine) remove(ctx context.Context, t *tx, k *model.Kind, id any) (gone bool, err error) {
	refused, err := t.forbiddenCascade(ctx, k, []any{id})
	if err != nil {
		return false, err
	}
	if refused != nil && !t.hasHooks(k) { // a hook may mark the row instead of deleting it
		return false, refused
	}
	err = k.Delete(ctx, t.ent, id)
	missing := err != nil && e.App.Trait(err).NotFound
	if err != nil && !missing {
		return false, e.deleteFault(ctx, t, k, id, err)
	}
	if !missing && !t.hasHooks(k) {
		return true, nil
	}
	there, err := t.exists(ctx, k, id)
	switch {
	case err != nil:
		return false, err
	case missing && there: // a policy's own predicate passed it by
		return false, keptByPolicy(k, "deleted")
	case refused != nil && !there:
		return false, refused
	case !there:
		return true, nil
	}
	left, err := t.readable(ctx, k, []any{id})
	return len(left) == 0, err
}

// forbiddenCascade returns the fault of deleting rows that would do to others what the
// caller may not; nil where it does not.
func (t *tx) forbiddenCascade(ctx context.Context, k *model.Kind, ids []any) (*fault.Fault, error) {
	walked := map[changes.Row]bool{}
	for queue := []layer{{kind: k, ids: ids}}; len(queue) > 0; queue = queue[1:] {
		l := queue[0]
		if !t.mayCascadeForbidden(l.kind, map[*model.Kind]bool{}) {
			continue
		}
		if l.ids = unvisited(l.kind, l.ids, walked); len(l.ids) == 0 {
			continue
		}
		for _, u := range l.kind.Entity.Unexposed {
			table := &descriptor.Entity{Table: u.Table, Key: descriptor.Column{Name: u.Column}}
			found, err := t.engine.writer.Keys(ctx, t.sql, table, u.Column, l.kind.BoundIDs(l.ids), t.holdKey(ctx))
			if err != nil || len(found) > 0 {
				return unseenFault("rows", "deleted or changed"), err
			}
		}
		for i := range l.kind.Entity.Referrers {
			r := &l.kind.Entity.Referrers[i]
			found, refused, err := t.forbiddenCascadeTo(ctx, l, r)
			if refused != nil || err != nil {
				return refused, err
			}
			if r.Cascade && len(found) > 0 {
				queue = append(queue, layer{kind: t.engine.ByName[r.Entity], ids: found})
			}
		}
	}
	return nil, nil
}

// forbiddenCascadeTo is forbiddenCascade for the rows of one entity that refer to the
// deleted ones, which it returns.
func (t *tx) forbiddenCascadeTo(ctx context.Context, l layer, r *descriptor.Referrer) (found []any, refused *fault.Fault, err error) {
	if !r.Cascade && !r.SetNull {
		return nil, nil, nil
	}
	child := t.engine.ByName[r.Entity]
	found, err = t.referringThrough(ctx, child, r, l.kind.BoundIDs(l.ids))
	if err != nil || len(found) == 0 {
		return nil, nil, err
	}
	if !t.caller.mayFollow(child, r) {
		return nil, t.cascadeFault(child, r), nil
	}
	seen, err := t.readable(ctx, child, found)
	if err != nil {
		return nil, nil, err
	}
	if len(seen) < len(found) {
		return nil, unseenFault(t.caller.rowsName(child), "deleted or changed"), nil
	}
	op, change := ent.OpDelete, func(ent.Mutation) error { return nil }
	if !r.Cascade {
		op, change = ent.OpUpdate, func(m ent.Mutation) error { return child.SetReference(m, r.Column, nil) }
	}
	if err := t.checkPolicy(child, op, found, change); err != nil {
		if f := fault.From(err); f.Code == fault.Forbidden {
			return nil, f, nil
		}
		return nil, nil, err
	}
	return found, nil, nil
}

// mayCascadeForbidden reports whether deleting rows of a kind could do to others what the
// caller may not, so that rows have to be looked at.
func (t *tx) mayCascadeForbidden(k *model.Kind, walked map[*model.Kind]bool) bool {
	if walked[k] || k.Entity.Resource.Cascades {
		return false
	}
	walked[k] = true
	if len(k.Entity.Unexposed) > 0 {
		return true
	}
	for i := range k.Entity.Referrers {
		r := &k.Entity.Referrers[i]
		if !r.Cascade && !r.SetNull {
			continue
		}
		child := t.engine.ByName[r.Entity]
		if !t.caller.mayFollow(child, r) || t.client.Ruled(child.Type) || r.Cascade && t.mayCascadeForbidden(child, walked) {
			return true
		}
	}
	return false
}

// mayFollow reports whether the caller might do to the rows of an entity what a
// foreign key of theirs does.
func (s *callerView) mayFollow(child *model.Kind, r *descriptor.Referrer) bool {
	return model.MayFollowReference(s.sight.Resource(child.Name()), child, r)
}

// cascadeFault returns the fault for rows of an entity that the caller may not delete,
// or not change.
func (t *tx) cascadeFault(child *model.Kind, r *descriptor.Referrer) *fault.Fault {
	if !t.caller.knows(child) {
		return unseenFault("rows", "deleted or changed")
	}
	what, done := "deleted", "delete"
	if !r.Cascade {
		what, done = "changed", "change"
	}
	return fault.Newf(fault.Forbidden, "%s entities would be %s with it, and you may not %s them", child.Name(), what, done).
		WithHint("Somebody who may %s them must do this, or the app must allow it: expose.Entity{Cascades: expose.Yes()} on the entity that is deleted.", done)
}

// rowsName returns what faults call rows of an entity, without its name if the caller
// does not know of it.
func (s *callerView) rowsName(k *model.Kind) string {
	if !s.knows(k) {
		return "rows"
	}
	return k.Name() + " entities"
}

// unseenFault returns the fault for a write that would reach rows which its caller may
// not read. It names none of them.
func unseenFault(rows, what string) *fault.Fault {
	return fault.Newf(fault.Forbidden, "%s that you may not see would be %s with it", rows, what).
		WithHint("Somebody who may see and change them must do this. If it is a deletion, the app can allow it: expose.Entity{Cascades: expose.Yes()} on the entity that is deleted.")
}
