package engine

import (
	"context"

	"github.com/koan-go/koan/entities/internal/model"
	"github.com/koan-go/koan/framework/catalog"
)

// changeMany makes the same changes to many rows in a few statements, and returns how
// many rows there were. done is false, and nothing is written, if a rule of the app has
// to see each row or the database refused one of them.
func (e *Engine) changeMany(ctx context.Context, t *tx, k *model.Kind, ids []any, m *model.Values, call catalog.Call) (affected int, done bool, err error) {
	if len(ids) == 0 || m.Immutable() || !t.plain(k, m) {
		return 0, false, nil
	}
	p, err := e.prepareUpdate(ctx, t, k, ids[0], m)
	if err != nil {
		return 0, false, err
	}
	if err := t.HoldWrites(len(ids)); err != nil {
		return 0, false, err
	}
	done, err = t.tryTogether(ctx, func() error {
		if err := t.RecordRows(ctx, k, ids); err != nil {
			return err
		}
		if err := t.Weighing.NoteBurdens(ctx, k, ids); err != nil {
			return err
		}
		for _, id := range ids {
			if err := t.HoldImage(k, id, p.row.Size()); err != nil {
				return err
			}
		}
		return e.inPortions(k, ids, call, func(bound []any) error {
			keys, err := e.data.Writer.UpdateMany(ctx, t.SQL, k.Entity, bound, p.row)
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
		t.RecordUpdated(k, id)
	}
	t.Weighing.WeighLater(k, nil, ids...)
	return affected, true, nil
}

// deleteMany deletes rows in a few statements, and returns how many there were. done
// is as that of changeMany.
func (e *Engine) deleteMany(ctx context.Context, t *tx, k *model.Kind, ids []any, call catalog.Call) (deleted int, done bool, err error) {
	if len(ids) == 0 || !t.native(k) || t.caller.MayForbidCascade(k, map[*model.Kind]bool{}) || !e.cascadesOnce(k, map[*model.Kind]bool{}) {
		return 0, false, nil
	}
	mark := t.Log.Len()
	done, err = t.tryTogether(ctx, func() error {
		return e.inPortions(k, ids, call, func(bound []any) error {
			keys, err := e.data.Writer.Keys(ctx, t.SQL, k.Entity, k.Entity.Key.Name, bound, nil)
			if err != nil || len(keys) == 0 {
				return err
			}
			there, err := k.ScanIDs(keys)
			if err != nil {
				return err
			}
			t.Touched = true
			c, err := t.Follow(ctx, k, there)
			if err != nil {
				return err
			}
			_, moved, err := t.ExpectCascade(ctx, c)
			if err != nil {
				return err
			}
			if _, err := e.data.Writer.DeleteMany(ctx, t.SQL, k.Entity, keys); err != nil {
				return err
			}
			deleted += len(there)
			return t.CountVersions(ctx, moved)
		})
	})
	if !done || err != nil {
		t.Undo(mark)
		return 0, false, err
	}
	return deleted, true, nil
}

// inPortions calls fn with a limited number of bound ids at a time.
func (e *Engine) inPortions(k *model.Kind, ids []any, call catalog.Call, do func(bound []any) error) error {
	const portion = 1024
	for begin := 0; begin < len(ids); begin += portion {
		end := min(begin+portion, len(ids))
		if err := do(k.BoundIDs(ids[begin:end])); err != nil {
			return err
		}
		if len(ids) > portion {
			call.Progress(float64(end), float64(len(ids)), "")
		}
	}
	return nil
}

// cascadesOnce reports whether deleting rows of a kind reaches each kind by one way
// only, and never its own: then deleting them together does what deleting them one
// after the other does.
func (e *Engine) cascadesOnce(k *model.Kind, reached map[*model.Kind]bool) bool {
	if reached[k] {
		return false
	}
	reached[k] = true
	for _, r := range k.Entity.Referrers {
		if !r.Cascade && !r.SetNull {
			continue
		}
		child := e.ByName[r.Entity]
		if r.Cascade && !e.cascadesOnce(child, reached) || !r.Cascade && reached[child] {
			return false
		}
		reached[child] = true
	}
	return true
}
