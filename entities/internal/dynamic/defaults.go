package dynamic

// fillCreated puts in what a new row has where nobody said anything.
func (m *mutation) fillCreated() {
	for i := range m.kind.slots {
		s := &m.kind.slots[i]
		if m.cells[i].change != unchanged || s.of == nil {
			continue
		}
		switch made := m.kind.fill.Create[s.column]; {
		case made != nil:
			m.fill(i, made())
		case s.constant != nil:
			m.fill(i, s.constant)
		}
	}
	if made := m.kind.fill.Create[m.kind.entity.Key.Name]; made != nil && m.id == nil {
		m.id = made()
	}
}

// fillUpdated puts in what changes with every change.
func (m *mutation) fillUpdated() {
	for i := range m.kind.slots {
		if made := m.kind.fill.Update[m.kind.slots[i].column]; made != nil && m.cells[i].change == unchanged {
			m.fill(i, made())
		}
	}
}

// fill sets a slot to a value of its own. One that its column does not take stays out; the database
// or checkCreated says so.
func (m *mutation) fill(i int, v any) {
	if value, err := valueOf(m.kind.slots[i].of, v); err == nil {
		m.cells[i] = cell{change: put, v: value}
	}
}
