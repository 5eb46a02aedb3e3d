package write

import (
	"context"

	"github.com/koan-go/koan/entities/internal/model"
)

// changeMany makes the same changes to many rows in a few statements, and returns how
// many rows there were. done is false, and nothing is written, if a rule of the app has
// to see each row or the database refused one of them.
func (t matches) changeMany(ctx context.Context, ids []any, m *model.Values, to Progress) (affected int, done bool, err error) {
	if len(ids) == 0 || m.Immutable() || !t.plain(m) {
		return 0, false, nil
	}
	p, err := rowWriter{t.Rows}.prepareUpdate(ctx, ids[0], m)
	if err != nil {
		return 0, false, err
	}
	if err := t.HoldWrites(len(ids)); err != nil {
		return 0, false, err
	}
	done, err = t.tryTogether(ctx, func() error {
		if err := t.RecordRows(ctx, t.k, ids); err != nil {
			return err
		}
		if err := t.Weighing.NoteBurdens(ctx, t.k, ids); err != nil {
			return err
		}
		for _, id := range ids {
			if err := t.HoldImage(t.k, id, p.row.Size()); err != nil {
				return err
			}
		}
		return t.inPortions(ids, to, func(bound []any) error {
			keys, err := t.Writer.UpdateMany(ctx, t.SQL, t.k.Entity, bound, p.row)
			affected += len(keys)
			return err
		})
	})
	if !done || err != nil {
		p.forget()
		t.ReleaseWrites(len(ids))
		return 0, false, err
	}
	for _, id := range ids {
		t.RecordUpdated(t.k, id)
	}
	t.Weighing.WeighLater(t.k, nil, ids...)
	return affected, true, nil
}

// inPortions calls fn with a limited number of bound ids at a time.
func (t Rows) inPortions(ids []any, to Progress, do func(bound []any) error) error {
	const portion = 1024
	for begin := 0; begin < len(ids); begin += portion {
		end := min(begin+portion, len(ids))
		if err := do(t.k.BoundIDs(ids[begin:end])); err != nil {
			return err
		}
		if len(ids) > portion {
			to.Progress(float64(end), float64(len(ids)), "")
		}
	}
	return nil
}
