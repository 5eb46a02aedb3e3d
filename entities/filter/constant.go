package filter

// MatchesAll reports whether the filter has no condition that could leave a row out:
// {}, but also what a list or a text that happens to be empty makes of one, such as
// {"id": {"$nin": []}} or {"title": {"$contains": ""}}. It does not look at data.
func (t *Tree) MatchesAll() bool {
	if t == nil {
		return true
	}
	value, known := constant(t.root)
	return known && value
}

// constant returns what a condition is for every row that has a value there; known is
// false where that depends on the row.
func constant(n node) (value, known bool) {
	switch n := n.(type) {
	case *group:
		return n.constant()
	case *not:
		value, known = constant(n.of)
		return !value, known
	case *oneOf:
		return false, len(n.values) == 0
	case *match:
		return true, n.text == ""
	case *Words:
		return true, n.Empty()
	}
	return false, false
}

func (g *group) constant() (value, known bool) {
	known = true
	for _, n := range g.of {
		switch v, ok := constant(n); {
		case !ok:
			known = false
		case v == g.or: // one that decides for all
			return v, true
		}
	}
	return !g.or, known
}
