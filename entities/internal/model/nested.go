package model

import (
	"slices"
	"strings"
)

// creation returns how entities that a relationship leads to are created, for a caller who
// wrote them into it: a relationship takes ids, and creates nothing.
func (e *EdgeValue) creation(own *Kind) string {
	name, target := e.JSON.Name, e.Target.Name()
	intro := name + " creates no " + target + ": "
	r := &e.Target.Entity.Resource
	method := "upsert"
	switch {
	case !r.ReadOnly && r.Has(method):
	case !r.ReadOnly && r.Has("create"):
		method = "create"
	default:
		return intro + "name one that exists"
	}
	to := func(method, model string) string { return "SDK.Entities." + target + "." + method + "(" + model + ")" }
	back := e.inverse(own)
	switch {
	case back == "":
		return intro + "call " + to(method, "{...}") + " first, and put its id here; in one script that is one transaction"
	case e.JSON.Many && r.Has("upsert-many"):
		return intro + "store the " + own.Name() + " first, then call " + to("upsertMany", "[{..., "+back+": id}]") + " with its id; in one script that is one transaction"
	}
	return intro + "store the " + own.Name() + " first, then call " + to(method, "{..., "+back+": id}") + " with its id; in one script that is one transaction"
}

// inverse returns the relationship of the target that holds this one and can be written,
// "" for none.
func (e *EdgeValue) inverse(own *Kind) string {
	i := slices.IndexFunc(e.Target.Edges, func(back Edge) bool {
		return back.Target.Name() == own.Name() && back.Column.JoinTable == "" && back.Column.OwnKey != "" && back.Column.OwnKey == e.Edge.TargetKey && !back.JSON.ReadOnly
	})
	if i < 0 {
		return ""
	}
	return e.Target.Edges[i].JSON.Name
}

// isCreation reports whether an operator of a relationship is how other systems create
// entities through it.
func isCreation(operator string) bool {
	return strings.HasPrefix(strings.ToLower(strings.TrimPrefix(operator, "$")), "create") || slices.Contains([]string{"$new", "$insert", "$upsert"}, operator)
}
