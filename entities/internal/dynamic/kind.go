package dynamic

import (
	"context"
	"errors"
	"fmt"

	"entgo.io/ent"
	"entgo.io/ent/dialect"
	"entgo.io/ent/dialect/sql"
	"entgo.io/ent/schema/field"

	"github.com/koan-go/koan/entities/descriptor"
	"github.com/koan-go/koan/entities/internal/filter"
	"github.com/koan-go/koan/entities/shim"
	"github.com/koan-go/koan/framework/catalog"
)

// kind is one entity. A slot is a place for the value of a column of its table: first those of
// fields, then those of references that no field shows.
type kind struct {
	entity     *descriptor.Entity
	ids        shim.IDForm
	slots      []slot
	byColumn   map[string]int
	edges      []edge
	edgeByName map[string]int // by ent's name
	fill       Fill
	ownKey     func(v any) error // the app's own check of ids, nil for none
}

// slot is a column that a mutation may write.
type slot struct {
	column   string
	name     string             // as validators name it
	of       *descriptor.Column // nil for a reference that no field shows
	field    *catalog.Field
	kept     field.Type
	edge     int // the edge whose reference it is, -1 for none
	constant any // what a new row gets that says nothing, nil for nothing
	checks   checks
	own      func(v any) error // the app's own check, nil for none
}

// edge is an edge with the kind that it leads to.
type edge struct {
	*descriptor.Edge
	target   *kind
	slot     int // of its reference, -1 where its own table has none
	mutual   bool
	required bool
}

func newKind(e *descriptor.Entity, o Options) *kind {
	k := &kind{entity: e, byColumn: map[string]int{}, edgeByName: map[string]int{}, fill: o.Fill[e.Resource.Name], ownKey: o.Checks[e.Resource.Name][e.Key.Name]}
	if o.Form != nil {
		k.ids = o.Form(e)
	}
	if k.ids.ParseID == nil {
		k.ids = idForm(&e.Key)
	}
	for i := range e.Columns {
		c := &e.Columns[i]
		f := e.Resource.Field(c.Field)
		if f == nil {
			panic(fmt.Sprintf("dynamic: the column %s of %s has no field", c.Name, e.Resource.Name))
		}
		s := slot{column: c.Name, name: c.Ent, of: c, field: f, kept: keptAs(c), edge: -1, checks: checksOf(f), own: o.Checks[e.Resource.Name][c.Name]}
		if o.Constants && f.Default != nil {
			s.constant = constantOf(c, f)
		}
		k.byColumn[c.Name] = len(k.slots)
		k.slots = append(k.slots, s)
	}
	for i := range e.Key.Parts { // a single one is no field: the id alone says it
		if name := e.Key.Parts[i].Name; len(e.Key.Parts) == 1 {
			k.byColumn[name] = len(k.slots)
			k.slots = append(k.slots, slot{column: name, name: "id", edge: -1})
		}
	}
	return k
}

// slotOf returns the slot of an edge's reference, and adds it where no field shows it. It is called
// for the edges in their order.
func (k *kind) slotOf(column string) int {
	i, ok := k.byColumn[column]
	if !ok {
		i = len(k.slots)
		k.byColumn[column] = i
		k.slots = append(k.slots, slot{column: column, name: column, edge: -1})
	}
	k.slots[i].edge = len(k.edges)
	return i
}

func (k *kind) name() string { return k.entity.Resource.Name }

// constantOf reads the constant default of a field. It panics where its own field does not take it.
func constantOf(c *descriptor.Column, f *catalog.Field) any {
	if f.Type == catalog.TypeJSON {
		return f.Default
	}
	v, err := filter.Decode(f.Default)
	if err == nil {
		value, problem := filter.Value(c, f, v, "")
		if problem == nil {
			return value
		}
		err = errors.New(problem.Message)
	}
	panic(fmt.Sprintf("dynamic: the default %s of the field %s cannot be read: %v", f.Default, f.Name, err))
}

// shim returns the kind as the engine takes it.
func (k *kind) shim(e *descriptor.Entity) *shim.Kind {
	out := &shim.Kind{
		Type: k.name(), Entity: e, Plain: true, IDForm: k.ids, SettableID: !e.Resource.Key.ReadOnly,
		Create: k.create, Update: k.update, Delete: k.delete,
		ID: func(m ent.Mutation) (any, bool) {
			id := m.(*mutation).id
			return id, id != nil
		},
		IDs:   func(_ context.Context, m ent.Mutation) ([]any, error) { return []any{m.(*mutation).id}, nil }, // none has predicates alone
		TxOf:  func(m ent.Mutation) dialect.Tx { return m.(*mutation).tx.Tx },
		SetID: func(m ent.Mutation, id any) error { return m.(*mutation).setID(id) },
		Set:   func(m ent.Mutation, column string, v any) error { return m.SetField(column, v) },
		Edge: func(m ent.Mutation, name string, change shim.EdgeChange, ids []any) error {
			return m.(*mutation).change(name, change, ids)
		},
	}
	for _, s := range k.slots {
		if k.fill.Create[s.column] != nil || k.fill.Update[s.column] != nil {
			out.Generated = append(out.Generated, s.column)
		}
	}
	if column := e.VersionColumn; column != "" {
		out.Bump = func(m ent.Mutation) { _ = m.AddField(column, int64(1)) } // the column is one of the kind
	}
	return out
}

// create is shim.Kind.Create.
func (k *kind) create(t shim.Tx) shim.Write {
	m := newMutation(k, t.(*tx), ent.OpCreate)
	w := writer{m}
	return shim.Write{Mutation: m, Defaults: m.fillCreated, Check: m.checkCreated, Save: w.create}
}

// update is shim.Kind.Update.
func (k *kind) update(t shim.Tx, id any, where ...func(*sql.Selector)) shim.Write {
	m := newMutation(k, t.(*tx), ent.OpUpdateOne)
	m.id, m.where = id, where
	w := writer{m}
	return shim.Write{Mutation: m, Defaults: m.fillUpdated, Check: m.checkUpdated, Save: w.update}
}

// delete is shim.Kind.Delete.
func (k *kind) delete(ctx context.Context, t shim.Tx, id any, where ...func(*sql.Selector)) error {
	m := newMutation(k, t.(*tx), ent.OpDeleteOne)
	m.id, m.where = id, where
	return writer{m}.delete(ctx)
}
