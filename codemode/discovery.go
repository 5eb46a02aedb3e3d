package codemode

import (
	"encoding/json"
	"fmt"
	"math"
	"strings"

	"github.com/koan-go/koan/codemode/internal/bind"
	"github.com/koan-go/koan/codemode/internal/wire"
	"github.com/koan-go/koan/framework/catalog"
	"github.com/koan-go/koan/framework/exact"
	"github.com/koan-go/koan/framework/fault"
	"github.com/koan-go/koan/framework/run"
)

// The types of @codemode/discovery (codemode-run-spec section 4.2).
type (
	serverInfo struct {
		ServerID     string   `json:"serverId"`
		ServerName   string   `json:"serverName"`
		Capabilities []string `json:"capabilities"`
		// Unavailable says why a server cannot be reached now; then it has no capabilities.
		Unavailable string `json:"unavailable,omitempty"`
	}
	serverDescription struct {
		serverInfo
		Description string `json:"description,omitempty"`
		Version     string `json:"version,omitempty"`
		// ToolCount is how many tools there are, Tools those of one page.
		ToolCount int              `json:"toolCount"`
		Page      int              `json:"page"`
		PageSize  int              `json:"pageSize"`
		Tools     []toolDefinition `json:"tools"`
	}
	toolDefinition struct {
		ServerID    string          `json:"serverId,omitempty"` // of a search's result
		ToolName    string          `json:"toolName"`
		ExportName  string          `json:"exportName"`
		Title       string          `json:"title,omitempty"` // of a server's tool
		Description string          `json:"description,omitempty"`
		Annotations map[string]bool `json:"annotations,omitempty"`
		// DeclaredAnnotations are what a server says of its tool where that does not count.
		DeclaredAnnotations map[string]bool `json:"declaredAnnotations,omitempty"`
		InputSchema         json.RawMessage `json:"inputSchema,omitempty"`
		OutputSchema        json.RawMessage `json:"outputSchema,omitempty"`
		Declaration         string          `json:"declaration,omitempty"`
	}
	searchResults struct {
		Query   string           `json:"query"`
		Results []toolDefinition `json:"results"`
	}
)

// detailDescription is the default level of detail (codemode-run-spec section 4.3).
const detailDescription = "description"

var details = []string{detailName, detailDescription, detailFull}

// discoveryOptions are the last argument of describeServer, listTools and
// searchTools. Each reads those that it knows.
type discoveryOptions struct {
	Detail   *string
	ServerID *string
	Limit    *float64
	Page     *float64
	PageSize *float64
}

// How many tools describeServer lists at most and by default, and the longest description
// of one in characters: a server may have thousands.
const (
	maxToolsPage   = 200
	toolsPage      = 50
	fullToolsPage  = 10
	maxToolSummary = 160
)

// mostAsked is how often a script may call discovery if calls are unlimited.
const mostAsked = 1000

// discover serves the calls of @codemode/discovery: input is the list of arguments. It
// sees what the caller's View shows.
func (h *host) discover(at run.Position, id string, input json.RawMessage) (json.RawMessage, error) {
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
	out, err := h.found(at, strings.TrimPrefix(id, wire.DiscoveryPrefix), args)
	if err != nil {
		return nil, err
	}
	return wire.Marshal(out)
}

func (h *host) found(at run.Position, what string, args []json.RawMessage) (any, error) {
	v := h.view
	servers := bind.Servers(v, h.app)
	if what == "listServers" {
		out := []serverInfo{}
		for _, s := range servers {
			info, err := h.infoOf(at, s)
			if err != nil {
				return nil, err
			}
			out = append(out, info)
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
		o, err := optionsArgument(args)
		if err != nil {
			return nil, err
		}
		info, err := h.infoOf(at, s)
		return describeServer(v, s, info, o), err
	case "listTools":
		o, err := optionsArgument(args)
		if err != nil {
			return nil, err
		}
		from, to := o.page(len(s.Tools), len(s.Tools))
		return tools(v, s, from, to, *o.Detail), nil
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

// describeServer lists one page of a server's tools, each with a line about it.
func describeServer(v *catalog.View, s *bind.Server, info serverInfo, o discoveryOptions) serverDescription {
	size := toolsPage
	if *o.Detail == detailFull {
		size = fullToolsPage
	}
	from, to := o.page(len(s.Tools), size)
	out := serverDescription{
		serverInfo: info, Description: s.Description, Version: s.Version,
		ToolCount: len(s.Tools), Page: o.number(), PageSize: o.size(size), Tools: tools(v, s, from, to, *o.Detail),
	}
	if *o.Detail != detailFull {
		for i := range out.Tools {
			t := &out.Tools[i]
			t.Description, t.Annotations, t.DeclaredAnnotations = summaryLine(t.Description), nil, nil
		}
	}
	return out
}

// summaryLine is the first line of a description, cut if it is long.
func summaryLine(text string) string {
	text, _, _ = strings.Cut(strings.TrimSpace(text), "\n")
	if r := []rune(text); len(r) > maxToolSummary {
		return strings.TrimSpace(string(r[:maxToolSummary-1])) + "…"
	}
	return text
}

func (o discoveryOptions) number() int {
	if o.Page == nil {
		return 1
	}
	return int(min(*o.Page, math.MaxInt32))
}

func (o discoveryOptions) size(standard int) int {
	if o.PageSize == nil {
		return standard
	}
	return int(*o.PageSize)
}

// page returns the range of tools that the options ask for.
func (o discoveryOptions) page(all, standard int) (from, to int) {
	size := o.size(standard)
	from = min((o.number()-1)*size, all)
	return from, min(from+size, all)
}

func tools(v *catalog.View, s *bind.Server, from, to int, detail string) []toolDefinition {
	out := make([]toolDefinition, 0, to-from)
	for i := from; i < to; i++ {
		out = append(out, define(v, s, i, detail))
	}
	return out
}

// infoOf describes a server for a call at a position. Whether it can be reached depends on the moment, so
// what was said of that is on the tape: a later attempt hears the same.
func (h *host) infoOf(at run.Position, s *bind.Server) (serverInfo, error) {
	out := serverInfo{s.ID, s.Name, []string{}, ""}
	if s.MayBeAway() {
		said, err := h.attempt.Tape().Value(at, "trouble "+s.ID, func() (any, error) {
			if err := s.Trouble(); err != nil {
				return fault.From(err).Message, nil
			}
			return "", nil
		})
		if err != nil {
			return out, err
		}
		if out.Unavailable, _ = said.(string); out.Unavailable != "" {
			return out, nil
		}
	}
	out.Capabilities = append(out.Capabilities, "tools")
	for _, g := range s.Groups {
		out.Capabilities = append(out.Capabilities, strings.TrimPrefix(g.Name, "$"))
	}
	return out, nil
}

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

// define returns a tool's definition at a level of detail.
func define(v *catalog.View, s *bind.Server, i int, detail string) toolDefinition {
	t, op := s.Tools[i], s.Operations[i]
	d := toolDefinition{ToolName: t.Name, ExportName: t.Export}
	if detail == detailName {
		return d
	}
	d.Description = t.Description
	d.Annotations, d.DeclaredAnnotations = op.Effects.Hints(), op.DeclaredHints()
	if op.ID.Kind == catalog.KindUpstream {
		d.Title = op.Title
	}
	if detail == detailFull {
		d.InputSchema, d.OutputSchema = op.Input, op.Output
		d.Declaration = types.ModuleFunction(v, s, i)
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
	hits := v.SearchOperations(query, most, func(op *catalog.Operation) bool {
		_, ok := at[op.ID]
		return ok
	})
	for _, hit := range hits {
		p := at[hit.Operation.ID]
		d := define(v, p.s, p.i, *o.Detail)
		d.ServerID = p.s.ID
		out.Results = append(out.Results, d)
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
	}{
		{choice("detail", "", details...), &o.Detail},
		{text("serverId", ""), &o.ServerID},
		{whole("limit", "", 0, 0), &o.Limit},
		{whole("page", "", 0, 0), &o.Page},
		{whole("pageSize", "", 0, maxToolsPage), &o.PageSize},
	} {
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
