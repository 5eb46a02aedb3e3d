package bind

import (
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/koan-go/koan/codemode/internal/wire"
	"github.com/koan-go/koan/framework/catalog"
)

// App is the name and version of the server of the entities.
type App struct{ Name, Version string }

// Server is a server of the catalog as scripts import it
// (codemode-run-spec section 5).
type Server struct {
	wire.Server
	Description string
	// Operations are the operations of Server.Tools, in the same order.
	Operations []*catalog.Operation
	trouble    func() error
}

// MayBeAway reports whether the server is one that can be out of reach.
func (s *Server) MayBeAway() bool { return s.trouble != nil }

// Trouble returns why the server cannot be reached, as far as is known now.
func (s *Server) Trouble() error {
	if s.trouble == nil {
		return nil
	}
	return s.trouble()
}

// Tool returns a tool and its operation by the tool's name or its export, nil if there is none.
func (s *Server) Tool(name string) (*wire.Tool, *catalog.Operation) {
	for _, by := range []func(wire.Tool) bool{
		func(t wire.Tool) bool { return t.Name == name },
		func(t wire.Tool) bool { return t.Export == name },
	} {
		if i := slices.IndexFunc(s.Tools, by); i >= 0 {
			return &s.Tools[i], s.Operations[i]
		}
	}
	return nil, nil
}

type serversKey struct{}

// Servers returns the servers of a View: the app's entities and actions first, if scripts can call
// any, then plugins and upstreams in the order of their ids. They are computed once per View.
func Servers(v *catalog.View, app App) []*Server {
	return catalog.Memo(v, serversKey{}, func() []*Server { return servers(v, app) })
}

func servers(v *catalog.View, app App) []*Server {
	koan := &Server{Server: wire.Server{Name: app.Name, Version: app.Version, Ordered: true}, Description: "The entities of " + app.Name + "."}
	out := []*Server{koan}
	at := map[string]*Server{}
	taken := map[string]bool{}
	modules := map[string]string{}            // of upstreams, which somebody has named
	for _, own := range []bool{true, false} { // what is called as its module would be comes first
		for _, op := range v.Script() {
			if op.ID.Kind == catalog.KindUpstream && modules[op.ID.Owner] == "" && (!own || ModulePart(op.ID.Owner) == op.ID.Owner) {
				modules[op.ID.Owner] = moduleID(op.ID.Owner, taken)
			}
		}
	}
	koan.ID = builtIn(string(catalog.KindEntity), longAppModule, taken)
	for _, op := range v.Script() {
		s := koan
		if op.ID.Kind == catalog.KindAction {
			koan.Description = "The entities and actions of " + app.Name + "."
		}
		if op.ID.Kind != catalog.KindEntity && op.ID.Kind != catalog.KindAction {
			owner := string(op.ID.Kind) + " " + op.ID.Owner
			if s = at[owner]; s == nil {
				s = &Server{Server: wire.Server{Name: op.ID.Owner}, Description: "The " + owner + "."}
				if s.ID = modules[op.ID.Owner]; op.ID.Kind != catalog.KindUpstream {
					s.ID = builtIn(op.ID.Owner, longModule+op.ID.Owner, taken)
				}
				s.introduce(v.Snapshot().Owner(op.ID))
				at[owner] = s
				out = append(out, s)
			}
		}
		if op.ID.Kind == catalog.KindUpstream && op.ID.Op == catalog.AnyTool {
			s.Any = op.ID.String()
			continue
		}
		if f, ok := catalog.ServerFunctionOf(op.ID); ok {
			s.Groups = grouped(s.Groups, f, op.ID.String())
			continue
		}
		s.Tools = append(s.Tools, wire.Tool{Name: toolName(v, op), ID: op.ID.String(), Description: op.Summary})
		s.Operations = append(s.Operations, op)
	}
	if len(koan.Tools) == 0 {
		out = out[1:]
	}
	for _, s := range out {
		s.export()
	}
	return out
}

// The long names of built-in modules are always there; the short ones only while no upstream has them.
const (
	longModule    = "koan-"
	longAppModule = longModule + "app"
)

// builtIn returns the name of the module of a plugin, or of the entities.
func builtIn(short, long string, taken map[string]bool) string {
	if id := ModulePart(short); !taken[id] {
		taken[id] = true
		return id
	}
	return moduleID(long, taken)
}

// IDs returns the names that a server has, the short one first.
func (s *Server) IDs() []string {
	if long := s.long(); long != "" && long != s.ID {
		return []string{s.ID, long}
	}
	return []string{s.ID}
}

// long returns the long name of a built-in module, "" for an upstream's.
func (s *Server) long() string {
	switch {
	case len(s.Operations) == 0 || s.Operations[0].ID.Kind == catalog.KindUpstream:
		return ""
	case s.Ordered:
		return longAppModule
	}
	return longModule + s.ID
}

// introduce sets the version and the description that a server declares.
func (s *Server) introduce(o *catalog.Owner) {
	if o == nil {
		return
	}
	s.Version, s.trouble = o.Version, o.Trouble
	if o.Description != "" {
		s.Description = o.Description
	}
}

// toolName is a tool's name on its own server: an upstream's unchanged, a plugin's without
// the domain, an entity's as the app lists it.
func toolName(v *catalog.View, op *catalog.Operation) string {
	switch op.ID.Kind {
	case catalog.KindPlugin:
		return catalog.Kebab(op.ID.Op)
	case catalog.KindUpstream:
		return op.ID.Op
	case catalog.KindEntity, catalog.KindCode, catalog.KindAction:
	}
	return v.Snapshot().ToolName(op.ID)
}

// export sorts the tools by name and sets their identifiers (codemode-run-spec section 6.1).
func (s *Server) export() {
	order := make([]int, len(s.Tools))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return strings.Compare(s.Tools[a].Name, s.Tools[b].Name) })
	tools, operations := make([]wire.Tool, len(order)), make([]*catalog.Operation, len(order))
	names := make([]string, len(order))
	for i, from := range order {
		tools[i], operations[i] = s.Tools[from], s.Operations[from]
		names[i] = tools[i].Name
	}
	for i, export := range catalog.Exports(names) {
		tools[i].Export = export
	}
	s.Tools, s.Operations = tools, operations
}

// Workers link this package and map no ids, so these are compiled at their first use.
var (
	outsideSegment = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`[^\p{L}\p{M}\p{Nd}$-]`) }) // a name that is an identifier is kept in any script, but for case and _
	dashes         = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`-+`) })
)

// moduleID maps a server's id to the last part of its module's path
// (codemode-run-spec section 5.0.1).
func moduleID(id string, taken map[string]bool) string {
	s := outsideSegment().ReplaceAllString(strings.ToLower(id), "-")
	if s = strings.Trim(dashes().ReplaceAllString(s, "-"), "-"); s == "" {
		s = "server"
	}
	return catalog.Numbered(s, "--", taken)
}

// ModulePart is the last part of the path of a server's module, unless another one has it.
func ModulePart(id string) string { return moduleID(id, map[string]bool{}) }

// Importing returns the bindings of a View for one script. may reports whether the script may import the module with
// a path; it is nil for a script that imports none. Only the servers that it may import have their tools; the others
// are there for the list of what it can import.
func Importing(v *catalog.View, app App, may func(path string) bool) wire.Bindings {
	b := Bind(v)
	if may == nil {
		return b
	}
	var servers []wire.Server
	for _, s := range Servers(v, app) {
		w := s.Server
		if !may(wire.ModuleServers + s.ID) {
			w.Tools, w.Groups = nil, nil
		}
		servers = append(servers, w)
	}
	for _, s := range Servers(v, app) { // by its long name, too
		long := s.long()
		if long == "" || !may(wire.ModuleServers+long) || slices.ContainsFunc(servers, func(w wire.Server) bool { return w.ID == long }) {
			continue
		}
		w := s.Server
		w.ID = long
		servers = append(servers, w)
	}
	return b.With(servers)
}
