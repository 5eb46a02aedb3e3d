package engine

import (
	"context"
	"crypto/sha256"
	"slices"

	"github.com/koan-go/koan/entities/internal/changes"
	"github.com/koan-go/koan/entities/internal/model"
	"github.com/koan-go/koan/entities/internal/read"
	"github.com/koan-go/koan/framework/run/store"
)

// pending is a row that a mutation is about to write.
type pending struct {
	kind   *model.Kind
	id     any
	at     int               // of the write among the transaction's
	before [sha256.Size]byte // a digest of the row, where a hook of the app may do something else instead
}

// expect records writes to rows and, if the run records, what the rows are before them.
func (t *account) expect(ctx context.Context, k *model.Kind, ids []any, action store.Action, links ...*model.Edge) ([]pending, error) {
	if err := t.holdWrites(len(ids)); err != nil {
		return nil, err
	}
	out := make([]pending, len(ids))
	for i, id := range ids {
		out[i] = pending{kind: k, id: id, at: t.log.Begin(changes.Write{Kind: k, ID: id, Action: action, Links: links})}
	}
	if err := t.recordRows(ctx, k, ids); err != nil {
		return nil, err
	}
	if action == store.Update {
		if err := t.weighing.noteBurdens(ctx, k, ids); err != nil {
			return nil, err
		}
	}
	if action == store.Delete {
		if err := t.past.keepPast(ctx, k, ids, true); err != nil {
			return nil, err
		}
	}
	if err := t.recordLinks(ctx, k, ids, links, true); err != nil {
		return nil, err
	}
	if action == store.Delete {
		t.log.MarkListed(k, ids, links)
	}
	return out, nil
}

// voidWrites takes back writes that did not happen. What hooks wrote in
// between stays, because it did.
func (t *account) voidWrites(rows ...pending) {
	for _, p := range rows {
		t.log.Void(p.at)
	}
}

// recordRows keeps rows as they are before they are written for the first time: for an undo,
// and if the run records.
func (t *account) recordRows(ctx context.Context, k *model.Kind, ids []any) error {
	if err := t.past.keepPast(ctx, k, ids, false); err != nil {
		return err
	}
	if !t.Attempt.Records() {
		return nil
	}
	var unknown []any
	for _, id := range ids {
		if _, known := t.log.Before(changes.RowOf(k, id)); !known {
			unknown = append(unknown, id)
		}
	}
	unknown = slices.DeleteFunc(unknown, func(id any) bool { return t.log.CreatedHere(k, id) })
	if len(unknown) == 0 {
		return nil
	}
	now, err := t.images(ctx, k, unknown)
	if err != nil {
		return err
	}
	for _, id := range unknown {
		if err := ctx.Err(); err != nil {
			return err
		}
		image, there := now[k.FormatID(id)]
		if err := t.recordBefore(ctx, k, id, there, image); err != nil {
			return err
		}
	}
	return nil
}

// recordBefore keeps what the transaction found of a row, unless that is already known.
func (t *account) recordBefore(ctx context.Context, k *model.Kind, id any, there bool, image []byte) (err error) {
	at := changes.RowOf(k, id)
	if _, known := t.log.Before(at); known {
		return nil
	}
	b := changes.Before{There: there}
	if b.Seen, err = t.reader.Reported(ctx, k, id, image); err != nil {
		return err
	}
	t.log.SetBefore(at, b)
	return nil
}

// images reads rows as they are now, by their id as callers see it. Each is counted
// before it is kept.
func (t *account) images(ctx context.Context, k *model.Kind, ids []any) (map[string][]byte, error) {
	if len(ids) == 1 {
		ctx = t.RowContext(ctx)
	}
	out := make(map[string][]byte, len(ids))
	err := t.Reader.Images(ctx, t.SQL, k.Entity, k.BoundIDs(ids), func(key any, image []byte) error {
		if err := ctx.Err(); err != nil {
			return err
		}
		id, err := k.ScanID(key)
		if err == nil {
			err = t.Attempt.Hold(len(image))
		}
		if err == nil {
			out[k.FormatID(id)] = read.Own(image)
		}
		return err
	})
	return out, err
}

// Changes implements store.Tx: one change for each row, from what the transaction
// found to what it is now. A change to a row that the caller might see neither
// before nor after stands there without its id: that something happened is said,
// and nothing more.
func (t *account) Changes(ctx context.Context) ([]store.Change, error) {
	if err := t.weighing.weigh(ctx, t.reader); err != nil { // what hooks wrote to another set than their call's
		return nil, err
	}
	if !t.Attempt.Records() {
		return t.log.Count(t.reportedSet(), func(k *model.Kind) bool { return !t.reader.Knows(k) }), nil
	}
	rows := t.log.Net()
	if err := t.completeChanges(ctx, rows); err != nil {
		return nil, t.Verdict(err)
	}
	out := make([]store.Change, 0, len(rows))
	for _, r := range rows {
		if !r.Was && !r.Is {
			continue
		}
		c := store.Change{Entity: r.Kind.Name(), Set: t.reportedSet(), ID: r.ID, Action: r.Action(), Before: r.From, After: r.To, Hidden: !t.reader.Knows(r.Kind)}
		if r.Forbidden {
			c.ID = ""
		}
		out = append(out, c)
	}
	return out, nil
}

// reportedSet is the name of the set in what the run reports, "" where who gets that may not
// name it.
func (t *account) reportedSet() string {
	if t.reader.IsOutside() {
		return ""
	}
	return t.Set
}

// completeChanges adds to net changes what the rows were and what they are.
func (t *account) completeChanges(ctx context.Context, rows []*changes.Net) error {
	if len(rows) == 0 {
		return nil
	}
	if t.reader != nil { // the call that it was made for may be over
		t.reader = t.reader.ForLater()
		if t.reader.HasViewer() {
			var err error
			if ctx, err = t.reader.Context(); err != nil {
				return err
			}
		}
	}
	t.Attempt.Release(t.ahead) // what the rows are now is counted as it is read
	t.ahead = 0
	ids := map[*model.Kind][]any{}
	for _, r := range rows {
		ids[r.Kind] = append(ids[r.Kind], r.Native)
	}
	now := make(map[*model.Kind]map[string][]byte, len(ids))
	for k, some := range ids {
		var err error
		if now[k], err = t.images(ctx, k, some); err != nil {
			return err
		}
	}
	for _, r := range rows {
		if err := ctx.Err(); err != nil {
			return err
		}
		b, _ := t.log.Before(r.Row)
		r.Was, r.From = b.There, b.Seen
		image, there := now[r.Kind][r.ID]
		r.Is = there || t.reader.IsSecured() && r.Is // the reader may not see what an action has left
		var err error
		if r.To, err = t.reader.Reported(ctx, r.Kind, r.Native, image); err != nil {
			return err
		}
		r.Forbidden = r.From == nil && r.To == nil
		if err := t.joined(ctx, r); err != nil {
			return err
		}
	}
	return nil
}
