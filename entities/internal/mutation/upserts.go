package mutation

import (
	"bytes"
	"context"
	"maps"
	"slices"
	"strings"

	"entgo.io/ent"

	"github.com/koan-go/koan/entities/descriptor"
	"github.com/koan-go/koan/entities/internal/account"
	"github.com/koan-go/koan/entities/internal/changes"
	"github.com/koan-go/koan/entities/internal/model"
	"github.com/koan-go/koan/framework/database/sqltext"
	"github.com/koan-go/koan/framework/run/store"
)

// ent's feature sql/upsert turns a creation into a statement that may update another row instead, and no
// mutation says so: only the statement does. So before it is made, the rows are looked up that have
// a unique key of what is being created, and afterwards they are compared with what they were.

// upserts are the upserts of a transaction.
type upserts struct{ *account.Account }

// creationKey is the key of the innermost creation that code runs in, a *changes.Creation.
type creationKey struct{}

// maxUpserted is how many rows one look-up is about.
const maxUpserted = 100

// BeforeUpsert keeps the rows that a statement may update, if it is an upsert of the creation that
// ctx belongs to.
func (t *Mutations) BeforeUpsert(ctx context.Context, query string) error {
	return t.upserts.before(ctx, query)
}

func (t *upserts) before(ctx context.Context, query string) error {
	last, _ := ctx.Value(creationKey{}).(*changes.Creation)
	if last == nil {
		return nil
	}
	head, conflict, is := strings.Cut(query, " ON CONFLICT")
	into, _, _ := strings.Cut(head, " (")
	k := last.Kind
	if !is || !strings.HasPrefix(into, "INSERT INTO ") || strings.Trim(into[strings.LastIndexAny(into, ". ")+1:], "`\"") != k.Entity.Table {
		return nil
	}
	made := last.Together()
	u := &changes.Upsert{Found: map[string]*changes.Found{}, Made: map[*changes.Creation]string{}, Nothing: !strings.Contains(conflict, " DO UPDATE ")}
	generated := false
	for _, c := range made {
		c.Upsert, u.Made[c] = u, ""
		id, chosen := k.ID(c.Made)
		if generated = generated || !chosen; chosen {
			u.Made[c] = k.FormatID(id)
		}
	}
	if generated && k.Entity.Key.IsInteger() {
		b := t.Statement()
		b.Raw("SELECT COALESCE(MAX(").Name(k.Entity.Key.Name).Raw("), 0) FROM ").Name(k.Entity.Table)
		largest, err := t.Integer(ctx, b)
		if err != nil {
			return err
		}
		u.Largest = &largest
	}
	var ids []any
	for some := range slices.Chunk(made, maxUpserted) {
		found, err := t.conflicting(ctx, k, some)
		if err != nil {
			return err
		}
		ids = append(ids, found...)
	}
	for _, id := range ids {
		u.Found[k.FormatID(id)] = &changes.Found{ID: id}
	}
	if u.Nothing {
		return nil
	}
	return t.keepFound(ctx, k, ids, u)
}

// conflicting returns the ids of the rows that have a unique key of what is being created. What has
// no value yet is null, or gets a default of the database.
func (t *upserts) conflicting(ctx context.Context, k *model.Kind, made []*changes.Creation) ([]any, error) {
	b := t.Statement()
	b.Raw("SELECT ").Name(k.Entity.Key.Name).Raw(" FROM ").Name(k.Entity.Table).Raw(" WHERE ")
	or := ""
	for _, c := range made {
		for _, key := range t.Tables[k].Keys {
			var values []any
			for _, column := range key {
				v, ok, err := BoundColumn(k, c.Made, column)
				if err != nil {
					return nil, err
				}
				if ok {
					values = append(values, v)
				}
			}
			if len(values) < len(key) {
				continue
			}
			b.Raw(or)
			or = " OR "
			matchAll(b, key, values)
		}
	}
	if or == "" {
		return nil, nil
	}
	return t.IDs(ctx, k, b)
}

// matchAll appends the condition that all columns have their value.
func matchAll(b *sqltext.Builder, columns []string, values []any) {
	for i, column := range columns {
		if i > 0 {
			b.Raw(" AND ")
		}
		b.Name(column).Raw(" = ").Arg(values[i])
	}
}

// BoundColumn returns what a mutation sets a column to, as it is bound.
func BoundColumn(k *model.Kind, m ent.Mutation, column string) (v any, ok bool, err error) {
	if column == k.Entity.Key.Name {
		id, ok := k.ID(m)
		if !ok {
			return nil, false, nil
		}
		v, err := k.BindID(id)
		return v, true, err
	}
	for i := range k.Edges {
		if e := &k.Edges[i]; e.Column.OwnKey == column {
			if ids := m.AddedIDs(e.Column.Ent); len(ids) == 1 {
				v, err := e.Target.BindID(ids[0])
				return v, true, err
			}
		}
	}
	if v, ok = m.Field(column); !ok {
		return nil, false, nil
	}
	if i := slices.IndexFunc(k.Entity.Columns, func(c descriptor.Column) bool { return c.Name == column }); i >= 0 && k.Entity.Columns[i].Form != nil {
		v, err = k.Entity.Columns[i].Form.Bind(v)
	}
	return v, true, err
}

// keepFound keeps what the rows are that an upsert may update.
func (t *upserts) keepFound(ctx context.Context, k *model.Kind, ids []any, u *changes.Upsert) error {
	if err := t.RecordRows(ctx, k, ids); err != nil {
		return err
	}
	if err := t.Weighing.NoteBurdens(ctx, k, ids); err != nil {
		return err
	}
	if err := t.Past.Keep(ctx, k, ids, true); err != nil {
		return err
	}
	if err := t.RecordLinks(ctx, k, ids, t.ManyToMany(k, account.EveryName), true); err != nil {
		return err
	}
	for _, found := range u.Found {
		image, err := t.Image(ctx, k, found.ID)
		if err == nil {
			err = t.HoldUntilCallEnds(len(image))
		}
		if err == nil {
			found.Image = image
			found.Version, err = t.Version(ctx, k, found.ID)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// record records what an upsert did to the rows that were found before it, once.
func (t *upserts) record(ctx context.Context, k *model.Kind, u *changes.Upsert) error {
	if u.Recorded || u.Nothing {
		return nil
	}
	u.Recorded = true
	links := t.ManyToMany(k, account.EveryName)
	linked := false
	for c := range u.Made {
		linked = linked || account.WritesLinks(k, c.Made)
	}
	for _, name := range slices.Sorted(maps.Keys(u.Found)) {
		found := u.Found[name]
		now, err := t.Image(ctx, k, found.ID)
		if err != nil {
			return err
		}
		action := store.Update
		switch {
		case now == nil:
			action = store.Delete // its id was updated
		case !linked && bytes.Equal(now, found.Image) && !t.Tables[k].Guarded:
			continue
		}
		if err := t.HoldWrites(1); err != nil {
			return err
		}
		t.Log.Begin(changes.Write{Kind: k, ID: found.ID, Action: action, Links: links})
		t.Weighing.WeighLater(k, nil, found.ID)
		if err := t.RecordLinks(ctx, k, []any{found.ID}, links, false); err != nil {
			return err
		}
		if err := t.raiseVersion(ctx, k, found); err != nil {
			return err
		}
	}
	return nil
}

// raiseVersion counts the version of an updated row up, unless the statement did: a version never comes
// again.
func (t *upserts) raiseVersion(ctx context.Context, k *model.Kind, found *changes.Found) error {
	column := k.Entity.VersionColumn
	if column == "" {
		return nil
	}
	b := t.Statement()
	b.Raw("UPDATE ").Name(k.Entity.Table).Raw(" SET ").Name(column).Raw(" = ").Arg(found.Version + 1)
	b.Raw(" WHERE ").Name(k.Entity.Key.Name).Raw(" = ").Arg(k.BoundID(found.ID)).Raw(" AND ").Name(column).Raw(" <= ").Arg(found.Version)
	_, err := t.SQL.ExecContext(ctx, string(b.Text()), b.Args()...)
	return err
}

// upserted is what has become of a creation whose statement was an upsert: a new row, one that was
// found before, or one of which nobody knows what it was.
type upserted int

const (
	inserted upserted = iota
	updated
	unknown
)

// became says what has become of a creation whose row has an id.
func (t *upserts) became(c *changes.Creation, id any) upserted {
	if c.Upsert == nil {
		return inserted
	}
	u, name := c.Upsert, c.Kind.FormatID(id)
	switch chosen := u.Made[c]; {
	case u.Found[name] != nil:
		return updated
	case u.Nothing, chosen == name:
		return inserted
	case u.Largest != nil && chosen == "":
		if v, ok := c.Kind.BoundID(id).(int64); ok && v > *u.Largest {
			return inserted
		}
	}
	return unknown
}

// keepUpdated records a row that an upsert updated. One that was found is recorded already; another one
// stays as it is when the run is undone, and the undo says so.
func (t *upserts) keepUpdated(ctx context.Context, own account.Pending, made *changes.Creation, id any, became upserted) error {
	made.Forget()
	if became == updated {
		t.Void(own)
		return nil
	}
	w := t.Log.Write(own.At)
	w.ID, w.Action = id, store.Update
	t.Past.Unnamed++
	if !t.Attempt.Records() {
		return nil
	}
	return t.RecordBefore(ctx, made.Kind, id, true, nil)
}
