package framework

import (
	"cmp"
	"context"
	"net/url"
	"slices"
	"time"

	"github.com/koan-go/koan/framework/auth"
	"github.com/koan-go/koan/framework/catalog"
	"github.com/koan-go/koan/framework/fault"
	"github.com/koan-go/koan/framework/internal/access"
	"github.com/koan-go/koan/framework/internal/cli"
	"github.com/koan-go/koan/framework/internal/console"
	"github.com/koan-go/koan/framework/internal/mcpserver"
	"github.com/koan-go/koan/framework/internal/restapi"
	"github.com/koan-go/koan/framework/internal/site"
	"github.com/koan-go/koan/framework/run/approve"
	"github.com/koan-go/koan/framework/run/replay"
)

// surfaces make what serves an instance to clients: over MCP, over REST, to people with a browser.
// They are an instance as the command line serves it.
type surfaces struct{ *Instance }

var _ cli.Instance = surfaces{}

// Site implements cli.Instance.
func (s surfaces) Site(at cli.Address) (*site.Site, error) {
	return s.site(HTTPOptions{URL: at.URL, Console: at.Console, Print: at.Print})
}

// MCP implements cli.Instance: it makes an MCP server over the app's catalog, which follows its changes. The
// caller opens a transport on it.
func (s surfaces) MCP() (*mcpserver.Server, error) {
	v := s.values
	o := mcpserver.Options{
		Name: s.app.Name, Version: s.app.Version, Instructions: s.app.Description, Engine: s.engine, Catalog: s.Snapshot, Principal: auth.Local(),
		Live: s.live(v), Limits: mcpserver.Limits{MaxBufferBytes: v.Int("server.maxBufferBytes"), AskTimeout: v.Duration("server.askTimeoutMs")},
		Seal: s.sealer, Feed: s.feed, Log: s.log,
	}
	if o.Faces = faces(s.Snapshot()); len(o.Faces) > 0 {
		o.Runtime = v.String("codeMode.runtime")
		o.CodeInstructions = s.codeInstructions()
	}
	server, err := mcpserver.New(o)
	if err != nil {
		return nil, err
	}
	s.OnChange(server.CatalogChanged)
	s.OnReload(func(next catalog.Values) (func(), error) {
		return func() {
			if err := server.Adjust(s.live(next)); err != nil { // the settings were checked
				s.log.Error("the MCP server keeps its settings", "error", err)
			}
		}, nil
	})
	return server, nil
}

func (s surfaces) callers(config access.Config, url string) (*access.Callers, error) {
	return config.Callers(access.App{Name: s.app.Name, URL: url, Catalog: s.Snapshot, Log: s.log})
}

// site makes what serves the app over HTTP.
func (s surfaces) site(o HTTPOptions) (*site.Site, error) {
	parts := site.Parts{Known: o.Authenticate != nil, Metrics: s.telemetry.Handler(), Ready: s.Ready, Log: s.log}
	// A program that knows its callers by itself may leave open where clients get tokens; then there is
	// no metadata for them.
	own := o.Authenticate != nil && o.URL == ""
	config, err := access.Read(s.values, o.URL != "" || own)
	if err != nil {
		return nil, err
	}
	if !config.Anybody() && (!own || s.values.String("server.publicUrl") != "") {
		if parts.Callers, err = s.callers(config, o.URL+"/mcp"); err != nil {
			return nil, err
		}
		if o.Authenticate == nil {
			o.Authenticate, o.StepUp, parts.Known = parts.Callers.Authenticate, parts.Callers.StepUp, true
		}
	}
	if parts.MCP, err = s.mcp(o); err != nil {
		return nil, err
	}
	parts.REST = s.rest(parts.MCP)
	if s.app.Pages != nil {
		parts.Pages = parts.REST.Pages(s.app.Pages(s.Instance))
	}
	if o.Console {
		parts.Console = s.console(o, parts)
	}
	made := site.New(parts)
	if parts.Callers != nil {
		s.OnReload(made.ReloadCallers)
	}
	return made, nil
}

// mcp serves MCP over Streamable HTTP.
func (s surfaces) mcp(o HTTPOptions) (*mcpserver.HTTP, error) {
	server, err := s.MCP()
	if err != nil {
		return nil, err
	}
	n := withDefaults(o, s.values)
	h := server.HTTP(mcpserver.HTTPOptions{
		Authenticate: n.Authenticate, StepUp: n.StepUp, AllowedHosts: n.AllowedHosts, AllowedOrigins: n.AllowedOrigins,
		SessionIdle: n.SessionIdle, MaxSessions: n.MaxSessions, RequestsPerMinute: n.RequestsPerMinute, BodyTime: n.BodyTime, WriteTime: n.WriteTime,
	})
	s.OnReload(func(next catalog.Values) (func(), error) {
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

// rest serves REST beside MCP, which admits its requests.
func (s surfaces) rest(beside *mcpserver.HTTP) *restapi.Handler {
	live := func(v catalog.Values) restapi.Live {
		l := s.live(v)
		return restapi.Live{Exposure: l.Exposure, ExposureIsAuto: l.ExposureIsAuto, QueueMax: l.QueueMax, ToolTimeout: l.ToolTimeout, MaxListeners: v.Int("events.maxListeners")}
	}
	o := restapi.Options{
		App:    restapi.App{Name: s.app.Name, Version: s.app.Version, Description: s.app.Description},
		Engine: s.engine, Catalog: s.Snapshot, Admission: beside.Admission(), Limits: restapi.Limits{MaxBody: s.values.Int("server.maxBufferBytes")},
		Tags: s.tags.get, Ready: s.Ready, Files: s.app.files.Store, Live: live(s.values), Feed: s.feed, Log: s.log,
		Console: restapi.Console{Journal: s.reader, Replay: s.replayOwn, Plans: s.guard, Checks: s.Checks, Limits: s.limits},
	}
	if o.Faces = faces(s.Snapshot()); len(o.Faces) > 0 {
		o.Runtime = s.values.String("codeMode.runtime")
	}
	h := restapi.New(o)
	s.OnReload(func(next catalog.Values) (func(), error) { return func() { h.Adjust(live(next)) }, nil })
	return h
}

// console serves the console, whose sessions REST takes from then on. Whoever knows the server by
// another address uses that.
func (s surfaces) console(o HTTPOptions, parts site.Parts) *console.Handler {
	at := console.Site{URL: o.URL, Home: parts.Pages != nil, Print: o.Print, Authenticate: o.Authenticate}
	if public, err := url.Parse(s.values.String("server.publicUrl")); err == nil && public.Host != "" {
		at.URL = public.Scheme + "://" + public.Host
	}
	if at.Print == nil {
		at.Print = func(line string) { s.log.Info(line) }
	}
	if parts.Callers != nil {
		if issuer := parts.Callers.SignIn(at.URL + console.DonePath); issuer != nil {
			at.Issuer = issuer
		}
	}
	c := console.New(console.Options{Site: at, Name: s.app.Name, Person: approve.Person(), Admission: parts.MCP.Admission(), Log: s.log, SignIns: s.signIns})
	parts.REST.UseSessions(c.Caller, c.Visitor, c.AskToSignIn)
	return c
}

// replayOwn is Replay for whoever made the run, with rights that it still has: what is kept of a
// run is what its caller has read. For others there is no such run, and it takes them as long to
// hear so.
func (s surfaces) replayOwn(ctx context.Context, by auth.Principal, id string, data bool) (*replay.Replayed, error) {
	answer := time.After(replay.Shelving)
	k, err := s.tapes.Kept(ctx, id)
	if err != nil && fault.CodeOf(err) != fault.NotFound {
		return nil, err
	}
	lacks := func(set string) bool { return !by.MayName(set) }
	if err == nil && k.Subject == by.Subject && by.Missing(k.Scopes) == "" && !slices.ContainsFunc(k.Sets, lacks) {
		return s.Replay(ctx, id, data)
	}
	select {
	case <-answer:
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	return nil, fault.New(fault.NotFound, "no run of yours with this id is kept for a replay").
		WithHint("Runs are kept as replay.keep says, and as long as replay.retentionHours and replay.maxMb say; one that was made with rights that you have no longer is not yours. The app's operator can replay all of them: `%s replay %s`.", cmp.Or(s.app.Command, s.app.Name), fault.Clip(id, 64))
}

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
