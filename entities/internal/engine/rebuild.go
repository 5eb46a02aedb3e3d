package engine

import (
	"context"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/koan-go/koan/entities/descriptor"
	"github.com/koan-go/koan/entities/internal/account"
	"github.com/koan-go/koan/entities/internal/changes"
	"github.com/koan-go/koan/entities/internal/model"
	"github.com/koan-go/koan/entities/shim"
	"github.com/koan-go/koan/framework/database/sqltext"
	"github.com/koan-go/koan/framework/run/store"
)

// build writes the row through ent's builder, so that the app's hooks and policies see what is
// going to be there. What a builder cannot express is left to settle.
func (x *restoration) build(ctx context.Context, now, wanted account.HeldRow) error {
	found := x.t.Past.Rows[changes.RowOf(x.k, x.id)]
	creating := x.row.Action() == string(store.Delete)
	var w shim.Write
	if creating {
		w = x.k.Create(x.t.Ent)
		if x.k.SettableID {
			if err := x.k.SetID(w.Mutation, x.id); err != nil {
				return err
			}
		}
	} else {
		w = x.k.Update(x.t.Ent, x.id)
	}
	says := false
	for i, column := range x.info.Columns {
		switch {
		case column == x.k.Entity.Key.Name, creating && wanted[i] == nil:
			continue
		case creating && !x.k.SettableID && x.refersToItself(column, wanted[i]):
			continue // its id is another one until the end; settle sets the column then
		case !creating && (x.isVersion(column) || account.SameHeld(wanted[i], found.Row[i])):
			continue
		case now != nil && account.SameHeld(wanted[i], now[i]): // another row's restoration has brought it along
			continue
		}
		if err := x.set(w, column, wanted[i]); err == nil {
			says = true
		}
	}
	linked, err := x.buildLinks(ctx, w, creating)
	if err != nil {
		return err
	}
	if !says && !linked && !creating && !x.row.Unread { // columns that no builder knows
		_, err := x.t.Expect(ctx, x.k, []any{x.id}, store.Update)
		return err
	}
	x.t.chosen = choicesOf(x.k, w.Mutation)
	mark := x.t.Log.Len()
	id, err := w.Save(ctx)
	if err != nil {
		return x.writeFault(ctx, x.t, x.k, x.values(), err)
	}
	if !creating || id == x.id {
		return nil
	}
	return x.renumber(ctx, id, mark)
}

// refersToItself reports whether a column has the row's own id, as a reference.
func (x *restoration) refersToItself(column string, v account.Held) bool {
	if v == nil || account.Referred(x.Model, x.k, column) != x.k {
		return false
	}
	id, err := x.k.ParseID((*v)[1:])
	return err == nil && id == x.id
}

// renumber sets the id of a row, for which the database has made another one, to what it was.
func (x *restoration) renumber(ctx context.Context, made any, mark int) error {
	b := x.t.Statement()
	b.Raw("UPDATE ").Name(x.k.Entity.Table).Raw(" SET ").Name(x.k.Entity.Key.Name).Raw(" = ").Arg(x.k.BoundID(x.id))
	b.Raw(" WHERE ").Name(x.k.Entity.Key.Name).Raw(" = ").Arg(x.k.BoundID(made))
	if _, err := x.t.SQL.ExecContext(ctx, string(b.Text()), b.Args()...); err != nil {
		return x.writeFault(ctx, x.t, x.k, x.values(), err)
	}
	writes := x.t.Log.Since(mark)
	for i := range writes {
		if writes[i].Kind == x.k && writes[i].ID == made {
			writes[i].ID = x.id
		}
	}
	if x.t.Attempt.Records() {
		return x.t.RecordBefore(ctx, x.k, x.id, false, nil)
	}
	return nil
}

// set sets a column in a builder, by its field or by the edge whose key it is.
func (x *restoration) set(w shim.Write, column string, v account.Held) error {
	for i := range x.k.Edges {
		e := &x.k.Edges[i]
		if e.Column.OwnKey != column || e.JSON.Reference != "" {
			continue
		}
		if v == nil {
			return x.k.Edge(w.Mutation, e.Column.Ent, shim.Clear, nil)
		}
		id, err := e.Target.ParseID((*v)[1:])
		if err != nil {
			return err
		}
		return x.k.Edge(w.Mutation, e.Column.Ent, shim.Link, []any{id})
	}
	i := slices.IndexFunc(x.k.Entity.Columns, func(c descriptor.Column) bool { return c.Name == column })
	if i < 0 {
		return fmt.Errorf("entities: no field has the column %s", column)
	}
	if v == nil {
		return w.Mutation.ClearField(column)
	}
	seen, err := seenOf(&x.k.Entity.Columns[i], v)
	if err != nil {
		return err
	}
	return x.k.Set(w.Mutation, column, seen)
}

// seenOf returns a held value as builders take it.
func seenOf(c *descriptor.Column, h account.Held) (any, error) {
	v, err := account.Bound(h)
	if err == nil {
		v, err = typed(c.Storage, v)
	}
	if err != nil {
		return nil, err
	}
	if c.Form != nil {
		return c.Form.Show(v)
	}
	if raw, ok := v.(json.RawMessage); ok {
		return shim.StoredJSON(raw), nil
	}
	return v, nil
}

// typed returns a value of a storage as drivers read it, from what SQLite holds, or from a text
// of PostgreSQL's.
func typed(s descriptor.Storage, v any) (any, error) {
	text := fmt.Sprint(v)
	if b, ok := v.([]byte); ok {
		text = string(b)
	}
	switch s {
	case descriptor.Int:
		return strconv.ParseInt(text, 10, 64)
	case descriptor.Float:
		return strconv.ParseFloat(text, 64)
	case descriptor.Bool:
		return strconv.ParseBool(text)
	case descriptor.Time, descriptor.Day:
		return parseMoment(text)
	case descriptor.JSON:
		return json.RawMessage(text), nil
	case descriptor.Bytes:
		if digits, ok := strings.CutPrefix(text, `\x`); ok {
			if b, err := hex.DecodeString(digits); err == nil {
				return b, nil
			}
		}
		return []byte(text), nil
	case descriptor.Text, descriptor.UUID, descriptor.Decimal, descriptor.Held:
	}
	return text, nil
}

// moments are how databases write times.
var moments = []string{
	sqltext.SQLiteTime, "2006-01-02 15:04:05.999999999Z07:00", "2006-01-02 15:04:05.999999999-07", "2006-01-02 15:04:05.999999999-07:00:00",
	time.RFC3339Nano, "2006-01-02 15:04:05.999999999", "2006-01-02T15:04:05.999999999", time.DateOnly,
}

func parseMoment(text string) (time.Time, error) {
	for _, layout := range moments {
		if t, err := time.Parse(layout, text); err == nil {
			return t, nil
		}
	}
	n, err := strconv.ParseInt(text, 10, 64)
	return time.Unix(n, 0).UTC(), err
}

// targetOf returns the kind of the rows at the other side of a join table, nil where it is not
// exposed.
func (x *restoration) targetOf(j *account.Join) *model.Kind {
	for _, k := range x.ByName {
		if k.Entity.Table == j.Target {
			return k
		}
	}
	return nil
}
