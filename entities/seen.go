package entities

import (
	"github.com/koan-go/koan/entities/descriptor"
	"github.com/koan-go/koan/entities/filter"
	"github.com/koan-go/koan/framework/catalog"
)

// seen is the graph with the caller's rights: an entity that the caller may not
// read exists in none of its filters and relationships, or it could be read, or
// guessed at, from the other side of an edge.
type seen struct {
	graph *descriptor.Graph
	view  *catalog.View
}

var _ filter.Graph = seen{}

func (e *engine) seen(call catalog.Call) filter.Graph { return seen{e.app.Graph, call.View()} }

// Entity implements filter.Graph.
func (s seen) Entity(name string) *descriptor.Entity {
	for _, op := range []string{"collection", "get-by-id"} {
		if s.view.Allowed(catalog.EntityID(name, op)) {
			return s.graph.Entity(name)
		}
	}
	return nil
}
