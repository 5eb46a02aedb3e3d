package engine

import (
	"context"

	"github.com/koan-go/koan/entities/internal/model"
	"github.com/koan-go/koan/entities/internal/rules"
)

// remove deletes one row that the caller may read. It counts unless a rule of the
// app kept the row.
func (e *Engine) remove(ctx context.Context, t *tx, k *model.Kind, id any) (gone bool, err error) {
	refused, err := t.caller.ForbiddenCascade(ctx, k, []any{id})
	if err != nil {
		return false, err
	}
	if refused != nil && !t.HasHooks(k) { // a hook may mark the row instead of deleting it
		return false, refused
	}
	err = k.Delete(ctx, t.Ent, id)
	missing := err != nil && e.App.Trait(err).NotFound
	if err != nil && !missing {
		return false, t.faults().OfDelete(ctx, k, id, err)
	}
	if !missing && !t.HasHooks(k) {
		return true, nil
	}
	there, err := t.Exists(ctx, k, id)
	switch {
	case err != nil:
		return false, err
	case missing && there: // a policy's own predicate passed it by
		return false, rules.KeptByPolicy(k, "deleted")
	case refused != nil && !there:
		return false, refused
	case !there:
		return true, nil
	}
	left, err := t.caller.Readable(ctx, k, []any{id})
	return len(left) == 0, err
}
