package wire

import "slices"

// Kind returns the catalog.FieldClass of the field at i, 0 if it is not known.
func (e *Entity) Kind(i int) byte {
	if i >= len(e.Kinds) {
		return 0
	}
	return e.Kinds[i]
}

// ToMany reports whether an edge is to many entities.
func (e *Entity) ToMany(edge string) bool { return slices.Contains(e.Many, edge) }
