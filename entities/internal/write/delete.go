package write

import (
	"context"
	"encoding/json"
	"errors"

	"github.com/koan-go/koan/entities/internal/model"
	"github.com/koan-go/koan/entities/internal/refusal"
	"github.com/koan-go/koan/entities/internal/rules"
	"github.com/koan-go/koan/framework/fault"
)

// Remove deletes one row that the caller may read. It counts unless a rule of the
// app kept the row.
func (t Rows) Remove(ctx context.Context, id any) (gone bool, err error) {
	refused, err := t.by.ForbiddenCascade(ctx, t.k, []any{id})
	if err != nil {
		return false, err
	}
	if refused != nil && !t.HasHooks(t.k) { // a hook may mark the row instead of deleting it
		return false, refused
	}
	err = t.k.Delete(ctx, t.Ent, id)
	missing := err != nil && t.Model.App.Trait(err).NotFound
	if err != nil && !missing {
		return false, t.faults().OfDelete(ctx, t.k, id, err)
	}
	if !missing && !t.HasHooks(t.k) {
		return true, nil
	}
	there, err := t.Exists(ctx, t.k, id)
	switch {
	case err != nil:
		return false, err
	case missing && there: // a policy's own predicate passed it by
		return false, rules.KeptByPolicy(t.k, "deleted")
	case refused != nil && !there:
		return false, refused
	case !there:
		return true, nil
	}
	left, err := t.by.Readable(ctx, t.k, []any{id})
	return len(left) == 0, err
}

// deletion deletes rows.
type deletion struct{ Rows }

// all deletes entities and counts those that existed. If several cannot be
// deleted, all of them are named.
func (t deletion) all(ctx context.Context, in *model.DeleteInput, to Progress) (json.RawMessage, error) {
	in, err := t.eachOnce(ctx, in)
	if err != nil {
		return nil, err
	}
	if in.IfVersion == nil {
		if deleted, done, err := t.together(ctx, in.IDs, to); done || err != nil {
			return countAnswer("deleted", deleted), err
		}
	}
	there := make([]bool, len(in.IDs)) // at the start: one may go together with another
	for i, id := range in.IDs {
		var err error
		if there[i], err = t.by.Visible(ctx, t.k, id); err != nil {
			return nil, err
		}
	}
	deleted, problems := 0, []*fault.Fault(nil)
	for i, id := range in.IDs {
		if !there[i] {
			continue
		}
		gone, err := t.oneOf(ctx, id, in)
		if err != nil {
			f := refusal.OfItem(err)
			if f == nil || len(in.IDs) == 1 {
				return nil, err
			}
			named := *f
			problems = append(problems, named.WithPath(in.Places[i]).Because(err))
		}
		if gone {
			deleted++
		}
		if (i+1)%progressEvery == 0 {
			to.Progress(float64(i+1), float64(len(in.IDs)), "")
		}
	}
	if len(problems) > 0 {
		return nil, refusal.Join(problems)
	}
	return countAnswer("deleted", deleted), nil
}

// eachOnce returns the input with the ids that the rows have, each once.
func (t deletion) eachOnce(ctx context.Context, in *model.DeleteInput) (*model.DeleteInput, error) {
	if !t.k.Entity.Key.MeetsOthers() {
		return in, nil
	}
	kept, err := t.asKept(ctx, in.IDs)
	if err != nil {
		return nil, err
	}
	out := &model.DeleteInput{IfVersion: in.IfVersion}
	seen := map[any]bool{}
	for i, id := range kept {
		if !seen[id] {
			seen[id] = true
			out.IDs, out.Places = append(out.IDs, id), append(out.Places, in.Places[i])
		}
	}
	return out, nil
}

// oneOf deletes one row, or leaves no trace of having tried.
func (t deletion) oneOf(ctx context.Context, id any, in *model.DeleteInput) (gone bool, err error) {
	if err := t.atVersion(ctx, id, in.IfVersion); err != nil {
		return false, err
	}
	if len(in.IDs) == 1 {
		return t.Remove(ctx, id)
	}
	end, err := t.Savepoint(ctx, false)
	if err != nil {
		return false, err
	}
	gone, err = t.Remove(ctx, id)
	return gone, errors.Join(err, end(err == nil))
}

// together deletes rows in a few statements, and returns how many there were. done
// is as that of changeMany.
func (t deletion) together(ctx context.Context, ids []any, to Progress) (deleted int, done bool, err error) {
	if len(ids) == 0 || !t.native() || t.by.MayForbidCascade(t.k, map[*model.Kind]bool{}) || !cascadesOnce(t.Model, t.k, map[*model.Kind]bool{}) {
		return 0, false, nil
	}
	mark := t.Log.Len()
	done, err = t.tryTogether(ctx, func() error {
		return t.inPortions(ids, to, func(bound []any) error {
			keys, err := t.Writer.Present(ctx, t.SQL, t.k.Entity, bound)
			if err != nil || len(keys) == 0 {
				return err
			}
			there, err := t.k.ScanIDs(keys)
			if err != nil {
				return err
			}
			t.Touched = true
			c, err := t.Follow(ctx, t.k, there)
			if err != nil {
				return err
			}
			_, moved, err := t.ExpectCascade(ctx, c)
			if err != nil {
				return err
			}
			if _, err := t.Writer.DeleteMany(ctx, t.SQL, t.k.Entity, keys); err != nil {
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

// cascadesOnce reports whether deleting rows of a kind reaches each kind by one way
// only, and never its own: then deleting them together does what deleting them one
// after the other does.
func cascadesOnce(m *model.Model, k *model.Kind, reached map[*model.Kind]bool) bool {
	if reached[k] {
		return false
	}
	reached[k] = true
	for _, r := range k.Entity.Referrers {
		if !r.Cascade && !r.SetNull {
			continue
		}
		child := m.ByName[r.Entity]
		if r.Cascade && !cascadesOnce(m, child, reached) || !r.Cascade && reached[child] {
			return false
		}
		reached[child] = true
	}
	return true
}
