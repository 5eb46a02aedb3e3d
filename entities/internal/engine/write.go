package engine

import (
	"context"
	"encoding/json"
	"errors"
	"reflect"
	"slices"

	"entgo.io/ent"
	"entgo.io/ent/dialect/sql"

	"github.com/koan-go/koan/entities/internal/account"
	"github.com/koan-go/koan/entities/internal/filter"
	"github.com/koan-go/koan/entities/internal/model"
	"github.com/koan-go/koan/entities/internal/read"
	"github.com/koan-go/koan/entities/internal/refusal"
	"github.com/koan-go/koan/framework/catalog"
	"github.com/koan-go/koan/framework/fault"
)

// upsert stores one model: it creates the entity, or changes the one that has
// the model's id, or else its unique key.
func (e *Engine) upsert(ctx context.Context, t *tx, k *model.Kind, m *model.Values, replace bool, ifVersion *int64) (json.RawMessage, error) {
	if err := e.find(ctx, t, k, m, replace); err != nil {
		return nil, err
	}
	if err := e.keepStored(ctx, t, k, m.ID, m); err != nil {
		return nil, err
	}
	if m.ID == nil && k.HasFilledKey() && m.HasUniqueKey(k) {
		return e.upsertByFilledKey(ctx, t, k, m, replace, ifVersion)
	}
	if m.ID == nil {
		return e.create(ctx, t, k, m, ifVersion)
	}
	if !replace && ifVersion == nil && !m.Empty() && !m.Immutable() && t.plain(k, m) {
		// Most upserts change something, and what is not there costs little to look for.
		if out, err := e.prepareAndUpdate(ctx, t, k, m.ID, m, nil); err != nil || out != nil {
			return out, err
		}
		return e.createWithID(ctx, t, k, m, nil)
	}
	there, err := t.caller.Visible(ctx, k, m.ID)
	if err != nil && fault.CodeOf(err) != fault.Forbidden {
		return nil, err
	}
	if there {
		return e.change(ctx, t, k, m.ID, m, replace, ifVersion)
	}
	return e.createWithID(ctx, t, k, m, ifVersion)
}

// createOnly stores a model as a new entity. Where its id or a unique key is taken, that is a conflict.
func (e *Engine) createOnly(ctx context.Context, t *tx, k *model.Kind, m *model.Values) (json.RawMessage, error) {
	if m.ID == nil {
		return e.create(ctx, t, k, m, nil)
	}
	if !k.SettableID {
		return nil, fault.Newf(fault.InvalidPayload, "the database generates the ids of %s", k.Name()).
			WithPath(m.At + "/" + filter.Escape(k.KeyField().Name)).WithHint("Leave the id out.")
	}
	there, err := t.caller.Visible(ctx, k, m.ID)
	if err != nil && fault.CodeOf(err) != fault.Forbidden {
		return nil, err
	}
	if there {
		return nil, fault.Newf(fault.Conflict, "another %s already has this id", k.Name()).WithPath(m.At + "/" + filter.Escape(k.KeyField().Name)).
			WithRetry(fault.Fix).WithHint("Change that one with patch or upsert, or use another id.")
	}
	return e.create(ctx, t, k, m, nil)
}

// find sets the id of a model without one to that of the entity with its unique key, if the
// caller may read one.
func (e *Engine) find(ctx context.Context, t *tx, k *model.Kind, m *model.Values, replace bool) error {
	if !m.HasUniqueKey(k) || k.HasFilledKey() {
		return nil
	}
	var guards filter.Guards
	tree, details := filter.Check(m.Key, k.Entity, e.App.Graph, m.At, &guards)
	if len(details) > 0 {
		return fault.Invalid(details...)
	}
	if err := guards.Obey(t.caller); err != nil {
		if fault.CodeOf(err) == fault.Forbidden { // then the caller finds nothing
			return nil
		}
		return err
	}
	keys, err := e.data.Reader.Keys(ctx, t.SQL, k.Entity, tree, 1)
	if err != nil || len(keys) == 0 {
		return err
	}
	if m.ID, err = k.ScanID(keys[0]); err != nil {
		return err
	}
	m.Shown = k.FormatID(m.ID)
	if !replace { // the key is the same, or the entity would not have been found by it
		m.Fields = slices.DeleteFunc(m.Fields, func(f model.FieldValue) bool { return m.Key[f.Field.Name] != nil })
		m.Edges = slices.DeleteFunc(m.Edges, func(ed model.EdgeValue) bool { return m.Key[ed.JSON.Reference] != nil })
	}
	return nil
}

// keepStored drops the values of a model that its fields do not take, where they are what the
// entity has: whoever reads an entity may send it back. id is nil for none.
func (e *Engine) keepStored(ctx context.Context, t *tx, k *model.Kind, id any, m *model.Values) error {
	if id != nil && m.HasJSON() {
		m.RefuseUnsettable(k, k.Create(t.Ent))
	}
	if len(m.Refused) == 0 && !m.MayShowOthers() {
		return nil
	}
	var row map[string]any
	if id != nil {
		there, err := t.caller.Visible(ctx, k, id)
		if err != nil && fault.CodeOf(err) != fault.Forbidden {
			return err
		}
		if err == nil && there {
			raw, err := e.stored(ctx, t, k, id)
			if err != nil {
				return err
			}
			v, err := filter.Decode(raw)
			if err != nil {
				return err
			}
			row, _ = v.(map[string]any)
		}
	}
	return m.KeepStored(row)
}

// createWithID creates an entity whose id the caller has chosen.
func (e *Engine) createWithID(ctx context.Context, t *tx, k *model.Kind, m *model.Values, ifVersion *int64) (json.RawMessage, error) {
	if !k.SettableID {
		return nil, fault.Newf(fault.NotFound, "there is no %s with id %s, and the database generates the ids of new ones", k.Name(), filter.Quote(m.Shown)).
			WithPath(m.At + "/id").WithHint("Leave the id out to create one.")
	}
	return e.create(ctx, t, k, m, ifVersion)
}

func (e *Engine) create(ctx context.Context, t *tx, k *model.Kind, m *model.Values, ifVersion *int64) (json.RawMessage, error) {
	if ifVersion != nil {
		return nil, neverStored(k, *ifVersion)
	}
	if missing := m.Missing(t.caller.Of(k)); len(missing) > 0 {
		return nil, fault.Invalid(missing...)
	}
	if err := t.caller.CheckReferences(ctx, k, nil, m); err != nil {
		return nil, err
	}
	if !t.plain(k, m) {
		out, _, err := e.createByEnt(ctx, t, k, m)
		return out, err
	}
	p, err := e.prepare(ctx, t, k, m)
	if err != nil {
		return nil, err
	}
	out, err := e.insert(ctx, t, k, p)
	if err != nil {
		return nil, err
	}
	return out, refuseFixed(k, m, out)
}

// refuseFixed refuses a model with a value of a field that callers do not write, unless the new entity
// has it anyway, or a value that is generated for each: rows are copied as they were read.
func refuseFixed(k *model.Kind, m *model.Values, created json.RawMessage) error {
	if len(m.Fixed) == 0 {
		return nil
	}
	v, err := filter.Decode(created)
	if err != nil {
		return err
	}
	stored, _ := v.(map[string]any)
	var details []fault.Detail
	for _, f := range m.Fixed {
		if !f.Field.Generated && differs(k, f, stored) {
			details = append(details, fault.Detail{Path: m.At + "/" + filter.Escape(f.Field.Name), Message: f.Field.Name + " is read-only, and a new " + k.Name() + " has another value: leave it out"})
		}
	}
	if len(details) > 0 {
		return fault.Invalid(details...)
	}
	return nil
}

// differs reports whether a field has another value in an entity as its caller sees it.
func differs(k *model.Kind, f model.FieldValue, stored map[string]any) bool {
	seen, shown := stored[f.Field.Name]
	was, ok := k.FieldValue(f.Column, f.Field, seen)
	return !shown || !ok || !reflect.DeepEqual(was, f.Value)
}

// createByEnt creates an entity through ent's builder. The mutation has what hooks made of the model,
// also where they, or what comes after them, refuse it; it is nil where the model itself is wrong.
func (e *Engine) createByEnt(ctx context.Context, t *tx, k *model.Kind, m *model.Values) (json.RawMessage, ent.Mutation, error) {
	w := k.Create(t.Ent)
	if err := m.Apply(k, w, true); err != nil {
		return nil, nil, err
	}
	if m.ID != nil {
		if err := k.SetID(w.Mutation, m.ID); err != nil {
			return nil, nil, err
		}
	}
	t.KeepChosen(k, w.Mutation)
	id, err := w.Save(ctx)
	if err != nil {
		return nil, w.Mutation, t.faults().OfWrite(ctx, k, m, err)
	}
	out, err := e.answer(ctx, t, k, id, m)
	if err != nil {
		return nil, w.Mutation, err
	}
	return out, w.Mutation, refuseFixed(k, m, out)
}

// neverStored is the fault of a write for a version of what does not exist.
func neverStored(k *model.Kind, version int64) *fault.Fault {
	return staleVersion("there is no %s at version %d: it was deleted or never stored", k.Name(), version)
}

// answer reads the result of a write: only the id, if the caller may not read the row, or nobody could.
func (e *Engine) answer(ctx context.Context, t *tx, k *model.Kind, id any, m *model.Values) (json.RawMessage, error) {
	out, err := e.stored(ctx, t, k, id)
	if err != nil {
		return nil, err
	}
	return t.Weighing.CheckReturned(t.caller, k, m, id, out)
}

// stored reads a row that was written: only the id, if the caller may not read it.
func (e *Engine) stored(ctx context.Context, t *tx, k *model.Kind, id any) (json.RawMessage, error) {
	out, err := t.caller.Image(ctx, k, id)
	if err == nil && out != nil {
		err = t.HoldImage(k, id, len(out))
	}
	if err != nil || out != nil {
		return out, err
	}
	there, err := t.Exists(ctx, k, id)
	if err == nil && !there {
		err = fault.Newf(fault.Conflict, "a rule of the app removed the %s while it was being stored", k.Name())
	}
	if err != nil {
		return nil, err
	}
	return account.OnlyID(k, id), nil
}

// change writes to an entity that exists, and returns what it became.
func (e *Engine) change(ctx context.Context, t *tx, k *model.Kind, id any, m *model.Values, replace bool, ifVersion *int64) (json.RawMessage, error) {
	if replace {
		if missing := m.Missing(t.caller.Of(k)); len(missing) > 0 {
			return nil, fault.Invalid(missing...)
		}
		m.Reset(k, t.caller.Of(k))
	}
	if t.plain(k, m) {
		return e.changeNatively(ctx, t, k, id, m, ifVersion)
	}
	if err := e.write(ctx, t, k, id, m, ifVersion); err != nil {
		return nil, err
	}
	return e.answer(ctx, t, k, id, m)
}

// changeNatively is change in one statement, for a model that is plain.
func (e *Engine) changeNatively(ctx context.Context, t *tx, k *model.Kind, id any, m *model.Values, ifVersion *int64) (json.RawMessage, error) {
	if m.Immutable() {
		if err := e.immutable(ctx, t, k, id, m); err != nil {
			return nil, err
		}
	}
	if !m.Empty() {
		out, err := e.prepareAndUpdate(ctx, t, k, id, m, ifVersion)
		if err != nil || out != nil {
			return out, err
		}
	}
	if err := e.atVersion(ctx, t, k, id, ifVersion); err != nil {
		return nil, err
	}
	return e.answer(ctx, t, k, id, m)
}

// write stores a model in an entity that exists. It removes from the model what would
// change nothing.
func (e *Engine) write(ctx context.Context, t *tx, k *model.Kind, id any, m *model.Values, ifVersion *int64) error {
	if err := e.immutable(ctx, t, k, id, m); err != nil {
		return err
	}
	if err := e.atVersion(ctx, t, k, id, ifVersion); err != nil {
		return err
	}
	if err := e.reduce(ctx, t, k, id, m); err != nil || m.Empty() {
		return err
	}
	if err := t.caller.CheckReferences(ctx, k, id, m); err != nil {
		return err
	}
	var where []func(*sql.Selector)
	if ifVersion != nil {
		where = append(where, sql.FieldEQ(k.Entity.VersionColumn, *ifVersion))
	}
	w := k.Update(t.Ent, id, where...)
	if err := m.Apply(k, w, false); err != nil {
		return err
	}
	t.KeepChosen(k, w.Mutation)
	if _, err := w.Save(ctx); err != nil {
		return t.faults().OfWrite(ctx, k, m, err)
	}
	return nil
}

// immutable drops immutable fields and edges that are unchanged from a model, and
// refuses those that would change; so it does with fields that callers do not write.
func (e *Engine) immutable(ctx context.Context, t *tx, k *model.Kind, id any, m *model.Values) error {
	var details []fault.Detail
	var stored map[string]any
	changed := func(f model.FieldValue) (bool, error) {
		if stored == nil {
			raw, err := e.stored(ctx, t, k, id)
			if err != nil {
				return false, err
			}
			v, err := filter.Decode(raw)
			if err != nil {
				return false, err
			}
			stored, _ = v.(map[string]any)
		}
		return differs(k, f, stored), nil
	}
	fields := m.Fields[:0:0]
	for _, f := range slices.Concat(m.Fields, m.Fixed) {
		if !f.Field.Immutable && !f.Field.ReadOnly {
			fields = append(fields, f)
			continue
		}
		differs, err := changed(f)
		if err != nil {
			return err
		}
		if differs {
			details = append(details, fault.Detail{Path: m.At + "/" + filter.Escape(f.Field.Name), Message: f.Field.Name + whyKept(f.Field)})
		}
	}
	m.Fields = fields
	edges, err := t.dropUnchangedGuarded(ctx, k, id, m)
	if err != nil {
		return err
	}
	if details = append(details, edges...); len(details) > 0 {
		return fault.Invalid(details...)
	}
	return nil
}

// whyKept says why a change may not set a field to another value.
func whyKept(f *catalog.Field) string {
	if f.ReadOnly {
		return " is read-only: leave it out, or send what was read"
	}
	return " cannot be changed after creation"
}

// atVersion refuses to continue from another version than the caller has seen.
func (e *Engine) atVersion(ctx context.Context, t *tx, k *model.Kind, id any, want *int64) error {
	if want == nil {
		return nil
	}
	b := t.Statement()
	b.Raw("SELECT ").Name(k.Entity.VersionColumn).Raw(" FROM ").Name(k.Entity.Table).Raw(" WHERE ").Name(k.Entity.Key.Name).Raw(" = ").Arg(k.BoundID(id))
	rows, err := t.SQL.QueryContext(ctx, string(b.Text()), b.Args()...)
	if err != nil {
		return err
	}
	defer rows.Close()
	var now int64
	for rows.Next() {
		if err := rows.Scan(&now); err != nil {
			return err
		}
	}
	if err := rows.Err(); err != nil || now == *want {
		return err
	}
	return staleVersion("the %s is at version %d, not %d: somebody changed it", k.Name(), now, *want).
		WithDetails(map[string]any{"version": now, "ifVersion": *want})
}

// staleVersion is the fault of a write for another version than the stored one: the same call fails
// again.
func staleVersion(format string, args ...any) *fault.Fault {
	return fault.Newf(fault.Conflict, format, args...).WithPath("/ifVersion").WithRetry(fault.Fix).
		WithHint("Read the entity again, and repeat the change with the version that it has now.")
}

// patch changes an entity that must exist.
func (e *Engine) patch(ctx context.Context, t *tx, k *model.Kind, in *model.PatchInput) (json.RawMessage, error) {
	if err := e.keepStored(ctx, t, k, in.ID, in.Changes); err != nil {
		return nil, err
	}
	if m := in.Changes; t.plain(k, m) && !m.Immutable() && !m.Empty() {
		if out, err := e.prepareAndUpdate(ctx, t, k, in.ID, m, in.IfVersion); err != nil || out != nil {
			return out, err
		}
		if in.IfVersion == nil {
			return nil, read.NotFound(k.Entity, in.Shown, t.Set)
		}
	}
	there, err := t.caller.Visible(ctx, k, in.ID)
	if err != nil {
		return nil, err
	}
	if !there {
		return nil, read.NotFound(k.Entity, in.Shown, t.Set)
	}
	return e.change(ctx, t, k, in.ID, in.Changes, false, in.IfVersion)
}

// deleteAll deletes entities and counts those that existed. If several cannot be
// deleted, all of them are named.
func (e *Engine) deleteAll(ctx context.Context, t *tx, k *model.Kind, in *model.DeleteInput, call catalog.Call) (json.RawMessage, error) {
	if in.IfVersion == nil {
		if deleted, done, err := e.deleteMany(ctx, t, k, in.IDs, call); done || err != nil {
			return countAnswer("deleted", deleted), err
		}
	}
	there := make([]bool, len(in.IDs)) // at the start: one may go together with another
	for i, id := range in.IDs {
		var err error
		if there[i], err = t.caller.Visible(ctx, k, id); err != nil {
			return nil, err
		}
	}
	deleted, problems := 0, []*fault.Fault(nil)
	for i, id := range in.IDs {
		if !there[i] {
			continue
		}
		gone, err := e.deleteOneOf(ctx, t, k, id, in)
		if err != nil {
			f := refusal.OfItem(err)
			if f == nil || len(in.IDs) == 1 {
				return nil, err
			}
			named := *f
			problems = append(problems, named.WithPath(in.Places[i]).Because(err))
		}
		if gone {
			deleted++
		}
		if (i+1)%progressEvery == 0 {
			call.Progress(float64(i+1), float64(len(in.IDs)), "")
		}
	}
	if len(problems) > 0 {
		return nil, refusal.Join(problems)
	}
	return countAnswer("deleted", deleted), nil
}

// deleteOneOf deletes one row, or leaves no trace of having tried.
func (e *Engine) deleteOneOf(ctx context.Context, t *tx, k *model.Kind, id any, in *model.DeleteInput) (gone bool, err error) {
	if err := e.atVersion(ctx, t, k, id, in.IfVersion); err != nil {
		return false, err
	}
	if len(in.IDs) == 1 {
		return e.remove(ctx, t, k, id)
	}
	end, err := t.Savepoint(ctx, false)
	if err != nil {
		return false, err
	}
	gone, err = e.remove(ctx, t, k, id)
	return gone, errors.Join(err, end(err == nil))
}
