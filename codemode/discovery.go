package codemode

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/koan-go/koan/codemode/bind"
	"github.com/koan-go/koan/codemode/typegen"
	"github.com/koan-go/koan/codemode/wire"
	"github.com/koan-go/koan/framework/catalog"
	"github.com/koan-go/koan/framework/exact"
	"github.com/koan-go/koan/framework/fault"
)

// The types of @codemode/discovery (codemode-run-spec section 4.2).
type (
	serverInfo struct {
		ServerID     string   `json:"serverId"`
		ServerName   string   `json:"serverName"`
		Capabilities []string `json:"capabilities"`
	}
	serverDescription struct {
		serverInfo
		Description string `json:"description,omitempty"`
		Version     string `json:"version,omitempty"`
		// Declarations are the module's TypeScript.
		Declarations string `json:"declarations"`
	}
	toolDefinition struct {
		ServerID     string          `json:"serverId,omitempty"` // of a search's result
		ToolName     string          `json:"toolName"`
		ExportName   string          `json:"exportName"`
		Description  string          `json:"description,omitempty"`
		Annotations  map[string]bool `json:"annotations,omitempty"`
		InputSchema  json.RawMessage `json:"inputSchema,omitempty"`
		OutputSchema json.RawMessage `json:"outputSchema,omitempty"`
		Declaration  string          `json:"declaration,omitempty"`
	}
	searchResults struct {
		Query   string           `json:"query"`
		Results []toolDefinition `json:"results"`
	}
)

// detailDescription is what listTools and searchTools tell where nothing is
// asked for (codemode-run-spec section 4.3).
const detailDescription = "description"

var details = []string{detailName, detailDescription, detailFull}

// options are the last argument of listTools and searchTools.
type discoveryOptions struct {
	Detail   *string
	ServerID *string
	Limit    *float64
}

// mostAsked is how often a script may ask discovery where calls are unlimited.
const mostAsked = 1000

// discover answers what a script asks through @codemode/discovery: input is the
// list of its arguments. It sees what the caller's View shows.
func (h *host) discover(id string, input json.RawMessage) (json.RawMessage, error) {
	most := h.maxCalls
	if most == 0 {
		most = mostAsked
	}
	if h.asked++; h.asked > most {
		return nil, fault.Newf(fault.SDKCallsExceeded, "the script asked discovery more than %d times", most)
	}
	var args []json.RawMessage
	if err := json.Unmarshal(input, &args); err != nil {
		return nil, fault.Invalid(fault.Detail{Message: "the arguments cannot be read: " + err.Error()})
	}
	out, err := h.found(strings.TrimPrefix(id, wire.DiscoveryPrefix), args)
	if err != nil {
		return nil, err
	}
	return wire.Marshal(out)
}

func (h *host) found(what string, args []json.RawMessage) (any, error) {
	v := h.call.View()
	servers := bind.Servers(v, h.app)
	if what == "listServers" {
		out := []serverInfo{}
		for _, s := range servers {
			out = append(out, infoOf(s))
		}
		return out, nil
	}
	first, err := textArgument(args, 0, map[string]string{"searchTools": "query"}[what])
	if err != nil {
		return nil, err
	}
	if what == "searchTools" {
		o, err := optionsArgument(args)
		if err != nil {
			return nil, err
		}
		return searchTools(v, servers, first, o)
	}
	s, err := serverNamed(servers, first)
	if err != nil {
		return nil, err
	}
	switch what {
	case "describeServer":
		return serverDescription{infoOf(s), s.Description, s.Version, typegen.Module(v, s)}, nil
	case "listTools":
		o, err := optionsArgument(args)
		if err != nil {
			return nil, err
		}
		out := []toolDefinition{}
		for i := range s.Tools {
			out = append(out, define(v, s, i, *o.Detail))
		}
		return out, nil
	case "getTool":
		name, err := textArgument(args, 1, "toolName")
		if err != nil {
			return nil, err
		}
		for i, t := range s.Tools {
			if t.Name == name || t.Export == name {
				return define(v, s, i, detailFull), nil
			}
		}
		var names []string
		for _, t := range s.Tools {
			names = append(names, t.Name)
		}
		return nil, fault.Newf(fault.ToolNotFound, "the server %q has no tool %q%s", s.ID, shorten(name), fault.DidYouMean(name, names)).
			WithHint("List the tools with listTools(%q).", s.ID)
	}
	return nil, fault.Newf(fault.ToolNotFound, "discovery has no function %q", shorten(what))
}

func infoOf(s *bind.Server) serverInfo { return serverInfo{s.ID, s.Name, []string{"tools"}} }

func serverNamed(servers []*bind.Server, id string) (*bind.Server, error) {
	var ids []string
	for _, s := range servers {
		if s.ID == id {
			return s, nil
		}
		ids = append(ids, s.ID)
	}
	return nil, fault.Newf(fault.ServerNotFound, "no server %q is connected%s", shorten(id), fault.DidYouMean(id, ids)).
		WithHint("Name one of these: %s.", strings.Join(ids, ", "))
}

// define tells of a tool what the level of detail asks for.
func define(v *catalog.View, s *bind.Server, i int, detail string) toolDefinition {
	t, op := s.Tools[i], s.Operations[i]
	d := toolDefinition{ToolName: t.Name, ExportName: t.Export}
	if detail == detailName {
		return d
	}
	d.Description = t.Description
	d.Annotations = map[string]bool{
		"readOnlyHint": op.Effects.ReadOnly, "destructiveHint": op.Effects.Destructive && !op.Effects.ReadOnly,
		"idempotentHint": op.Effects.Idempotent || op.Effects.ReadOnly, "openWorldHint": op.Effects.Outside,
	}
	if detail == detailFull {
		d.InputSchema, d.OutputSchema = op.Input, op.Output
		d.Declaration = typegen.ModuleFunction(v, s, i)
	}
	return d
}

func searchTools(v *catalog.View, servers []*bind.Server, query string, o discoveryOptions) (any, error) {
	if o.ServerID != nil {
		s, err := serverNamed(servers, *o.ServerID)
		if err != nil {
			return nil, err
		}
		servers = []*bind.Server{s}
	}
	type place struct {
		s *bind.Server
		i int
	}
	at := map[catalog.ID]place{}
	for _, s := range servers {
		for i, op := range s.Operations {
			at[op.ID] = place{s, i}
		}
	}
	most := maxHits
	if o.Limit != nil {
		most = int(min(*o.Limit, maxHits))
	}
	out := searchResults{Query: beginning(query, maxEcho), Results: []toolDefinition{}}
	for _, hit := range v.Search(query, len(v.Script())+len(v.Resources())) {
		if hit.Operation == nil || len(out.Results) == most {
			continue
		}
		if p, ok := at[hit.Operation.ID]; ok {
			d := define(v, p.s, p.i, *o.Detail)
			d.ServerID = p.s.ID
			out.Results = append(out.Results, d)
		}
	}
	return out, nil
}

func textArgument(args []json.RawMessage, i int, name string) (string, error) {
	if name == "" {
		name = "serverId"
	}
	var given any
	if i < len(args) {
		if err := json.Unmarshal(args[i], &given); err != nil {
			return "", fault.Invalid(fault.Detail{Message: "the arguments cannot be read: " + err.Error()})
		}
	}
	s, ok := given.(string)
	if !ok {
		return "", fault.Invalid(fault.Detail{
			Path: fmt.Sprintf("/%d", i), Message: quoted(name) + " must be a string", Expected: "string", Received: receipt(given, given != nil),
		})
	}
	return s, nil
}

// optionsArgument reads and completes the options, the second argument.
func optionsArgument(args []json.RawMessage) (discoveryOptions, error) {
	standard := detailDescription
	o := discoveryOptions{Detail: &standard}
	if len(args) < 2 || string(args[1]) == "null" {
		return o, nil
	}
	members, err := exact.Members(args[1])
	if err != nil {
		return o, fault.Invalid(fault.Detail{Path: "/1", Message: "the options must be an object", Expected: "object", Received: "another value"})
	}
	var wrong []fault.Detail
	for _, m := range []struct {
		member
		into any
	}{{choice("detail", "", details...), &o.Detail}, {text("serverId", ""), &o.ServerID}, {whole("limit", "", 0, 0), &o.Limit}} {
		raw, ok := members[m.name]
		if !ok || string(raw) == "null" {
			continue
		}
		var v any
		if err := json.Unmarshal(raw, &v); err != nil {
			return o, err
		}
		found := m.problems(v)
		if wrong = append(wrong, found...); len(found) > 0 {
			continue
		}
		if err := json.Unmarshal(raw, m.into); err != nil {
			return o, err
		}
	}
	if len(wrong) > 0 {
		for i := range wrong {
			wrong[i].Path = "/1" + wrong[i].Path
		}
		return o, fault.Invalid(wrong...)
	}
	if o.Detail == nil {
		o.Detail = &standard
	}
	return o, nil
}
