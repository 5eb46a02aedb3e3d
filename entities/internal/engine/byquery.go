package engine

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
	"github.com/koan-go/koan/framework/catalog"
	"github.com/koan-go/koan/framework/fault"
	"github.com/koan-go/koan/framework/run/store"
)

// progressEvery is after how many rows a caller hears how far a call is.
const progressEvery = 500

// obey narrows the query to the rows that its caller may read. Of relationships whose
// other side is hidden a condition may leave nothing.
func obey(t *tx, k *model.Kind, in *model.QueryInput) error {
	if err := in.Guards.Obey(t.caller); err != nil {
		return err
	}
	if in.Unconfirmed() {
		return fault.Invalid(model.MatchesAll(k))
	}
	return nil
}

// each does something with one of the rows that matched, and reports whether it
// counts.
type each func(ctx context.Context, t *tx, k *model.Kind, id any, changes *model.Values) (bool, error)

// byQuery first decides which rows match, then goes through them one by one, so that
// hooks, versions, recorded changes and cascades are those of single writes, and a
// change that makes other rows match does not affect which rows are written.
func (e *Engine) byQuery(ctx context.Context, t *tx, k *model.Kind, call catalog.Call, member string, do each) (json.RawMessage, error) {
	in := call.Decoded().(*model.QueryInput)
	if err := obey(t, k, in); err != nil {
		return nil, err
	}
	ids, err := e.matching(ctx, t, k, in)
	if err != nil {
		return nil, err
	}
	affected, done, err := e.writeTogether(ctx, t, k, ids, in, call)
	if done || err != nil {
		return countAnswer(member, affected), err
	}
	for i, id := range ids {
		yes, err := do(ctx, t, k, id, in.Changes)
		if err != nil {
			return nil, e.nameFailedRow(k, id, err)
		}
		if yes {
			affected++
		}
		if (i+1)%progressEvery == 0 {
			call.Progress(float64(i+1), float64(len(ids)), "")
		}
	}
	return countAnswer(member, affected), nil
}

// writeTogether writes all rows in a few statements, if that is possible.
func (e *Engine) writeTogether(ctx context.Context, t *tx, k *model.Kind, ids []any, in *model.QueryInput, call catalog.Call) (affected int, done bool, err error) {
	if in.Changes != nil {
		return e.changeMany(ctx, t, k, ids, in.Changes, call)
	}
	return e.deleteMany(ctx, t, k, ids, call)
}

// countAnswer returns a number as the answer of an operation.
func countAnswer(member string, n int) json.RawMessage {
	return append(strconv.AppendInt([]byte(`{"`+member+`":`), int64(n), 10), '}')
}

// matching returns the native ids of the rows that match, and refuses more than
// the caller expects.
func (e *Engine) matching(ctx context.Context, t *tx, k *model.Kind, in *model.QueryInput) ([]any, error) {
	ids, err := e.data.Reader.Keys(ctx, t.SQL, k.Entity, in.Filter, in.MaxAffected+1)
	if err != nil {
		return nil, err
	}
	if len(ids) > in.MaxAffected {
		matched, err := e.data.Reader.Matches(ctx, t.SQL, k.Entity, in.Filter)
		if err != nil {
			return nil, err
		}
		return nil, fault.Newf(fault.InvalidPayload, "%d %s entities match, more than maxAffected %d; nothing was done", matched, k.Name(), in.MaxAffected).
			WithPath("/maxAffected").WithDetails(map[string]any{"matched": matched, "maxAffected": in.MaxAffected}).
			WithHint("Narrow the filter, or raise maxAffected (at most %d) if all of them are meant.", model.MostAffected)
	}
	return k.ScanIDs(ids)
}

// updateOne changes a row. It counts if the change took place: a rule of the app
// may do something else instead, or may have removed the row with an earlier one.
func (e *Engine) updateOne(ctx context.Context, t *tx, k *model.Kind, id any, m *model.Values) (bool, error) {
	if t.HasHooks(k) {
		if there, err := t.caller.Visible(ctx, k, id); err != nil || !there {
			return false, err
		}
	}
	mark, own := t.Log.Len(), *m
	if err := e.write(ctx, t, k, id, &own, nil); err != nil {
		return false, err
	}
	shown := k.FormatID(id)
	return slices.ContainsFunc(t.Log.Since(mark), func(w changes.Write) bool {
		return !w.Void && w.Action == store.Update && w.Kind == k && k.FormatID(w.ID) == shown
	}), nil
}

// deleteOne deletes a row. It counts if the row is gone, be it with another one
// that was deleted before.
func (e *Engine) deleteOne(ctx context.Context, t *tx, k *model.Kind, id any, _ *model.Values) (bool, error) {
	return e.remove(ctx, t, k, id)
}

// nameFailedRow adds the row that failed to a fault. What was done before it is undone
// with the call.
func (e *Engine) nameFailedRow(k *model.Kind, id any, err error) error {
	var f *fault.Fault
	if !errors.As(err, &f) {
		return err
	}
	named := *f
	named.Message = fmt.Sprintf("%s %s: %s; nothing was done", k.Name(), filter.Quote(k.FormatID(id)), f.Message)
	return named.Because(err)
}
