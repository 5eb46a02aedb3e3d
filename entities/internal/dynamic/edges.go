package dynamic

import (
	"fmt"
	"slices"

	"entgo.io/ent"

	"github.com/koan-go/koan/entities/shim"
)

// edges are what a mutation does to relationships, and to the columns that some of them are.
type edges struct {
	fields
	links []link // by edge; nil until one is changed
}

// link is what happens to an edge that other tables hold. ids are native.
type link struct {
	add, remove []any
	cleared     bool
}

// edge returns an edge by ent's name, nil if there is none.
func (m *edges) edge(name string) (*edge, int) {
	i, ok := m.kind.edgeByName[name]
	if !ok {
		return nil, 0
	}
	return &m.kind.edges[i], i
}

// change changes an edge by ent's name.
func (m *edges) change(name string, how shim.EdgeChange, ids []any) error {
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
func (m *edges) refer(e *edge, how shim.EdgeChange, ids []any) error {
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
func (m *edges) linked(i int) []any {
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

func (m *edges) isCleared(i int) bool {
	if slot := m.kind.edges[i].slot; slot >= 0 {
		return m.cells[slot].change == cleared || m.cells[slot].emptied
	}
	return m.links != nil && m.links[i].cleared
}

// edgesWith names the edges by ent's names.
func (m *edges) edgesWith(with func(i int) bool) (out []string) {
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

// AddedEdges implements ent.Mutation.
func (m *edges) AddedEdges() []string {
	return m.edgesWith(func(i int) bool { return len(m.linked(i)) > 0 })
}

// AddedIDs implements ent.Mutation.
func (m *edges) AddedIDs(name string) []ent.Value {
	if e, i := m.edge(name); e != nil {
		return values(m.linked(i))
	}
	return nil
}

// RemovedEdges implements ent.Mutation.
func (m *edges) RemovedEdges() []string {
	return m.edgesWith(func(i int) bool { return m.links != nil && len(m.links[i].remove) > 0 })
}

// RemovedIDs implements ent.Mutation.
func (m *edges) RemovedIDs(name string) []ent.Value {
	if e, i := m.edge(name); e != nil && m.links != nil {
		return values(m.links[i].remove)
	}
	return nil
}

// ClearedEdges implements ent.Mutation.
func (m *edges) ClearedEdges() []string { return m.edgesWith(m.isCleared) }

// EdgeCleared implements ent.Mutation.
func (m *edges) EdgeCleared(name string) bool {
	e, i := m.edge(name)
	return e != nil && m.isCleared(i)
}

// ClearEdge implements ent.Mutation.
func (m *edges) ClearEdge(name string) error { return m.change(name, shim.Clear, nil) }

// ResetEdge implements ent.Mutation.
func (m *edges) ResetEdge(name string) error {
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
