package restapi

import (
	"encoding/json"
	"net/http"
	"strings"
	"unicode/utf8"

	"github.com/koan-go/koan/framework/auth"
	"github.com/koan-go/koan/framework/catalog"
	"github.com/koan-go/koan/framework/exact"
	"github.com/koan-go/koan/framework/fault"
	"github.com/koan-go/koan/framework/internal/admission"
	"github.com/koan-go/koan/framework/internal/toolset"
)

const mergeType = "application/merge-patch+json"

// serveEntities serves /api/ENTITY and /api/ENTITY:SUFFIX, serveEntity /api/ENTITY/ID.
func (h callRoutes) serveEntities(w http.ResponseWriter, r *http.Request) { h.serveRoute(w, r, false) }

func (h callRoutes) serveEntity(w http.ResponseWriter, r *http.Request) {
	if strings.Count(r.URL.EscapedPath(), "/") != strings.Count("/api/ENTITY/ID", "/") {
		h.reject(w, r, noRoute(r))
		return
	}
	h.serveRoute(w, r, true)
}

func (h callRoutes) serveRoute(w http.ResponseWriter, r *http.Request, item bool) {
	p := auth.From(r.Context())
	v := h.view(p)
	e, found, err := h.entityRoute(r, v, p, item)
	switch {
	case err != nil:
		h.rejectAs(w, r, asRejection(err))
		return
	case found.operation == nil:
		_, suffix, _ := strings.Cut(r.PathValue("entity"), ":")
		h.rejectMethod(w, r, e.methods(place{item, suffix}))
		return
	}
	c, err := h.entityCall(w, r, v, e, found)
	if err != nil {
		h.rejectAs(w, r, asRejection(err))
		return
	}
	result, err := h.call(r, v, c)
	describe(w, result)
	if err != nil {
		h.rejectAs(w, r, asRejection(err))
		return
	}
	h.respond(w, r, e, found, c, result)
}

// entityCall reads a request as a call.
func (h *invocations) entityCall(w http.ResponseWriter, r *http.Request, v *catalog.View, e *entity, found route) (*call, error) {
	c := &call{operation: found.operation, via: catalog.SurfaceREST}
	if found.Suffix != "" {
		if _, err := decodeQuery(r.URL.RawQuery, nil); err != nil {
			return nil, err
		}
		body, _, err := h.members(w, r, jsonType)
		c.input = toolset.WithoutUnset(found.operation, body)
		if err == nil && found.spec.Access.Writes() {
			err = h.conditional(r, e, found, c)
		}
		return c, err
	}
	input, err := decodeQuery(r.URL.RawQuery, queryParameters(found))
	if err != nil {
		return nil, err
	}
	if (found.Item || found.Body != "") && digested(e.Resource) {
		if c.tags.seal, err = h.opts.Tags(r.Context()); err != nil {
			return nil, err
		}
	}
	id := r.PathValue("id")
	if found.Item && !utf8.ValidString(id) { // it would become the id of another entity
		return nil, fault.New(fault.NotFound, "no entity has an id like this: it is not UTF-8").WithPath("/id")
	}
	if found.Item && found.Body != "model" {
		input["id"] = text(id)
	}
	if found.Body != "" {
		if err := h.modelInput(w, r, e, found, input, c); err != nil {
			return nil, err
		}
	}
	if found.Replace {
		input["replace"] = json.RawMessage("true")
	}
	c.input = object(input)
	c.faultPath = pathOfRequest(e, found)
	if found.spec.Access.Writes() {
		return c, h.conditional(r, e, found, c)
	}
	return c, nil
}

// queryParameters are the query parameters of a route: members of the input that neither path
// nor body nor a header has.
func queryParameters(found route) []string {
	if !found.spec.Access.Writes() {
		return found.spec.Options
	}
	return []string{"set"}
}

// modelInput reads a body that is a model, or changes to one.
func (h *invocations) modelInput(w http.ResponseWriter, r *http.Request, e *entity, found route, input map[string]json.RawMessage, c *call) error {
	media := []string{jsonType}
	if r.Method == http.MethodPatch {
		media = []string{mergeType, jsonType}
	}
	body, given, err := h.members(w, r, media...)
	if err != nil {
		return err
	}
	used, _ := admission.Media(r, media...)
	c.merge = used == mergeType
	if found.Body != "model" {
		input[found.Body] = body
		return nil
	}
	key := e.Key.Name
	own := idOf(given[key])
	if found.Item {
		id := r.PathValue("id")
		if _, ok := given[key]; ok && own != id {
			return fault.Invalid(fault.Detail{Path: "/" + key, Message: "the id in the body differs from the one in the path", Expected: id, Received: fault.Clip(own, 64)})
		}
		own, given[key] = id, text(id)
		body = object(given)
	}
	if noStep(own) {
		return fault.Invalid(fault.Detail{Path: "/" + key, Message: "no path can have the id " + catalog.Quote(own) + ": clients leave such a step out, however it is encoded"}).
			WithHint("Choose another id. Rows that have this one are reached by :query, :update-by-query and :delete-many.")
	}
	input[found.Body] = body
	return nil
}

// idOf is the id in a member of a body, which may be a string or what it is in the database.
func idOf(member json.RawMessage) string {
	var id string
	if json.Unmarshal(member, &id) != nil {
		return string(member)
	}
	return id
}

// noStep reports whether an id cannot be a step of a path: of "." and "..", clients make another
// path before they send it (RFC 3986, section 5.2.4), and browsers also of %2e.
func noStep(id string) bool { return id == "." || id == ".." }

// members reads a body that is a JSON object of unique names.
func (h *responder) members(w http.ResponseWriter, r *http.Request, media ...string) (json.RawMessage, map[string]json.RawMessage, error) {
	if _, ok := admission.Media(r, media...); !ok {
		return nil, nil, rejection{
			Fault:  fault.Newf(fault.InvalidRequest, "the Content-Type must be %s", strings.Join(media, " or ")).WithHint("Send JSON, with -H 'Content-Type: %s'.", media[0]),
			status: http.StatusUnsupportedMediaType,
		}
	}
	body, status, f := h.opts.Admission.ReadBody(w, r)
	if f != nil {
		return nil, nil, rejection{Fault: f, status: status}
	}
	given, err := exact.Members(body)
	switch err := err.(type) { //nolint:errorlint // exact returns these as they are
	case nil:
		return body, given, nil
	case *exact.Repeated:
		return nil, nil, fault.Invalid(fault.Detail{Path: err.Path, Message: err.Error()})
	case *json.SyntaxError:
		return nil, nil, fault.Newf(fault.ParseError, "the body is not JSON: %s", atByte(err, 0)).WithHint("Send one JSON object.")
	}
	if len(body) == 0 {
		return nil, nil, fault.New(fault.ParseError, "the body is not JSON: it is empty").WithHint("Send one JSON object, {} for none of its members.")
	}
	return nil, nil, fault.Invalid(fault.Detail{Message: "the body must be an object", Expected: "object"}).WithHint("Send one JSON object.")
}

// pathOfRequest returns the function that turns paths into an operation's input into paths
// into the request: its body, or the name of a query parameter.
func pathOfRequest(e *entity, found route) func(string) (string, bool) {
	return func(path string) (at string, id bool) {
		if found.Item && (path == "/id" || found.Replace && path == "/model/"+e.Key.Name) {
			return "/id", true
		}
		if found.Body != "" {
			if rest, ok := strings.CutPrefix(path, "/"+found.Body); ok && (rest == "" || rest[0] == '/') {
				return rest, false
			}
		}
		return path, false
	}
}
