package restapi

import (
	"cmp"
	"encoding/json"
	"maps"
	"net/http"
	"slices"
	"strings"

	"github.com/koan-go/koan/framework/auth"
	"github.com/koan-go/koan/framework/catalog"
	"github.com/koan-go/koan/framework/internal/files"
	"github.com/koan-go/koan/framework/internal/invoke"
)

// node is an object of the OpenAPI document.
type node = map[string]any

type documentKey struct{}

// document is the OpenAPI document of a view, and the paths in it.
type document struct {
	text  json.RawMessage
	paths []pathItem
}

// pathItem is one operation of the document, for the page of it.
type pathItem struct {
	Path, Method string
	operation    node
}

// serveOpenAPI serves GET /openapi.json: what the caller may see, as OpenAPI 3.1.
func (h documentRoutes) serveOpenAPI(w http.ResponseWriter, r *http.Request) {
	if !h.allows(w, r, http.MethodGet) {
		return
	}
	v := h.view(auth.From(r.Context()))
	tag := `"` + v.Version() + `"`
	w.Header().Set("ETag", tag)
	if matches(r.Header.Values("If-None-Match"), tag, true) {
		w.WriteHeader(http.StatusNotModified)
		return
	}
	h.write(w, http.StatusOK, jsonType, h.document(v).text)
}

// document returns the document of a view, which it makes once.
func (h documentRoutes) document(v *catalog.View) *document {
	return catalog.Memo(v, documentKey{}, func() *document {
		b := &builder{view: v, components: components{node{}, map[string]string{}}, pathSet: pathSet{map[string]node{}}, types: map[string]entityTypes{}, common: map[string]string{}}
		b.serverTypes()
		t := tableOf(v)
		b.nameTypes(t)
		var tags []node
		for _, name := range t.names() {
			e := t.entities[name]
			tags = append(tags, node{"name": e.Name, "description": cmp.Or(e.Description, e.Name+" entities.")})
			b.entity(name, e)
		}
		functions := func(tag, about, path string, ops map[string]*catalog.Operation) {
			if len(ops) > 0 {
				tags = append(tags, node{"name": tag, "description": about})
			}
			for _, name := range slices.Sorted(maps.Keys(ops)) {
				b.function(tag, path+name, ops[name])
			}
		}
		functions("Actions", "Named pieces of work.", actionsPath, t.actions)
		functions("Plugins", "Functions of plugins.", pluginsPath, t.plugins)
		create, get := v.Allowed(catalog.PluginID(files.Domain, "create")), v.Allowed(catalog.PluginID(files.Domain, "get"))
		if h.opts.Files != nil && (create || get) {
			tags = append(tags, node{"name": "Files", "description": "Uploaded files, and those that scripts create."})
			b.fileRoutes(create, get)
		}
		tags = append(tags, node{"name": "Server", "description": "Tools in an envelope, and the server's state."})
		for _, r := range fixedRoutes() {
			if r.describe != nil {
				r.describe(b)
			}
		}
		doc := node{
			"openapi": "3.1.0",
			"info":    node{"title": h.opts.Name, "version": h.opts.Version, "description": cmp.Or(h.opts.Description, h.opts.Name)},
			"servers": []node{{"url": "/"}}, "tags": tags, "paths": b.paths, "security": []node{{"bearer": []string{}}, {}},
			"components": node{
				"schemas":         b.schemas,
				"responses":       node{"Problem": node{"description": "Why the request failed (RFC 9457).", "content": node{problemType: node{"schema": reference("Problem")}}}},
				"securitySchemes": node{"bearer": node{"type": "http", "scheme": "bearer", "description": "Needed where the server is configured to authenticate callers."}},
			},
		}
		raw, err := invoke.Encode(doc)
		if err != nil { // made of texts and schemas that are JSON
			panic("restapi: the OpenAPI document is not JSON: " + err.Error())
		}
		return &document{raw, b.items()}
	})
}

// builder makes the parts of a document.
type builder struct {
	components
	pathSet
	view   *catalog.View
	types  map[string]entityTypes // by the entity's name
	common map[string]string      // components that entities share, by the names that they would have
}

// pathSet has the operations of paths.
type pathSet struct{ paths map[string]node }

// memberOf returns a member of an operation's input schema.
func memberOf(op *catalog.Operation, name string) any {
	var s struct{ Properties map[string]any }
	_ = json.Unmarshal(op.Input, &s)
	return s.Properties[name]
}

// describeDefaults says the defaults of a model's fields in their descriptions: many generators
// make members with a default required, which these are not.
func describeDefaults(s any) any {
	model, _ := s.(node)
	properties, _ := model["properties"].(node)
	for _, property := range properties {
		p, _ := property.(node)
		value, ok := p["default"]
		if !ok {
			continue
		}
		about, _ := p["description"].(string)
		p["description"] = strings.TrimSpace(about + " Default: " + canonical(value) + ".")
		delete(p, "default")
	}
	return s
}

// entity describes the routes of an entity.
func (b *builder) entity(name string, e *entity) {
	b.readTypes(e)
	model := "upsert"
	if b.view.At(catalog.SurfaceREST).Operation(catalog.EntityID(e.Name, model)) == nil {
		model = "create"
	}
	for _, c := range []struct{ op, member, suffix string }{{model, "model", "Model"}, {"patch", "changes", "Changes"}} {
		if op := b.view.At(catalog.SurfaceREST).Operation(catalog.EntityID(e.Name, c.op)); op != nil {
			s := memberOf(op, c.member)
			text := canonical(s)
			b.component(e.Name+c.suffix, describeDefaults(s), text)
		}
	}
	if name := b.types[e.Name].row; name != "" {
		if row := rowOutput(b.view.At(catalog.SurfaceREST), e.Name); row != nil {
			b.schemas[name] = b.refer(b.row(e.Resource, row), e.Name)
			b.know(name, canonical(row))
		}
	}
	for _, at := range slices.SortedFunc(maps.Keys(e.routes), func(x, y place) int { return strings.Compare(x.suffix, y.suffix) }) {
		path := apiPath + name
		switch {
		case at.item:
			path += "/{id}"
		case at.suffix != "":
			path += ":" + at.suffix
		}
		for _, r := range e.routes[at] {
			b.add(path, r.Method, b.entityOperation(e, r))
		}
	}
}

// entityOperation describes one route of an entity.
func (b *builder) entityOperation(e *entity, r route) node {
	op, owner := r.operation, e.Name
	id := catalog.Camel(e.Name) + catalog.Pascal(cmp.Or(r.Suffix, op.ID.Op))
	summary := op.Title
	if r.Replace {
		id, summary = catalog.Camel(e.Name)+"Replace", "Replace "+e.Name
	}
	success := node{"description": "What the operation returns.", "content": node{jsonType: node{"schema": b.schema(op.Output, owner)}}}
	out := node{"operationId": id, "summary": summary, "description": op.Description(b.view), "tags": []string{e.Name}}
	responses := node{"200": success, "4XX": problemResponse, "5XX": problemResponse}
	out["responses"] = responses
	var parameters []node
	if r.Item {
		parameters = append(parameters, node{"name": "id", "in": "path", "required": true, "description": "The id.", "schema": node{"type": "string"}})
	}
	if r.Suffix != "" {
		out["requestBody"] = b.body(b.schema(op.Input, owner), op.Example, jsonType)
	} else {
		for _, name := range queryParameters(r) {
			if s := memberOf(op, name); s != nil {
				parameters = append(parameters, b.parameter(op, name, s))
			}
		}
	}
	if r.Body != "" {
		media := []string{jsonType}
		if r.Method == http.MethodPatch {
			media = []string{mergeType, jsonType}
		}
		var example map[string]json.RawMessage
		_ = json.Unmarshal(op.Example, &example)
		if r.Item { // an example may be of no entity that is there
			example = nil
		}
		out["requestBody"] = b.body(b.refer(memberOf(op, r.Body), owner), example[r.Body], media...)
	}
	switch {
	case op.ID.Op == "create":
		delete(responses, "200")
		success["headers"] = node{"Location": textHeader("The path of the entity.")}
		responses["201"] = success
	case r.Body == "model":
		responses["201"] = node{"description": "It was created.", "headers": node{"Location": textHeader("The path of the entity."), "ETag": textHeader("The entity's tag.")}, "content": success["content"]}
	}
	if r.Body != "" || r.Item && r.Method == http.MethodGet {
		success["headers"] = node{"ETag": textHeader("The entity's tag, for If-Match.")}
	}
	if r.Item && r.Method == http.MethodGet {
		responses["304"] = node{"description": "The caller has it: it is the one that If-None-Match names.", "headers": success["headers"]}
	}
	if op.ID.Op == "collection" && r.Method == http.MethodGet {
		success["headers"] = node{"Link": textHeader("The pages beside this one (RFC 8288).")}
	}
	if r.spec.Access.Writes() && op.ID.Op != "new" {
		parameters = append(parameters, keyParameter)
	}
	parameters = append(parameters, conditions(r)...)
	if len(parameters) > 0 {
		out["parameters"] = parameters
	}
	return out
}

// conditions describes the headers on which a request for one entity may depend.
func conditions(r route) []node {
	header := func(name, about string) node {
		return node{"name": name, "in": "header", "description": about, "schema": node{"type": "string"}}
	}
	switch {
	case !r.Item:
		return nil
	case r.Method == http.MethodGet:
		return []node{header("If-None-Match", "The ETag of the entity that the caller has: 304 if it is still the same.")}
	}
	out := []node{header("If-Match", "The ETag of the entity that the change is meant for: 412 if it is another.")}
	if r.Method == http.MethodPut {
		out = append(out, header("If-None-Match", "Only `*`: the entity is created, or 412 if it is there."))
	}
	return out
}

// parameter describes a query parameter.
func (b *builder) parameter(op *catalog.Operation, name string, s any) node {
	p := node{"name": name, "in": "query"}
	object, _ := s.(node)
	if about, ok := object["description"].(string); ok {
		p["description"] = about
	}
	switch {
	case name == "filter": // a text: few generators of clients write a parameter as JSON, and some take contentMediaType or a format for another type
		p["schema"] = node{"type": "string", "contentSchema": b.refer(s, op.Resource)}
		p["description"] = "A filter, as JSON text."
	case name == "cursor": // null, which begins in JSON, would be a text here
		p["schema"], p["description"] = node{"type": "string"}, "The nextCursor of the page before, with the same filter, q, sort and set. Leave it out to begin."
	case forms[name] == textOrJSON:
		p["schema"] = node{"type": "string"}
	default:
		p["schema"] = b.refer(s, op.Resource)
	}
	var example map[string]any
	if json.Unmarshal(op.Example, &example) == nil && example[name] != nil {
		p["example"] = example[name]
		if name == "filter" {
			p["example"] = canonical(example[name])
		}
	}
	return p
}

var (
	problemResponse = node{"$ref": "#/components/responses/Problem"}
	keyParameter    = node{
		"name": keyHeader, "in": "header", "description": "Makes the call happen once: sent again with the same key and input, it returns what it returned the first time.",
		"schema": node{"type": "string", "minLength": 1, "maxLength": maxKey},
	}
)

func textHeader(about string) node {
	return node{"description": about, "schema": node{"type": "string"}}
}

// body describes a request's body.
func (b *builder) body(s any, example json.RawMessage, media ...string) node {
	content := node{}
	for _, m := range media {
		one := node{"schema": s}
		if len(example) > 0 {
			one["example"] = example
		}
		content[m] = one
	}
	return node{"required": true, "content": content}
}

// function describes the route of an action or a plugin's function.
func (b *builder) function(tag, path string, op *catalog.Operation) {
	id := catalog.Camel(strings.ReplaceAll(strings.TrimPrefix(path, apiPath), "/", "-"))
	owner := catalog.Pascal(id)
	out := node{
		"operationId": id, "summary": cmp.Or(op.Title, op.Summary), "description": op.Description(b.view), "tags": []string{tag},
		"requestBody": b.body(b.schema(op.Input, owner+"Input"), op.Example, jsonType),
		"responses": node{
			"200": node{"description": "What the function returns.", "content": node{jsonType: node{"schema": b.schema(op.Output, owner+"Output")}}},
			"4XX": problemResponse, "5XX": problemResponse,
		},
	}
	if !op.Effects.ReadOnly {
		out["parameters"] = []node{keyParameter}
	}
	b.add(path, http.MethodPost, out)
}

func (b *pathSet) add(path, method string, operation node) {
	item := b.paths[path]
	if item == nil {
		item = node{}
		b.paths[path] = item
	}
	item[strings.ToLower(method)] = operation
}

// items are the operations in the order of their paths.
func (b *pathSet) items() []pathItem {
	var out []pathItem
	for _, path := range slices.Sorted(maps.Keys(b.paths)) {
		for _, method := range []string{"get", "post", "put", "patch", "delete"} {
			if op, ok := b.paths[path][method].(node); ok {
				out = append(out, pathItem{path, strings.ToUpper(method), op})
			}
		}
	}
	return out
}
