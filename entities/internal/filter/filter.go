// Package filter is the filter language of collections, counts, edges and
// queries by filter (CONTRACT section 3): JSON, checked against the descriptors,
// turned into a SQL condition.
//
//	field        a value, or {operator: value, ...}, joined by and
//	  all        $eq $ne $in $nin $null; null is a value where the field has it
//	  ordered    $lt $lte $gt $gte $between [lowest, highest], both included
//	  text       $contains $startsWith $endsWith, exact; $icontains, $ieq and $iin,
//	             where upper and lower case are the same (on SQLite for ASCII
//	             letters only)
//	  JSON       $has $all $size of a list; $path {"a.b[0]": a value or operators};
//	             as a whole compared with null only
//	to one       a filter of the target (null: none there), $exists
//	to many      $some $every $none with a filter of the target, $exists
//	logic        $and $or $nor with lists, $not with a filter
//	words        $search, in the searchable fields
//
// A filter has two-valued logic: what does not match is what `$not` gives, nulls
// included. So `$ne` and `$nin` match nulls, and SQL's third value never shows.
// Texts compare by their bytes in UTF-8, times by their moment to the nanosecond.
//
// What belongs here: the language. Not here: rows, statements, or
// anything that talks to a database.
package filter

import (
	"encoding/json"

	"github.com/koan-go/koan/entities/descriptor"
	"github.com/koan-go/koan/framework/database/sqltext"
	"github.com/koan-go/koan/framework/fault"
)

// Graph finds entities by resource name. A *descriptor.Graph is one; one that
// gives nil for what a caller may not see hides every edge that leads there.
type Graph interface {
	Entity(name string) *descriptor.Entity
}

// The limits of one filter. Beyond them it is refused, never cut.
const (
	MaxDepth  = 12      // objects within objects
	MaxNodes  = 1000    // conditions and groups
	MaxValues = 4096    // values of all lists together
	MaxBytes  = 1 << 18 // of all strings together
)

// Tree is a checked filter, and the guard of the rows that it chooses from. The nil
// Tree matches everything. It is immutable, but for what its guards obey.
type Tree struct {
	root  node // nil for no condition
	guard *Guard
}

// Guarded returns a filter without conditions, which matches the rows that the guard
// lets through.
func Guarded(g *Guard) *Tree { return &Tree{guard: g} }

// Empty reports whether the filter matches everything by having no condition, and no
// rule hides rows.
func (t *Tree) Empty() bool { return t == nil || t.guard.Rule() == nil && t.unconditional() }

// unconditional reports whether the filter itself has no condition.
func (t *Tree) unconditional() bool {
	g, ok := t.root.(*group)
	return t.root == nil || ok && len(g.of) == 0
}

// Where appends the filter as one SQL condition on the table that has alias a.
// Equal shapes give equal text: only arguments differ.
func (t *Tree) Where(b *sqltext.Builder, a sqltext.Alias) {
	rule := (*Rule)(nil)
	if t != nil {
		rule = t.guard.Rule()
	}
	switch {
	case t == nil || t.unconditional():
		rule.Where(b, a)
	case rule == nil:
		t.root.where(b, a, false)
	default:
		b.Raw("(")
		rule.Where(b, a)
		b.Raw(" AND ")
		t.root.where(b, a, false)
		b.Raw(")")
	}
}

// Parse checks a filter on an entity. at is the JSON Pointer of the filter in
// its input, such as "/filter". It reports every problem at once, each with its
// path; the tree is nil when there are any.
func Parse(raw json.RawMessage, e *descriptor.Entity, g Graph, at string) (*Tree, []fault.Detail) {
	return ParseGuarded(raw, e, g, at, nil)
}

// ParseGuarded is Parse for a filter that has guards, as Check has.
func ParseGuarded(raw json.RawMessage, e *descriptor.Entity, g Graph, at string, guards *Guards) (*Tree, []fault.Detail) {
	if len(raw) > MaxBytes {
		return nil, []fault.Detail{{Path: at, Message: "the filter is too long", Expected: "at most 262144 bytes"}}
	}
	v, err := Decode(raw)
	if err != nil {
		return nil, []fault.Detail{{Path: at, Message: "the filter is not JSON: " + err.Error()}}
	}
	return Check(v, e, g, at, guards)
}

// Check is Parse for a filter that Decode has read as a part of its input. The tree has
// a guard wherever it chooses from the rows of an entity: what callers filter is what
// they may read.
func Check(v any, e *descriptor.Entity, g Graph, at string, guards *Guards) (*Tree, []fault.Detail) {
	p := &parser{graph: g, guards: guards}
	m, ok := v.(map[string]any)
	if !ok {
		p.wrong(at, "a filter must be an object", "object", v)
		return nil, p.details
	}
	root := p.object(e, m, at, 1)
	if len(p.details) > 0 {
		return nil, p.details
	}
	return &Tree{root: root, guard: guards.Of(e)}, nil
}
