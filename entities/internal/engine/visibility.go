package engine

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"entgo.io/ent"
	"entgo.io/ent/dialect"
	"entgo.io/ent/privacy"

	"github.com/koan-go/koan/entities/internal/filter"
	"github.com/koan-go/koan/entities/internal/model"
	"github.com/koan-go/koan/framework/fault"
)

// visible reports whether there is a row that the caller may read. Where a policy
// refuses to tell, it ends in forbidden.
func (t *tx) visible(ctx context.Context, k *model.Kind, id any) (bool, error) {
	rule, err := t.caller.rule(k)
	if err != nil {
		return false, err
	}
	return t.engine.reader.Exists(t.brief(ctx), t.sql, k.Entity, k.BoundID(id), rule)
}

// readable returns those of some ids whose rows the caller may read.
func (t *tx) readable(ctx context.Context, k *model.Kind, ids []any) ([]any, error) {
	rule, err := t.caller.ruleOrNothing(k)
	if rule == nil || err != nil {
		return ids, err
	}
	var out []any
	for _, id := range ids {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		there, err := t.engine.reader.Exists(t.brief(ctx), t.sql, k.Entity, k.BoundID(id), rule)
		if err != nil {
			return nil, err
		}
		if there {
			out = append(out, id)
		}
	}
	return out, nil
}

// readVisible reads a row as the caller may see it; nil if there is none for the caller.
func (t *tx) readVisible(ctx context.Context, k *model.Kind, id any) ([]byte, error) {
	rule, err := t.caller.ruleOrNothing(k)
	if err != nil || !t.caller.shows(k) {
		return nil, err
	}
	return t.engine.reader.Image(t.brief(ctx), t.sql, t.caller.of(k).Entity, k.BoundID(id), rule)
}

// visibleImage returns an image that was just read as the run may report it.
func (t *tx) visibleImage(ctx context.Context, k *model.Kind, id any, image []byte) ([]byte, error) {
	defer t.forReport()()
	if image == nil || t.caller == nil {
		return image, nil
	}
	if t.engine.viewer != nil {
		var err error
		if ctx, err = t.caller.viewer(); err != nil {
			return nil, err
		}
	}
	if !t.caller.mayHide(k) && !t.rowSecurity() {
		return image, nil
	}
	return t.readVisible(ctx, k, id)
}

// rowSecurity reports whether the database itself may hide rows from who gets what the run
// reports that it does not hide from the call's caller.
func (t *tx) rowSecurity() bool {
	return t.engine.viewer != nil && t.engine.backend.Dialect().Name() == dialect.Postgres && t.reader != nil && t.reader.foreign
}

// checkReferences refuses a model that refers to rows which the caller may not read,
// with the message for rows that do not exist. id is of the entity that the model
// changes, nil for a new one.
func (t *tx) checkReferences(ctx context.Context, k *model.Kind, id any, m *model.Values) error {
	var details []fault.Detail
	moved := false
	look := func(target *model.Kind, id any, at string) error {
		seen, err := t.readable(ctx, target, []any{id})
		there := len(seen) > 0
		if err == nil && there && t.caller.secured { // foreign keys pass row level security by
			there, err = t.exists(ctx, target, id)
		}
		if err == nil && !there {
			details = append(details, danglingReference(t, target, id, at))
		}
		return err
	}
	for _, ed := range m.Edges {
		if !t.caller.hides(ed.Target) {
			continue
		}
		for _, id := range ed.Link {
			if err := look(ed.Target, id, ed.Places[id]); err != nil {
				return err
			}
		}
		if err := t.checkDisplaced(ctx, k, id, &ed, m.At); err != nil {
			return err
		}
		moved = moved || ed.Edge.FarKey() != ""
	}
	for _, f := range m.Fields {
		target := k.Refers[f.Field.Name]
		if target == nil || f.Value == nil || !t.caller.hides(target) {
			continue
		}
		id, err := target.Native(f.Value)
		if err == nil {
			err = look(target, id, m.At+"/"+filter.Escape(f.Field.Name))
		}
		if err != nil {
			return err
		}
	}
	if len(details) > 0 {
		return fault.Invalid(details...)
	}
	if !moved {
		return nil
	}
	if id == nil {
		id = m.ID
	}
	return t.checkMovedRows(ctx, k, id, m)
}

// checkMovedRows refuses a model whose edges change rows of another entity (which has
// the column) if that entity's policy forbids the change: ent itself asks only the
// policy of the entity whose builder writes.
func (t *tx) checkMovedRows(ctx context.Context, k *model.Kind, id any, m *model.Values) error {
	for i := range m.Edges {
		ed := &m.Edges[i]
		if ed.Edge.FarKey() == "" || ed.Target.Permits == nil {
			continue
		}
		at := m.At + "/" + filter.Escape(ed.JSON.Name)
		off := ed.Unlink
		if ed.Clear && id != nil {
			now, err := t.referring(ctx, ed.Target, ed.Edge.FarKey(), k.BoundID(id))
			if err != nil {
				return err
			}
			off = append(slices.Clone(off), difference(now, ed.Link)...)
		}
		err := t.checkPolicy(ed.Target, ent.OpUpdate, off, func(w ent.Mutation) error { return ed.Target.SetReference(w, ed.Edge.FarKey(), nil) })
		if err == nil {
			err = t.checkPolicy(ed.Target, ent.OpUpdate, ed.Link, func(w ent.Mutation) error {
				if id == nil { // of a row that is not there yet
					return nil
				}
				return ed.Target.SetReference(w, ed.Edge.FarKey(), id)
			})
		}
		if err != nil {
			return withPath(err, at)
		}
	}
	return nil
}

// withPath sets the path of a fault in the input.
func withPath(err error, at string) error {
	var f *fault.Fault
	if !errors.As(err, &f) {
		return err
	}
	return f.WithPath(at)
}

// checkPolicy refuses what the policy of a kind does not let the caller do to rows.
func (t *tx) checkPolicy(k *model.Kind, op ent.Op, ids []any, change func(ent.Mutation) error) error {
	if k.Permits == nil || len(ids) == 0 {
		return nil
	}
	ctx, err := t.caller.viewer()
	if err != nil {
		return err
	}
	done := "changed"
	if op.Is(ent.OpDelete) {
		done = "deleted"
	}
	permitted, err := k.Permits(ctx, t.ent, op, ids, change)
	switch {
	case errors.Is(err, privacy.Deny):
		return fault.Newf(fault.Forbidden, "%s entities cannot be %s: %s", k.Name(), done, denial(err)).
			WithHint("A policy of the app refused it; its message says why.").Because(err)
	case err != nil:
		return t.verdict(err)
	case len(permitted) < len(ids):
		return fault.Newf(fault.Forbidden, "a policy of the app keeps some %s entities from being %s with it", k.Name(), done).
			WithHint("Somebody with other rights must do this.")
	}
	return nil
}

// checkDisplaced refuses to unlink the other side of a one-to-one edge from a row that
// the caller may not read, since its column would be written.
func (t *tx) checkDisplaced(ctx context.Context, k *model.Kind, id any, ed *model.EdgeValue, at string) error {
	if id == nil || ed.JSON.Many || ed.Edge.FarKey() == "" {
		return nil
	}
	now, err := t.referring(ctx, ed.Target, ed.Edge.FarKey(), k.BoundID(id))
	if err != nil {
		return err
	}
	seen, err := t.readable(ctx, ed.Target, now)
	if err != nil || len(seen) == len(now) {
		return err
	}
	return unseenFault(ed.Target.Name()+" entities", "changed").WithPath(at + "/" + filter.Escape(ed.JSON.Name))
}

// keptByPolicy is the fault for a row that the caller may read, and whose policy
// forbids the write.
func keptByPolicy(k *model.Kind, what string) error {
	return fault.Newf(fault.Forbidden, "a policy of the app keeps this %s from being %s", k.Name(), what).
		WithHint("Somebody with other rights must do this.")
}

// danglingReference is the problem of a reference to something that does not exist. It
// does not name an entity that the caller does not know of.
func danglingReference(t *tx, target *model.Kind, id any, at string) fault.Detail {
	if !t.caller.knows(target) {
		return fault.Detail{Path: at, Message: fmt.Sprintf("it refers to something that does not exist in the set %q", t.set)}
	}
	return fault.Detail{Path: at, Message: fmt.Sprintf("there is no %s with id %s in the set %q", target.Name(), filter.Quote(target.FormatID(id)), t.set)}
}
