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
	"github.com/koan-go/koan/entities/internal/read"
	"github.com/koan-go/koan/entities/internal/rules"
	"github.com/koan-go/koan/entities/internal/transaction"
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
	past := t.past()
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

// pastView is what somebody may know of rows as they were.
type pastView struct {
	*transaction.Tx
	tables account.Tables
	by     *rules.View
}

// past returns how the caller of the call that is being served sees rows as they were.
func (t *tx) past() *pastView { return &pastView{t.Tx, t.Tables, t.caller} }

// conditionOf returns a reader's condition, which asks for no more than the reader may read; nil is none.
func (t *pastView) conditionOf(c *follow.Condition) (*filter.Tree, error) {
	if c == nil {
		return nil, nil
	}
	var guards filter.Guards
	tree, err := parseCondition(t.by.Entities(), c, &guards)
	if err != nil {
		return nil, err
	}
	return tree, guards.Obey(t.by)
}

// checkRowSecurity refuses a caller from whom the database itself may hide rows of an entry, or
// any if the entry is empty: its policies are about tables, and say nothing of rows as they were.
func (t *pastView) checkRowSecurity(ctx context.Context, entry *follow.Entry) error {
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
		if t.tables[k] == nil || len(entry.Images) > 0 && !kinds[k] || !t.by.Shows(k) || !model.LivesIn(&k.Entity.Resource, t.Set) {
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
func (t *pastView) see(ctx context.Context, entry *follow.Entry, image *journal.Image, condition *filter.Tree) (*store.Change, error) {
	k := t.Model.ByName[image.Entity]
	if k == nil || t.tables[k] == nil || !t.by.Shows(k) || t.by.Of(k) == nil {
		return nil, nil
	}
	id, err := k.ParseID(image.ID)
	if err != nil { // ids of the entity had another form then
		return nil, nil
	}
	s, err := stateOf(image)
	if err != nil {
		return nil, err
	}
	before, err := t.seePast(ctx, entry, k, id, s.Before, image.Action != string(store.Create), condition)
	if err != nil {
		return nil, err
	}
	after, err := t.seePast(ctx, entry, k, id, s.After, image.Action != string(store.Delete), condition)
	if err != nil {
		return nil, err
	}
	if before == nil && after == nil && condition.AsksRelated() { // as they are now: it may have matched before
		if before, err = t.seePast(ctx, entry, k, id, s.Before, image.Action != string(store.Create), nil); err != nil {
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
	case bytes.Equal(before, after) && !t.seesLinks(k, s.Links):
		return nil, nil // what has changed is none of the caller's fields
	}
	return c, nil
}

// stateOf returns the whole row before and after a change.
func stateOf(image *journal.Image) (s account.RowState, err error) {
	for _, part := range []json.RawMessage{image.State, image.Secret} {
		var one account.RowState
		if part == nil {
			continue
		}
		if err := json.Unmarshal(part, &one); err != nil {
			return s, fault.New(fault.ServiceUnavailable, "the change log has a commit in a form that cannot be read").Because(err)
		}
		s.Before, s.After = merged(s.Before, one.Before), merged(s.After, one.After)
		s.Links = append(s.Links, one.Links...)
	}
	if image.Action == string(store.Update) { // what is the same stands after it alone
		s.Before = merged(merged(nil, s.After), s.Before)
	}
	return s, nil
}

// seesLinks reports whether the caller may read one of the relationships that have changed.
func (t *pastView) seesLinks(k *model.Kind, links []account.LinkState) bool {
	for _, l := range links {
		for _, j := range t.tables[k].Joins {
			if j.Table == l.Table && j.Own == l.Own && j.Edge != nil && t.by.ReadsEdge(k, j.Edge) && t.by.Shows(j.Edge.Target) {
				return true
			}
		}
	}
	return false
}

// seePast returns a row as it was, nil where there was none that the caller may read and that a
// condition is about.
func (t *pastView) seePast(ctx context.Context, entry *follow.Entry, k *model.Kind, id any, row map[string]account.Held, there bool, condition *filter.Tree) ([]byte, error) {
	if !there {
		return nil, nil
	}
	rule, err := t.by.RowsOrNone(k)
	if err != nil {
		return nil, err
	}
	info := t.tables[k]
	past := read.Past{Columns: info.Columns, Values: make([]any, len(info.Columns))}
	for i, column := range info.Columns {
		v, known := row[column]
		if !known && rule != nil && entry.Sealed != "" && info.Secret[i] {
			return nil, fault.Newf(fault.CapabilityUnsupported, "a policy has to decide about a change of %s, and %s", k.Name(), entry.Sealed).
				WithHint("Servers of one database need the same server.secret.")
		}
		if past.Values[i], err = account.Bound(v); err != nil {
			return nil, err
		}
	}
	return t.Reader.PastImage(ctx, t.SQL, t.by.Of(k).Entity, k.BoundID(id), past, rule, condition)
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
