package framework

import (
	"cmp"
	"context"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/koan-go/koan/framework/auth"
	"github.com/koan-go/koan/framework/catalog"
	"github.com/koan-go/koan/framework/exposure"
	"github.com/koan-go/koan/framework/fault"
	"github.com/koan-go/koan/framework/internal/access"
	"github.com/koan-go/koan/framework/internal/console"
	"github.com/koan-go/koan/framework/internal/files"
	"github.com/koan-go/koan/framework/internal/mcpserver"
	"github.com/koan-go/koan/framework/internal/restapi"
	"github.com/koan-go/koan/framework/internal/toolset"
	"github.com/koan-go/koan/framework/journal"
	"github.com/koan-go/koan/framework/run/approve"
)

// MCP makes an MCP server over the app's catalog, which follows its changes. The
// caller opens a transport on it.
func (i *Instance) MCP() (*mcpserver.Server, error) {
	v, live := i.values, i.live(i.values)
	o := mcpserver.Options{
		Name: i.app.Name, Version: i.app.Version, Engine: i.engine, Catalog: i.Snapshot, Principal: auth.Local(),
		Exposure: live.Exposure, ExposureIsAuto: live.ExposureIsAuto, Faces: faces(i.Snapshot()),
		QueueMax: live.QueueMax, ToolTimeout: live.ToolTimeout, MaxBufferBytes: v.Int("server.maxBufferBytes"),
		Tools: live.Tools, AskTimeout: v.Duration("server.askTimeoutMs"), Seal: i.sealer, Feed: i.feed, Log: i.log,
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
	i.OnReload(func(next catalog.Values) (func(), error) {
		return func() {
			if err := s.Adjust(i.live(next)); err != nil { // the settings were checked
				i.log.Error("the MCP server keeps its settings", "error", err)
			}
		}, nil
	})
	return s, nil
}

// Connect opens an MCP connection to the app from inside the program, for a client
// that calls as p: see mcpserver.Server.Connect. Close it before Stop.
func (i *Instance) Connect(ctx context.Context, p auth.Principal) (io.ReadWriteCloser, error) {
	s, err := i.inProcess()
	if err != nil {
		return nil, err
	}
	return s.Connect(ctx, p), nil
}

// live returns the live options of the MCP server in a configuration.
func (i *Instance) live(v catalog.Values) mcpserver.Live {
	return mcpserver.Live{
		Exposure: i.mode(v), ExposureIsAuto: negotiated(v), Tools: toolset.Configured(v),
		QueueMax: v.Int("server.queueMax"), ToolTimeout: v.Duration("server.toolTimeoutMs"),
	}
}

func (i *Instance) codeInstructions() string {
	var parts []string
	for _, p := range i.started {
		if in, ok := p.(catalog.Instructor); ok {
			_ = i.protect(p.Name(), func() error { parts = append(parts, in.Instructions()); return nil })
		}
	}
	return strings.Join(parts, "\n\n")
}

// Callers returns who may call over HTTP, as configured (server.tokensFile,
// server.oauth.*), for HTTPOptions.Authenticate and StepUp. url is the address of the MCP
// endpoint if server.publicUrl is not set. Without either setting every caller is
// rejected.
func (i *Instance) Callers(url string) (*Callers, error) {
	c, err := access.Read(i.values, false)
	if err != nil {
		return nil, err
	}
	return c.Callers(access.App{Name: i.app.Name, URL: url, Catalog: i.Snapshot, Log: i.log})
}

// HTTPHandler serves MCP over Streamable HTTP, for a program that has a server of its own:
// mount it at /mcp, return the caller from Authenticate, and call Shutdown before Stop.
// Hosts, origins and sessions are as configured unless o sets them.
func (i *Instance) HTTPHandler(o HTTPOptions) (*HTTP, error) {
	s, err := i.MCP()
	if err != nil {
		return nil, err
	}
	h := s.HTTP(mcpserver.HTTPOptions(withDefaults(o, i.values)))
	i.OnReload(func(next catalog.Values) (func(), error) {
		n := withDefaults(o, next)
		return func() {
			h.Adjust(mcpserver.HTTPLive{
				AllowedHosts: n.AllowedHosts, AllowedOrigins: n.AllowedOrigins,
				SessionIdle: n.SessionIdle, MaxSessions: n.MaxSessions, RequestsPerMinute: n.RequestsPerMinute,
			})
		}, nil
	})
	return h, nil
}

// RESTHandler serves REST, tools in an envelope, the server's status and its OpenAPI document
// beside an HTTPHandler, which admits its requests: callers, origins and limits are those of
// MCP. Mount it under each of RESTPaths, and call its Shutdown before Stop.
func (i *Instance) RESTHandler(beside *HTTP) *REST {
	live := func(v catalog.Values) restapi.Live {
		l := i.live(v)
		return restapi.Live{Exposure: l.Exposure, ExposureIsAuto: l.ExposureIsAuto, QueueMax: l.QueueMax, ToolTimeout: l.ToolTimeout, MaxListeners: v.Int("events.maxListeners")}
	}
	o := restapi.Options{
		Name: i.app.Name, Version: i.app.Version, Description: i.app.Description, Engine: i.engine, Catalog: i.Snapshot, Admission: beside.Admission(),
		Tags: i.tags.get, Ready: i.Ready, MaxBody: i.values.Int("server.maxBufferBytes"), Files: i.app.files.Store, Live: live(i.values), Feed: i.feed, Log: i.log,
		Console: restapi.Console{Journal: i.reader, Replay: i.replayOwn, Plans: i.guard, Checks: i.Checks, Limits: i.limits},
	}
	if o.Faces = faces(i.Snapshot()); len(o.Faces) > 0 {
		o.Runtime = i.values.String("codeMode.runtime")
	}
	h := restapi.New(o)
	i.OnReload(func(next catalog.Values) (func(), error) { return func() { h.Adjust(live(next)) }, nil })
	return h
}

// Console serves the console, for people with a browser: mount it at /console and /console/. The
// REST handler, which it calls, serves its sessions from then on; hosts and origins are those of MCP.
func (i *Instance) Console(rest *REST, mcp *HTTP, o ConsoleOptions) *Console {
	c := console.New(console.Options{Site: o, Name: i.app.Name, Person: approve.Person(), Admission: mcp.Admission(), Log: i.log})
	rest.UseSessions(c.Caller, c.Visitor, c.AskToSignIn)
	return c
}

// Pages serves the app's own pages behind a REST handler: mount it at "/". It is nil if the app has
// none.
func (i *Instance) Pages(rest *REST) http.Handler {
	if i.app.Pages == nil {
		return nil
	}
	return rest.Pages(i.app.Pages(i))
}

// Files returns where files are kept, for a caller who may call a function of SDK.Files: "create",
// "get".
func (i *Instance) Files(p auth.Principal, function string) (*FileStore, error) {
	id := catalog.PluginID(files.Domain, function)
	if i.Snapshot().Operation(id) == nil {
		return nil, fault.New(fault.CapabilityUnsupported, "this app keeps no files")
	}
	if !i.Snapshot().View(p, exposure.Full, i.Negotiated()).Allowed(id) {
		return nil, fault.New(fault.Forbidden, "the caller may not use files")
	}
	store, err := i.app.files.Store()
	if err != nil {
		return nil, err
	}
	return &FileStore{store}, nil
}

// Runs lists runs that the caller of ctx (auth.With) may know of, as the journal keeps them.
// Without a journal it ends in fault.CapabilityUnsupported.
func (i *Instance) Runs(ctx context.Context, q journal.Query) (*journal.Page, error) {
	if i.reader == nil {
		return nil, fault.New(fault.CapabilityUnsupported, "this app keeps no journal of its runs").WithHint("journal.enabled may be off; an app that opens its databases itself keeps none.")
	}
	return i.reader.Runs(ctx, q)
}

// Checks looks at the parts of the app, as `doctor` does.
func (i *Instance) Checks(ctx context.Context) []catalog.Check {
	var out []catalog.Check
	for _, p := range i.started {
		out = append(out, i.checks(ctx, p, nil)...)
	}
	return out
}

// limits are the keys of the configuration that are numbers: none of these is a secret.
func (i *Instance) limits() []restapi.Limit {
	var out []restapi.Limit
	for _, s := range i.app.Settings() {
		if _, number := s.Default.(int); number {
			out = append(out, restapi.Limit{Key: s.Key, Value: i.values.Int(s.Key), Unit: s.Unit, Help: s.Help})
		}
	}
	slices.SortFunc(out, func(a, b restapi.Limit) int { return cmp.Compare(a.Key, b.Key) })
	return out
}

// RESTPaths are the patterns of net/http that a REST handler serves.
func RESTPaths() []string { return restapi.Paths() }

// withDefaults takes options that are not set from the configuration.
func withDefaults(o HTTPOptions, v catalog.Values) HTTPOptions {
	if o.AllowedHosts == nil {
		o.AllowedHosts = hosts(v)
	}
	if o.AllowedOrigins == nil {
		o.AllowedOrigins = v.Strings("server.allowedOrigins")
	}
	if o.SessionIdle == 0 {
		o.SessionIdle = v.Duration("server.sessionIdleMs")
	}
	if o.MaxSessions == 0 {
		o.MaxSessions = v.Int("server.maxSessions")
	}
	if o.RequestsPerMinute == 0 {
		o.RequestsPerMinute = v.Int("server.requestsPerMinute")
	}
	return o
}

// hosts are the names by which HTTP may be called beside those of loopback: those that
// are allowed, and that of the public URL.
func hosts(v catalog.Values) []string {
	out := v.Strings("server.allowedHosts")
	if u, err := url.Parse(v.String("server.publicUrl")); err == nil && u.Hostname() != "" {
		out = append(slices.Clone(out), u.Hostname())
	}
	return out
}

// faces are the code faces that the catalog offers as tools.
func faces(s *catalog.Snapshot) []string {
	var out []string
	for _, op := range s.Operations() {
		if op.ID.Kind == catalog.KindCode && op.Reach&catalog.ReachTools != 0 && op.ListedBeside == nil && !slices.Contains(out, op.ID.Owner) {
			out = append(out, op.ID.Owner)
		}
	}
	return out
}
