package account

import (
	"context"
	"crypto/sha256"
	"slices"

	"github.com/koan-go/koan/entities/internal/changes"
	"github.com/koan-go/koan/entities/internal/model"
	"github.com/koan-go/koan/entities/internal/read"
	"github.com/koan-go/koan/entities/internal/rules"
	"github.com/koan-go/koan/framework/run/store"
)

// Pending is a row that a mutation is about to write.
type Pending struct {
	Kind   *model.Kind
	ID     any
	At     int               // of the write among the transaction's
	Before [sha256.Size]byte // a digest of the row, where a hook of the app may do something else instead
}

// Expect records writes to rows and, if the run records, what the rows are before them.
func (t *Account) Expect(ctx context.Context, k *model.Kind, ids []any, action store.Action, links ...*model.Edge) ([]Pending, error) {
	if err := t.HoldWrites(len(ids)); err != nil {
		return nil, err
	}
	out := make([]Pending, len(ids))
	for i, id := range ids {
		out[i] = Pending{Kind: k, ID: id, At: t.Log.Begin(changes.Write{Kind: k, ID: id, Action: action, Links: links})}
	}
	if err := t.RecordRows(ctx, k, ids); err != nil {
		return nil, err
	}
	if action == store.Update {
		if err := t.Weighing.NoteBurdens(ctx, k, ids); err != nil {
			return nil, err
		}
	}
	if action == store.Delete {
		if err := t.Past.Keep(ctx, k, ids, true); err != nil {
			return nil, err
		}
	}
	if err := t.RecordLinks(ctx, k, ids, links, true); err != nil {
		return nil, err
	}
	if action == store.Delete {
		t.Log.MarkListed(k, ids, links)
	}
	return out, nil
}

// Void takes back writes that did not happen. What hooks wrote in
// between stays, because it did.
func (t *Account) Void(rows ...Pending) {
	for _, p := range rows {
		t.Log.Void(p.At)
	}
}

// RecordRows keeps rows as they are before they are written for the first time: for an undo,
// and if the run records.
func (t *Account) RecordRows(ctx context.Context, k *model.Kind, ids []any) error {
	if err := t.Past.Keep(ctx, k, ids, false); err != nil {
		return err
	}
	if !t.Attempt.Records() {
		return nil
	}
	var unknown []any
	for _, id := range ids {
		if _, known := t.Log.Before(changes.RowOf(k, id)); !known {
			unknown = append(unknown, id)
		}
	}
	unknown = slices.DeleteFunc(unknown, func(id any) bool { return t.Log.CreatedHere(k, id) })
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
		if err := t.RecordBefore(ctx, k, id, there, image); err != nil {
			return err
		}
	}
	return nil
}

// RecordBefore keeps what the transaction found of a row, unless that is already known.
func (t *Account) RecordBefore(ctx context.Context, k *model.Kind, id any, there bool, image []byte) (err error) {
	at := changes.RowOf(k, id)
	if _, known := t.Log.Before(at); known {
		return nil
	}
	b := changes.Before{There: there}
	if b.Seen, err = t.ReportedTo.Reported(ctx, k, id, image); err != nil {
		return err
	}
	t.Log.SetBefore(at, b)
	return nil
}

// images reads rows as they are now, by their id as callers see it. Each is counted
// before it is kept.
func (t *Account) images(ctx context.Context, k *model.Kind, ids []any) (map[string][]byte, error) {
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
func (t *Account) Changes(ctx context.Context) ([]store.Change, error) {
	if err := t.Weighing.Weigh(ctx, t.ReportedTo); err != nil { // what hooks wrote to another set than their call's
		return nil, err
	}
	if !t.Attempt.Records() {
		return t.Log.Count(reportedSet(t.ReportedTo, t.Set), func(k *model.Kind) bool { return !t.ReportedTo.Knows(k) }), nil
	}
	rows := t.Log.Net()
	if err := t.completeChanges(ctx, rows); err != nil {
		return nil, t.Verdict(err)
	}
	out := make([]store.Change, 0, len(rows))
	for _, r := range rows {
		if !r.Was && !r.Is {
			continue
		}
		c := store.Change{Entity: r.Kind.Name(), Set: reportedSet(t.ReportedTo, t.Set), ID: r.ID, Action: r.Action(), Before: r.From, After: r.To, Hidden: !t.ReportedTo.Knows(r.Kind)}
		if r.Forbidden {
			c.ID = ""
		}
		out = append(out, c)
	}
	return out, nil
}

// reportedSet is the name of the set in what the run reports, "" where who gets that may not
// name it.
func reportedSet(to *rules.View, set string) string {
	if to.IsOutside() {
		return ""
	}
	return set
}

// completeChanges adds to net changes what the rows were and what they are.
func (t *Account) completeChanges(ctx context.Context, rows []*changes.Net) error {
	if len(rows) == 0 {
		return nil
	}
	if t.ReportedTo != nil { // the call that it was made for may be over
		t.ReportedTo = t.ReportedTo.ForLater()
		if t.ReportedTo.HasViewer() {
			var err error
			if ctx, err = t.ReportedTo.Context(); err != nil {
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
		b, _ := t.Log.Before(r.Row)
		r.Was, r.From = b.There, b.Seen
		image, there := now[r.Kind][r.ID]
		r.Is = there || t.ReportedTo.IsSecured() && r.Is // the reader may not see what an action has left
		var err error
		if r.To, err = t.ReportedTo.Reported(ctx, r.Kind, r.Native, image); err != nil {
			return err
		}
		r.Forbidden = r.From == nil && r.To == nil
		if err := t.joined(ctx, r); err != nil {
			return err
		}
	}
	return nil
}
