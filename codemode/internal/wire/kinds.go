package wire

import "slices"

// Kind is the letter of the field at i, a catalog.FieldClass; 0 where it is not known.
func (e *Entity) Kind(i int) byte {
	if i >= len(e.Kinds) {
		return 0
	}
	return e.Kinds[i]
}

// ToMany reports whether an edge leads to many.
func (e *Entity) ToMany(edge string) bool { return slices.Contains(e.Many, edge) }
