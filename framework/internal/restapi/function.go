package restapi

import (
	"maps"
	"net/http"
	"slices"

	"github.com/koan-go/koan/framework/auth"
	"github.com/koan-go/koan/framework/catalog"
	"github.com/koan-go/koan/framework/fault"
	"github.com/koan-go/koan/framework/internal/toolset"
)

// serveAction serves /api/actions/NAME.
func (h callRoutes) serveAction(w http.ResponseWriter, r *http.Request) {
	h.serveFunction(w, r, "action", r.PathValue("name"), func(t *table) map[string]*catalog.Operation { return t.actions })
}

// servePlugin serves /api/plugins/DOMAIN/FUNCTION.
func (h callRoutes) servePlugin(w http.ResponseWriter, r *http.Request) {
	h.serveFunction(w, r, "function", r.PathValue("domain")+"/"+r.PathValue("function"), func(t *table) map[string]*catalog.Operation { return t.plugins })
}

// serveFunction calls an operation whose input is the body, and whose output the response.
func (h callRoutes) serveFunction(w http.ResponseWriter, r *http.Request, what, name string, in func(*table) map[string]*catalog.Operation) {
	p := auth.From(r.Context())
	v := h.view(p)
	known := in(tableOf(v))
	op := known[name]
	if op == nil {
		f := fault.Newf(fault.ToolNotFound, "there is no %s %s%s", what, catalog.Quote(fault.Clip(name, 128)), fault.DidYouMean(name, slices.Sorted(maps.Keys(known)))).
			WithHint("GET /openapi.json lists the routes.")
		p.Scopes = auth.Every()
		j := rejection{Fault: f}
		if hidden := in(tableOf(h.view(p)))[name]; hidden != nil {
			j.scopes = hidden.Needs()
		}
		h.rejectAs(w, r, j)
		return
	}
	if !h.allows(w, r, http.MethodPost) {
		return
	}
	c, err := h.functionCall(w, r, op)
	if err != nil {
		h.rejectAs(w, r, asRejection(err))
		return
	}
	got, err := h.call(r, v, c)
	describe(w, got)
	if err != nil {
		h.rejectAs(w, r, asRejection(err))
		return
	}
	out := got.Output
	if len(out) == 0 {
		out = []byte("null")
	}
	h.write(w, http.StatusOK, jsonType, out)
}

func (h *invocations) functionCall(w http.ResponseWriter, r *http.Request, op *catalog.Operation) (*call, error) {
	if _, err := decodeQuery(r.URL.RawQuery, nil); err != nil {
		return nil, err
	}
	body, _, err := h.members(w, r, jsonType)
	return &call{operation: op, input: toolset.WithoutUnset(op, body), via: catalog.SurfaceREST}, err
}
