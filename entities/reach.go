package entities

import (
	"context"
	"fmt"

	"github.com/koan-go/koan/entities/filter"
	"github.com/koan-go/koan/framework/fault"
)

// visible tells whether there is a row that the caller may read. Where a policy
// refuses to tell, it ends in forbidden.
func (t *tx) visible(ctx context.Context, k *kind, id any) (bool, error) {
	rule, err := t.caller.rule(k)
	if err != nil {
		return false, err
	}
	return t.store.engine.reader.Exists(context.WithoutCancel(ctx), t.sql, k.Entity, k.bound(id), rule)
}

// readable gives those of some ids whose rows the caller may read.
func (t *tx) readable(ctx context.Context, k *kind, ids []any) ([]any, error) {
	rule, err := t.caller.forgiving(k)
	if rule == nil || err != nil {
		return ids, err
	}
	var out []any
	for _, id := range ids {
		there, err := t.store.engine.reader.Exists(context.WithoutCancel(ctx), t.sql, k.Entity, k.bound(id), rule)
		if err != nil {
			return nil, err
		}
		if there {
			out = append(out, id)
		}
	}
	return out, nil
}

// shown reads a row as the caller may see it; nil where there is none for him.
func (t *tx) shown(ctx context.Context, k *kind, id any) ([]byte, error) {
	rule, err := t.caller.forgiving(k)
	if err != nil || !t.caller.allowed(k.name(), "collection", "get-by-id", "upsert", "upsert-many", "patch") {
		return nil, err
	}
	return t.store.engine.reader.Image(context.WithoutCancel(ctx), t.sql, t.caller.of(k), k.bound(id), rule)
}

// show gives an image that was just read as the caller may see it.
func (t *tx) show(ctx context.Context, k *kind, id any, image []byte) ([]byte, error) {
	if image == nil || t.caller == nil || !t.caller.narrows(k) {
		return image, nil
	}
	return t.shown(ctx, k, id)
}

// reachable refuses a model that refers to rows which the caller may not read, in
// the words for those that are not there. id is of the entity that the model
// changes, nil for a new one.
func (t *tx) reachable(ctx context.Context, k *kind, id any, m *model) error {
	var details []fault.Detail
	look := func(target *kind, id any, at string) error {
		seen, err := t.readable(ctx, target, []any{id})
		there := len(seen) > 0
		if err == nil && there && t.caller.secured { // foreign keys pass row level security by
			there, err = t.exists(ctx, target, id)
		}
		if err == nil && !there {
			details = append(details, dangles(t, target, id, at))
		}
		return err
	}
	for _, ed := range m.edges {
		if !t.caller.hides(ed.target) {
			continue
		}
		for _, id := range ed.link {
			if err := look(ed.target, id, ed.places[id]); err != nil {
				return err
			}
		}
		if err := t.displaces(ctx, k, id, &ed, m.at); err != nil {
			return err
		}
	}
	for _, f := range m.fields {
		target := k.refers[f.field.Name]
		if target == nil || f.value == nil || !t.caller.hides(target) {
			continue
		}
		id, err := target.native(f.value)
		if err == nil {
			err = look(target, id, m.at+"/"+filter.Escape(f.field.Name))
		}
		if err != nil {
			return err
		}
	}
	if len(details) > 0 {
		return fault.Invalid(details...)
	}
	return nil
}

// displaces refuses to take the other side of a one-to-one edge off a row that the
// caller may not read: its column would be written.
func (t *tx) displaces(ctx context.Context, k *kind, id any, ed *edgeValue, at string) error {
	if id == nil || ed.json.Many || ed.edge.TargetKey == "" {
		return nil
	}
	now, err := t.referring(ctx, ed.target, ed.edge.TargetKey, k.bound(id))
	if err != nil {
		return err
	}
	seen, err := t.readable(ctx, ed.target, now)
	if err != nil || len(seen) == len(now) {
		return err
	}
	return unseen(ed.target, "changed").WithPath(at + "/" + filter.Escape(ed.json.Name))
}

// unseen is the fault for a write that would reach rows which its caller may not
// read. It names none of them.
func unseen(k *kind, what string) *fault.Fault {
	return fault.Newf(fault.Forbidden, "%s entities that you may not read would be %s with it", k.name(), what).
		WithHint("Somebody who may read them has to do this.")
}

// beneath gives a kind with rows, hidden from the caller, that foreign keys would
// delete or change together with a row; nil for none.
func (t *tx) beneath(ctx context.Context, k *kind, id any, walked map[string]bool) (*kind, error) {
	key := k.Type + "/" + k.FormatID(id)
	if walked[key] || !t.overRuled(k, map[*kind]bool{}) {
		return nil, nil
	}
	walked[key] = true
	for _, r := range k.Entity.Referrers {
		if !r.Cascade && !r.SetNull {
			continue
		}
		child := t.store.engine.byName[r.Entity]
		found, err := t.behind(ctx, child, &r, []any{k.bound(id)})
		if err != nil {
			return nil, err
		}
		seen, err := t.readable(ctx, child, found)
		switch {
		case err != nil:
			return nil, err
		case len(seen) < len(found):
			return child, nil
		case !r.Cascade:
			continue
		}
		for _, id := range found {
			if hidden, err := t.beneath(ctx, child, id, walked); hidden != nil || err != nil {
				return hidden, err
			}
		}
	}
	return nil, nil
}

// overRuled tells whether foreign keys lead from a kind to one with rules.
func (t *tx) overRuled(k *kind, walked map[*kind]bool) bool {
	if walked[k] {
		return false
	}
	walked[k] = true
	for _, r := range k.Entity.Referrers {
		child := t.store.engine.byName[r.Entity]
		if (r.Cascade || r.SetNull) && (t.client.Ruled(child.Type) || r.Cascade && t.overRuled(child, walked)) {
			return true
		}
	}
	return false
}

// remove deletes one row that the caller may read. It counts unless a rule of the
// app kept the row; it is forbidden where foreign keys would take hidden rows
// with it.
func (e *engine) remove(ctx context.Context, t *tx, k *kind, id any) (gone bool, err error) {
	hidden, err := t.beneath(ctx, k, id, map[string]bool{})
	if err != nil {
		return false, err
	}
	err = k.Delete(ctx, t.ent, id)
	missing := err != nil && e.app.Trait(err).NotFound
	if err != nil && !missing {
		return false, e.undeleted(ctx, t, k, id, err)
	}
	if !missing && hidden == nil && !t.hooked(k) {
		return true, nil
	}
	there, err := t.exists(ctx, k, id)
	switch {
	case err != nil:
		return false, err
	case missing && there: // a policy's own predicate passed it by
		return false, kept(k, "deleted")
	case hidden != nil && !there:
		return false, unseen(hidden, "deleted or changed")
	case !there:
		return true, nil
	}
	left, err := t.readable(ctx, k, []any{id})
	return len(left) == 0, err
}

// kept is the fault for a row that the caller may read, and that a policy keeps
// from being written.
func kept(k *kind, what string) error {
	return fault.Newf(fault.Forbidden, "a policy of the app keeps this %s from being %s", k.name(), what).
		WithHint("Somebody with other rights has to do this.")
}

// native gives the id that a reference field has, as ParseID gives it.
func (k *kind) native(value any) (any, error) { return k.ParseID(fmt.Sprint(value)) }

// dangles is the problem of a reference that leads nowhere.
func dangles(t *tx, target *kind, id any, at string) fault.Detail {
	return fault.Detail{Path: at, Message: fmt.Sprintf("there is no %s with id %s in the set %q", target.name(), filter.Quote(target.FormatID(id)), t.set)}
}
