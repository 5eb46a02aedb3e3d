package write

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"

	"github.com/koan-go/koan/entities/internal/changes"
	"github.com/koan-go/koan/entities/internal/filter"
	"github.com/koan-go/koan/entities/internal/model"
	"github.com/koan-go/koan/framework/fault"
	"github.com/koan-go/koan/framework/run/store"
)

// progressEvery is after how many rows a caller hears how far a call is.
const progressEvery = 500

// matches are the rows of a query.
type matches struct{ Rows }

// obey narrows the query to the rows that its caller may read. Of relationships whose
// other side is hidden a condition may leave nothing.
func (t matches) obey(in *model.QueryInput) error {
	if err := in.Guards.Obey(t.by); err != nil {
		return err
	}
	if in.Unconfirmed() {
		return fault.Invalid(model.MatchesAll(t.k))
	}
	return nil
}

// each does something with one of the rows that matched, and reports whether it
// counts.
type each func(ctx context.Context, id any, changes *model.Values) (bool, error)

// byQuery first decides which rows match, then goes through them one by one, so that
// hooks, versions, recorded changes and cascades are those of single writes, and a
// change that makes other rows match does not affect which rows are written.
func (t matches) byQuery(ctx context.Context, in *model.QueryInput, to Progress, member string, do each) (json.RawMessage, error) {
	if err := t.obey(in); err != nil {
		return nil, err
	}
	ids, err := t.matching(ctx, in)
	if err != nil {
		return nil, err
	}
	affected, done, err := t.writeTogether(ctx, ids, in, to)
	if done || err != nil {
		return countAnswer(member, affected), err
	}
	for i, id := range ids {
		yes, err := do(ctx, id, in.Changes)
		if err != nil {
			return nil, t.nameFailedRow(id, err)
		}
		if yes {
			affected++
		}
		if (i+1)%progressEvery == 0 {
			to.Progress(float64(i+1), float64(len(ids)), "")
		}
	}
	return countAnswer(member, affected), nil
}

// writeTogether writes all rows in a few statements, if that is possible.
func (t matches) writeTogether(ctx context.Context, ids []any, in *model.QueryInput, to Progress) (affected int, done bool, err error) {
	if in.Changes != nil {
		return t.changeMany(ctx, ids, in.Changes, to)
	}
	return deletion(t).together(ctx, ids, to)
}

// countAnswer returns a number as the answer of an operation.
func countAnswer(member string, n int) json.RawMessage {
	return append(strconv.AppendInt([]byte(`{"`+member+`":`), int64(n), 10), '}')
}

// matching returns the native ids of the rows that match, and refuses more than
// the caller expects.
func (t matches) matching(ctx context.Context, in *model.QueryInput) ([]any, error) {
	ids, err := t.Reader.Keys(ctx, t.SQL, t.k.Entity, in.Filter, in.MaxAffected+1)
	if err != nil {
		return nil, err
	}
	if len(ids) > in.MaxAffected {
		matched, err := t.Reader.Matches(ctx, t.SQL, t.k.Entity, in.Filter)
		if err != nil {
			return nil, err
		}
		return nil, fault.Newf(fault.InvalidPayload, "%d %s entities match, more than maxAffected %d; nothing was done", matched, t.k.Name(), in.MaxAffected).
			WithPath("/maxAffected").WithDetails(map[string]any{"matched": matched, "maxAffected": in.MaxAffected}).
			WithHint("Narrow the filter, or raise maxAffected (at most %d) if all of them are meant.", model.MostAffected)
	}
	native, err := t.k.ScanIDs(ids)
	if err != nil { // a key that is empty or null, or not of its column's type, in a table of another program
		return nil, fault.Newf(fault.CapabilityUnsupported, "the %s entities that match include a row whose key cannot be an id: %v; nothing was done", t.k.Name(), err).
			WithPath("/filter").WithHint("Exclude that row with the filter, or give it a key with the database's own tools.")
	}
	return native, nil
}

// updateOne changes a row. It counts if the change took place: a rule of the app
// may do something else instead, or may have removed the row with an earlier one.
func (t matches) updateOne(ctx context.Context, id any, m *model.Values) (bool, error) {
	if t.HasHooks(t.k) {
		if there, err := t.by.Visible(ctx, t.k, id); err != nil || !there {
			return false, err
		}
	}
	mark, own := t.Log.Len(), *m
	if err := models(t).write(ctx, id, &own, nil); err != nil {
		return false, err
	}
	shown := t.k.FormatID(id)
	return slices.ContainsFunc(t.Log.Since(mark), func(w changes.Write) bool {
		return !w.Void && w.Action == store.Update && w.Kind == t.k && t.k.FormatID(w.ID) == shown
	}), nil
}

// deleteOne deletes a row. It counts if the row is gone, be it with another one
// that was deleted before.
func (t matches) deleteOne(ctx context.Context, id any, _ *model.Values) (bool, error) {
	return t.Remove(ctx, id)
}

// nameFailedRow adds the row that failed to a fault. What was done before it is undone
// with the call.
func (t matches) nameFailedRow(id any, err error) error {
	var f *fault.Fault
	if !errors.As(err, &f) {
		return err
	}
	named := *f
	named.Message = fmt.Sprintf("%s %s: %s; nothing was done", t.k.Name(), filter.Quote(t.k.FormatID(id)), f.Message)
	return named.Because(err)
}

// changeMany makes the same changes to many rows in a few statements, and returns how
// many rows there were. done is false, and nothing is written, if a rule of the app has
// to see each row or the database refused one of them.
func (t matches) changeMany(ctx context.Context, ids []any, m *model.Values, to Progress) (affected int, done bool, err error) {
	if len(ids) == 0 || m.Immutable() || !t.plain(m) {
		return 0, false, nil
	}
	p, err := rowWriter(t).prepareUpdate(ctx, ids[0], m)
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
