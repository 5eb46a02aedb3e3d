package dynamic

import (
	"context"
	"fmt"

	"entgo.io/ent"
	"entgo.io/ent/dialect/sql"

	"github.com/koan-go/koan/entities/shim"
)

// mutation is what is to be written to one row. It is used by one goroutine at a time.
type mutation struct {
	kind  *kind
	tx    *tx
	op    ent.Op
	id    any // nil until it is known
	where []func(*sql.Selector)
	cells []cell
	links []link // by edge; nil until one is changed
}

var _ ent.Mutation = (*mutation)(nil)

// cell is what happens to one slot.
type cell struct {
	change
	v       any
	emptied bool // the edge was cleared, whatever it was linked with since
}

// change is a way of changing a column.
type change uint8

const (
	unchanged change = iota
	put
	added
	cleared
)

// link is what happens to an edge that other tables hold. ids are native.
type link struct {
	add, remove []any
	cleared     bool
}

func newMutation(k *kind, t *tx, op ent.Op) *mutation {
	return &mutation{kind: k, tx: t, op: op, cells: make([]cell, len(k.slots))}
}

// cell returns the cell of a field, nil for no field's column.
func (m *mutation) cell(column string) *cell {
	i, ok := m.kind.byColumn[column]
	if !ok || m.kind.slots[i].of == nil {
		return nil
	}
	return &m.cells[i]
}

// edge returns an edge by ent's name, nil if there is none.
func (m *mutation) edge(name string) (*edge, int) {
	i, ok := m.kind.edgeByName[name]
	if !ok {
		return nil, 0
	}
	return &m.kind.edges[i], i
}

// changed returns the columns of the fields with a change.
func (m *mutation) changed(c change) (out []string) {
	for i := range m.cells {
		if m.cells[i].change == c && m.kind.slots[i].of != nil {
			out = append(out, m.kind.slots[i].column)
		}
	}
	return out
}

// Op implements ent.Mutation.
func (m *mutation) Op() ent.Op { return m.op }

// Type implements ent.Mutation.
func (m *mutation) Type() string { return m.kind.name() }

// Fields implements ent.Mutation.
func (m *mutation) Fields() []string { return m.changed(put) }

// Field implements ent.Mutation.
func (m *mutation) Field(column string) (ent.Value, bool) {
	if c := m.cell(column); c != nil && c.change == put {
		return c.v, true
	}
	return nil, false
}

// SetField implements ent.Mutation.
func (m *mutation) SetField(column string, v ent.Value) error {
	c := m.cell(column)
	if c == nil {
		return fmt.Errorf("the column %q cannot be set", column)
	}
	value, err := valueOf(m.kind.slots[m.kind.byColumn[column]].of, v)
	if err != nil {
		return err
	}
	*c = cell{change: put, v: value}
	return nil
}

// AddedFields implements ent.Mutation.
func (m *mutation) AddedFields() []string { return m.changed(added) }

// AddedField implements ent.Mutation.
func (m *mutation) AddedField(column string) (ent.Value, bool) {
	if c := m.cell(column); c != nil && c.change == added {
		return c.v, true
	}
	return nil, false
}

// AddField implements ent.Mutation.
func (m *mutation) AddField(column string, v ent.Value) error {
	c := m.cell(column)
	if c == nil || !m.kind.slots[m.kind.byColumn[column]].kept.Numeric() {
		return fmt.Errorf("nothing can be added to the column %q", column)
	}
	*c = cell{change: added, v: v}
	return nil
}

// ClearedFields implements ent.Mutation.
func (m *mutation) ClearedFields() []string { return m.changed(cleared) }

// FieldCleared implements ent.Mutation.
func (m *mutation) FieldCleared(column string) bool {
	c := m.cell(column)
	return c != nil && c.change == cleared
}

// ClearField implements ent.Mutation.
func (m *mutation) ClearField(column string) error {
	c := m.cell(column)
	if c == nil || !m.kind.slots[m.kind.byColumn[column]].of.Nullable {
		return fmt.Errorf("the column %q cannot be cleared", column)
	}
	*c = cell{change: cleared}
	return nil
}

// ResetField implements ent.Mutation.
func (m *mutation) ResetField(column string) error {
	c := m.cell(column)
	if c == nil {
		return fmt.Errorf("there is no column %q", column)
	}
	*c = cell{}
	return nil
}

// OldField implements ent.Mutation: it reads what the database has, in the form in which its driver
// returns it.
func (m *mutation) OldField(ctx context.Context, column string) (v ent.Value, err error) {
	if m.cell(column) == nil || m.op != ent.OpUpdateOne {
		return nil, fmt.Errorf("there is no old value of the column %q", column)
	}
	key, err := m.kind.ids.BindID(m.id)
	if err != nil {
		return nil, err
	}
	b := sql.Dialect(m.tx.dialect)
	query, args := b.Select(column).From(b.Table(m.kind.entity.Table)).Where(sql.EQ(m.kind.entity.Key.Name, key)).Query()
	var rows sql.Rows
	if err := m.tx.Query(ctx, query, args, &rows); err != nil {
		return nil, err
	}
	defer rows.Close()
	return v, sql.ScanOne(&rows, &v)
}

// AddedEdges implements ent.Mutation.
func (m *mutation) AddedEdges() []string {
	return m.edgesWith(func(i int) bool { return len(m.linked(i)) > 0 })
}

// AddedIDs implements ent.Mutation.
func (m *mutation) AddedIDs(name string) []ent.Value {
	if e, i := m.edge(name); e != nil {
		return values(m.linked(i))
	}
	return nil
}

// RemovedEdges implements ent.Mutation.
func (m *mutation) RemovedEdges() []string {
	return m.edgesWith(func(i int) bool { return m.links != nil && len(m.links[i].remove) > 0 })
}

// RemovedIDs implements ent.Mutation.
func (m *mutation) RemovedIDs(name string) []ent.Value {
	if e, i := m.edge(name); e != nil && m.links != nil {
		return values(m.links[i].remove)
	}
	return nil
}

// ClearedEdges implements ent.Mutation.
func (m *mutation) ClearedEdges() []string { return m.edgesWith(m.isCleared) }

// EdgeCleared implements ent.Mutation.
func (m *mutation) EdgeCleared(name string) bool {
	e, i := m.edge(name)
	return e != nil && m.isCleared(i)
}

// ClearEdge implements ent.Mutation.
func (m *mutation) ClearEdge(name string) error { return m.change(name, shim.Clear, nil) }

// ResetEdge implements ent.Mutation.
func (m *mutation) ResetEdge(name string) error {
	e, i := m.edge(name)
	switch {
	case e == nil:
		return fmt.Errorf("there is no edge %q", name)
	case e.slot >= 0:
		m.cells[e.slot] = cell{}
	case m.links != nil:
		m.links[i] = link{}
	}
	return nil
}
