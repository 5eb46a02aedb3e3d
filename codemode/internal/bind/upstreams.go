package bind

import (
	"slices"
	"strings"

	"github.com/koan-go/koan/codemode/internal/wire"
	"github.com/koan-go/koan/framework/catalog"
)

// upstreams returns the members of SDK.Servers in the order of their ids. Their functions have
// the same names as the exports of the server's module.
func upstreams(v *catalog.View) []wire.Domain {
	var out []wire.Domain
	for _, op := range v.Script() {
		if op.ID.Kind != catalog.KindUpstream {
			continue
		}
		i := slices.IndexFunc(out, func(d wire.Domain) bool { return d.Name == op.ID.Owner })
		if i < 0 {
			i = len(out)
			out = append(out, wire.Domain{Name: op.ID.Owner, Functions: []wire.Function{}})
		}
		if op.ID.Op == catalog.AnyTool {
			out[i].Any = op.ID.String()
			continue
		}
		if f, ok := catalog.ServerFunctionOf(op.ID); ok {
			out[i].Groups = grouped(out[i].Groups, f, op.ID.String())
			continue
		}
		out[i].Functions = append(out[i].Functions, wire.Function{Name: op.ID.Op, ID: op.ID.String()})
	}
	for i := range out {
		functions := out[i].Functions
		slices.SortStableFunc(functions, func(a, b wire.Function) int { return strings.Compare(a.Name, b.Name) })
		names := make([]string, len(functions))
		for n, f := range functions {
			names[n] = f.Name
		}
		for n, export := range catalog.Exports(names) {
			functions[n].Name = export
		}
	}
	return out
}

// grouped returns the groups with a function added to its group.
func grouped(groups []wire.Group, f catalog.ServerFunction, id string) []wire.Group {
	i := slices.IndexFunc(groups, func(g wire.Group) bool { return g.Name == f.Group })
	if i < 0 {
		i = len(groups)
		groups = append(groups, wire.Group{Name: f.Group})
	}
	groups[i].Functions = append(groups[i].Functions, wire.Function{Name: f.Name, ID: id, Leading: f.Leading})
	return groups
}
