package dynamic

import (
	"fmt"

	"entgo.io/ent"

	"github.com/koan-go/koan/entities/descriptor"
)

// fields are what a mutation does to the columns of a row's own table.
type fields struct {
	kind  *kind
	cells []cell // by slot
}

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

// cell returns the cell of a field, nil for no field's column.
func (m *fields) cell(column string) *cell {
	i, ok := m.kind.byColumn[column]
	if !ok || m.kind.slots[i].of == nil {
		return nil
	}
	return &m.cells[i]
}

// changed returns the columns of the fields with a change.
func (m *fields) changed(c change) (out []string) {
	for i := range m.cells {
		if m.cells[i].change == c && m.kind.slots[i].of != nil {
			out = append(out, m.kind.slots[i].column)
		}
	}
	return out
}

// Fields implements ent.Mutation.
func (m *fields) Fields() []string { return m.changed(put) }

// Field implements ent.Mutation.
func (m *fields) Field(column string) (ent.Value, bool) {
	if c := m.cell(column); c != nil && c.change == put {
		return c.v, true
	}
	return nil, false
}

// SetField implements ent.Mutation.
func (m *fields) SetField(column string, v ent.Value) error {
	c := m.cell(column)
	if c == nil {
		return fmt.Errorf("the column %q cannot be set", column)
	}
	of := m.kind.slots[m.kind.byColumn[column]].of
	if of.Origin == descriptor.Computed {
		return fmt.Errorf("the database computes the column %q", column)
	}
	value, err := valueOf(of, v)
	if err != nil {
		return err
	}
	*c = cell{change: put, v: value}
	return nil
}

// AddedFields implements ent.Mutation.
func (m *fields) AddedFields() []string { return m.changed(added) }

// AddedField implements ent.Mutation.
func (m *fields) AddedField(column string) (ent.Value, bool) {
	if c := m.cell(column); c != nil && c.change == added {
		return c.v, true
	}
	return nil, false
}

// AddField implements ent.Mutation.
func (m *fields) AddField(column string, v ent.Value) error {
	c := m.cell(column)
	if c == nil || !m.kind.slots[m.kind.byColumn[column]].kept.Numeric() {
		return fmt.Errorf("nothing can be added to the column %q", column)
	}
	*c = cell{change: added, v: v}
	return nil
}

// ClearedFields implements ent.Mutation.
func (m *fields) ClearedFields() []string { return m.changed(cleared) }

// FieldCleared implements ent.Mutation.
func (m *fields) FieldCleared(column string) bool {
	c := m.cell(column)
	return c != nil && c.change == cleared
}

// ClearField implements ent.Mutation.
func (m *fields) ClearField(column string) error {
	c := m.cell(column)
	if c == nil || !m.kind.slots[m.kind.byColumn[column]].of.Nullable || m.kind.slots[m.kind.byColumn[column]].of.Origin == descriptor.Computed {
		return fmt.Errorf("the column %q cannot be cleared", column)
	}
	*c = cell{change: cleared}
	return nil
}

// ResetField implements ent.Mutation.
func (m *fields) ResetField(column string) error {
	c := m.cell(column)
	if c == nil {
		return fmt.Errorf("there is no column %q", column)
	}
	*c = cell{}
	return nil
}
