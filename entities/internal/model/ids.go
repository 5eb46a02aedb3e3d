package model

import "entgo.io/ent"

// Difference returns the ids that are not among others, each once.
func Difference(ids, others []any) []any {
	var out []any
	known := SetOf(others)
	for _, id := range ids {
		if !known[id] {
			known[id] = true
			out = append(out, id)
		}
	}
	return out
}

// SetOf returns native ids, all of which are comparable, as a set.
func SetOf(ids []any) map[any]bool {
	out := make(map[any]bool, len(ids))
	for _, id := range ids {
		out[id] = true
	}
	return out
}

// IDsOf returns the ids that a mutation names at the other side of an edge.
func IDsOf(in []ent.Value) []any {
	out := make([]any, len(in))
	for i, v := range in {
		out[i] = v
	}
	return out
}
