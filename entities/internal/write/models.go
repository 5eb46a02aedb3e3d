package write

import (
	"context"
	"encoding/json"
	"reflect"
	"slices"

	"entgo.io/ent"
	"entgo.io/ent/dialect/sql"

	"github.com/koan-go/koan/entities/internal/filter"
	"github.com/koan-go/koan/entities/internal/model"
	"github.com/koan-go/koan/entities/internal/read"
	"github.com/koan-go/koan/framework/catalog"
	"github.com/koan-go/koan/framework/database/sqltext"
	"github.com/koan-go/koan/framework/fault"
)

// models store one model at a time.
type models struct{ Rows }

// upsert stores one model: it creates the entity, or changes the one that has
// the model's id, or else its unique key.
func (t models) upsert(ctx context.Context, m *model.Values, replace bool, ifVersion *int64) (json.RawMessage, error) {
	if err := t.find(ctx, m, replace); err != nil {
		return nil, err
	}
	if err := t.keepStored(ctx, m.ID, m); err != nil {
		return nil, err
	}
	if m.ID == nil && t.k.HasFilledKey() && m.HasUniqueKey(t.k) {
		return t.upsertByFilledKey(ctx, m, replace, ifVersion)
	}
	if m.ID == nil {
		return t.create(ctx, m, ifVersion)
	}
	if !replace && ifVersion == nil && !m.Empty() && !m.Immutable() && t.plain(m) {
		// Most upserts change something, and what is not there costs little to look for.
		if out, err := rowWriter(t).prepareAndUpdate(ctx, m.ID, m, nil); err != nil || out != nil {
			return out, err
		}
		return t.createWithID(ctx, m, nil)
	}
	there, err := t.by.Visible(ctx, t.k, m.ID)
	if err != nil && fault.CodeOf(err) != fault.Forbidden {
		return nil, err
	}
	if there {
		return t.change(ctx, m.ID, m, replace, ifVersion)
	}
	return t.createWithID(ctx, m, ifVersion)
}

// createOnly stores a model as a new entity. Where its id or a unique key is taken, that is a conflict.
func (t models) createOnly(ctx context.Context, m *model.Values) (json.RawMessage, error) {
	if m.ID == nil {
		return t.create(ctx, m, nil)
	}
	if !t.k.SettableID {
		return nil, fault.Newf(fault.InvalidPayload, "the database generates the ids of %s", t.k.Name()).
			WithPath(m.At + "/" + filter.Escape(t.k.KeyField().Name)).WithHint("Leave the id out.")
	}
	there, err := t.by.Visible(ctx, t.k, m.ID)
	if err != nil && fault.CodeOf(err) != fault.Forbidden {
		return nil, err
	}
	if there {
		return nil, fault.Newf(fault.Conflict, "another %s already has this id", t.k.Name()).WithPath(m.At + "/" + filter.Escape(t.k.KeyField().Name)).
			WithRetry(fault.Fix).WithHint("Change that one with patch or upsert, or use another id.")
	}
	return t.create(ctx, m, nil)
}

// find sets the id of a model without one to that of the entity with its unique key, if the
// caller may read one. The id of a model becomes that of the row which the database finds by it.
func (t models) find(ctx context.Context, m *model.Values, replace bool) error {
	if m.ID != nil {
		return t.nameAsKept(ctx, m)
	}
	if !m.HasUniqueKey(t.k) || t.k.HasFilledKey() {
		return nil
	}
	var guards filter.Guards
	tree, details := filter.Check(keyFilter(t.k.Entity, m.Key), t.k.Entity, t.Model.App.Graph, m.At, &guards)
	if len(details) > 0 {
		return fault.Invalid(details...)
	}
	if err := guards.Obey(t.by); err != nil {
		if fault.CodeOf(err) == fault.Forbidden { // then the caller finds nothing
			return nil
		}
		return err
	}
	keys, err := t.Reader.Keys(ctx, t.SQL, t.k.Entity, tree, 1)
	if err != nil || len(keys) == 0 {
		return err
	}
	if m.ID, err = t.k.ScanID(keys[0]); err != nil {
		return err
	}
	m.Shown = t.k.FormatID(m.ID)
	if !replace { // the key is the same, or the entity would not have been found by it
		m.Fields = slices.DeleteFunc(m.Fields, func(f model.FieldValue) bool { return m.Key[f.Field.Name] != nil })
		m.Edges = slices.DeleteFunc(m.Edges, func(ed model.EdgeValue) bool { return m.Key[ed.JSON.Reference] != nil })
	}
	return nil
}

// keepStored drops the values of a model that its fields do not take, where they are what the
// entity has: whoever reads an entity may send it back. id is nil for none.
func (t models) keepStored(ctx context.Context, id any, m *model.Values) error {
	if id != nil && m.HasJSON() {
		m.RefuseUnsettable(t.k, t.k.Create(t.Ent))
	}
	if len(m.Refused) == 0 && !m.MayShowOthers() {
		return nil
	}
	var row map[string]any
	if id != nil {
		there, err := t.by.Visible(ctx, t.k, id)
		if err != nil && fault.CodeOf(err) != fault.Forbidden {
			return err
		}
		if err == nil && there {
			raw, err := t.stored(ctx, id)
			if err != nil {
				return err
			}
			if row, err = model.ShownRow(raw); err != nil {
				return err
			}
		}
	}
	return m.KeepStored(t.k, row)
}

// createWithID creates an entity whose id the caller has chosen.
func (t models) createWithID(ctx context.Context, m *model.Values, ifVersion *int64) (json.RawMessage, error) {
	if !t.k.SettableID {
		return nil, fault.Newf(fault.NotFound, "there is no %s with id %s, and the database generates the ids of new ones", t.k.Name(), filter.Quote(m.Shown)).
			WithPath(m.At + "/id").WithHint("Leave the id out to create one.")
	}
	return t.create(ctx, m, ifVersion)
}

func (t models) create(ctx context.Context, m *model.Values, ifVersion *int64) (json.RawMessage, error) {
	if ifVersion != nil {
		return nil, neverStored(t.k, *ifVersion)
	}
	if missing := m.Missing(t.by.Of(t.k)); len(missing) > 0 {
		return nil, fault.Invalid(missing...)
	}
	if err := t.by.CheckReferences(ctx, t.k, nil, m); err != nil {
		return nil, err
	}
	if !t.plain(m) {
		out, _, err := t.createByEnt(ctx, m)
		return out, err
	}
	p, err := rowWriter(t).prepare(ctx, m)
	if err != nil {
		return nil, err
	}
	out, err := rowWriter(t).insert(ctx, p)
	if err != nil {
		return nil, err
	}
	return out, refuseFixed(t.k, m, out)
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
func (t models) createByEnt(ctx context.Context, m *model.Values) (json.RawMessage, ent.Mutation, error) {
	w := t.k.Create(t.Ent)
	if err := m.Apply(t.k, w, true); err != nil {
		return nil, nil, err
	}
	if m.ID != nil {
		if err := t.setID(w, m); err != nil {
			return nil, nil, err
		}
	}
	t.KeepChosen(t.k, w.Mutation)
	id, err := w.Save(ctx)
	if err != nil {
		return nil, w.Mutation, t.faults().OfWrite(ctx, t.k, m, err)
	}
	out, err := t.answer(ctx, id, m)
	if err != nil {
		return nil, w.Mutation, err
	}
	return out, w.Mutation, refuseFixed(t.k, m, out)
}

// neverStored is the fault of a write for a version of what does not exist.
func neverStored(k *model.Kind, version int64) *fault.Fault {
	return staleVersion("there is no %s at version %d: it was deleted or never stored", k.Name(), version)
}

// change writes to an entity that exists, and returns what it became.
func (t models) change(ctx context.Context, id any, m *model.Values, replace bool, ifVersion *int64) (json.RawMessage, error) {
	if replace {
		if missing := m.Missing(t.by.Of(t.k)); len(missing) > 0 {
			return nil, fault.Invalid(missing...)
		}
		m.Reset(t.k, t.by.Of(t.k))
	}
	if t.plain(m) {
		return t.changeNatively(ctx, id, m, ifVersion)
	}
	if err := t.write(ctx, id, m, ifVersion); err != nil {
		return nil, err
	}
	return t.answer(ctx, id, m)
}

// changeNatively is change in one statement, for a model that is plain.
func (t models) changeNatively(ctx context.Context, id any, m *model.Values, ifVersion *int64) (json.RawMessage, error) {
	if m.Immutable() {
		if err := t.immutable(ctx, id, m); err != nil {
			return nil, err
		}
	}
	if !m.Empty() {
		out, err := rowWriter(t).prepareAndUpdate(ctx, id, m, ifVersion)
		if err != nil || out != nil {
			return out, err
		}
	}
	if err := t.atVersion(ctx, id, ifVersion); err != nil {
		return nil, err
	}
	return t.answer(ctx, id, m)
}

// write stores a model in an entity that exists. It removes from the model what would
// change nothing.
func (t models) write(ctx context.Context, id any, m *model.Values, ifVersion *int64) error {
	if err := t.immutable(ctx, id, m); err != nil {
		return err
	}
	if err := t.atVersion(ctx, id, ifVersion); err != nil {
		return err
	}
	if err := edges(t).reduce(ctx, id, m); err != nil || m.Empty() {
		return err
	}
	if err := t.by.CheckReferences(ctx, t.k, id, m); err != nil {
		return err
	}
	var where []func(*sql.Selector)
	if ifVersion != nil {
		where = append(where, func(s *sql.Selector) { // the column by its quoted name, which ent's builders would take for something else
			s.Where(sql.P(func(b *sql.Builder) {
				b.WriteString(string(sqltext.AppendName(nil, t.k.Entity.VersionColumn))).WriteOp(sql.OpEQ).Arg(*ifVersion)
			}))
		})
	}
	w := t.k.Update(t.Ent, id, where...)
	if err := m.Apply(t.k, w, false); err != nil {
		return err
	}
	t.KeepChosen(t.k, w.Mutation)
	if _, err := w.Save(ctx); err != nil {
		return t.faults().OfWrite(ctx, t.k, m, err)
	}
	return nil
}

// immutable drops immutable fields and edges that are unchanged from a model, and
// refuses those that would change; so it does with fields that callers do not write.
func (t models) immutable(ctx context.Context, id any, m *model.Values) error {
	var details []fault.Detail
	var stored map[string]any
	changed := func(f model.FieldValue) (bool, error) {
		if stored == nil {
			raw, err := t.stored(ctx, id)
			if err != nil {
				return false, err
			}
			v, err := filter.Decode(raw)
			if err != nil {
				return false, err
			}
			stored, _ = v.(map[string]any)
		}
		return differs(t.k, f, stored), nil
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
	guarded, err := edges(t).dropUnchangedGuarded(ctx, id, m)
	if err != nil {
		return err
	}
	if details = append(details, guarded...); len(details) > 0 {
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

// staleVersion is the fault of a write for another version than the stored one: the same call fails
// again.
func staleVersion(format string, args ...any) *fault.Fault {
	return fault.Newf(fault.Conflict, format, args...).WithPath("/ifVersion").WithRetry(fault.Fix).
		WithHint("Read the entity again, and repeat the change with the version that it has now.")
}

// patch changes an entity that must exist.
func (t models) patch(ctx context.Context, in *model.PatchInput) (json.RawMessage, error) {
	kept, err := t.asKept(ctx, []any{in.ID})
	if err != nil {
		return nil, err
	}
	in.ID = kept[0]
	if err := t.keepStored(ctx, in.ID, in.Changes); err != nil {
		return nil, err
	}
	if m := in.Changes; t.plain(m) && !m.Immutable() && !m.Empty() {
		if out, err := rowWriter(t).prepareAndUpdate(ctx, in.ID, m, in.IfVersion); err != nil || out != nil {
			return out, err
		}
		if in.IfVersion == nil {
			return nil, read.NotFound(t.k.Entity, in.Shown, t.Set)
		}
	}
	there, err := t.by.Visible(ctx, t.k, in.ID)
	if err != nil {
		return nil, err
	}
	if !there {
		return nil, read.NotFound(t.k.Entity, in.Shown, t.Set)
	}
	return t.change(ctx, in.ID, in.Changes, false, in.IfVersion)
}
