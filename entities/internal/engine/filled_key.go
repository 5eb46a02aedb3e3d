package engine

import (
	"context"
	"encoding/json"
	"errors"

	"entgo.io/ent"

	"github.com/koan-go/koan/entities/internal/model"
	"github.com/koan-go/koan/entities/internal/mutation"
	"github.com/koan-go/koan/entities/internal/refusal"
	"github.com/koan-go/koan/framework/fault"
)

// upsertByFilledKey stores a model without an id whose unique key the app's hooks complete. Only they
// know the key, so the model is created first; where that fails, the entity with the key that they
// made of it is changed, if the caller may read one.
func (e *Engine) upsertByFilledKey(ctx context.Context, t *tx, k *model.Kind, m *model.Values, replace bool, ifVersion *int64) (json.RawMessage, error) {
	end, err := t.Savepoint(ctx, false)
	if err != nil {
		return nil, err
	}
	out, w, failed := e.createByEnt(ctx, t, k, m)
	if failed == nil {
		failed = t.refuseCreated(k, m, ifVersion)
	}
	if err := end(failed == nil); err != nil {
		return nil, errors.Join(failed, err)
	}
	if failed == nil || w == nil || refusal.OfItem(failed) == nil {
		return out, failed
	}
	id, err := t.withKeyOf(ctx, k, w)
	if err != nil {
		return nil, err
	}
	if id == nil {
		if refused := t.refuseCreated(k, m, ifVersion); refused != nil {
			return nil, refused
		}
		return nil, failed
	}
	m.ID, m.Shown = id, k.FormatID(id)
	return e.upsert(ctx, t, k, m, replace, ifVersion)
}

// refuseCreated returns why a model may not have created an entity, although that went well.
func (t *tx) refuseCreated(k *model.Kind, m *model.Values, ifVersion *int64) error {
	if ifVersion != nil {
		return neverStored(k, *ifVersion)
	}
	if missing := m.Missing(t.caller.Of(k)); len(missing) > 0 {
		return fault.Invalid(missing...)
	}
	return nil
}

// withKeyOf returns the id of the entity that has the unique key of a mutation, nil where there is
// none that the caller may read, or the mutation has no whole key.
func (t *tx) withKeyOf(ctx context.Context, k *model.Kind, m ent.Mutation) (any, error) {
	var columns []string
	var values []any
	for _, name := range k.Entity.UpsertBy {
		column := k.Entity.Column(name).Name
		v, ok, err := mutation.BoundColumn(k, m, column)
		if err != nil || !ok {
			return nil, err
		}
		columns, values = append(columns, column), append(values, v)
	}
	b := t.Statement()
	b.Raw("SELECT ").Name(k.Entity.Key.Name).Raw(" FROM ").Name(k.Entity.Table).Raw(" WHERE ")
	mutation.MatchAll(b, columns, values)
	ids, err := t.IDs(ctx, k, b)
	if err != nil || len(ids) == 0 {
		return nil, err
	}
	if ids, err = t.caller.Readable(ctx, k, ids); err != nil || len(ids) == 0 {
		return nil, err
	}
	return ids[0], nil
}
