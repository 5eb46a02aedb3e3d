package engine_test

import (
	"math/rand/v2"
	"slices"
	"strings"

	"github.com/koan-go/koan/entities/descriptor"
	"github.com/koan-go/koan/entities/shim"
	"github.com/koan-go/koan/framework/catalog"
	"github.com/koan-go/koan/framework/exposure"
)

// The plain evaluation of the rule of relationships that TestRightsOfRelationships
// compares the engine with.

// Where the link of an edge is kept.
const (
	own   = "own"   // in the entity's own row
	far   = "far"   // in the target's
	joint = "joint" // in a table between the two
)

// tie is what the test knows of an edge: it is written down here once more, and not
// read from what the code under test goes by.
type tie struct {
	entity, edge, target string
	many                 bool
	at                   string
	keys                 []string // Entity.field
	inverse              string   // for a link that is kept there without a field: the target's edge
	never                bool     // it is written as an entity of its own, or by the app only
}

var ties = []tie{
	{"Cabinet", "specimens", "Specimen", true, far, nil, "cabinet", false},
	{"Cabinet", "labels", "Label", true, joint, nil, "", false},
	{"Cabinet", "beside", "Cabinet", false, own, []string{"Cabinet.besideId"}, "", false},
	{"Cabinet", "next", "Cabinet", false, far, []string{"Cabinet.besideId"}, "", false},
	{"Cabinet", "visitors", "Visitor", true, joint, []string{"Visit.cabinetId", "Visit.visitorId"}, "", true},
	{"Cabinet", "visits", "Visit", true, far, []string{"Visit.cabinetId"}, "", false},
	{"Cabinet", "plaque", "Plaque", false, far, []string{"Plaque.cabinetId"}, "", false},
	{"Cabinet", "spares", "Plaque", true, far, nil, "", false},
	{"Plaque", "cabinet", "Cabinet", false, own, []string{"Plaque.cabinetId"}, "", false},
	{"Plaque", "label", "Label", false, own, nil, "", false},
	{"Plaque", "copies", "Plaque", true, far, []string{"Plaque.originalId"}, "", false},
	{"Plaque", "original", "Plaque", false, own, []string{"Plaque.originalId"}, "", false},
	{"Plaque", "similar", "Plaque", true, joint, nil, "", false},
	{"Label", "cabinets", "Cabinet", true, joint, nil, "", false},
	{"Label", "specimens", "Specimen", true, joint, nil, "", false},
	{"Label", "owners", "Visitor", true, joint, nil, "", true},
	{"Specimen", "cabinet", "Cabinet", false, own, nil, "", false},
	{"Specimen", "labels", "Label", true, joint, nil, "", false},
	{"Specimen", "likers", "Visitor", true, joint, nil, "", true},
	{"Visitor", "liked", "Specimen", true, joint, nil, "", false},
	{"Visitor", "visited", "Cabinet", true, joint, []string{"Visit.cabinetId", "Visit.visitorId"}, "", true},
	{"Visitor", "owned", "Label", true, joint, nil, "", true},
	{"Visitor", "visits", "Visit", true, far, []string{"Visit.visitorId"}, "", false},
	{"Visit", "visitor", "Visitor", false, own, []string{"Visit.visitorId"}, "", false},
	{"Visit", "cabinet", "Cabinet", false, own, []string{"Visit.cabinetId"}, "", false},
	{"Slot", "inner", "Slot", true, far, nil, "outer", false},
	{"Slot", "outer", "Slot", false, own, nil, "", false},
}

var (
	beings  = []string{"Cabinet", "Label", "Plaque", "Slot", "Specimen", "Visit", "Visitor"}
	keys    = []string{"Cabinet.besideId", "Plaque.cabinetId", "Plaque.originalId", "Visit.visitorId", "Visit.cabinetId"}
	looks   = []string{"collection", "get-by-id", "count", "aggregate"}
	changes = []string{"new", "upsert", "upsert-many", "patch", "update-by-query"}
	removes = []string{"delete-by-query", "delete", "delete-many"}
)

// law is who may do what, as the schemas say it, and one caller.
type law struct {
	read, write, remove map[string]string // entity -> scope
	readOnly            map[string]bool
	ops                 map[string][]string // nil for all
	mode                map[string]exposure.Mode
	field               map[string]string // Entity.field -> what it is annotated as
	once                map[string]bool   // Entity.edge, without a field, that is set at creation only
	owned               map[string]bool   // Entity.edge
	server              exposure.Mode
	scopes              []string
}

func randomLaw(r *rand.Rand) *law {
	l := &law{
		map[string]string{},
		map[string]string{},
		map[string]string{},
		map[string]bool{},
		map[string][]string{},
		map[string]exposure.Mode{},
		map[string]string{},
		map[string]bool{},
		map[string]bool{},
		exposure.Full, nil,
	}
	one := func(n int) bool { return r.IntN(n) == 0 }
	var all []string
	scope := func(into map[string]string, name, what string, n int) {
		if one(n) {
			into[name] = strings.ToLower(name) + ":" + what
			all = append(all, into[name])
		}
	}
	for _, e := range beings {
		scope(l.read, e, "read", 4)
		scope(l.write, e, "write", 4)
		scope(l.remove, e, "delete", 6)
		l.readOnly[e] = one(8)
		if one(6) {
			for _, op := range slices.Concat(looks, changes, removes) {
				if !one(3) {
					l.ops[e] = append(l.ops[e], op)
				}
			}
		}
		l.mode[e] = []exposure.Mode{"", "", "", "", exposure.Tools, exposure.Code, exposure.Full}[r.IntN(7)]
	}
	for _, k := range keys {
		if one(2) {
			l.field[k] = []string{"read-only", "immutable", "write-only", "sensitive", "scoped"}[r.IntN(5)]
		}
		if k == "Visit.visitorId" || k == "Visit.cabinetId" { // which are needed to make one
			if l.field[k] == "read-only" {
				l.field[k] = "immutable"
			}
		}
	}
	all = append(all, "secret", catalog.ScopeWrite, catalog.ScopeWrite)
	for _, s := range all {
		if !one(3) {
			l.scopes = append(l.scopes, s)
		}
	}
	for _, t := range ties {
		name := t.entity + "." + t.edge
		l.once[name] = t.at == own && t.keys == nil && one(5)
		l.owned[name] = t.at == joint && one(4)
	}
	l.server = []exposure.Mode{exposure.Full, exposure.Full, exposure.Code, exposure.Tools}[r.IntN(4)]
	return l
}

// annotate says the same to the app.
func (l *law) annotate(app *shim.App) *shim.App {
	for _, name := range beings {
		e := app.Graph.Entity(name)
		set := func(into *[]string, scope string) {
			if scope != "" {
				*into = []string{scope}
			}
		}
		set(&e.ReadScopes, l.read[name])
		set(&e.WriteScopes, l.write[name])
		set(&e.DeleteScopes, l.remove[name])
		e.Resource.ReadOnly, e.Resource.Operations, e.Resource.Exposure = l.readOnly[name], l.ops[name], l.mode[name]
		for i := range e.Resource.Edges {
			edge := &e.Resource.Edges[i]
			edge.Owned = l.owned[name+"."+edge.Name]
			edge.Immutable = edge.Immutable || l.once[name+"."+edge.Name]
		}
	}
	for _, k := range keys {
		entity, field, _ := strings.Cut(k, ".")
		f := app.Graph.Entity(entity).Resource.Field(field)
		switch l.field[k] {
		case "read-only":
			f.ReadOnly = true
		case "immutable":
			f.Immutable = true
		case "write-only":
			f.WriteOnly = true
		case "sensitive":
			f.Sensitive = true
		case "scoped":
			f.ReadScopes = []string{"secret"}
		}
	}
	app.Graph = descriptor.NewGraph(app.Graph.Entities...)
	return app
}

// court decides, for one surface and one `only`.
type court struct {
	*law
	script bool
	only   []string // nil for everything
}

func (c court) has(scope string) bool { return scope == "" || slices.Contains(c.scopes, scope) }

func (c court) shown(entity string) bool {
	code, tools := c.server != exposure.Tools, c.server != exposure.Code
	switch m := c.mode[entity]; {
	case c.script:
		return code && m != exposure.Tools
	case m == "":
		return tools
	default:
		return m != exposure.Code
	}
}

// can says whether the caller can call an operation.
func (c court) can(entity, op string) bool {
	changing, removing := slices.Contains(changes, op), slices.Contains(removes, op)
	if ops := c.ops[entity]; ops != nil && !slices.Contains(ops, op) {
		return false
	}
	if (changing || removing) && c.readOnly[entity] {
		return false
	}
	if c.script && c.only != nil && !slices.Contains(c.only, entity) {
		return false
	}
	if !c.shown(entity) || !c.has(c.read[entity]) {
		return false
	}
	switch {
	case changing && c.write[entity] == "", removing && c.write[entity]+c.remove[entity] == "":
		return c.has(catalog.ScopeWrite)
	case changing:
		return c.has(c.write[entity])
	case removing:
		return c.has(c.write[entity]) && c.has(c.remove[entity])
	}
	return true
}

func (c court) canAny(entity string, ops ...string) bool {
	return slices.ContainsFunc(ops, func(op string) bool { return c.can(entity, op) })
}

func (c court) reads(entity string) bool { return c.canAny(entity, "collection", "get-by-id") }
func (c court) updates(entity string) bool {
	return c.canAny(entity, "upsert", "upsert-many", "patch", "update-by-query")
}
func (c court) deletes(entity string) bool { return c.canAny(entity, removes...) }

// legible says whether the caller reads all fields that keep a tie's link.
func (c court) legible(t tie) bool {
	for _, k := range t.keys {
		entity, _, _ := strings.Cut(k, ".")
		switch kind := c.field[k]; {
		case kind == "write-only", kind == "sensitive", kind == "scoped" && !c.has("secret"):
			return false
		case t.at != own && !c.reads(entity):
			return false
		}
	}
	return true
}

func (c court) visible(t tie) bool { return c.reads(t.target) && c.legible(t) }

// writable says when the caller may write a tie: "never", "once" or "always"; "" where
// there is none for him.
func (c court) writable(t tie) string {
	if !c.reads(t.target) || !c.legible(t) && t.at != own {
		return ""
	}
	when := "always"
	for _, k := range t.keys {
		switch c.field[k] {
		case "read-only":
			when = "never"
		case "immutable":
			if when = "never"; t.at == own {
				when = "once"
			}
		}
	}
	switch {
	case t.never, t.at == far && !c.updates(t.target), t.at == joint && !c.updates(t.target) && !c.owned[t.entity+"."+t.edge]:
		when = "never"
	case t.at == own && c.once[t.entity+"."+t.edge]:
		when = "once"
	case t.inverse != "" && c.once[t.target+"."+t.inverse]:
		when = "never"
	}
	if !c.legible(t) && when == "never" {
		return ""
	}
	return when
}

// falls are foreign keys: what deleting a row does to those tied to it.
var falls = []struct {
	parent, child, edge string // the child's edge, or "" and the parent's
	tie                 string // the parent's edge
	key                 string
	cascade             bool
}{
	{"Cabinet", "Specimen", "cabinet", "specimens", "", false},
	{"Cabinet", "Cabinet", "beside", "next", "Cabinet.besideId", false},
	{"Cabinet", "Plaque", "cabinet", "plaque", "Plaque.cabinetId", false},
	{"Cabinet", "Plaque", "", "spares", "", true},
	{"Label", "Plaque", "label", "", "", false},
	{"Plaque", "Plaque", "original", "copies", "Plaque.originalId", false},
	{"Slot", "Slot", "outer", "inner", "", false},
}
