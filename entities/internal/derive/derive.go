// Package derive makes entities of what a database says of itself: names that callers see, fields,
// relationships in both directions, and what an app's configuration says otherwise.
//
// What belongs here: a graph of descriptors out of relations that were found. Not here: a query,
// or anything that depends on the order in which a database lists things.
package derive

import (
	"cmp"
	"slices"
	"strings"

	"entgo.io/ent/dialect/sql/schema"

	"github.com/koan-go/koan/entities/descriptor"
	"github.com/koan-go/koan/entities/internal/inspect"
	"github.com/koan-go/koan/framework/catalog"
)

// Derived is what is served of a database.
type Derived struct {
	Graph *descriptor.Graph
	// Links are the tables that are many-to-many relationships, and no entities.
	Links []Link
	// Omitted is what is not served, and why.
	Omitted []inspect.Omitted
	// Sources are the relations of the entities, by resource name.
	Sources map[string]*inspect.Relation
	// Unwritable are the tables that cannot be written whatever the configuration says, and why.
	Unwritable []inspect.Omitted
	// Tables are those whose rows one column names, and of links between them.
	Tables []*schema.Table
}

// Link is a table that only links rows of two others.
type Link struct {
	Table string
	Edges []string // "Order.products", "Product.orders"
}

// Options say how entities are made.
type Options struct {
	// ReadOnly makes entities read-only of which the overlay does not say whether they are.
	ReadOnly bool
	// Overlay is what the configuration says of entities.
	Overlay Overlay
}

// Graph makes the entities of a database. Its error has every problem of the overlay.
func Graph(d *inspect.Database, o Options) (*Derived, error) {
	g := &graph{options: o, found: d, out: &Derived{Omitted: slices.Clone(d.Omitted), Sources: map[string]*inspect.Relation{}}, of: map[*inspect.Relation]*entity{}}
	g.choose()
	g.nameEntities()
	for _, e := range g.entities {
		g.fields(e)
	}
	g.setReadOnly()
	for _, e := range g.entities {
		g.toOne(e)
	}
	g.toMany()
	g.links()
	if err := g.applyOverlay(); err != nil {
		return nil, err
	}
	g.finish()
	return g.out, nil
}

// graph is a graph that is being made.
type graph struct {
	options  Options
	found    *inspect.Database
	out      *Derived
	entities []*entity
	joins    []*inspect.Relation // tables that only link rows
	of       map[*inspect.Relation]*entity
	// unwritable are the entities that cannot be written, hidden those that the configuration hides.
	unwritable, hidden []*entity
}

// entity is an entity that is being made.
type entity struct {
	*descriptor.Entity
	source  *inspect.Relation
	derived string          // its name without the configuration
	taken   map[string]bool // names of fields and relationships
	hidden  map[string]bool // by the configuration
	ones    []*toOne
}

// toOne is a relationship along a foreign key.
type toOne struct {
	key    *inspect.ForeignKey
	from   *entity
	to     *entity
	edge   string // its name
	unique bool   // one row at most refers to each
	column string // that refers to the target's key by itself, "" otherwise
}

func (g *graph) omit(name, reason string) {
	g.out.Omitted = append(g.out.Omitted, inspect.Omitted{Name: name, Reason: reason})
}

// choose sorts out what becomes an entity, and what a relationship.
func (g *graph) choose() {
	for _, r := range g.found.Relations {
		switch {
		case r.PartOf != "": // its rows are those of its parent
		case len(r.Columns) == 0:
			g.omit(r.Qualified(), "it has no columns")
		case g.linksOnly(r) && !g.options.Overlay.names(r):
			g.joins = append(g.joins, r)
		default:
			e := &entity{Entity: &descriptor.Entity{}, source: r, taken: map[string]bool{}, hidden: map[string]bool{}}
			g.entities, g.of[r] = append(g.entities, e), e
		}
	}
}

// linksOnly reports whether a table has two references to keys and nothing else.
func (g *graph) linksOnly(r *inspect.Relation) bool {
	if r.Kind != inspect.Table || len(r.Columns) != 2 || len(r.ForeignKeys) != 2 {
		return false
	}
	for i, f := range r.ForeignKeys {
		target := g.found.Find(f.Schema, f.Table)
		if len(f.Columns) != 1 || target == nil || target == r || target.PartOf != "" || !slices.Equal(f.Refers, target.Key) {
			return false
		}
		if i == 1 && f.Columns[0] == r.ForeignKeys[0].Columns[0] {
			return false
		}
	}
	both := []string{r.Columns[0].Name, r.Columns[1].Name}
	return sameNames(r.Key, both) || slices.ContainsFunc(r.Unique, func(u inspect.Unique) bool { return sameNames(u.Columns, both) })
}

func sameNames(a, b []string) bool {
	return slices.Equal(slices.Sorted(slices.Values(a)), slices.Sorted(slices.Values(b)))
}

// nameEntities names the entities, in an order that does not depend on that of the database's catalog.
func (g *graph) nameEntities() {
	slices.SortFunc(g.entities, func(a, b *entity) int {
		return cmp.Or(strings.Compare(a.source.Schema, b.source.Schema), strings.Compare(a.source.Name, b.source.Name))
	})
	names := entityNames(g.entities)
	for i, e := range g.entities {
		e.Resource.Name, e.derived = names[i], names[i]
		if given := g.options.Overlay.nameOf(e.source, names[i]); given != "" {
			e.Resource.Name = given
		}
		e.Table = tableName(e.source)
		e.Resource.Description = e.source.Comment
		g.out.Sources[e.Resource.Name] = e.source
	}
}

// finish completes the descriptors.
func (g *graph) finish() {
	slices.SortFunc(g.entities, func(a, b *entity) int { return strings.Compare(a.Resource.Name, b.Resource.Name) })
	all := make([]*descriptor.Entity, 0, len(g.entities))
	for _, e := range g.entities {
		if e.Resource.Operations == nil && len(e.source.Key) == 0 && e.source.RowID == "" {
			e.Resource.Operations = []string{"collection", "count", "aggregate"}
		}
		all = append(all, e.Entity)
	}
	g.referrers()
	g.tables()
	g.listUnwritable()
	g.out.Graph = descriptor.NewGraph(all...)
}

// referrers notes which rows refer to those of an entity.
func (g *graph) referrers() {
	for _, e := range g.entities {
		for _, one := range e.ones {
			e.refer(one, false)
		}
	}
	for _, e := range g.hidden {
		for _, one := range e.ones {
			e.refer(one, true)
		}
	}
}

// keyField is the id that every entity has.
func keyField() catalog.Field {
	return catalog.Field{Name: "id", Type: catalog.TypeID, Immutable: true}
}
