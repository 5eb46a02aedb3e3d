package write

import (
	"context"
	"encoding/json"

	"entgo.io/ent"

	"github.com/koan-go/koan/entities/internal/account"
	"github.com/koan-go/koan/entities/internal/filter"
	"github.com/koan-go/koan/entities/internal/model"
	"github.com/koan-go/koan/entities/internal/mutation"
	"github.com/koan-go/koan/entities/internal/read"
	"github.com/koan-go/koan/entities/internal/statement"
	"github.com/koan-go/koan/entities/shim"
)

// rowWriter writes rows by statements of our own.
type rowWriter struct{ Rows }

// prepared is a row that ent's defaults and validators have seen.
type prepared struct {
	model  *model.Values
	fresh  bool // it is a new row
	id     any  // native; nil where the database makes it
	row    statement.Row
	forget func() // takes its place on the tape back
}

// prepare makes the row of a new entity.
func (t rowWriter) prepare(ctx context.Context, m *model.Values) (*prepared, error) {
	w := t.k.Create(t.Ent)
	if err := m.Apply(t.k, w, true); err != nil {
		return nil, err
	}
	if m.ID != nil {
		if err := t.setID(w, m); err != nil {
			return nil, err
		}
	}
	if _, err := t.runDefaultsAndHook(ctx, m, w); err != nil {
		return nil, err
	}
	row, err := rowOf(t.k, w.Mutation)
	if err == nil {
		err = t.checkWidth(m, row)
	}
	if err != nil {
		return nil, err
	}
	p := &prepared{model: m, fresh: true, row: row}
	if id, ok := t.k.ID(w.Mutation); ok {
		p.id = id
		switch key := &t.k.Entity.Key; len(key.Parts) {
		case 0:
			p.row = append(statement.Row{{Column: key.Name, V: t.k.BoundID(id)}}, row...)
		case 1:
			p.row = append(statement.Row{{Column: key.Parts[0].Name, V: filter.PartValue(key, t.k.BoundID(id))}}, row...)
		default: // they are parts of the row
		}
	}
	return p, nil
}

// prepareUpdate makes the row of an entity that changes.
func (t rowWriter) prepareUpdate(ctx context.Context, id any, m *model.Values) (*prepared, error) {
	w := t.k.Update(t.Ent, id)
	if err := m.Apply(t.k, w, false); err != nil {
		return nil, err
	}
	forget, err := t.runDefaultsAndHook(ctx, m, w)
	if err != nil {
		return nil, err
	}
	row, err := rowOf(t.k, w.Mutation)
	if err == nil {
		err = t.checkWidth(m, row)
	}
	if err != nil {
		return nil, err
	}
	return &prepared{model: m, id: id, row: row, forget: forget}, nil
}

// runDefaultsAndHook does what ent does between a builder's Save and its statement,
// including the engine's own hook. forget gives the write's place on the tape back, if
// the write did not happen.
func (t rowWriter) runDefaultsAndHook(ctx context.Context, m *model.Values, w shim.Write) (forget func(), err error) {
	t.KeepChosen(t.k, w.Mutation)
	w.Defaults()
	if t.k.Bump != nil && !w.Mutation.Op().Is(ent.OpCreate) {
		t.k.Bump(w.Mutation)
	}
	if err := mutation.NormalizeTimes(t.k, w.Mutation); err != nil {
		return func() {}, err
	}
	forget, err = t.Replay(ctx, t.k, w.Mutation)
	if err != nil {
		return forget, err
	}
	if err := w.Check(); err != nil {
		return forget, t.faults().OfWrite(ctx, t.k, m, err)
	}
	if err := mutation.CheckValues(t.k, w.Mutation, t.Backend.Dialect().Name()); err != nil {
		return forget, t.faults().OfWrite(ctx, t.k, m, err)
	}
	return forget, nil
}

// row returns what a mutation writes to its own table, in the order of columns.
func rowOf(k *model.Kind, m ent.Mutation) (statement.Row, error) {
	out := make(statement.Row, 0, len(k.Entity.Columns)+1)
	for i := range k.Entity.Columns {
		c := &k.Entity.Columns[i]
		if v, ok := m.Field(c.Name); ok {
			arg, err := model.DriverValue(c, v)
			if err != nil {
				return nil, err
			}
			out = append(out, statement.Value{Column: c.Name, V: arg})
			continue
		}
		if m.FieldCleared(c.Name) {
			out = append(out, statement.Value{Column: c.Name})
			continue
		}
		if v, ok := m.AddedField(c.Name); ok {
			out = append(out, statement.Value{Column: c.Name, V: v, Add: true})
		}
	}
	for i := range k.Edges {
		if e := &k.Edges[i]; e.Keyed && e.JSON.Reference == "" {
			if ids := m.AddedIDs(e.Column.Ent); len(ids) > 0 {
				out = append(out, statement.Value{Column: e.Column.OwnKey, V: e.Target.BoundID(ids[0])})
			} else if m.EdgeCleared(e.Column.Ent) {
				out = append(out, statement.Value{Column: e.Column.OwnKey})
			}
		}
	}
	return out, nil
}

// insert stores one new entity in one statement, and returns its JSON.
func (t rowWriter) insert(ctx context.Context, p *prepared) (out json.RawMessage, err error) {
	if err := t.HoldWrites(1); err != nil {
		return nil, err
	}
	if err := t.Counts.CountPast(ctx, t.k, p.model.ID); err != nil {
		return nil, err
	}
	var id any
	var held []any
	more := t.Past.HeldAsReturned(t.k)
	err = t.SQL.Alone(func() (wrote bool, err error) {
		err = t.Writer.Insert(t.RowContext(ctx), t.SQL, t.k.Entity, []statement.Row{p.row}, p.model.ID != nil, more, func(key any, row []byte, values []any) (err error) {
			wrote, out, held = true, read.Own(row), values
			id, err = t.k.ScanID(key)
			return err
		})
		return wrote, err
	})
	if err != nil {
		return nil, t.faults().OfWrite(ctx, t.k, p.model, err)
	}
	if out == nil {
		return nil, t.unseenRow(p.model)
	}
	if err := t.checkKept(ctx, p, id); err != nil {
		return nil, err
	}
	t.RecordCreated(t.k, id)
	if err := t.Past.KnowReturned(t.k, id, held); err != nil {
		return nil, err
	}
	if err := t.HoldImage(t.k, id, len(out)); err != nil {
		return nil, err
	}
	return t.Weighing.CheckReturned(t.by, t.k, p.model, id, out)
}

// update changes an entity in one statement and returns what it became; nil where
// there is none with the id, or none at the version.
func (t rowWriter) update(ctx context.Context, p *prepared, ifVersion *int64) (json.RawMessage, error) {
	if err := t.HoldWrites(1); err != nil {
		return nil, err
	}
	at := statement.Target{Key: t.k.BoundID(p.id), Version: ifVersion}
	var err error
	if at.Place, err = t.Place(ctx, t.k, p.id); err != nil {
		return nil, err
	}
	changed, err := t.updateAt(ctx, p, at)
	if err == nil && changed.JSON == nil && at.Place != "" { // it has been written meanwhile
		at.Place = ""
		changed, err = t.updateAt(ctx, p, at)
	}
	if err != nil {
		return nil, t.faults().OfWrite(ctx, t.k, p.model, err)
	}
	out := changed.JSON
	if out == nil {
		p.forget()
		t.ReleaseWrites(1)
		return nil, nil
	}
	if err := t.keepReturned(p.id, changed); err != nil {
		return nil, err
	}
	t.RecordUpdated(t.k, p.id)
	if err := t.HoldImage(t.k, p.id, len(out)); err != nil {
		return nil, err
	}
	return t.Weighing.CheckReturned(t.by, t.k, p.model, p.id, out)
}

// updateAt makes the statement of update. What the row was before, which an undo needs, comes back with it
// where it can, else it is read first.
func (t rowWriter) updateAt(ctx context.Context, p *prepared, at statement.Target) (changed statement.Changed, err error) {
	var found, held []string
	if !p.row.IsWide() {
		found, held = t.Past.FoundAsReturned(t.k, p.id), t.Past.HeldAsReturned(t.k)
	}
	if found == nil {
		held = nil
		if err := t.RecordRows(ctx, t.k, []any{p.id}); err != nil {
			return changed, err
		}
	}
	if err := t.Weighing.NoteBurdens(ctx, t.k, []any{p.id}); err != nil {
		return changed, err
	}
	err = t.SQL.Alone(func() (wrote bool, err error) {
		changed, err = t.Writer.Update(t.RowContext(ctx), t.SQL, t.k.Entity, at, p.row, found, held)
		return changed.JSON != nil, err
	})
	return changed, err
}

// keepReturned keeps what the statement of an update gave back of the row for an undo.
func (t rowWriter) keepReturned(id any, changed statement.Changed) error {
	if changed.Found == nil {
		return nil
	}
	if err := t.Past.KnowFound(t.k, id, changed.Found); err != nil {
		return err
	}
	return t.Past.KnowReturned(t.k, id, changed.Held)
}

// prepareAndUpdate is prepareUpdate followed by update.
func (t rowWriter) prepareAndUpdate(ctx context.Context, id any, m *model.Values, ifVersion *int64) (json.RawMessage, error) {
	p, err := t.prepareUpdate(ctx, id, m)
	if err != nil {
		return nil, err
	}
	return t.update(ctx, p, ifVersion)
}

// checkWidth refuses what a model writes to a row where that alone is more than anybody could read.
func (t rowWriter) checkWidth(m *model.Values, row statement.Row) error {
	widest, most := "", 0
	for i := range row {
		if n := row[i : i+1].Size(); n > most {
			widest, most = row[i].Column, n
		}
	}
	field := ""
	for i := range t.k.Entity.Columns {
		if c := &t.k.Entity.Columns[i]; c.Name == widest {
			field = t.by.FieldName(t.k, c.Field)
		}
	}
	if f := t.Reader.TooWide(t.k.Entity, row.Size(), field); f != nil {
		return f.WithPath(account.PathOf(m, field))
	}
	return nil
}
