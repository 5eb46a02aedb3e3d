package engine

import (
	"context"
	"encoding/json"
	"errors"
	"reflect"
	"slices"

	"entgo.io/ent/dialect/sql"

	"github.com/koan-go/koan/entities/internal/filter"
	"github.com/koan-go/koan/entities/internal/read"
	"github.com/koan-go/koan/framework/catalog"
	"github.com/koan-go/koan/framework/fault"
)

// upsert stores one model: it creates the entity, or changes the one that has
// the model's id, or else its unique key.
func (e *engine) upsert(ctx context.Context, t *tx, k *kind, m *model, replace bool, ifVersion *int64) (json.RawMessage, error) {
	if err := e.find(ctx, t, k, m, replace); err != nil {
		return nil, err
	}
	if m.id == nil {
		return e.create(ctx, t, k, m, ifVersion)
	}
	if !replace && ifVersion == nil && !m.empty() && !m.immutable() && t.plain(k, m) {
		// Most upserts change something, and what is not there costs little to look for.
		if out, err := e.prepareAndUpdate(ctx, t, k, m.id, m, nil); err != nil || out != nil {
			return out, err
		}
		return e.createWithID(ctx, t, k, m, nil)
	}
	there, err := t.visible(ctx, k, m.id)
	if err != nil && fault.CodeOf(err) != fault.Forbidden {
		return nil, err
	}
	if there {
		return e.change(ctx, t, k, m.id, m, replace, ifVersion)
	}
	return e.createWithID(ctx, t, k, m, ifVersion)
}

// find sets the id of a model without one to that of the entity with its unique key, if the
// caller may read one.
func (e *engine) find(ctx context.Context, t *tx, k *kind, m *model, replace bool) error {
	if !m.hasUniqueKey(k) {
		return nil
	}
	var guards filter.Guards
	tree, details := filter.Check(m.key, k.Entity, e.app.Graph, m.at, &guards)
	if len(details) > 0 {
		return fault.Invalid(details...)
	}
	if err := guards.Obey(t.caller); err != nil {
		if fault.CodeOf(err) == fault.Forbidden { // then the caller finds nothing
			return nil
		}
		return err
	}
	keys, err := e.reader.Keys(ctx, t.sql, k.Entity, tree, 1)
	if err != nil || len(keys) == 0 {
		return err
	}
	if m.id, err = k.ScanID(keys[0]); err != nil {
		return err
	}
	m.shown = k.FormatID(m.id)
	if !replace { // the key is the same, or the entity would not have been found by it
		m.fields = slices.DeleteFunc(m.fields, func(f fieldValue) bool { return m.key[f.field.Name] != nil })
	}
	return nil
}

// hasUniqueKey reports whether a model has no id, but all of its kind's unique key.
func (m *model) hasUniqueKey(k *kind) bool {
	return m.id == nil && len(m.key) > 0 && len(m.key) == len(k.Entity.UpsertBy)
}

// createWithID creates an entity whose id the caller has chosen.
func (e *engine) createWithID(ctx context.Context, t *tx, k *kind, m *model, ifVersion *int64) (json.RawMessage, error) {
	if !k.SettableID {
		return nil, fault.Newf(fault.NotFound, "there is no %s with id %s, and the database generates the ids of new ones", k.name(), filter.Quote(m.shown)).
			WithPath(m.at + "/id").WithHint("Leave the id out to create one.")
	}
	return e.create(ctx, t, k, m, ifVersion)
}

func (e *engine) create(ctx context.Context, t *tx, k *kind, m *model, ifVersion *int64) (json.RawMessage, error) {
	if ifVersion != nil {
		return nil, fault.Newf(fault.Conflict, "there is no %s at version %d: it was deleted or never stored", k.name(), *ifVersion).WithPath("/ifVersion")
	}
	if missing := m.missing(t.caller.of(k)); len(missing) > 0 {
		return nil, fault.Invalid(missing...)
	}
	if err := t.checkReferences(ctx, k, nil, m); err != nil {
		return nil, err
	}
	if t.plain(k, m) {
		p, err := e.prepare(ctx, t, k, m)
		if err != nil {
			return nil, err
		}
		return e.insert(ctx, t, k, p)
	}
	w := k.Create(t.ent)
	if err := m.apply(k, w, true); err != nil {
		return nil, err
	}
	if m.id != nil {
		if err := k.SetID(w.Mutation, m.id); err != nil {
			return nil, err
		}
	}
	t.chosen = choicesOf(k, w.Mutation)
	id, err := w.Save(ctx)
	if err != nil {
		return nil, e.writeFault(ctx, t, k, m, err)
	}
	return e.stored(ctx, t, k, id)
}

// stored reads the result of a write: only the id, if the caller may not read the row.
func (e *engine) stored(ctx context.Context, t *tx, k *kind, id any) (json.RawMessage, error) {
	out, err := t.readVisible(ctx, k, id)
	if err == nil && out != nil {
		err = t.holdImage(k, id, len(out))
	}
	if err != nil || out != nil {
		return out, err
	}
	there, err := t.exists(ctx, k, id)
	if err == nil && !there {
		err = fault.Newf(fault.Conflict, "a rule of the app removed the %s while it was being stored", k.name())
	}
	if err != nil {
		return nil, err
	}
	return encode(object{k.key().Name: k.FormatID(id)}), nil
}

// change writes to an entity that exists, and returns what it became.
func (e *engine) change(ctx context.Context, t *tx, k *kind, id any, m *model, replace bool, ifVersion *int64) (json.RawMessage, error) {
	if replace {
		if missing := m.missing(t.caller.of(k)); len(missing) > 0 {
			return nil, fault.Invalid(missing...)
		}
		e.reset(t, k, m)
	}
	if t.plain(k, m) {
		return e.changeNatively(ctx, t, k, id, m, ifVersion)
	}
	if err := e.write(ctx, t, k, id, m, ifVersion); err != nil {
		return nil, err
	}
	return e.stored(ctx, t, k, id)
}

// changeNatively is change in one statement, for a model that is plain.
func (e *engine) changeNatively(ctx context.Context, t *tx, k *kind, id any, m *model, ifVersion *int64) (json.RawMessage, error) {
	if m.immutable() {
		if err := e.immutable(ctx, t, k, id, m); err != nil {
			return nil, err
		}
	}
	if !m.empty() {
		out, err := e.prepareAndUpdate(ctx, t, k, id, m, ifVersion)
		if err != nil || out != nil {
			return out, err
		}
	}
	if err := e.atVersion(ctx, t, k, id, ifVersion); err != nil {
		return nil, err
	}
	return e.stored(ctx, t, k, id)
}

// write stores a model in an entity that exists. It removes from the model what would
// change nothing.
func (e *engine) write(ctx context.Context, t *tx, k *kind, id any, m *model, ifVersion *int64) error {
	if err := e.immutable(ctx, t, k, id, m); err != nil {
		return err
	}
	if err := e.atVersion(ctx, t, k, id, ifVersion); err != nil {
		return err
	}
	if err := e.reduce(ctx, t, k, id, m); err != nil || m.empty() {
		return err
	}
	if err := t.checkReferences(ctx, k, id, m); err != nil {
		return err
	}
	var where []func(*sql.Selector)
	if ifVersion != nil {
		where = append(where, sql.FieldEQ(k.Entity.VersionColumn, *ifVersion))
	}
	w := k.Update(t.ent, id, where...)
	if err := m.apply(k, w, false); err != nil {
		return err
	}
	t.chosen = choicesOf(k, w.Mutation)
	if _, err := w.Save(ctx); err != nil {
		return e.writeFault(ctx, t, k, m, err)
	}
	return nil
}

// reset completes a model that replaces an entity: what is absent gets its
// default, or null. What the caller cannot read or write is kept when it is absent; so
// are the rows of to-many edges, and what a function generated.
func (e *engine) reset(t *tx, k *kind, m *model) {
	seen := t.caller.of(k)
	for i := range k.Entity.Resource.Fields {
		f := &k.Entity.Resource.Fields[i]
		if m.has(f.Name) || f.ReadOnly || f.Immutable || !filter.Readable(seen.field(f.Name)) || f.Generated || f.Edge != "" && m.hasEdge(f.Edge) {
			continue
		}
		column := k.Entity.Column(f.Name)
		if f.Default != nil {
			d := decoder{kind: k}
			if v, err := filter.Decode(f.Default); err == nil {
				if value, ok := d.value(column, f, v, ""); ok {
					m.fields = append(m.fields, fieldValue{column, f, value})
				}
			}
			continue
		}
		if f.Nullable {
			m.fields = append(m.fields, fieldValue{column, f, nil})
		}
	}
	for i := range seen.edges {
		ed := &seen.edges[i]
		if !ed.json.Many && !ed.json.Required && !ed.json.ReadOnly && !ed.json.Immutable && !ed.json.WriteOnly && ed.json.Reference == "" && !m.hasEdge(ed.json.Name) {
			m.edges = append(m.edges, edgeValue{edge: ed.column, json: ed.json, target: ed.target, clear: true})
		}
	}
}

// immutable drops immutable fields and edges that are unchanged from a model, and
// refuses those that would change.
func (e *engine) immutable(ctx context.Context, t *tx, k *kind, id any, m *model) error {
	var details []fault.Detail
	var stored map[string]any
	kept := m.fields[:0:0]
	for _, f := range m.fields {
		if !f.field.Immutable {
			kept = append(kept, f)
			continue
		}
		if stored == nil {
			raw, err := e.stored(ctx, t, k, id)
			if err != nil {
				return err
			}
			v, err := filter.Decode(raw)
			if err != nil {
				return err
			}
			stored, _ = v.(map[string]any)
		}
		d := decoder{kind: k}
		was, ok := d.value(f.column, f.field, stored[f.field.Name], "")
		if !ok || !reflect.DeepEqual(was, f.value) {
			details = append(details, fault.Detail{Path: m.at + "/" + filter.Escape(f.field.Name), Message: f.field.Name + " cannot be changed after creation"})
		}
	}
	m.fields = kept
	edges, err := t.dropUnchangedGuarded(ctx, k, id, m)
	if err != nil {
		return err
	}
	if details = append(details, edges...); len(details) > 0 {
		return fault.Invalid(details...)
	}
	return nil
}

// atVersion refuses to continue from another version than the caller has seen.
func (e *engine) atVersion(ctx context.Context, t *tx, k *kind, id any, want *int64) error {
	if want == nil {
		return nil
	}
	b := t.newStatement()
	b.Raw("SELECT ").Name(k.Entity.VersionColumn).Raw(" FROM ").Name(k.Entity.Table).Raw(" WHERE ").Name(k.Entity.Key.Name).Raw(" = ").Arg(k.bindID(id))
	rows, err := t.sql.QueryContext(ctx, string(b.Text()), b.Args()...)
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
	return fault.Newf(fault.Conflict, "the %s is at version %d, not %d: somebody changed it", k.name(), now, *want).
		WithPath("/ifVersion").WithDetails(map[string]any{"version": now, "ifVersion": *want})
}

// patch changes an entity that must exist.
func (e *engine) patch(ctx context.Context, t *tx, k *kind, in *patchInput) (json.RawMessage, error) {
	if m := in.changes; t.plain(k, m) && !m.immutable() && !m.empty() {
		if out, err := e.prepareAndUpdate(ctx, t, k, in.id, m, in.ifVersion); err != nil || out != nil {
			return out, err
		}
		if in.ifVersion == nil {
			return nil, read.NotFound(k.Entity, in.shown, t.set)
		}
	}
	there, err := t.visible(ctx, k, in.id)
	if err != nil {
		return nil, err
	}
	if !there {
		return nil, read.NotFound(k.Entity, in.shown, t.set)
	}
	return e.change(ctx, t, k, in.id, in.changes, false, in.ifVersion)
}

// deleteAll deletes entities and counts those that existed. If several cannot be
// deleted, all of them are named.
func (e *engine) deleteAll(ctx context.Context, t *tx, k *kind, in *deleteInput, call catalog.Call) (json.RawMessage, error) {
	if in.ifVersion == nil {
		if deleted, done, err := e.deleteMany(ctx, t, k, in.ids, call); done || err != nil {
			return countAnswer("deleted", deleted), err
		}
	}
	there := make([]bool, len(in.ids)) // at the start: one may go together with another
	for i, id := range in.ids {
		var err error
		if there[i], err = t.visible(ctx, k, id); err != nil {
			return nil, err
		}
	}
	deleted, problems := 0, []*fault.Fault(nil)
	for i, id := range in.ids {
		if !there[i] {
			continue
		}
		gone, err := e.deleteOneOf(ctx, t, k, id, in)
		if err != nil {
			f := itemFault(err)
			if f == nil || len(in.ids) == 1 {
				return nil, err
			}
			named := *f
			problems = append(problems, named.WithPath(in.places[i]).Because(err))
		}
		if gone {
			deleted++
		}
		if (i+1)%progressEvery == 0 {
			call.Progress(float64(i+1), float64(len(in.ids)), "")
		}
	}
	if len(problems) > 0 {
		return nil, joinFaults(problems)
	}
	return countAnswer("deleted", deleted), nil
}

// deleteOneOf deletes one row, or leaves no trace of having tried.
func (e *engine) deleteOneOf(ctx context.Context, t *tx, k *kind, id any, in *deleteInput) (gone bool, err error) {
	if err := e.atVersion(ctx, t, k, id, in.ifVersion); err != nil {
		return false, err
	}
	if len(in.ids) == 1 {
		return e.remove(ctx, t, k, id)
	}
	end, err := t.Savepoint(ctx, false)
	if err != nil {
		return false, err
	}
	gone, err = e.remove(ctx, t, k, id)
	return gone, errors.Join(err, end(err == nil))
}

// blank is the answer of `new`: constant defaults, null where null is a value,
// and nothing for what the caller has to give or the system makes.
func blank(r *catalog.Resource) json.RawMessage {
	b := []byte{'{'}
	for i := range r.Fields {
		f := &r.Fields[i]
		if f.ReadOnly || f.Sensitive || f.WriteOnly || f.Default == nil && !f.Nullable {
			continue
		}
		value := f.Default
		if value == nil {
			value = json.RawMessage("null")
		}
		if len(b) > 1 {
			b = append(b, ',')
		}
		name, _ := json.Marshal(f.Name) // a string is always JSON
		b = append(append(append(b, name...), ':'), value...)
	}
	return append(b, '}')
}
