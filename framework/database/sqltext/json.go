package sqltext

// Step is one step of a path into a JSON document: to the member with a label, or
// with no label to an element by its index.
type Step struct {
	Label string // without quotes, backslashes and control characters
	Index int    // from 0
}

// JSONType is what stands at a place of a JSON document, and how it is read.
type JSONType uint8

const (
	JSONText   JSONType = iota // a string, as text
	JSONNumber                 // a number
	JSONBool                   // true or false, as the dialect binds them
	JSONLength                 // how many elements an array has
)

// Looker writes how a dialect looks into columns that hold JSON. A column may hold
// NULL, and text that is not JSON: such a column has nothing at any place.
type Looker interface {
	// JSON appends an expression for what stands at a path, which is null where it
	// is of another type.
	JSON(b *Builder, column func(*Builder), path []Step, as JSONType)
	// JSONHas appends a condition that is true where an array stands at a path
	// that has a value as an element; else it is false or null.
	JSONHas(b *Builder, column func(*Builder), path []Step, v any, as JSONType)
	// JSONNull appends a condition that is true where null or nothing stands at a
	// path; it is never null itself. With no path, text that is not JSON is
	// something.
	JSONNull(b *Builder, column func(*Builder), path []Step)
}
