package restapi

import (
	"net/http"
	"slices"
	"strings"

	"github.com/koan-go/koan/framework/auth"
	"github.com/koan-go/koan/framework/catalog"
	"github.com/koan-go/koan/framework/fault"
)

// route is a way to call an operation.
type route struct {
	catalog.Route
	operation *catalog.Operation
	spec      catalog.EntityOperation // of an entity's
}

// place is where routes of an entity are: its path, without or with an id, and a suffix.
type place struct {
	item   bool
	suffix string
}

// entity is an entity with its routes in one view.
type entity struct {
	*catalog.Resource
	routes map[place][]route // by method, in the order of the vocabulary
}

// methods are those of a place.
func (e *entity) methods(at place) []string {
	var out []string
	for _, method := range []string{http.MethodGet, http.MethodPost, http.MethodPut, http.MethodPatch, http.MethodDelete} {
		if _, ok := e.find(at, method); ok {
			out = append(out, method)
		}
	}
	return out
}

// suffixes are those that the path of the entity may end in.
func (e *entity) suffixes() []string {
	var out []string
	for at := range e.routes {
		if at.suffix != "" {
			out = append(out, at.suffix)
		}
	}
	slices.Sort(out)
	return out
}

// table has the routes that a view shows, by the names in their paths.
type table struct {
	entities map[string]*entity
	actions  map[string]*catalog.Operation
	plugins  map[string]*catalog.Operation // by domain and function, with "/" between
}

type tableKey struct{}

// tableOf returns the routes of a view.
func tableOf(v *catalog.View) *table {
	return catalog.Memo(v, tableKey{}, func() *table {
		t := &table{entities: map[string]*entity{}, actions: map[string]*catalog.Operation{}, plugins: map[string]*catalog.Operation{}}
		for _, op := range v.Routes() {
			switch op.ID.Kind {
			case catalog.KindAction:
				t.actions[op.ID.Op] = op
			case catalog.KindPlugin:
				t.plugins[catalog.Kebab(op.ID.Owner)+"/"+catalog.Kebab(op.ID.Op)] = op
			case catalog.KindEntity:
				t.add(v, op)
			case catalog.KindCode, catalog.KindUpstream:
			}
		}
		return t
	})
}

// add adds the routes of an entity's operation.
func (t *table) add(v *catalog.View, op *catalog.Operation) {
	name, routed := catalog.Routed(op.Resource)
	spec, ok := catalog.EntityOperationNamed(op.ID.Op)
	resource := v.At(catalog.SurfaceREST).Resource(op.Resource)
	if !ok || resource == nil || !routed {
		return
	}
	e := t.entities[name]
	if e == nil {
		e = &entity{Resource: resource, routes: map[place][]route{}}
		t.entities[name] = e
	}
	for _, r := range spec.Routes {
		at := place{r.Item, r.Suffix}
		e.routes[at] = append(e.routes[at], route{Route: r, operation: op, spec: spec})
	}
}

// names are the entities' in paths.
func (t *table) names() []string {
	out := make([]string, 0, len(t.entities))
	for name := range t.entities {
		out = append(out, name)
	}
	slices.Sort(out)
	return out
}

// entityRoute finds the route of a request to an entity. The error is a rejection.
func (h *invocations) entityRoute(r *http.Request, v *catalog.View, p auth.Principal, item bool) (*entity, route, error) {
	name, suffix, suffixed := strings.Cut(r.PathValue("entity"), ":")
	at := place{item, suffix}
	if suffixed && (item || suffix == "") {
		return nil, route{}, noRoute(r)
	}
	t := tableOf(v)
	e := t.entities[name]
	if found, ok := e.find(at, r.Method); ok {
		return e, found, nil
	}
	// What somebody with all rights finds there, and this caller not, looks as if it did not
	// exist, unless more rights can be had.
	p.Scopes = auth.Every()
	whole := tableOf(h.view(p)).entities[name]
	if hidden, ok := whole.find(at, r.Method); ok {
		return nil, route{}, rejection{Fault: h.noOperation(t, e, name, hidden), scopes: hidden.operation.Needs()}
	}
	switch {
	case e == nil:
		return nil, route{}, fault.Newf(fault.ToolNotFound, "there is no entity %s%s", catalog.Quote(fault.Clip(name, 64)), fault.DidYouMean(name, t.names())).
			WithHint("GET /openapi.json lists the routes.")
	case len(e.routes[at]) > 0 && (e.ReadOnly || r.Method == http.MethodOptions), len(e.routes[at]) == 0 && e.ReadOnly && writes(at):
		if r.Method == http.MethodOptions {
			break
		}
		return nil, route{}, rejection{Fault: fault.Newf(fault.ReadOnly, "%s is read-only", e.Name), allow: allowed(e.methods(at))}
	case len(e.routes[at]) == 0:
		return nil, route{}, fault.Newf(fault.ToolNotFound, "%s has no :%s%s", e.Name, fault.Clip(suffix, 64), fault.DidYouMean(suffix, e.suffixes()))
	}
	return e, route{}, nil
}

// writes reports whether all routes at a place change something.
func writes(at place) bool {
	for op := range catalog.EntityOperations() {
		for _, r := range op.Routes {
			if (place{r.Item, r.Suffix}) == at {
				return op.Access.Writes()
			}
		}
	}
	return false
}

func (h *invocations) noOperation(t *table, e *entity, name string, hidden route) *fault.Fault {
	if e == nil {
		return fault.Newf(fault.ToolNotFound, "there is no entity %s%s", catalog.Quote(fault.Clip(name, 64)), fault.DidYouMean(name, t.names())).
			WithHint("GET /openapi.json lists the routes.")
	}
	return fault.Newf(fault.ToolNotFound, "%s has no %s for this caller", e.Name, hidden.operation.ID.Op).WithHint("GET /openapi.json lists the routes.")
}

// find returns the route at a place with a method; HEAD is GET without a body.
func (e *entity) find(at place, method string) (route, bool) {
	if e == nil {
		return route{}, false
	}
	if method == http.MethodHead {
		method = http.MethodGet
	}
	for _, r := range e.routes[at] {
		if r.Method == method {
			return r, true
		}
	}
	return route{}, false
}
