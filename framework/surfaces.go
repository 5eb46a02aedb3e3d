package framework

import (
	"slices"
	"strings"

	"github.com/koan-go/koan/framework/auth"
	"github.com/koan-go/koan/framework/catalog"
	"github.com/koan-go/koan/framework/mcpserver"
)

// MCP makes an MCP server over the app's catalog, which follows its changes. The
// caller opens a transport on it.
func (i *Instance) MCP() (*mcpserver.Server, error) {
	v := i.values
	o := mcpserver.Options{
		Name: i.app.Name, Version: i.app.Version, Engine: i.engine, Catalog: i.Snapshot, Principal: auth.Local(),
		Exposure: i.Mode(), ExposureIsAuto: i.Negotiated(), Faces: faces(i.Snapshot()),
		QueueMax: v.Int("server.queueMax"), ToolTimeout: v.Duration("server.toolTimeoutMs"), MaxBufferBytes: v.Int("server.maxBufferBytes"),
		ToolNames: mcpserver.ToolNames(v.String("server.toolNames")), Log: i.log,
	}
	o.Instructions = i.app.Description
	if len(o.Faces) > 0 {
		o.Runtime = v.String("codeMode.runtime")
		o.CodeInstructions = i.codeInstructions()
	}
	s, err := mcpserver.New(o)
	if err != nil {
		return nil, err
	}
	i.OnChange(s.CatalogChanged)
	return s, nil
}

func (i *Instance) codeInstructions() string {
	var parts []string
	for _, p := range i.started {
		if in, ok := p.(catalog.Instructor); ok {
			parts = append(parts, in.Instructions())
		}
	}
	return strings.Join(parts, "\n\n")
}

// HTTPHandler serves MCP over Streamable HTTP, for a program that has a server of
// its own: mount it at /mcp, say in Authenticate who calls, and call Shutdown
// before Stop. Hosts, origins and sessions are as configured where o leaves them
// open.
func (i *Instance) HTTPHandler(o mcpserver.HTTPOptions) (*mcpserver.HTTP, error) {
	s, err := i.MCP()
	if err != nil {
		return nil, err
	}
	if o.AllowedHosts == nil {
		o.AllowedHosts = i.values.Strings("server.allowedHosts")
	}
	if o.AllowedOrigins == nil {
		o.AllowedOrigins = i.values.Strings("server.allowedOrigins")
	}
	if o.SessionIdle == 0 {
		o.SessionIdle = i.values.Duration("server.sessionIdleMs")
	}
	if o.MaxSessions == 0 {
		o.MaxSessions = i.values.Int("server.maxSessions")
	}
	if o.RequestsPerMinute == 0 {
		o.RequestsPerMinute = i.values.Int("server.requestsPerMinute")
	}
	return s.HTTP(o), nil
}

// faces are the code faces that the catalog offers as tools.
func faces(s *catalog.Snapshot) []string {
	var out []string
	for _, op := range s.Operations() {
		if op.ID.Kind == catalog.KindCode && op.Reach&catalog.ReachTools != 0 && !slices.Contains(out, op.ID.Owner) {
			out = append(out, op.ID.Owner)
		}
	}
	return out
}
