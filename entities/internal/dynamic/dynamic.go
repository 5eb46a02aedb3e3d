// Package dynamic gives the engine what generated code gives it, from descriptions alone: a
// client, transactions, and builders that create, change and delete rows of entities for which
// no Go code was generated.
//
// What belongs here: mutations in ent's terms over values that nobody has a Go type for, and the
// statements of ent's own SQL builder that carry them out. Not here: where descriptions come
// from, what callers send, or anything that an entity with generated code does in another way.
package dynamic

import (
	"fmt"
	"slices"

	"entgo.io/ent"
	"entgo.io/ent/dialect"
	"entgo.io/ent/dialect/sql/schema"

	"github.com/koan-go/koan/entities/descriptor"
	"github.com/koan-go/koan/entities/shim"
)

// Options are what a graph does not say about its entities. The zero value is an existing database,
// which fills in its own defaults.
type Options struct {
	// Tables are the tables of the entities and of their many-to-many relationships. Without
	// them they follow from the graph, which knows of unique keys only those of upserts.
	Tables []*schema.Table
	// SchemaHash identifies the tables where the app migrates them.
	SchemaHash int32
	// Foreign is that of shim.App.
	Foreign string
	// Fill makes values that no caller gave, by resource name. A database's own defaults need
	// none.
	Fill map[string]Fill
	// Checks are what code of the app checks of single values, beyond the limits of fields, by resource
	// name and column.
	Checks map[string]map[string]func(v any) error
	// Constants has the constant defaults of fields written with new rows. Without it the
	// database fills them in.
	Constants bool
	// Form returns how ids of an entity are written and kept, for keys of which a column does not
	// say it: one of several columns. Its zero value leaves it to the key's column.
	Form func(e *descriptor.Entity) shim.IDForm
}

// Fill makes values of one entity, by column.
type Fill struct {
	Create map[string]Maker // of a new row, the key's included
	Update map[string]Maker // of a row that changes
}

// Maker makes a value, as the converters of package shim take it.
type Maker func() (any, error)

// App returns what generated code would for a graph. It panics where the graph contradicts itself,
// which is a programmer's mistake.
func App(g *descriptor.Graph, o Options) *shim.App {
	s := &set{kinds: make(map[string]*kind, len(g.Entities))}
	for _, e := range g.Entities {
		s.kinds[e.Resource.Name] = newKind(e, o)
	}
	app := &shim.App{
		Graph: g, SchemaHash: o.SchemaHash, Tables: o.Tables, Foreign: o.Foreign, Trait: trait,
		Connect: func(_ string, drv dialect.Driver, engine ent.Hook) (shim.Client, error) {
			return &client{drv: drv, hook: engine}, nil
		},
	}
	for _, e := range g.Entities {
		k := s.kinds[e.Resource.Name]
		s.join(k)
		app.Kinds = append(app.Kinds, k.shim(e))
	}
	if app.Tables == nil {
		app.Tables = s.tables(g)
	}
	return app
}

// set is all kinds of an app, by resource name.
type set struct{ kinds map[string]*kind }

// join completes the edges of a kind with what they lead to.
func (s *set) join(k *kind) {
	for i := range k.entity.Edges {
		d := &k.entity.Edges[i]
		target := s.kinds[d.Target]
		if target == nil {
			panic(fmt.Sprintf("dynamic: the edge %s of %s leads to %s, which the graph does not have", d.Name, k.name(), d.Target))
		}
		e := edge{Edge: d, target: target, slot: -1, required: requiredEdge(k.entity, d.Name)}
		if d.OwnKey != "" && d.JoinTable == "" {
			e.slot = k.slotOf(d.OwnKey)
		}
		k.edgeByName[d.Ent] = len(k.edges)
		k.edges = append(k.edges, e)
	}
	for i := range k.edges {
		k.edges[i].mutual = k.isMutual(&k.edges[i])
	}
}

// isMutual reports whether an edge leads from a kind to itself and is its own inverse.
func (k *kind) isMutual(e *edge) bool {
	return e.target == k && !slices.ContainsFunc(k.edges, func(o edge) bool {
		if e.JoinTable == "" {
			return o.TargetKey == e.OwnKey
		}
		return o.JoinTable == e.JoinTable && o.JoinOwn == e.JoinTarget
	})
}

func requiredEdge(e *descriptor.Entity, name string) bool {
	c := e.Resource.Edge(name)
	return c != nil && c.Required && c.Reference == ""
}
