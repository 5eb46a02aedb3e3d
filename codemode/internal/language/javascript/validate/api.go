package validate

import (
	"slices"
	"strings"

	"github.com/koan-go/koan/codemode/internal/wire"
)

// api is what SDK and the modules of servers have for the caller of a script.
type api struct {
	bindings    wire.Bindings
	byName      map[string]*wire.Entity
	entityNames []string
}

func newAPI(b wire.Bindings) *api {
	a := &api{bindings: b, byName: map[string]*wire.Entity{}}
	for i := range b.Entities {
		e := &b.Entities[i]
		a.byName[e.Name] = e
		a.entityNames = append(a.entityNames, e.Name)
	}
	return a
}

// server returns the server whose module has this path, nil if there is none.
func (a *api) server(path string) *wire.Server {
	s, _ := wire.ServerAt(a.bindings.Servers, path)
	return s
}

// tool returns the operation that a function calls, and its entity. The inputs of other
// operations are not known.
func (a *api) tool(t wire.Tool) value {
	v := value{kind: tool, id: t.ID}
	if rest, ok := strings.CutPrefix(t.ID, "koan::"); ok {
		owner, op, _ := strings.Cut(rest, ".")
		v.entity, v.method = a.byName[owner], op
	}
	return v
}

// leadsTo returns the target entity of an edge, nil if it is not known because the caller
// must not see it.
func (a *api) leadsTo(e *wire.Entity, edge string) *wire.Entity {
	if name, ok := e.Targets[edge]; ok && !slices.Contains(e.Fields, edge) {
		return a.byName[name]
	}
	return nil
}

// offered names the first members of SDK.
func (a *api) offered() string {
	var names []string
	if len(a.entityNames) > 0 || len(a.bindings.Upstreams) == 0 {
		names = append(names, "SDK.Entities")
	}
	if len(a.bindings.Upstreams) > 0 {
		names = append(names, "SDK.Servers")
	}
	return strings.Join(append(names, "SDK.Out", "SDK.args"), ", ")
}

// below returns the path below SDK of a name that a script uses as a global: an entity, a domain, or
// a member of SDK.Out; "" if there is none.
func (a *api) below(name string) string {
	if a.byName[name] != nil {
		return "SDK.Entities." + name
	}
	for i := range a.bindings.Domains {
		if a.bindings.Domains[i].Name == name {
			return "SDK." + name
		}
	}
	if slices.Contains(outMembers, name) {
		return "SDK.Out." + name
	}
	return ""
}
