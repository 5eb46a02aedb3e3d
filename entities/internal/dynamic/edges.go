package dynamic

import (
	"fmt"
	"slices"

	"entgo.io/ent"

	"github.com/koan-go/koan/entities/shim"
)

// change changes an edge by ent's name.
func (m *mutation) change(name string, how shim.EdgeChange, ids []any) error {
	e, i := m.edge(name)
	if e == nil {
		return fmt.Errorf("the edge %q cannot be changed", name)
	}
	if e.slot >= 0 {
		return m.refer(e, how, ids)
	}
	if m.links == nil {
		m.links = make([]link, len(m.kind.edges))
	}
	l := &m.links[i]
	switch how {
	case shim.Link:
		if !e.toMany() {
			l.add = nil
		}
		l.add = append(l.add, without(ids, l.add)...)
	case shim.Unlink:
		l.add, l.remove = without(l.add, ids), append(l.remove, without(ids, l.remove)...)
	case shim.Clear:
		l.cleared = true
	}
	return nil
}

// refer changes an edge whose reference is a column of the row itself.
func (m *mutation) refer(e *edge, how shim.EdgeChange, ids []any) error {
	c := &m.cells[e.slot]
	switch {
	case how == shim.Clear:
		c.emptied = true
		if c.change != put {
			c.change = cleared
		}
	case how == shim.Link && len(ids) > 0:
		bound, err := e.target.ids.BindID(ids[0])
		if err != nil {
			return err
		}
		if s := &m.kind.slots[e.slot]; s.of != nil && s.of.Form == nil {
			if bound, err = valueOf(s.of, bound); err != nil {
				return err
			}
		}
		c.change, c.v = put, bound
	}
	return nil
}

// linked returns the native ids that an edge gets.
func (m *mutation) linked(i int) []any {
	e := &m.kind.edges[i]
	if e.slot < 0 {
		if m.links == nil {
			return nil
		}
		return m.links[i].add
	}
	c := &m.cells[e.slot]
	if c.change != put {
		return nil
	}
	v := c.v
	if b, ok := v.(shim.Bound); ok {
		v = b.V
	}
	if id, err := e.target.ids.ScanID(v); err == nil {
		return []any{id}
	}
	id, err := e.target.ids.ParseID(fmt.Sprint(v))
	if err != nil { // the database refuses what is no id
		return nil
	}
	return []any{id}
}

func (m *mutation) isCleared(i int) bool {
	if slot := m.kind.edges[i].slot; slot >= 0 {
		return m.cells[slot].change == cleared || m.cells[slot].emptied
	}
	return m.links != nil && m.links[i].cleared
}

// edgesWith names the edges by ent's names.
func (m *mutation) edgesWith(with func(i int) bool) (out []string) {
	for i := range m.kind.edges {
		if with(i) {
			out = append(out, m.kind.edges[i].Ent)
		}
	}
	return out
}

// without returns the ids that are not among others.
func without(ids, others []any) []any {
	return slices.DeleteFunc(slices.Clone(ids), func(id any) bool { return slices.Contains(others, id) })
}

func values(ids []any) []ent.Value {
	out := make([]ent.Value, len(ids))
	for i, id := range ids {
		out[i] = id
	}
	return out
}
