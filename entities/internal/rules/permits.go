package rules

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"entgo.io/ent"
	"entgo.io/ent/privacy"

	"github.com/koan-go/koan/entities/internal/filter"
	"github.com/koan-go/koan/entities/internal/model"
	"github.com/koan-go/koan/framework/fault"
)

// Permits refuses what the policy of a kind does not let the caller do to rows: change puts into a
// mutation of them what is to become of them.
func (s *View) Permits(k *model.Kind, op ent.Op, ids []any, change func(ent.Mutation) error) error {
	if k.Permits == nil || len(ids) == 0 {
		return nil
	}
	ctx, err := s.Context()
	if err != nil {
		return err
	}
	done := "changed"
	if op.Is(ent.OpDelete) {
		done = "deleted"
	}
	permitted, err := k.Permits(ctx, s.tx.Ent, op, ids, change)
	switch {
	case errors.Is(err, privacy.Deny):
		return fault.Newf(fault.Forbidden, "%s entities cannot be %s: %s", k.Name(), done, Denial(err)).
			WithHint("A policy of the app refused it; its message says why.").Because(err)
	case err != nil:
		return s.tx.Verdict(err)
	case len(permitted) < len(ids):
		return fault.Newf(fault.Forbidden, "a policy of the app keeps some %s entities from being %s with it", k.Name(), done).
			WithHint("Somebody with other rights must do this.")
	}
	return nil
}

// CheckReferences refuses a model that refers to rows which the caller may not read,
// with the message for rows that do not exist. id is of the entity that the model
// changes, nil for a new one.
func (s *View) CheckReferences(ctx context.Context, k *model.Kind, id any, m *model.Values) error {
	var details []fault.Detail
	moved := false
	look := func(target *model.Kind, id any, at string) error {
		seen, err := s.Readable(ctx, target, []any{id})
		there := len(seen) > 0
		if err == nil && there && s.secured { // foreign keys pass row level security by
			there, err = s.tx.Exists(ctx, target, id)
		}
		if err == nil && !there {
			details = append(details, s.Dangling(target, id, at))
		}
		return err
	}
	for _, ed := range m.Edges {
		if !s.Hides(ed.Target) {
			continue
		}
		for _, id := range ed.Link {
			if err := look(ed.Target, id, ed.Places[id]); err != nil {
				return err
			}
		}
		if err := checkDisplaced(ctx, s, k, id, &ed, m.At); err != nil {
			return err
		}
		moved = moved || ed.Edge.FarKey() != ""
	}
	for _, f := range m.Fields {
		target := k.Refers[f.Field.Name]
		if target == nil || f.Value == nil || !s.Hides(target) {
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
	return s.checkMovedRows(ctx, k, id, m)
}

// checkMovedRows refuses a model whose edges change rows of another entity (which has
// the column) if that entity's policy forbids the change: ent itself asks only the
// policy of the entity whose builder writes.
func (s *View) checkMovedRows(ctx context.Context, k *model.Kind, id any, m *model.Values) error {
	for i := range m.Edges {
		ed := &m.Edges[i]
		if ed.Edge.FarKey() == "" || ed.Target.Permits == nil {
			continue
		}
		at := m.At + "/" + filter.Escape(ed.JSON.Name)
		off := ed.Unlink
		if ed.Clear && id != nil {
			now, err := s.tx.Referring(ctx, ed.Target, ed.Edge.FarKey(), k.BoundID(id))
			if err != nil {
				return err
			}
			off = append(slices.Clone(off), model.Difference(now, ed.Link)...)
		}
		err := s.Permits(ed.Target, ent.OpUpdate, off, func(w ent.Mutation) error { return ed.Target.SetReference(w, ed.Edge.FarKey(), nil) })
		if err == nil {
			err = s.Permits(ed.Target, ent.OpUpdate, ed.Link, func(w ent.Mutation) error {
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

// checkDisplaced refuses to unlink the other side of a one-to-one edge from a row that
// the caller may not read, since its column would be written.
func checkDisplaced(ctx context.Context, s *View, k *model.Kind, id any, ed *model.EdgeValue, at string) error {
	if id == nil || ed.JSON.Many || ed.Edge.FarKey() == "" {
		return nil
	}
	now, err := s.tx.Referring(ctx, ed.Target, ed.Edge.FarKey(), k.BoundID(id))
	if err != nil {
		return err
	}
	seen, err := s.Readable(ctx, ed.Target, now)
	if err != nil || len(seen) == len(now) {
		return err
	}
	return unseenFault(ed.Target.Name()+" entities", "changed").WithPath(at + "/" + filter.Escape(ed.JSON.Name))
}

// KeptByPolicy is the fault for a row that the caller may read, and whose policy
// forbids the write.
func KeptByPolicy(k *model.Kind, what string) error {
	return fault.Newf(fault.Forbidden, "a policy of the app keeps this %s from being %s", k.Name(), what).
		WithHint("Somebody with other rights must do this.")
}

// Dangling is the problem of a reference to something that does not exist. It
// does not name an entity that the caller does not know of.
func (s *View) Dangling(target *model.Kind, id any, at string) fault.Detail {
	if !s.Knows(target) {
		return fault.Detail{Path: at, Message: fmt.Sprintf("it refers to something that does not exist in the set %q", s.tx.Set)}
	}
	return fault.Detail{Path: at, Message: fmt.Sprintf("there is no %s with id %s in the set %q", target.Name(), filter.Quote(target.FormatID(id)), s.tx.Set)}
}
