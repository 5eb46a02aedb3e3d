package engine

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"time"

	"entgo.io/ent/dialect"

	"github.com/koan-go/koan/entities/internal/account"
	"github.com/koan-go/koan/entities/internal/filter"
	"github.com/koan-go/koan/entities/internal/model"
	"github.com/koan-go/koan/framework/catalog"
	"github.com/koan-go/koan/framework/database/sqltext"
	"github.com/koan-go/koan/framework/fault"
	"github.com/koan-go/koan/framework/journal"
	"github.com/koan-go/koan/framework/run/follow"
	"github.com/koan-go/koan/framework/run/store"
	"github.com/koan-go/koan/framework/run/tape"
)

// See implements follow.Log. Policies decide about a row as it was and as it became, with
// everything else that they ask the database for as it is now.
func (l *ChangeLog) See(ctx context.Context, r follow.Reader, entry *follow.Entry) ([]follow.Change, error) {
	e := l.engine
	if !r.Principal.MayName(entry.Set) {
		return nil, nil
	}
	t := e.newTx(newReading(), entry.Set)
	d, client, release, err := e.data.Backend.Use(ctx, entry.Set)
	if err == nil {
		err = t.Begin(ctx, d, client, release, false)
	}
	if err != nil {
		return nil, err
	}
	defer func() { _ = t.Rollback(context.WithoutCancel(ctx)) }()
	t.caller = e.rules.OfFollower(ctx, t.Tx, r.View, r.Principal)
	if e.rules.Viewer != nil {
		if ctx, err = t.caller.Context(); err != nil {
			return nil, err
		}
	}
	past := &entryView{t.past()}
	if err := past.checkRowSecurity(ctx, entry); err != nil {
		return nil, t.Verdict(err)
	}
	condition, err := past.conditionOf(r.Condition)
	if err != nil {
		return nil, t.Verdict(err)
	}
	var out []follow.Change
	for i := range entry.Images {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		if r.Condition != nil && entry.Images[i].Entity != r.Condition.Entity {
			continue
		}
		c, err := past.see(ctx, entry, &entry.Images[i], condition)
		if err != nil {
			return nil, t.Verdict(err)
		}
		if c != nil {
			out = append(out, follow.Change{Index: i, Change: *c})
		}
	}
	return out, nil
}

// Check implements follow.Log.
func (l *ChangeLog) Check(r follow.Reader) error {
	if r.Condition == nil {
		return nil
	}
	_, err := parseCondition(l.engine.As(r.View.At(catalog.SurfaceREST)), r.Condition, nil)
	return err
}

// parseCondition reads a condition of the rows that a model has.
func parseCondition(m *model.Model, c *follow.Condition, guards *filter.Guards) (*filter.Tree, error) {
	k := m.ByName[c.Entity]
	if k == nil {
		return nil, fault.Newf(fault.InvalidPayload, "there is no entity %s to follow", catalog.Quote(c.Entity)).WithPath("/entity")
	}
	tree, details := filter.ParseGuarded(json.RawMessage(c.Filter), k.Entity, m.App.Graph, "/filter", guards)
	if len(details) > 0 {
		return nil, fault.Invalid(details...)
	}
	return tree, nil
}

// entryView is what somebody may know of the entries of a change log.
type entryView struct{ account.PastView }

// past returns how the caller of the call that is being served sees rows as they were.
func (t *tx) past() account.PastView {
	return account.PastView{Tx: t.Tx, Tables: t.Tables, By: t.caller}
}

// conditionOf returns a reader's condition, which asks for no more than the reader may read; nil is none.
func (t *entryView) conditionOf(c *follow.Condition) (*filter.Tree, error) {
	if c == nil {
		return nil, nil
	}
	var guards filter.Guards
	tree, err := parseCondition(t.By.Entities(), c, &guards)
	if err != nil {
		return nil, err
	}
	return tree, guards.Obey(t.By)
}

// checkRowSecurity refuses a caller from whom the database itself may hide rows of an entry, or
// any if the entry is empty: its policies are about tables, and say nothing of rows as they were.
func (t *entryView) checkRowSecurity(ctx context.Context, entry *follow.Entry) error {
	if t.Backend.Dialect().Name() == dialect.SQLite {
		return nil
	}
	kinds := map[*model.Kind]bool{}
	for i := range entry.Images {
		if k := t.Model.ByName[entry.Images[i].Entity]; k != nil {
			kinds[k] = true
		}
	}
	for _, k := range t.Model.ByName {
		if t.Tables[k] == nil || len(entry.Images) > 0 && !kinds[k] || !t.By.Shows(k) || !model.LivesIn(&k.Entity.Resource, t.Set) {
			continue
		}
		b := t.Statement()
		b.Raw("SELECT row_security_active(").Arg(string(sqltext.AppendName(nil, k.Entity.Table))).Raw(")")
		rows, err := t.SQL.QueryContext(ctx, string(b.Text()), b.Args()...)
		if err != nil {
			return err
		}
		active := false
		for rows.Next() {
			if err := rows.Scan(&active); err != nil {
				return errors.Join(err, rows.Close())
			}
		}
		if err := errors.Join(rows.Err(), rows.Close()); err != nil {
			return err
		}
		if active {
			return fault.Newf(fault.CapabilityUnsupported, "the database's own row level security decides which %s entities this caller may read, and changes cannot be filtered by it", k.Name()).
				WithHint("Read the entities again from time to time, or keep callers apart by a policy of the schema.")
		}
	}
	return nil
}

// see returns a change as the caller may know of it, nil for one that it may not.
func (t *entryView) see(ctx context.Context, entry *follow.Entry, image *journal.Image, condition *filter.Tree) (*store.Change, error) {
	k := t.Model.ByName[image.Entity]
	if k == nil || t.Tables[k] == nil || !t.By.Shows(k) || t.By.Of(k) == nil {
		return nil, nil
	}
	id, err := k.ParseID(image.ID)
	if err != nil { // ids of the entity had another form then
		return nil, nil
	}
	s, err := account.StateOf(image)
	if err != nil {
		return nil, err
	}
	was, is := image.Action != string(store.Create), image.Action != string(store.Delete)
	var before, after []byte
	if was {
		if before, err = t.Row(ctx, k, id, s.Before, entry.Sealed, condition); err != nil {
			return nil, err
		}
	}
	if is {
		if after, err = t.Row(ctx, k, id, s.After, entry.Sealed, condition); err != nil {
			return nil, err
		}
	}
	if was && before == nil && after == nil && condition.AsksRelated() { // as they are now: it may have matched before
		if before, err = t.Row(ctx, k, id, s.Before, entry.Sealed, nil); err != nil {
			return nil, err
		}
	}
	c := &store.Change{Entity: k.Name(), Set: entry.Set, ID: image.ID, Action: store.Update, Before: before, After: after}
	switch {
	case before == nil && after == nil:
		return nil, nil
	case before == nil:
		c.Action = store.Create
	case after == nil:
		c.Action = store.Delete
	case bytes.Equal(before, after) && !t.ReadsLinks(k, s.Links):
		return nil, nil // what has changed is none of the caller's fields
	}
	return c, nil
}

// reading is the attempt of who reads outside of a run: it writes nothing, and nobody is told
// of it.
type reading struct{ tape *tape.Tape }

var _ store.Attempt = (*reading)(nil)

func newReading() *reading { return &reading{tape.New(time.Now())} }

func (*reading) Number() int         { return 1 }
func (*reading) Atomic() bool        { return true }
func (*reading) CommitsByCall() bool { return false }
func (*reading) WriteFirst() bool    { return false }
func (*reading) Single() bool        { return true }
func (*reading) Records() bool       { return false }
func (*reading) KeepsImages() bool   { return false }
func (*reading) HoldImage(int) bool  { return false }
func (r *reading) Tape() *tape.Tape  { return r.tape }
func (*reading) Fresh() bool         { return true }
func (*reading) Hold(int) error      { return nil }
func (*reading) Release(int)         {}
func (*reading) Observed() bool      { return false }

// Statement implements store.Attempt.
func (*reading) Statement(context.Context, string) func(error) { return func(error) {} }
