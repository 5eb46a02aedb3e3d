package typegen

import (
	"slices"
	"strings"

	"github.com/koan-go/koan/codemode/internal/bind"
	"github.com/koan-go/koan/codemode/internal/language/shapes"
	"github.com/koan-go/koan/codemode/internal/wire"
	"github.com/koan-go/koan/framework/catalog"
)

// Declarations that a search returns compile with the prelude, in any combination. So
// methods are members of an interface that merges with itself, and of a variable of that
// type, which may be declared more than once.

// Block implements language.Types. Of the targets of an entity's edges it declares the id.
func (TypeScript) Block(v *catalog.View, name string) (text string, ok bool) {
	r := v.Resource(name)
	if r == nil {
		return "", false
	}
	g := plainGenerator(v)
	return g.pasted(r, g.unions(r), r.Operations, g.names(r), true), true
}

// Method implements language.Types.
func (TypeScript) Method(v *catalog.View, id catalog.ID, fields bool) (text string, ok bool) {
	r := v.Resource(id.Owner)
	if r == nil || id.Kind != catalog.KindEntity || !v.Scripted(id) || len(shapes.Methods([]string{id.Op})) == 0 {
		return "", false
	}
	g := plainGenerator(v)
	t := g.names(r)
	if len(r.Sets) > 0 {
		t.set = setsType(r.Sets)
	}
	if relates(r) {
		t.relation = relationType(r.Edges)
	}
	inputs := ""
	if hasInput(r) {
		inputs = g.inputType(r, t)
	}
	return g.pasted(r, inputs, []string{id.Op}, t, fields), true
}

// plainGenerator returns a generator of a view whose methods are short.
func plainGenerator(v *catalog.View) *generator {
	g := *newGenerator(v)
	g.plain = true
	return &g
}

// pasted writes an entity's types, and its methods of some operations.
func (g *generator) pasted(r *catalog.Resource, types string, ops []string, t typeNames, fields bool) string {
	var b strings.Builder
	b.WriteString("declare namespace SDK.Entities {\n")
	if fields {
		b.WriteString(g.fields(r, r.Name, func(string) bool { return true }))
		seen := map[string]bool{r.Name: true}
		for _, e := range r.Edges {
			if !seen[e.Target] {
				seen[e.Target] = true
				b.WriteString("    interface " + e.Target + " { id: " + g.idType(e.Target) + " }\n")
			}
		}
	} else {
		b.WriteString("    // " + r.Name + " itself is in an earlier result\n")
	}
	methods := g.sibling(r.Name, "Methods")
	b.WriteString(types + "    interface " + methods + " {\n")
	for _, line := range g.methods(ops, t) {
		b.WriteString("      " + line + "\n")
	}
	b.WriteString("    }\n    var " + r.Name + ": " + methods + ";\n}\n")
	return b.String()
}

// idType is the type of an entity's id: the same wherever the entity is declared, so that the
// declarations merge.
func (g *generator) idType(entity string) string {
	if r := g.view.Resource(entity); r != nil && isNumeric(&r.Key) {
		return "SDK.Numeric"
	}
	return "string"
}

// Function implements language.Types.
func (TypeScript) Function(v *catalog.View, id catalog.ID) (text string, ok bool) {
	for _, d := range bind.Bind(v).Domains {
		for _, f := range d.Functions {
			if f.ID != id.String() {
				continue
			}
			d.Functions = append(d.Functions[:0:0], f)
			types, functions := domainTypes{newGenerator(v)}.domain(d)
			name := d.Name + "Functions"
			return "declare namespace SDK {\n" + types + "  interface " + name + " {\n" + functions + "  }\n  var " + d.Name + ": " + name + ";\n}\n", true
		}
	}
	for _, d := range bind.Bind(v).Upstreams {
		if id.Kind == catalog.KindUpstream && id.Owner == d.Name {
			d.Functions = slices.DeleteFunc(slices.Clone(d.Functions), func(f wire.Function) bool { return f.ID != id.String() })
			d.Groups = keepFunction(d.Groups, id.String())
			types, member := domainTypes{newGenerator(v)}.server(d)
			return "declare namespace SDK {" + serversNamespace(types, member, "var Servers") + "}\n", true
		}
	}
	return "", false
}

// keepFunction returns the group with one function, and that function alone.
func keepFunction(groups []wire.Group, id string) []wire.Group {
	for _, g := range groups {
		for _, f := range g.Functions {
			if f.ID == id {
				return []wire.Group{{Name: g.Name, Functions: []wire.Function{f}}}
			}
		}
	}
	return nil
}
