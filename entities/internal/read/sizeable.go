package read

import (
	"context"

	"entgo.io/ent/dialect"

	"github.com/koan-go/koan/entities/descriptor"
	"github.com/koan-go/koan/entities/internal/filter"
	"github.com/koan-go/koan/framework/database/sqltext"
	"github.com/koan-go/koan/framework/exact"
)

// SizeableBytes is up to how many bytes of values no row is a burden, however they are written in JSON.
const SizeableBytes = lightBytes / 2

// Sizeable returns the keys of those of some rows that may be a Burden, so that most rows need not be
// read to know that they are none.
func (e *Engine) Sizeable(ctx context.Context, q Querier, entity *descriptor.Entity, keys []any) (out []any, err error) {
	for len(keys) > 0 {
		n := min(len(keys), maxImages)
		b := e.builder()
		b.Raw("SELECT ")
		filter.OwnKey(b, &entity.Key)
		b.Raw(" FROM ").Name(entity.Table).Raw(" WHERE ")
		filter.OwnKeyIn(b, &entity.Key, keys[:n])
		b.Raw(" AND (")
		plus := ""
		for i := range entity.Columns {
			if c := &entity.Columns[i]; IsSizeable(c) {
				b.Raw(plus)
				e.appendSize(b, c)
				plus = "+"
			}
		}
		if plus == "" {
			return nil, nil
		}
		b.Raw(">").Arg(int64(SizeableBytes))
		for i := range entity.Columns {
			if c := &entity.Columns[i]; c.Storage == descriptor.JSON { // short ones may be deep
				b.Raw(" OR ")
				e.appendSize(b, c)
				b.Raw(">").Arg(int64(2 * exact.MaxDepth))
			}
		}
		b.Raw(")")
		some, err := e.SelectedKeys(ctx, q, b, nil)
		if err != nil {
			return nil, err
		}
		out, keys = append(out, some...), keys[n:]
	}
	return out, nil
}

// IsSizeable reports whether values of a column may take much.
func IsSizeable(c *descriptor.Column) bool {
	switch c.Storage {
	case descriptor.Text, descriptor.JSON, descriptor.Bytes, descriptor.Held:
		return c.Capacity == nil || c.Capacity.Length == 0 || c.Capacity.Length > exact.MaxDepth
	case descriptor.Int, descriptor.Float, descriptor.Bool, descriptor.Time, descriptor.Day, descriptor.UUID, descriptor.Decimal:
	}
	return false
}

// appendSize appends how many bytes a column holds.
func (x *statements) appendSize(b *sqltext.Builder, c *descriptor.Column) {
	length, as := "OCTET_LENGTH", "TEXT"
	if x.dialect.Name() == dialect.SQLite {
		length, as = "LENGTH", "BLOB"
	}
	b.Raw("COALESCE(" + length + "(CAST(").Name(c.Name).Raw(" AS " + as + ")),0)")
}
