// Package shapes has the sets of methods that the entities of a View have, so that declarations of types have each set
// once.
//
// What belongs here: which methods stand together, and under which name. Not here: a signature, or the text of a
// declaration.
package shapes

import (
	"slices"
	"strconv"

	"github.com/koan-go/koan/framework/catalog"
)

// Shape is one set of methods.
type Shape struct {
	Name       string   // of the type that has them: Entity, Entity2, ReadOnlyEntity
	Operations []string // that have them, in the contract's order
}

// Of returns the shapes of the entities of a View, each once, in the order of first use.
func Of(v *catalog.View) (out []Shape) {
	used := map[string]bool{}
	for _, r := range v.Resources() {
		ops := Methods(r.Operations)
		if slices.ContainsFunc(out, func(s Shape) bool { return slices.Equal(s.Operations, ops) }) {
			continue
		}
		base := "Entity"
		if r.ReadOnly {
			base = "ReadOnlyEntity"
		}
		name := base
		for n := 2; used[name]; n++ {
			name = base + strconv.Itoa(n)
		}
		used[name] = true
		out = append(out, Shape{name, ops})
	}
	return out
}

// Base returns the largest shape whose methods are some of another one's, nil if there is none.
func Base(all []Shape, of Shape) *Shape {
	var best *Shape
	for i := range all {
		s := &all[i]
		within := len(s.Operations) > 0 && len(s.Operations) < len(of.Operations)
		for _, op := range s.Operations {
			within = within && slices.Contains(of.Operations, op)
		}
		if within && (best == nil || len(s.Operations) > len(best.Operations)) {
			best = s
		}
	}
	return best
}

// Beyond returns the operations that a shape has and its base does not.
func (s Shape) Beyond(base *Shape) []string {
	return slices.DeleteFunc(slices.Clone(s.Operations), func(op string) bool { return slices.Contains(base.Operations, op) })
}

// Methods returns those of some operations that become methods, in the contract's order.
func Methods(ops []string) (out []string) {
	for _, op := range catalog.EntityOperationNames() {
		if slices.Contains(ops, op) {
			out = append(out, op)
		}
	}
	return out
}
