// Package bind derives the contents of SDK in a script from a View: the names of entities,
// domains and functions.
//
// What belongs here: names and which operation each one calls. Not here:
// types or descriptions (package typegen), or how a call is made.
package bind

import (
	"strconv"

	"github.com/koan-go/koan/codemode/internal/wire"
	"github.com/koan-go/koan/framework/catalog"
)

type memoKey struct{}

// Files is the domain of the system's own functions.
const Files = "Files"

// taken are the members of SDK, whose names domains cannot have (CONTRACT section 3).
var taken = map[string]bool{"Actions": true, "Entities": true, "Files": true, "Out": true, "Servers": true, "args": true, "run": true}

// Bind returns the bindings of a View: entities by name, domains (actions are one) and their
// functions in the order of their IDs, and upstream servers. They are computed once per View.
func Bind(v *catalog.View) wire.Bindings {
	return catalog.Memo(v, memoKey{}, func() wire.Bindings { return bindings(v).Encoded() })
}

func bindings(v *catalog.View) wire.Bindings {
	b := wire.Bindings{Version: v.Version(), Entities: []wire.Entity{}, Domains: []wire.Domain{}}
	for _, r := range v.Resources() {
		b.Entities = append(b.Entities, entity(r))
	}
	at := map[string]int{}       // domain -> index in b.Domains
	names := map[string]string{} // owner -> domain
	functions := map[string]map[string]bool{}
	for _, op := range v.Script() {
		if op.ID.Kind != catalog.KindPlugin && op.ID.Kind != catalog.KindAction {
			continue
		}
		path := catalog.SDKPath(op.ID)
		domain, ok := names[op.ID.Owner]
		if !ok {
			domain = path[0]
			if op.ID.Kind == catalog.KindPlugin {
				domain = free(catalog.Identifier(domain), func(s string) bool { _, used := at[s]; return used || taken[s] && s != Files })
			}
			names[op.ID.Owner] = domain
			at[domain] = len(b.Domains)
			functions[domain] = map[string]bool{}
			b.Domains = append(b.Domains, wire.Domain{Name: domain})
		}
		name := free(identifier(path[1]), func(s string) bool { return functions[domain][s] })
		functions[domain][name] = true
		d := &b.Domains[at[domain]]
		d.Functions = append(d.Functions, wire.Function{Name: name, ID: op.ID.String(), Leading: op.Leading})
	}
	b.Upstreams = upstreams(v)
	return b
}

// identifier returns an identifier for a name. Unlike catalog.Identifier it keeps reserved words,
// which are valid names of members.
func identifier(name string) string {
	if made := catalog.Identifier(name); made != name+"_" {
		return made
	}
	return name
}

func free(name string, used func(string) bool) string {
	out := name
	for n := 2; used(out); n++ {
		out = name + strconv.Itoa(n)
	}
	return out
}

func entity(r *catalog.Resource) wire.Entity {
	e := wire.Entity{Name: r.Name, Ops: r.Operations, ReadOnly: r.ReadOnly, Sets: r.Sets, Versioned: r.Versioned, Searchable: r.Searchable}
	key := r.Key
	key.Type = catalog.TypeID
	kinds := []byte{byte(key.Class())}
	e.Fields = append(e.Fields, r.Key.Name)
	for i := range r.Fields {
		e.Fields = append(e.Fields, r.Fields[i].Name)
		kinds = append(kinds, byte(r.Fields[i].Class()))
	}
	for _, edge := range r.Edges {
		if edge.WriteOnly { // it can be written in models but not queried
			e.Fields, kinds = append(e.Fields, edge.Name), append(kinds, byte(catalog.ClassHidden))
			continue
		}
		e.Edges = append(e.Edges, edge.Name)
		if e.Targets == nil {
			e.Targets = map[string]string{}
		}
		e.Targets[edge.Name] = edge.Target
		if edge.Many {
			e.Many = append(e.Many, edge.Name)
		}
	}
	e.Kinds = string(kinds)
	return e
}
