package engine

import (
	"context"
	"encoding/json"

	"entgo.io/ent"

	"github.com/koan-go/koan/entities/internal/account"
	"github.com/koan-go/koan/entities/internal/model"
	"github.com/koan-go/koan/entities/internal/mutation"
	"github.com/koan-go/koan/entities/internal/read"
	"github.com/koan-go/koan/entities/internal/statement"
	"github.com/koan-go/koan/entities/shim"
	"github.com/koan-go/koan/framework/fault"
	"github.com/koan-go/koan/framework/run/store"
)

// native reports whether rows of a kind are written by statements of the engine's
// own: nothing of the app stands around ent's statement, and the caller sees whole
// rows. What ent's builders do besides the statement (defaults, validators) still
// runs.
func (t *tx) native(k *model.Kind) bool {
	return k.Plain && !t.HasHooks(k) && !t.caller.MayHide(k)
}

// plain reports whether a model of a native kind is about columns of its own table
// only, and refers to nothing that rules of the app may hide.
func (t *tx) plain(k *model.Kind, m *model.Values) bool {
	if !t.native(k) || k.HasFilledKey() && m.HasUniqueKey(k) {
		return false
	}
	for i := range m.Edges {
		if e, _ := k.EdgeNamed(m.Edges[i].JSON.Name); !e.Keyed || t.caller.Hides(e.Target) {
			return false
		}
	}
	for i := range m.Fields {
		if target := k.Refers[m.Fields[i].Field.Name]; target != nil && t.caller.Hides(target) {
			return false
		}
	}
	return true
}

// prepared is a row that ent's defaults and validators have seen.
type prepared struct {
	model  *model.Values
	fresh  bool // it is a new row
	id     any  // native; nil where the database makes it
	row    statement.Row
	forget func() // takes its place on the tape back
}

// prepare makes the row of a new entity.
func (e *Engine) prepare(ctx context.Context, t *tx, k *model.Kind, m *model.Values) (*prepared, error) {
	w := k.Create(t.Ent)
	if err := m.Apply(k, w, true); err != nil {
		return nil, err
	}
	if m.ID != nil {
		if err := k.SetID(w.Mutation, m.ID); err != nil {
			return nil, err
		}
	}
	if _, err := e.runDefaultsAndHook(ctx, t, k, m, w); err != nil {
		return nil, err
	}
	row, err := rowOf(k, w.Mutation)
	if err == nil {
		err = t.checkWidth(k, m, row)
	}
	if err != nil {
		return nil, err
	}
	p := &prepared{model: m, fresh: true, row: row}
	if id, ok := k.ID(w.Mutation); ok {
		p.id = id
		p.row = append(statement.Row{{Column: k.Entity.Key.Name, V: k.BoundID(id)}}, row...)
	}
	return p, nil
}

// prepareUpdate makes the row of an entity that changes.
func (e *Engine) prepareUpdate(ctx context.Context, t *tx, k *model.Kind, id any, m *model.Values) (*prepared, error) {
	w := k.Update(t.Ent, id)
	if err := m.Apply(k, w, false); err != nil {
		return nil, err
	}
	forget, err := e.runDefaultsAndHook(ctx, t, k, m, w)
	if err != nil {
		return nil, err
	}
	row, err := rowOf(k, w.Mutation)
	if err == nil {
		err = t.checkWidth(k, m, row)
	}
	if err != nil {
		return nil, err
	}
	return &prepared{model: m, id: id, row: row, forget: forget}, nil
}

// runDefaultsAndHook does what ent does between a builder's Save and its statement,
// including the engine's own hook. forget gives the write's place on the tape back, if
// the write did not happen.
func (e *Engine) runDefaultsAndHook(ctx context.Context, t *tx, k *model.Kind, m *model.Values, w shim.Write) (forget func(), err error) {
	t.KeepChosen(k, w.Mutation)
	w.Defaults()
	if k.Bump != nil && !w.Mutation.Op().Is(ent.OpCreate) {
		k.Bump(w.Mutation)
	}
	if err := mutation.NormalizeTimes(k, w.Mutation); err != nil {
		return func() {}, err
	}
	forget, err = t.Replay(ctx, k, w.Mutation)
	if err != nil {
		return forget, err
	}
	if err := w.Check(); err != nil {
		return forget, t.faults().OfWrite(ctx, k, m, err)
	}
	if err := mutation.CheckValues(k, w.Mutation, e.data.Backend.Dialect().Name()); err != nil {
		return forget, t.faults().OfWrite(ctx, k, m, err)
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
func (e *Engine) insert(ctx context.Context, t *tx, k *model.Kind, p *prepared) (out json.RawMessage, err error) {
	if err := t.HoldWrites(1); err != nil {
		return nil, err
	}
	if err := t.Counts.CountPast(ctx, k, p.model.ID); err != nil {
		return nil, err
	}
	var id any
	var held []any
	more := t.Past.HeldAsReturned(k)
	err = t.SQL.Alone(func() (wrote bool, err error) {
		err = e.data.Writer.Insert(t.RowContext(ctx), t.SQL, k.Entity, []statement.Row{p.row}, p.model.ID != nil, more, func(key any, row []byte, values []any) (err error) {
			wrote, out, held = true, read.Own(row), values
			id, err = k.ScanID(key)
			return err
		})
		return wrote, err
	})
	if err != nil {
		return nil, t.faults().OfWrite(ctx, k, p.model, err)
	}
	if out == nil {
		return nil, t.unseenRow(k, p.model)
	}
	t.RecordCreated(k, id)
	if err := t.Past.KnowCreated(k, id, held); err != nil {
		return nil, err
	}
	if err := t.HoldImage(k, id, len(out)); err != nil {
		return nil, err
	}
	return t.Weighing.CheckReturned(t.caller, k, p.model, id, out)
}

// unseenRow is the error for a row that could not be stored although the transaction
// sees no row with its id: either somebody else stored one meanwhile, which the next
// attempt will see, or row-level security hides it from the caller.
func (t *tx) unseenRow(k *model.Kind, m *model.Values) error {
	if t.Attempt.Number() == 1 && t.Attempt.Atomic() {
		return store.ErrStale
	}
	return fault.Newf(fault.Conflict, "another %s already has this id", k.Name()).WithPath(m.At + "/id").
		WithRetry(fault.Fix).WithHint("Use another id, or leave it out.")
}

// update changes an entity in one statement and returns what it became; nil where
// there is none with the id, or none at the version.
func (e *Engine) update(ctx context.Context, t *tx, k *model.Kind, p *prepared, ifVersion *int64) (json.RawMessage, error) {
	if err := t.HoldWrites(1); err != nil {
		return nil, err
	}
	if err := t.RecordRows(ctx, k, []any{p.id}); err != nil {
		return nil, err
	}
	if err := t.Weighing.NoteBurdens(ctx, k, []any{p.id}); err != nil {
		return nil, err
	}
	var out []byte
	err := t.SQL.Alone(func() (wrote bool, err error) {
		out, err = e.data.Writer.Update(t.RowContext(ctx), t.SQL, k.Entity, k.BoundID(p.id), p.row, ifVersion)
		return out != nil, err
	})
	if err != nil {
		return nil, t.faults().OfWrite(ctx, k, p.model, err)
	}
	if out == nil {
		p.forget()
		t.ReleaseWrites(1)
		return nil, nil
	}
	t.RecordUpdated(k, p.id)
	if err := t.HoldImage(k, p.id, len(out)); err != nil {
		return nil, err
	}
	return t.Weighing.CheckReturned(t.caller, k, p.model, p.id, out)
}

// prepareAndUpdate is prepareUpdate followed by update.
func (e *Engine) prepareAndUpdate(ctx context.Context, t *tx, k *model.Kind, id any, m *model.Values, ifVersion *int64) (json.RawMessage, error) {
	p, err := e.prepareUpdate(ctx, t, k, id, m)
	if err != nil {
		return nil, err
	}
	return e.update(ctx, t, k, p, ifVersion)
}

// checkWidth refuses what a model writes to a row where that alone is more than anybody could read.
func (t *tx) checkWidth(k *model.Kind, m *model.Values, row statement.Row) error {
	widest, most := "", 0
	for i := range row {
		if n := row[i : i+1].Size(); n > most {
			widest, most = row[i].Column, n
		}
	}
	field := ""
	for i := range k.Entity.Columns {
		if c := &k.Entity.Columns[i]; c.Name == widest {
			field = t.caller.FieldName(k, c.Field)
		}
	}
	if f := t.Reader.TooWide(k.Entity, row.Size(), field); f != nil {
		return f.WithPath(account.PathOf(m, field))
	}
	return nil
}
