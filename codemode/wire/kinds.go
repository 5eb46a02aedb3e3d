package wire

import "slices"

// What a filter may ask of a field: the letters of Entity.Kinds.
const (
	TextField   byte = 't' // order, and parts of a text
	OrderField  byte = 'o' // equality and order
	EqualField  byte = 'e' // equality
	JSONField   byte = 'j' // what is inside
	ListField   byte = 'l' // that, and the elements
	WholeField  byte = 'w' // null only
	HiddenField byte = 'h' // nothing: it is written and never read
)

// Kind is the letter of the field at i, 0 where it is not known.
func (e *Entity) Kind(i int) byte {
	if i >= len(e.Kinds) {
		return 0
	}
	return e.Kinds[i]
}

// ToMany reports whether an edge leads to many.
func (e *Entity) ToMany(edge string) bool { return slices.Contains(e.Many, edge) }
