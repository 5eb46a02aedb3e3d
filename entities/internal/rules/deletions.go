package rules

import (
	"context"

	"entgo.io/ent"

	"github.com/koan-go/koan/entities/descriptor"
	"github.com/koan-go/koan/entities/internal/changes"
	"github.com/koan-go/koan/entities/internal/model"
	"github.com/koan-go/koan/entities/internal/transaction"
	"github.com/koan-go/koan/framework/fault"
)

// What foreign keys do when a row goes is decided by one rule: deleting does to other
// rows only what the caller might do to them by themselves. It takes rows with it
// (ON DELETE CASCADE) that it may delete, and clears references (ON DELETE SET NULL)
// that it may write, in rows that it sees and that the app's policies let it change.
// Rows of schemas that are not exposed are nobody's to delete or to change. Anything
// else is refused before anything is deleted, unless the entity that is deleted
// allows it (expose.Entity.Cascades).

// ForbiddenCascade returns the fault of deleting rows that would do to others what the
// caller may not; nil where it does not.
func (s *View) ForbiddenCascade(ctx context.Context, k *model.Kind, ids []any) (*fault.Fault, error) {
	walked := map[changes.Row]bool{}
	for queue := []transaction.Layer{{Kind: k, IDs: ids}}; len(queue) > 0; queue = queue[1:] {
		l := queue[0]
		if !s.MayForbidCascade(l.Kind, map[*model.Kind]bool{}) {
			continue
		}
		if l.IDs = transaction.Unvisited(l.Kind, l.IDs, walked); len(l.IDs) == 0 {
			continue
		}
		for _, u := range l.Kind.Entity.Unexposed {
			table := &descriptor.Entity{Table: u.Table, Key: descriptor.Column{Name: u.Column}}
			found, err := s.tx.Writer.Keys(ctx, s.tx.SQL, table, u.Column, l.Kind.BoundIDs(l.IDs), s.tx.HoldKey(ctx))
			if err != nil || len(found) > 0 {
				return unseenFault("rows", "deleted or changed"), err
			}
		}
		for i := range l.Kind.Entity.Referrers {
			r := &l.Kind.Entity.Referrers[i]
			found, refused, err := s.forbiddenCascadeTo(ctx, l, r)
			if refused != nil || err != nil {
				return refused, err
			}
			if r.Cascade && len(found) > 0 {
				queue = append(queue, transaction.Layer{Kind: s.rules.Model.ByName[r.Entity], IDs: found})
			}
		}
	}
	return nil, nil
}

// forbiddenCascadeTo is ForbiddenCascade for the rows of one entity that refer to the
// deleted ones, which it returns.
func (s *View) forbiddenCascadeTo(ctx context.Context, l transaction.Layer, r *descriptor.Referrer) (found []any, refused *fault.Fault, err error) {
	if !r.Cascade && !r.SetNull {
		return nil, nil, nil
	}
	child := s.rules.Model.ByName[r.Entity]
	found, err = s.tx.ReferringThrough(ctx, child, r, l.Kind.BoundIDs(l.IDs))
	if err != nil || len(found) == 0 {
		return nil, nil, err
	}
	if !s.mayFollow(child, r) {
		return nil, cascadeFault(s, child, r), nil
	}
	seen, err := s.Readable(ctx, child, found)
	if err != nil {
		return nil, nil, err
	}
	if len(seen) < len(found) {
		return nil, unseenFault(rowsName(s, child), "deleted or changed"), nil
	}
	op, change := ent.OpDelete, func(ent.Mutation) error { return nil }
	if !r.Cascade {
		op, change = ent.OpUpdate, func(m ent.Mutation) error { return child.SetReference(m, r.Column, nil) }
	}
	if err := s.Permits(child, op, found, change); err != nil {
		if f := fault.From(err); f.Code == fault.Forbidden {
			return nil, f, nil
		}
		return nil, nil, err
	}
	return found, nil, nil
}

// MayForbidCascade reports whether deleting rows of a kind could do to others what the
// caller may not, so that rows have to be looked at.
func (s *View) MayForbidCascade(k *model.Kind, walked map[*model.Kind]bool) bool {
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
		child := s.rules.Model.ByName[r.Entity]
		if !s.mayFollow(child, r) || s.tx.Client.Ruled(child.Type) || r.Cascade && s.MayForbidCascade(child, walked) {
			return true
		}
	}
	return false
}

// cascadeFault returns the fault for rows of an entity that the caller may not delete,
// or not change.
func cascadeFault(s *View, child *model.Kind, r *descriptor.Referrer) *fault.Fault {
	if !s.Knows(child) {
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
func rowsName(s *View, k *model.Kind) string {
	if !s.Knows(k) {
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
