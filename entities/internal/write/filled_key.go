package write

import (
	"context"
	"encoding/json"
	"errors"

	"entgo.io/ent"

	"github.com/koan-go/koan/entities/descriptor"
	"github.com/koan-go/koan/entities/internal/filter"
	"github.com/koan-go/koan/entities/internal/model"
	"github.com/koan-go/koan/entities/internal/mutation"
	"github.com/koan-go/koan/entities/internal/refusal"
	"github.com/koan-go/koan/framework/database/fold"
	"github.com/koan-go/koan/framework/fault"
)

// upsertByFilledKey stores a model without an id whose unique key the app's hooks complete. Only they
// know the key, so the model is created first; where that fails, the entity with the key that they
// made of it is changed, if the caller may read one.
func (t models) upsertByFilledKey(ctx context.Context, m *model.Values, replace bool, ifVersion *int64) (json.RawMessage, error) {
	end, err := t.Savepoint(ctx, false)
	if err != nil {
		return nil, err
	}
	out, w, failed := t.createByEnt(ctx, m)
	if failed == nil {
		failed = t.refuseCreated(m, ifVersion)
	}
	if err := end(failed == nil); err != nil {
		return nil, errors.Join(failed, err)
	}
	if failed == nil || w == nil || refusal.OfItem(failed) == nil {
		return out, failed
	}
	id, err := t.withKeyOf(ctx, w)
	if err != nil {
		return nil, err
	}
	if id == nil {
		if refused := t.refuseCreated(m, ifVersion); refused != nil {
			return nil, refused
		}
		return nil, failed
	}
	m.ID, m.Shown = id, t.k.FormatID(id)
	return t.upsert(ctx, m, replace, ifVersion)
}

// refuseCreated returns why a model may not have created an entity, although that went well.
func (t models) refuseCreated(m *model.Values, ifVersion *int64) error {
	if ifVersion != nil {
		return neverStored(t.k, *ifVersion)
	}
	if missing := m.Missing(t.by.Of(t.k)); len(missing) > 0 {
		return fault.Invalid(missing...)
	}
	return nil
}

// withKeyOf returns the id of the entity that has the unique key of a mutation, nil where there is
// none that the caller may read, or the mutation has no whole key.
func (t models) withKeyOf(ctx context.Context, m ent.Mutation) (any, error) {
	var columns []*descriptor.Column
	var values []any
	for _, name := range t.k.Entity.UpsertBy {
		column := t.k.Entity.Column(name)
		v, ok, err := mutation.BoundColumn(t.k, m, column.Name)
		if err != nil || !ok {
			return nil, err
		}
		columns, values = append(columns, column), append(values, v)
	}
	b := t.Statement()
	b.Raw("SELECT ")
	filter.OwnKey(b, &t.k.Entity.Key)
	b.Raw(" FROM ").Name(t.k.Entity.Table).Raw(" WHERE ")
	for i, c := range columns {
		if i > 0 {
			b.Raw(" AND ")
		}
		before, after := "", ""
		if c.Folds(descriptor.FoldsKey) {
			before, after = fold.Function+"(", ")"
		}
		b.Raw(before).Name(c.Name).Raw(after + " = " + before).Arg(values[i]).Raw(after)
	}
	ids, err := t.IDs(ctx, t.k, b)
	if err != nil || len(ids) == 0 {
		return nil, err
	}
	if ids, err = t.by.Readable(ctx, t.k, ids); err != nil || len(ids) == 0 {
		return nil, err
	}
	return ids[0], nil
}
