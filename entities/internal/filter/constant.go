package filter

import (
	"reflect"
	"slices"

	"github.com/koan-go/koan/entities/descriptor"
)

// MatchesAll reports whether the filter has no condition that could leave a row out,
// whatever the rows hold: {}, but also what a list or a text that happens to be empty
// makes of one, such as {"id": {"$nin": []}}, {"title": {"$contains": ""}} or
// {"items": {"$every": {}}}, and conditions that exclude nothing together, such as a
// condition or its opposite. It does not look at data. A text that every text has in it
// counts as no condition although null does not match it. The caller's own rule is no
// condition of the filter; but rules of other entities, once they are known, may leave
// nothing of one.
func (t *Tree) MatchesAll() bool { return t == nil || t.root == nil || alwaysTrue(t.root, false) }

// alwaysTrue reports whether a condition, or with negate its opposite, is true of every row.
func alwaysTrue(n node, negate bool) bool {
	switch n := n.(type) {
	case *group:
		if n.or != negate {
			return coverAllRows(alternatives(nil, n, negate))
		}
		for _, of := range n.of {
			if !alwaysTrue(of, negate) {
				return false
			}
		}
		return true
	case *not:
		return alwaysTrue(n.of, !negate)
	case *oneOf:
		return negate && len(n.values) == 0 || !negate && n.entire
	case *match: // of a place in JSON it says that a text stands there
		_, column := n.operand.(plain)
		return !negate && n.text == "" && column
	case *compare:
		return n.isAtLeastEmpty(negate)
	case *isNull:
		return negate && !n.operand.nullable()
	case *Words:
		return !negate && n.Empty()
	case *related:
		return n.alwaysTrue(negate)
	}
	return false
}

// AsksRelated reports whether the filter asks for related rows.
func (t *Tree) AsksRelated() bool { return t != nil && asksRelated(t.root) }

func asksRelated(n node) bool {
	switch n := n.(type) {
	case *group:
		return slices.ContainsFunc(n.of, asksRelated)
	case *not:
		return asksRelated(n.of)
	case *related:
		return true
	}
	return false
}

// isAtLeastEmpty reports whether a text is compared to be at or above the empty one.
func (n *compare) isAtLeastEmpty(negate bool) bool {
	op := n.op
	if negate {
		op = opposite[op]
	}
	c, ok := n.operand.(plain)
	return ok && c.Storage == descriptor.Text && op == ">=" && (n.value == "" || reflect.DeepEqual(n.value, []byte{}))
}

func (n *related) alwaysTrue(negate bool) bool {
	rule := n.guard.Rule()
	if negate {
		return rule != nil && rule.Keys == nil || n.condition != nil && alwaysTrue(n.condition, true)
	}
	shown := n.own.Resource.Edge(n.edge.Name)
	required := shown != nil && shown.Required && n.edge.OwnKey != "" && rule == nil
	return required && (n.condition == nil || alwaysTrue(n.condition, false))
}

// alternative is a condition, or with negate its opposite, that is enough by itself.
type alternative struct {
	of     node
	negate bool
}

// alternatives appends the conditions that a condition joins by or, at any depth.
func alternatives(to []alternative, n node, negate bool) []alternative {
	switch n := n.(type) {
	case *not:
		return alternatives(to, n.of, !negate)
	case *group:
		if n.or == negate {
			break
		}
		for _, of := range n.of {
			to = alternatives(to, of, negate)
		}
		return to
	}
	return append(to, alternative{n, negate})
}

// coverAllRows reports whether each row fulfils one of several alternatives: one of
// them is always true, or two of them are each other's opposite.
func coverAllRows(of []alternative) bool {
	for i, a := range of {
		if alwaysTrue(a.of, a.negate) {
			return true
		}
		for _, b := range of[:i] {
			if a.negate != b.negate && reflect.DeepEqual(a.of, b.of) || a.negate == b.negate && areOpposites(a.of, b.of) {
				return true
			}
		}
	}
	return false
}

// areOpposites reports whether of two comparisons each row fulfils exactly one.
func areOpposites(a, b node) bool {
	one, ok := a.(*compare)
	other, both := b.(*compare)
	if !ok || !both || one.operand.nullable() || !reflect.DeepEqual(one.operand, other.operand) {
		return false
	}
	if one.op == "=" {
		_, isBool := one.value.(bool)
		return isBool && other.op == "=" && one.value != other.value
	}
	return other.op == opposite[one.op] && reflect.DeepEqual(one.value, other.value)
}
