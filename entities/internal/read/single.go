package read

import "github.com/koan-go/koan/entities/internal/filter"

// Single reports whether reading takes one statement, so that it needs no
// transaction to see one snapshot.
func (g *Get) Single() bool { return len(g.reads.relations) == 0 }

// Plain reports whether the input names nothing but an id and a set: whoever asks, it is
// read alike, and only the rule of the entity is the caller's.
func (g *Get) Plain() bool { return g.plain }

// Obey takes the rule of another caller.
func (g *Get) Obey(graph filter.Graph) { g.rule = filter.RuleOf(graph, g.Entity) }

// Single returns the same of a collection.
func (c *Collection) Single() bool { return !c.Count && len(c.reads.relations) == 0 }
