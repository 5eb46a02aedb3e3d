package entgen

import (
	"slices"
	"strings"

	"entgo.io/ent/entc/gen"

	"github.com/koan-go/koan/framework/catalog"
)

// checkSchemas reports schemas whose generated files are those of others. ent takes them, and
// writes one over the other.
func (m *model) checkSchemas() {
	first := map[string]string{}
	for _, n := range m.graph.Nodes {
		folded := strings.ToLower(n.Name)
		if other, ok := first[folded]; ok {
			m.problem("%s: it differs from %s in case only, so the generated files of one would overwrite the other's: rename one of the two", n.Name, other)
			continue
		}
		first[folded] = n.Name
	}
}

// checkTables reports schemas that have one table, and whether there are any.
func (m *model) checkTables() (found bool) {
	first := map[string]string{}
	for _, n := range m.graph.Nodes {
		at := ""
		if a := n.EntSQL(); a != nil {
			if a.Skip {
				continue
			}
			at = a.Schema
		}
		name := at + "." + n.Table()
		if other, ok := first[name]; ok {
			found = true
			m.problem("%s: its table %q is that of %s too: let one of them have another, with entsql.Annotation{Table: \"...\"} among its annotations", n.Name, n.Table(), other)
			continue
		}
		first[name] = n.Name
	}
	return found
}

// checkName reports an entity whose name is one of Koan's own, and notes one that has no routes.
func (m *model) checkName(n *gen.Type) {
	if catalog.IsReserved(n.Name) {
		m.problem("%s: the journal has an entity of this name, so the app cannot: rename the schema; its table can keep its name with entsql.Annotation{Table: %q}", n.Name, n.Table())
	}
	if path, ok := catalog.Routed(n.Name); !ok {
		m.note("%s: it will have no routes in REST, as /api/%s is the path of something else; tools and scripts have it. Rename the schema to have them", n.Name, path)
	}
}

// checkCreatable reports an edge that every new entity must have and no caller can give. Hooks
// may set it, and a key that is a field is written as a field.
func (m *model) checkCreatable(n *gen.Type, e *gen.Edge) {
	a := m.exposed[n.Name]
	creates := !isSet(a.ReadOnly) && (len(a.Operations) == 0 || slices.ContainsFunc(a.Operations, func(op string) bool { return op == "create" || op == "upsert" || op == "upsert-many" }))
	if !creates || !setByCallersOnly(n, e) || m.visible(e) {
		return
	}
	why, remedy := "is hidden", "show the edge"
	if m.exposed[e.Type.Name] == nil {
		why, remedy = "leads to "+e.Type.Name+", which is not exposed", "expose "+e.Type.Name
	}
	m.problem("%s.%s: it is required and %s, so no caller could create one: %s, make the edge optional, set it in a hook of the schema, or leave create, upsert and upsert-many out with expose.Entity{Operations: ...}", n.Name, e.Name, why, remedy)
}

// setByCallersOnly reports whether a new entity must have an edge that nothing but a caller's own
// mention of it can set.
func setByCallersOnly(n *gen.Type, e *gen.Edge) bool {
	return !e.Optional && e.Field() == nil && n.NumHooks() == 0
}

// Needs returns, for each schema, those that must be exposed with it, since callers could not
// create one without naming one of the others.
func Needs(g *gen.Graph) map[string][]string {
	out := map[string][]string{}
	for _, n := range g.Nodes {
		for _, e := range n.Edges {
			if setByCallersOnly(n, e) && e.Type != n {
				out[n.Name] = append(out[n.Name], e.Type.Name)
			}
		}
	}
	return out
}
