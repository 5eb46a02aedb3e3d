package dynamic

import (
	"errors"
	"fmt"
)

// fillCreated puts in what a new row has where nobody said anything.
func (m *mutation) fillCreated() {
	for i := range m.kind.slots {
		s := &m.kind.slots[i]
		if m.cells[i].change != unchanged || s.of == nil {
			continue
		}
		switch made := m.kind.fill.Create[s.column]; {
		case made != nil:
			m.make(made, func(v any) { m.fill(i, v) })
		case s.constant != nil:
			m.fill(i, s.constant)
		}
	}
	if made := m.kind.fill.Create[m.kind.entity.Key.Name]; made != nil && m.id == nil {
		m.make(made, func(v any) {
			id, err := m.kind.ids.ParseID(fmt.Sprint(v))
			m.id, m.unmade = id, errors.Join(m.unmade, err)
		})
	}
}

// fillUpdated puts in what changes with every change.
func (m *mutation) fillUpdated() {
	for i := range m.kind.slots {
		if made := m.kind.fill.Update[m.kind.slots[i].column]; made != nil && m.cells[i].change == unchanged {
			m.make(made, func(v any) { m.fill(i, v) })
		}
	}
}

// make puts in what a maker makes. Where it fails, the change is refused when it is checked.
func (m *mutation) make(maker Maker, put func(v any)) {
	v, err := maker()
	if err != nil {
		m.unmade = errors.Join(m.unmade, err)
		return
	}
	put(v)
}

// fill sets a slot to a value of its own. One that its column does not take stays out; the database
// or checkCreated says so.
func (m *mutation) fill(i int, v any) {
	if value, err := valueOf(m.kind.slots[i].of, v); err == nil {
		m.cells[i] = cell{change: put, v: value}
	}
}
