package read

import (
	"context"
	"errors"
	"strings"

	"github.com/koan-go/koan/entities/descriptor"
	"github.com/koan-go/koan/entities/internal/filter"
)

// Keys returns the native keys of what matches a filter, in their order and at most
// as many as the limit.
func (e *Engine) Keys(ctx context.Context, q Querier, entity *descriptor.Entity, matching *filter.Tree, limit int) (out []any, err error) {
	b := e.builder()
	t := b.NewAlias()
	b.Raw("SELECT ")
	filter.KeyText(b, t, &entity.Key)
	b.Raw(" FROM ").Name(entity.Table).Raw(" AS ").Alias(t)
	if !matching.Empty() {
		b.Raw(" WHERE ")
		matching.Where(b, t)
	}
	orderBy(b, t, keyOrder(entity, false))
	b.Raw(" LIMIT ").Arg(int64(limit))
	rows, err := e.query(ctx, q, b)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	for rows.Next() {
		var key any
		if err := rows.Scan(&key); err != nil {
			return nil, err
		}
		out = append(out, key)
	}
	return out, rows.Err()
}

// Matches counts what matches a filter.
func (e *Engine) Matches(ctx context.Context, q Querier, entity *descriptor.Entity, matching *filter.Tree) (int, error) {
	b := e.builder()
	t := b.NewAlias()
	b.Raw("SELECT count(*) FROM ").Name(entity.Table).Raw(" AS ").Alias(t)
	if !matching.Empty() {
		b.Raw(" WHERE ")
		matching.Where(b, t)
	}
	return e.number(ctx, q, b)
}

// FilterByName is the schema of a filter of which collection shows the whole: a
// listed tool pays for every field that it spells out.
func FilterByName(e *descriptor.Entity, g filter.Graph) map[string]any {
	names := append(filter.FieldNames(e), filter.EdgeNames(e, g)...)
	return object{"type": "object", "description": "A filter, as collection takes it, over " + strings.Join(names, ", ") + `: {field: value}, {field: {"$gte": value}}.`}
}
