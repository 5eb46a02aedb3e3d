package restapi

import (
	"cmp"
	"context"
	"encoding/json"
	"maps"
	"net/http"
	"slices"
	"time"

	"github.com/koan-go/koan/framework/auth"
	"github.com/koan-go/koan/framework/catalog"
	"github.com/koan-go/koan/framework/deadline"
	"github.com/koan-go/koan/framework/exposure"
	"github.com/koan-go/koan/framework/fault"
	"github.com/koan-go/koan/framework/internal/invoke"
	"github.com/koan-go/koan/framework/journal"
	"github.com/koan-go/koan/framework/run/approve"
)

// Console is what the routes below /api/console are about: what people look at and decide.
type Console struct {
	Journal journal.Reader // nil where runs are not kept
	Replay  Replayer
	Plans   *approve.Guard
	Checks  func(context.Context) []catalog.Check // looks at the app's parts
	Limits  func() []Limit
}

// overview is what the caller may see of the app, for programs that show it to people.
type overview struct {
	App         string          `json:"app"`
	Version     string          `json:"version"`
	Description string          `json:"description"`
	Mode        exposure.Mode   `json:"mode"`
	Catalog     string          `json:"catalog"` // version of what the caller sees
	CodeMode    bool            `json:"codeMode"`
	Languages   []string        `json:"languages"` // of scripts, the one of those that name none first
	Caller      callerText      `json:"caller"`
	Entities    []entityText    `json:"entities"`
	Actions     []operationText `json:"actions"`
	Plugins     []operationText `json:"plugins"`
}

type callerText struct {
	Subject string   `json:"subject"`
	Scopes  []string `json:"scopes"`
	Sets    []string `json:"sets"`
	// DefaultSet is the set of calls that name none.
	DefaultSet string `json:"defaultSet"`
}

type entityText struct {
	Name          string             `json:"name"`
	Path          string             `json:"path"`
	Description   string             `json:"description,omitempty"`
	Key           string             `json:"key"`
	Version       string             `json:"version,omitempty"` // name of the field that counts updates
	Searchable    bool               `json:"searchable"`
	Sets          []string           `json:"sets"`
	Operations    []string           `json:"operations"`
	Fields        []fieldText        `json:"fields"`
	Relationships []relationshipText `json:"relationships"`
}

type fieldText struct {
	Name        string            `json:"name"`
	Type        catalog.FieldType `json:"type"`
	Operators   []string          `json:"operators"` // of filters
	Description string            `json:"description,omitempty"`
	Enum        []string          `json:"enum,omitempty"`
	Nullable    bool              `json:"nullable,omitempty"`
	Required    bool              `json:"required,omitempty"`
	Immutable   bool              `json:"immutable,omitempty"`
	ReadOnly    bool              `json:"readOnly,omitempty"`
	WriteOnly   bool              `json:"writeOnly,omitempty"`
	Edge        string            `json:"edge,omitempty"` // that a reference is the key of
	Default     json.RawMessage   `json:"default,omitempty"`
	boundsText
}

// boundsText is what the document says of the values that a field takes.
type boundsText struct {
	Min       *float64 `json:"min,omitempty"`
	Max       *float64 `json:"max,omitempty"`
	MinLength *int     `json:"minLength,omitempty"`
	MaxLength *int     `json:"maxLength,omitempty"`
	Pattern   string   `json:"pattern,omitempty"`
}

type relationshipText struct {
	Name        string `json:"name"`
	Target      string `json:"target"`
	Many        bool   `json:"many"`
	Reference   string `json:"reference,omitempty"`
	Required    bool   `json:"required,omitempty"`
	Immutable   bool   `json:"immutable,omitempty"`
	ReadOnly    bool   `json:"readOnly,omitempty"` // from this side
	Description string `json:"description,omitempty"`
}

type operationText struct {
	ID      string          `json:"id"`
	Path    string          `json:"path"`
	Title   string          `json:"title"`
	Summary string          `json:"summary"`
	Input   json.RawMessage `json:"input"`
	Example json.RawMessage `json:"example,omitempty"`
	Effects map[string]bool `json:"effects"`
}

type overviewKey struct{}

// serveOverview serves GET /api/console/overview.
func (h consoleRoutes) serveOverview(w http.ResponseWriter, r *http.Request) {
	if !h.allows(w, r, http.MethodGet) {
		return
	}
	p := auth.From(r.Context())
	v := h.view(p)
	o := *catalog.Memo(v, overviewKey{}, func() *overview { return h.describe(v) })
	o.Caller = callerText{p.Subject, orNone(p.Scopes), orNone(p.Sets), p.DefaultSet()}
	h.respondJSON(w, r, o)
}

func orNone(list []string) []string { return append([]string{}, list...) }

// describe makes the part of an overview that all callers with one view share.
func (h consoleRoutes) describe(v *catalog.View) *overview {
	t := tableOf(v)
	execute := catalog.CodeID("koan", "execute")
	o := &overview{
		App: h.opts.Name, Version: h.opts.Version, Description: h.opts.Description, Mode: v.Mode(), Catalog: v.Version(),
		CodeMode: h.opts.Runtime != "" && v.Listed(execute), Languages: []string{}, Entities: []entityText{},
	}
	if o.CodeMode {
		o.Languages = languagesOf(v.Operation(execute))
	}
	for _, name := range t.names() {
		o.Entities = append(o.Entities, describeEntity(name, t.entities[name]))
	}
	o.Actions = describeOperations(v, actionsPath, t.actions)
	o.Plugins = describeOperations(v, pluginsPath, t.plugins)
	return o
}

// languagesOf returns the languages that the input of the tool for scripts names.
func languagesOf(op *catalog.Operation) []string {
	var input struct {
		Properties struct {
			Language struct{ Enum []string }
		}
	}
	if op == nil || json.Unmarshal(op.Input, &input) != nil {
		return []string{}
	}
	return orNone(input.Properties.Language.Enum)
}

func describeEntity(name string, e *entity) entityText {
	out := entityText{
		Name: e.Name, Path: apiPath + name, Description: e.Description, Key: e.Key.Name, Version: e.Version, Searchable: e.Searchable,
		Sets: orNone(e.Sets), Fields: []fieldText{}, Relationships: []relationshipText{}, Operations: orNone(e.Operations),
	}
	add := func(f *catalog.Field) {
		if f.Sensitive && f.ReadOnly {
			return
		}
		out.Fields = append(out.Fields, fieldText{
			Name: f.Name, Type: f.Type, Operators: orNone(f.Class().Operators()), Description: f.Description, Enum: f.Enum, Nullable: f.Nullable, Required: f.Required,
			Immutable: f.Immutable, ReadOnly: f.ReadOnly, WriteOnly: !f.Readable(), Edge: f.Edge, Default: f.Default,
			boundsText: boundsText{Min: f.Min, Max: f.Max, MinLength: f.MinLength, MaxLength: f.MaxLength, Pattern: f.Pattern},
		})
	}
	add(&e.Key)
	for i := range e.Fields {
		add(&e.Fields[i])
	}
	for _, edge := range e.Edges {
		if !edge.WriteOnly {
			out.Relationships = append(out.Relationships, relationshipText{
				Name: edge.Name, Target: edge.Target, Many: edge.Many, Reference: edge.Reference, Required: edge.Required, Immutable: edge.Immutable, ReadOnly: edge.ReadOnly, Description: edge.Description,
			})
		}
	}
	return out
}

func describeOperations(v *catalog.View, at string, ops map[string]*catalog.Operation) []operationText {
	out := []operationText{}
	for _, name := range slices.Sorted(maps.Keys(ops)) {
		op := ops[name]
		e := v.Effects(op)
		out = append(out, operationText{
			ID: op.ID.String(), Path: at + name, Title: cmp.Or(op.Title, name), Summary: op.Summary, Input: op.Input, Example: op.Example,
			Effects: map[string]bool{"readOnly": e.ReadOnly, "destructive": e.Destructive, "outside": e.Outside},
		})
	}
	return out
}

// declarationsURI is the document of the SDK's declarations.
const declarationsURI = "koan://sdk/koan.d.ts"

// serveDeclarations serves GET /api/console/koan.d.ts: the declarations of the SDK that the
// caller's scripts see.
func (h consoleRoutes) serveDeclarations(w http.ResponseWriter, r *http.Request) {
	if !h.allows(w, r, http.MethodGet) {
		return
	}
	v := h.view(auth.From(r.Context()))
	text := v.Snapshot().Document(declarationsURI)
	if text == nil || !exposure.CodeTools(v.Mode()) {
		h.reject(w, r, fault.New(fault.CodeModeDisabled, "this app offers no code mode, so it has no SDK"))
		return
	}
	out, err := text.Read(r.Context(), v, "")
	if err != nil {
		h.reject(w, r, fault.From(err))
		return
	}
	h.write(w, http.StatusOK, "application/typescript; charset=utf-8", out)
}

// Limit is a key of the configuration that bounds something, with its value.
type Limit struct {
	Key   string `json:"key"`
	Value int    `json:"value"`
	Unit  string `json:"unit,omitempty"`
	Help  string `json:"help"`
}

// checksTime bounds the checks of the app's parts.
const checksTime = 20 * time.Second

// serveChecks serves GET /api/console/checks: whether the app's parts work, servers and plugins
// included, and the limits that hold. Both are for who operates the app.
func (h consoleRoutes) serveChecks(w http.ResponseWriter, r *http.Request) {
	if !h.allows(w, r, http.MethodGet) {
		return
	}
	if p := auth.From(r.Context()); !p.Has(journal.Scope) {
		h.rejectAs(w, r, rejection{
			Fault:  fault.Newf(fault.Forbidden, "the checks of the app are for callers with the scope %s", journal.Scope),
			scopes: []string{journal.Scope},
		})
		return
	}
	ctx, cancel := context.WithTimeout(r.Context(), checksTime)
	defer cancel()
	type checkText struct {
		Name   string `json:"name"`
		OK     bool   `json:"ok"`
		Detail string `json:"detail"`
		Hint   string `json:"hint,omitempty"`
	}
	checks := []checkText{}
	for _, c := range h.opts.Console.Checks(ctx) {
		checks = append(checks, checkText(c))
	}
	h.respondJSON(w, r, map[string]any{"checks": checks, "limits": h.opts.Console.Limits()})
}

// respondJSON answers with a value.
func (h *responder) respondJSON(w http.ResponseWriter, r *http.Request, v any) {
	raw, err := invoke.Encode(v)
	if err != nil {
		h.reject(w, r, fault.New(fault.Internal, "").Because(err))
		return
	}
	h.write(w, http.StatusOK, jsonType, raw)
}

// limited answers with what a work returns that counts as a call of the caller's: within its
// place among them, and within the time of a tool.
func (h *invocations) limited(w http.ResponseWriter, r *http.Request, do func(context.Context) (any, error)) {
	live, gate := h.now(), &caller(r).Calls
	slot, running := gate.Enter(live.QueueMax)
	if slot == nil {
		h.reject(w, r, fault.Newf(fault.QueueOverloaded, "%d calls are in flight, which is the limit", running).
			WithDetails(map[string]any{"queue": map[string]any{"max": live.QueueMax, "size": running}}))
		return
	}
	defer slot.Leave()
	ctx, stop := deadline.WithTimeout(r.Context(), live.ToolTimeout, func() error {
		return fault.Newf(fault.ToolTimeout, "it did not finish within %d ms", live.ToolTimeout.Milliseconds())
	})
	defer stop()
	out, err := do(ctx)
	if err != nil {
		j := rejection{Fault: fault.From(err)}
		if h.cutOff(j.Fault) {
			j.status = http.StatusServiceUnavailable
		}
		h.rejectAs(w, r, j)
		return
	}
	h.respondJSON(w, r, out)
}
