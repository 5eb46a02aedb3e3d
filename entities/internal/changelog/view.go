package changelog

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"

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
)

// See implements follow.Log. Policies decide about a row as it was and as it became, with
// everything else that they ask the database for as it is now.
func (l *Log) See(ctx context.Context, r follow.Reader, entry *follow.Entry) (out []follow.Change, err error) {
	if !r.Principal.MayName(entry.Set) {
		return nil, nil
	}
	err = l.data.ReadPast(ctx, entry.Set, r, func(ctx context.Context, past account.PastView) error {
		out, err = (&entryView{past, entry}).changes(ctx, r.Condition)
		return err
	})
	if err != nil {
		return nil, err
	}
	return out, nil
}

// Check implements follow.Log.
func (l *Log) Check(r follow.Reader) error {
	if r.Condition == nil {
		return nil
	}
	_, err := parseCondition(l.data.Seen(r.View), r.Condition, nil)
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

// entryView is what somebody may know of an entry.
type entryView struct {
	account.PastView
	entry *follow.Entry
}

// changes returns the changes of the entry as the viewer may know of them, those that a condition is
// about; nil is none.
func (t *entryView) changes(ctx context.Context, c *follow.Condition) (out []follow.Change, err error) {
	if err := t.checkRowSecurity(ctx); err != nil {
		return nil, err
	}
	condition, err := t.conditionOf(c)
	if err != nil {
		return nil, err
	}
	for i := range t.entry.Images {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		image := &t.entry.Images[i]
		if c != nil && image.Entity != c.Entity {
			continue
		}
		change, err := t.change(ctx, image, condition)
		if err != nil {
			return nil, err
		}
		if change != nil {
			out = append(out, follow.Change{Index: i, Change: *change})
		}
	}
	return out, nil
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

// checkRowSecurity refuses a caller from whom the database itself may hide rows of the entry, or
// any if it is empty: its policies are about tables, and say nothing of rows as they were.
func (t *entryView) checkRowSecurity(ctx context.Context) error {
	if t.Backend.Dialect().Name() == dialect.SQLite {
		return nil
	}
	kinds := map[*model.Kind]bool{}
	for i := range t.entry.Images {
		if k := t.Model.ByName[t.entry.Images[i].Entity]; k != nil {
			kinds[k] = true
		}
	}
	for _, k := range t.Model.ByName {
		if t.Tables[k] == nil || len(t.entry.Images) > 0 && !kinds[k] || !t.By.Shows(k) || !model.LivesIn(&k.Entity.Resource, t.Set) {
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

// change returns a change as the caller may know of it, nil for one that it may not.
func (t *entryView) change(ctx context.Context, image *journal.Image, condition *filter.Tree) (*store.Change, error) {
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
		if before, err = t.Row(ctx, k, id, s.Before, t.entry.Sealed, condition); err != nil {
			return nil, err
		}
	}
	if is {
		if after, err = t.Row(ctx, k, id, s.After, t.entry.Sealed, condition); err != nil {
			return nil, err
		}
	}
	if was && before == nil && after == nil && condition.AsksRelated() { // as they are now: it may have matched before
		if before, err = t.Row(ctx, k, id, s.Before, t.entry.Sealed, nil); err != nil {
			return nil, err
		}
	}
	c := &store.Change{Entity: k.Name(), Set: t.entry.Set, ID: image.ID, Action: store.Update, Before: before, After: after}
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
