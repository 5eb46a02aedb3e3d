package derive

import (
	"fmt"
	"slices"
	"strings"

	"github.com/koan-go/koan/entities/descriptor"
	"github.com/koan-go/koan/entities/internal/inspect"
	"github.com/koan-go/koan/framework/catalog"
)

// toOne makes the relationships of an entity along its foreign keys.
func (g *graph) toOne(e *entity) {
	for _, f := range e.source.ForeignKeys {
		target := g.of[g.found.Find(f.Schema, f.Table)]
		if target == nil {
			continue
		}
		one := &toOne{key: f, from: e, to: target, unique: e.source.IsUnique(f.Columns)}
		if len(f.Columns) == 1 && slices.Equal(f.Refers, target.source.Key) && target.Key.Name != "" {
			one.column = f.Columns[0]
		}
		if one.column == "" && (len(e.source.Key) == 0 && e.source.RowID == "") {
			continue // nothing names its rows, which are related by their keys
		}
		names := []string{camel(words(target.Resource.Name)), camel(words(target.Resource.Name)) + "Ref"}
		if len(f.Columns) == 1 {
			names = append([]string{g.relationshipName(e, f.Columns[0]), withoutID(f.Columns[0])}, names...)
		}
		one.edge = e.take(names...)
		e.ones = append(e.ones, one)
		g.addToOne(one)
	}
}

// addToOne describes a relationship along a foreign key.
func (g *graph) addToOne(one *toOne) {
	e := one.from
	c := catalog.Edge{Name: one.edge, Target: one.to.Resource.Name, Required: true}
	d := descriptor.Edge{Name: one.edge, Ent: one.edge, Target: one.to.Resource.Name, Relation: descriptor.M2O, Inverse: true}
	if one.unique {
		d.Relation = descriptor.O2O
	}
	for _, name := range one.key.Columns {
		if e.source.Column(name).Nullable {
			c.Required = false
		}
	}
	if one.column == "" {
		d.On = pairs(one.key.Columns, one.key.Refers)
		c.ReadOnly, c.Required = true, false
		c.Reason = fmt.Sprintf("It follows from %s.", strings.Join(e.namesOf(one.key.Columns), " and "))
	} else {
		d.OwnKey = one.column
		if f := e.fieldOf(one.column); f != nil {
			g.makeReference(f, e.columnOf(one.column), one)
			c.Reference, c.Immutable = f.Name, f.Immutable
		}
		if col := e.columnOf(one.column); col.Refers == "" {
			col.Refers = one.to.Resource.Name
		}
		c.ReadOnly = c.ReadOnly || e.source.Column(one.column).Generated
	}
	if c.Reference == "" && !c.ReadOnly && one.column != "" { // the key itself
		c.ReadOnly, c.Required, c.Reason = true, false, "It follows from id."
		if col := e.source.Column(one.column); e.Resource.Key.Generated && col.Default == nil && !col.Always { // else it would refer to anything
			e.Resource.Key.Generated, e.Resource.Key.Required = false, e.source.Writable()
		}
	}
	e.Resource.Edges, e.Edges = append(e.Resource.Edges, c), append(e.Edges, d)
}

// makeReference makes a field the id of what it refers to. The first of several foreign keys of a column
// has it.
func (g *graph) makeReference(f *catalog.Field, c *descriptor.Column, one *toOne) {
	if f.Edge != "" {
		return
	}
	f.Edge, f.Type, f.Enum = one.edge, catalog.TypeID, nil
	f.Min, f.Max, f.MinLength, f.MaxLength, f.Precision, f.Scale, f.Wide, f.Default = nil, nil, nil, nil, 0, 0, false, nil
	c.Storage, c.Form = one.to.Key.Storage, one.to.Key.Form
}

// namesOf returns the names of the fields of columns.
func (e *entity) namesOf(columns []string) (out []string) {
	for _, name := range columns {
		if f := e.fieldOf(name); f != nil {
			out = append(out, f.Name)
		} else {
			out = append(out, "id")
		}
	}
	return out
}

func pairs(own, target []string) (out []descriptor.Pair) {
	for i := range own {
		out = append(out, descriptor.Pair{Own: own[i], Target: target[i]})
	}
	return out
}

// toMany makes the other sides of relationships: the plural of the entity that refers, with the name of the
// relationship behind it where there are two.
func (g *graph) toMany() {
	for _, e := range g.entities {
		count := map[*entity]int{}
		for _, one := range e.ones {
			count[one.to]++
		}
		for _, one := range e.ones {
			name := plural(e.Resource.Name)
			if one.unique {
				name = camel(words(e.Resource.Name))
			}
			by := name + "By" + strings.ToUpper(one.edge[:1]) + one.edge[1:]
			if count[one.to] > 1 {
				name = one.to.take(by)
			} else {
				name = one.to.take(name, by)
			}
			g.addOtherSide(one, name)
		}
	}
}

func (g *graph) addOtherSide(one *toOne, name string) {
	c := catalog.Edge{Name: name, Target: one.from.Resource.Name, Many: !one.unique}
	d := descriptor.Edge{
		Name: name, Ent: name, Target: one.from.Resource.Name, Relation: descriptor.O2M,
		Cascade: one.key.OnDelete == "CASCADE", SetNull: one.key.OnDelete == "SET NULL",
	}
	if one.unique {
		d.Relation = descriptor.O2O
	}
	edge := one.from.Resource.Edge(one.edge)
	if one.column == "" {
		d.On = pairs(one.key.Refers, one.key.Columns)
	} else {
		d.TargetKey = one.column
	}
	if edge.ReadOnly || one.from.Resource.ReadOnly || one.from.Key.Name == "" {
		c.ReadOnly, c.Reason = true, "It is set through "+one.edge+" of "+one.from.Resource.Name+"."
	}
	one.to.Resource.Edges, one.to.Edges = append(one.to.Resource.Edges, c), append(one.to.Edges, d)
}

// links makes the relationships of tables that only link rows.
func (g *graph) links() {
	for _, r := range g.joins {
		link := Link{Table: r.Qualified()}
		a, b := r.ForeignKeys[0], r.ForeignKeys[1]
		from, to := g.of[g.found.Find(a.Schema, a.Table)], g.of[g.found.Find(b.Schema, b.Table)]
		if from == nil || to == nil {
			g.omit(r.Qualified(), "it links rows of a table that is not served")
			continue
		}
		link.Edges = append(link.Edges, from.linkTo(to, r, a, b, false), to.linkTo(from, r, b, a, true))
		g.out.Links = append(g.out.Links, link)
	}
}

// linkTo adds one side of a many-to-many relationship.
func (e *entity) linkTo(target *entity, r *inspect.Relation, own, far *inspect.ForeignKey, inverse bool) string {
	name := plural(target.Resource.Name)
	if target == e {
		if of := withoutID(far.Columns[0]); of != "" {
			name = plural(of)
		}
	}
	name = e.take(name, name+"By"+entityName(r.Name, true))
	c := catalog.Edge{Name: name, Target: target.Resource.Name, Many: true, ReadOnly: e.Resource.ReadOnly || e.Key.Name == "" || target.Key.Name == ""}
	d := descriptor.Edge{
		Name: name, Ent: name, Target: target.Resource.Name, Relation: descriptor.M2M, Inverse: inverse,
		JoinTable: tableName(r), JoinOwn: own.Columns[0], JoinTarget: far.Columns[0],
	}
	e.Resource.Edges, e.Edges = append(e.Resource.Edges, c), append(e.Edges, d)
	return e.Resource.Name + "." + name
}
