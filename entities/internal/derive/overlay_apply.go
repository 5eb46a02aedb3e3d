package derive

import (
	"maps"
	"slices"
	"strings"

	"github.com/koan-go/koan/entities/descriptor"
	"github.com/koan-go/koan/entities/expose"
	"github.com/koan-go/koan/entities/internal/inspect"
	"github.com/koan-go/koan/framework/catalog"
	"github.com/koan-go/koan/framework/exposure"
	"github.com/koan-go/koan/framework/fault"
)

// overlaid is an entity with what the configuration says of it.
type overlaid struct {
	*entity
	*EntityOverlay
	key string
}

// overlay returns what the configuration says of an entity.
func (g *graph) overlay(e *entity) (overlaid, bool) {
	key, o := g.options.Overlay.of(e.source, e.derived)
	return overlaid{e, o, key}, o != nil
}

// applyOverlay applies what the configuration says when all names are known.
func (g *graph) applyOverlay() error {
	var problems problemList
	used := map[string]bool{}
	for _, e := range g.entities {
		o, ok := g.overlay(e)
		if !ok {
			continue
		}
		used[o.key] = true
		o.apply(g.whyReadOnly(e), &problems)
	}
	g.reportUnused(used, &problems)
	if len(problems) > 0 {
		return problems.err()
	}
	g.hide()
	return nil
}

// reportUnused reports keys that are about nothing that was found.
func (g *graph) reportUnused(used map[string]bool, problems *problemList) {
	var names, tables []string
	for _, e := range g.entities {
		names, tables = append(names, e.derived), append(tables, e.source.Qualified())
	}
	for _, key := range slices.Sorted(maps.Keys(g.options.Overlay)) {
		o := g.options.Overlay[key]
		switch {
		case used[key]:
		case o.Table != "":
			problems.add(key+".table", "names "+o.Table+", which is not a table or view that is served"+fault.DidYouMean(o.Table, tables))
		default:
			problems.add(key, "is not an entity of the database"+fault.DidYouMeanOr(key, names, "say which table it is with `table`"))
		}
	}
	taken := map[string]string{}
	for _, e := range g.entities {
		name := e.Resource.Name
		if other, ok := taken[catalog.Kebab(name)]; ok {
			problems.add(name, "is the name of "+other+" and of "+e.source.Qualified()+": give one of them another with `name`")
		}
		taken[catalog.Kebab(name)] = e.source.Qualified()
		if !(catalog.ID{Kind: catalog.KindEntity, Owner: name, Op: "count"}).Valid() || name == "" || name[0] < 'A' || name[0] > 'Z' {
			problems.add(name, "cannot be an entity's name: letters A to Z and digits, a capital first")
		}
		if catalog.IsReserved(name) {
			problems.add(name, "is the name of an entity of Koan's own")
		}
	}
}

func (o overlaid) apply(unwritable string, problems *problemList) {
	r := &o.Resource
	if o.EntityOverlay.Description != "" {
		r.Description = o.EntityOverlay.Description
	}
	if o.ReadOnly != nil && !*o.ReadOnly && unwritable != "" {
		problems.add(o.key+".readOnly", "cannot be false: "+unwritable)
	}
	r.Exposure, o.ReadScopes = exposure.Mode(o.Exposure), o.Scopes
	for _, op := range o.Operations {
		if _, ok := catalog.EntityOperationNamed(op); !ok {
			problems.add(o.key+".operations", "names "+op+", which is not an operation")
		}
	}
	if len(o.Operations) > 0 {
		r.Operations = o.Operations
	}
	for _, name := range o.Lists.UpsertBy {
		if r.Field(name) == nil {
			problems.add(o.key+".upsertBy", "names "+name+", which is not a field"+fault.DidYouMean(name, o.fieldNames()))
		}
	}
	if len(o.Lists.UpsertBy) > 0 {
		if !r.ReadOnly && !o.isUniqueKey(o.Lists.UpsertBy) {
			problems.add(o.key+".upsertBy", "must name the fields of a unique key of the table, and only those")
		}
		o.Entity.UpsertBy = o.Lists.UpsertBy
	}
	o.applyVersion(problems)
	for _, name := range slices.Sorted(maps.Keys(o.Fields)) {
		o.applyField(name, o.Fields[name], problems)
	}
	for _, name := range slices.Sorted(maps.Keys(o.Relationships)) {
		o.applyRelationship(name, o.Relationships[name], problems)
	}
}

// isUniqueKey reports whether fields are those of a unique key.
func (o overlaid) isUniqueKey(fields []string) bool {
	var columns []string
	for _, name := range fields {
		if c := o.Column(name); c != nil {
			columns = append(columns, c.Name)
		}
	}
	return slices.ContainsFunc(o.source.Unique, func(u inspect.Unique) bool { return sameNames(u.Columns, columns) })
}

func (o overlaid) applyVersion(problems *problemList) {
	if o.Version == "" {
		return
	}
	f, c := o.Resource.Field(o.Version), o.Column(o.Version)
	if f == nil || c == nil || f.Type != catalog.TypeInt {
		problems.add(o.key+".version", "names "+o.Version+", which is not a field of integers"+fault.DidYouMean(o.Version, o.fieldNames()))
		return
	}
	o.Resource.Versioned, o.VersionColumn, f.ReadOnly = true, c.Name, true
}

func (o overlaid) fieldNames() (out []string) {
	for i := range o.Resource.Fields {
		out = append(out, o.Resource.Fields[i].Name)
	}
	return out
}

func (o overlaid) applyField(name string, say *FieldOverlay, problems *problemList) {
	f := o.Resource.Field(name)
	if f == nil {
		problems.add(o.key+".fields."+name, "is not a field"+fault.DidYouMean(name, o.fieldNames()))
		return
	}
	if say.Description != "" {
		f.Description = say.Description
	}
	if say.ReadOnly != nil {
		f.ReadOnly = f.ReadOnly || *say.ReadOnly
	}
	if say.Searchable != nil && *say.Searchable {
		if f.Type != catalog.TypeString && f.Type != catalog.TypeText {
			problems.add(o.key+".fields."+name+".searchable", "cannot be true: the field is not a text")
		}
		f.Searchable, o.Resource.Searchable = true, true
	}
	if say.Fold != "" {
		c := o.Column(name)
		if say.Fold != expose.Accents || c == nil || c.Storage != descriptor.Text || f.Type != catalog.TypeString && f.Type != catalog.TypeText {
			problems.add(o.key+".fields."+name+".fold", "must be "+expose.Accents+", and the field a text")
			return
		}
		c.Folding |= descriptor.FoldsAccents
	}
	if say.Hidden != nil && *say.Hidden {
		if name == "id" {
			problems.add(o.key+".fields.id.hidden", "cannot be true: every entity has its id")
			return
		}
		o.hidden[name] = true
	}
}

func (o overlaid) applyRelationship(name string, say *RelationshipOverlay, problems *problemList) {
	e := o.Resource.Edge(name)
	if e == nil {
		var known []string
		for i := range o.Resource.Edges {
			known = append(known, o.Resource.Edges[i].Name)
		}
		switch {
		case say.Via != "":
			problems.add(o.key+".relationships."+name+".via", "names "+say.Via+", along which no foreign key leads to an entity")
		default:
			problems.add(o.key+".relationships."+name, "is not a relationship"+fault.DidYouMeanOr(name, known, "say along which column it leads with `via`"))
		}
		return
	}
	if say.Description != "" {
		e.Description = say.Description
	}
	if say.Hidden != nil && *say.Hidden {
		o.hidden[name] = true
	}
}

// relationshipName returns the name that the configuration gives a relationship along a column, "" for
// none.
func (g *graph) relationshipName(e *entity, column string) string {
	o, ok := g.overlay(e)
	if !ok {
		return ""
	}
	for _, name := range slices.Sorted(maps.Keys(o.Relationships)) {
		if via := o.Relationships[name].Via; via == column || via != "" && via == fieldName(column) {
			return name
		}
	}
	return ""
}

// hide takes out what the configuration hides, and relationships to it.
func (g *graph) hide() {
	gone := map[string]bool{}
	g.entities = slices.DeleteFunc(g.entities, func(e *entity) bool {
		o, ok := g.overlay(e)
		hidden := ok && o.Hidden != nil && *o.Hidden
		if hidden {
			gone[e.Resource.Name] = true
			g.hidden = append(g.hidden, e)
			delete(g.out.Sources, e.Resource.Name)
			g.omit(e.source.Qualified(), "the configuration hides it")
		}
		return hidden
	})
	for _, e := range g.entities {
		r := &e.Resource
		r.Edges = slices.DeleteFunc(r.Edges, func(c catalog.Edge) bool { return gone[c.Target] || e.hidden[c.Name] })
		e.Edges = slices.DeleteFunc(e.Edges, func(d descriptor.Edge) bool { return r.Edge(d.Name) == nil })
		e.Columns = slices.DeleteFunc(e.Columns, func(c descriptor.Column) bool { return e.hidden[c.Field] })
		r.Fields = slices.DeleteFunc(r.Fields, func(f catalog.Field) bool { return e.hidden[f.Name] })
		for i := range r.Fields {
			if f := &r.Fields[i]; f.Edge != "" && r.Edge(f.Edge) == nil {
				f.Edge = ""
			}
		}
		for i := range e.Columns {
			if gone[e.Columns[i].Refers] {
				e.Columns[i].Refers = ""
			}
		}
		for i := range r.Edges {
			if r.Edges[i].Reference != "" && r.Field(r.Edges[i].Reference) == nil {
				r.Edges[i].Reference = ""
			}
		}
		e.ones = slices.DeleteFunc(e.ones, func(one *toOne) bool { return gone[one.to.Resource.Name] })
	}
	for i := range g.out.Links {
		g.out.Links[i].Edges = slices.DeleteFunc(g.out.Links[i].Edges, func(name string) bool {
			entity, _, _ := strings.Cut(name, ".")
			return gone[entity]
		})
	}
}
