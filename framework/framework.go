// Package framework is what an app developer imports: App, Main and New.
//
// What belongs here: assembling entities, plugins, code mode, configuration, engine and
// surfaces, and the boot report. Not here: what any of them does. Only this package
// and koantest import the modules (entities, plugins, codemode); the packages below it
// import nothing else of the repository.
package framework

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"

	"github.com/koan-go/koan/framework/auth"
	"github.com/koan-go/koan/framework/catalog"
	"github.com/koan-go/koan/framework/exposure"
	"github.com/koan-go/koan/framework/internal/access"
	"github.com/koan-go/koan/framework/internal/config"
	"github.com/koan-go/koan/framework/internal/mcpserver"
	"github.com/koan-go/koan/framework/internal/telemetry"
	"github.com/koan-go/koan/framework/internal/toolset"
	"github.com/koan-go/koan/framework/ledger/books"
	"github.com/koan-go/koan/framework/run"
)

// Options are for embedding an app; Main fills them from the command line.
type Options struct {
	Config  Source       // the zero value is what Main reads without flags
	Log     *slog.Logger // nil: text on stderr at log.level
	Testing bool         // koantest only: fresh stores, in-process executor
	// OneShot says that the app is started for one command and ends with it: nothing is started
	// ahead of its use, no worker for a second script and no process of a plugin that is known.
	OneShot bool
	again   catalog.Again // how the command that starts the app was called
}

// Instance is a running app.
type Instance struct {
	*setup
	*providers
	*snapshots
	participants
	reloads
	engine *run.Engine
	// telemetry is nil if nothing is exported.
	telemetry *telemetry.Telemetry
	inProcess func() (*mcpserver.Server, error) // serves clients in this program; made when it is first asked for
	once      sync.Once
	stopped   error
}

// Settings are the keys of the core itself; each provider adds its own.
func (a App) Settings() []catalog.Setting {
	out := []catalog.Setting{
		{Key: "exposure", Live: true, Default: string(exposure.Auto), OneOf: []string{"auto", "code", "tools", "full"}, Help: "which tools clients are shown"},
		{Key: "run.lockMs", Default: 250, Min: 1, Max: 60000, Unit: "ms", Help: "how long an outside call may keep a write lock waiting"},
		{Key: "run.maxAttempts", Default: 5, Min: 1, Max: 100, Help: "attempts of a run before it ends in conflict"},
		{Key: "run.keyLeaseMs", Default: 15000, Min: 500, Max: 600000, Unit: "ms", Help: "how long a run that was cut off keeps its idempotency key"},
		{Key: "run.keyRetentionHours", Default: 168, Min: 1, Max: 87600, Help: "hours for which the result of a run with an idempotency key is kept"},
		{Key: "run.keyMaxBytes", Default: 1 << 20, Min: 4096, Max: 64 << 20, Unit: "bytes", Help: "reply of a run with an idempotency key"},
		{Key: "run.maxBytes", Default: 96 << 20, Min: 1 << 20, Max: 1 << 30, Unit: "bytes", Help: "what the server may hold for one run: changes with their rows before and after, results of plugins, inputs and records of calls"},
		{Key: "run.requireUndo", Default: false, Help: "refuse runs whose changes could not be undone, before their commit"},
		{Key: "run.afterCommitMs", Default: 30000, Min: 10, Max: 3600000, Unit: "ms", Help: "how long a function that a hook left for after the commit may take, and how long the app waits for such functions when it stops"},
		{Key: "run.maxTotalMb", Default: 512, Min: 1, Max: 1 << 20, Unit: "MB", Help: "the same for all runs of the server together"},
		{Key: "server.queueMax", Live: true, Default: 64, Min: 1, Max: 65536, Help: "calls in flight for one client"},
		{Key: "server.toolTimeoutMs", Live: true, Default: 120000, Min: 10, Max: 86400000, Unit: "ms", Help: "how long one tool call may take"},
		{Key: "server.maxBufferBytes", Default: 8 << 20, Min: 4096, Max: 1 << 30, Unit: "bytes", Help: "longest message from a client"},
		{Key: "server.toolNames", Live: true, Default: string(toolset.Underscore), OneOf: []string{string(toolset.Underscore), string(toolset.Dotted)}, Help: "spelling of listed tool names: `_` for `.`, or dots, which several clients refuse; both can be called"},
		{Key: "tools.style", Live: true, Default: string(toolset.Auto), OneOf: []string{string(toolset.Auto), string(toolset.PerEntity), string(toolset.Generic)}, Help: "a tool for each entity and operation, or one for each operation with the entity as an argument; auto is the first up to 40 tools"},
		{Key: "tools.outputSchemas", Live: true, Default: string(toolset.OutputsAuto), OneOf: []string{string(toolset.OutputsAuto), string(toolset.OutputsAlways), string(toolset.OutputsNever)}, Help: "which tools are listed with a schema of their output; auto: those that return something other than entities"},
		{Key: "console", Default: "loopback", OneOf: []string{"loopback", "true", "false"}, Help: "console for people with a browser, at /console of --http: on addresses of this machine only, always (elsewhere with server.tokensFile or server.oauth.issuer), or never"},
		{Key: "server.allowedHosts", Live: true, Default: []string{}, Help: "names by which HTTP on loopback may be called: those of a proxy in front"},
		{Key: "server.allowedOrigins", Live: true, Default: []string{}, Help: "sites whose pages may call over HTTP, such as https://app.example.org"},
		{Key: "server.sessionIdleMs", Live: true, Default: 1800000, Min: 100, Max: 604800000, Unit: "ms", Help: "how long an HTTP session may be unused before it ends (protocol versions before 2026-07-28)"},
		{Key: "server.maxSessions", Live: true, Default: 1000, Min: 1, Max: 1000000, Help: "HTTP sessions at a time"},
		{Key: "server.requestsPerMinute", Live: true, Default: 0, Min: 0, Max: 1000000, Help: "HTTP requests that one caller may send in a minute; 0 for no limit"},
		{Key: "events.maxListeners", Live: true, Default: 2000, Min: 1, Max: 1000000, Help: "streams of /api/events that one caller may have open"},
		{Key: "server.tlsCert", Live: true, Default: "", Help: "PEM file with the certificate chain for HTTPS"},
		{Key: "server.tlsKey", Live: true, Default: "", Help: "PEM file with its key"},
		{Key: "redact.patterns", Default: []string{}, Help: "regular expressions of what to redact in the journal, logs and error texts, besides tokens, keys, passwords and card numbers; of a pattern with groups, only the groups", Check: checkPatterns},
		{Key: "redact.pii", Default: []string{}, Help: "kinds of personal data to redact in the same places: email, phone, iban, ssn, or all", Check: checkPII},
		{Key: "log.level", Live: true, Default: "info", OneOf: []string{"debug", "info", "warn", "error"}, Help: "minimum level of log lines on stderr"},
	}
	out = append(out, askSettings()...)
	out = append(out, access.Settings()...)
	out = append(out, approvalSettings()...)
	out = append(out, replaySettings()...)
	out = append(out, telemetrySettings()...)
	for _, p := range a.assemble().parts {
		if c, ok := p.(catalog.Configurable); ok {
			out = append(out, c.Settings()...)
		}
	}
	out, problems := config.WithDefaults(out, a.Defaults)
	if len(problems) > 0 {
		panic("framework: App.Defaults of " + a.Name + ": " + problems.Error())
	}
	return out
}

// New starts an app: configuration, providers, catalog. On error everything
// that had started is stopped again.
func New(ctx context.Context, app App, o Options) (*Instance, error) {
	i, err := configured(app, o)
	if err != nil {
		return nil, err
	}
	i.assemble()
	err = i.start(ctx)
	if err == nil {
		err = i.startTelemetry(ctx)
	}
	if err != nil {
		return nil, errors.Join(err, i.Stop(context.WithoutCancel(ctx)))
	}
	return i, nil
}

// configured returns an instance that has read its configuration and is not started.
func configured(app App, o Options) (*Instance, error) {
	s, err := newSetup(app, o)
	if err != nil {
		return nil, err
	}
	p := &providers{setup: s}
	i := &Instance{setup: s, providers: p, snapshots: &snapshots{setup: s, providers: p}}
	i.inProcess = sync.OnceValues(surfaces{i}.MCP)
	return i, nil
}

// assemble makes what providers are started with.
func (i *Instance) assemble() {
	i.engine = i.newEngine()
	i.snapshots.engine = i.engine
	i.participants = newParticipants(i.setup, i.engine)
	i.reloads = reloads{setup: i.setup, providers: i.providers, snapshots: i.snapshots, plans: i.guard}
}

func (i *Instance) start(ctx context.Context) error {
	for _, p := range i.app.parts {
		if err := i.startProvider(ctx, p); err != nil {
			return fmt.Errorf("%s: %w", p.Name(), err)
		}
	}
	return i.complete(ctx)
}

// startProvider starts one provider, and registers its data and its books.
func (i *Instance) startProvider(ctx context.Context, p Provider) error {
	if err := i.providers.start(ctx, p, i.host(p.Name())); err != nil {
		return err
	}
	if d, ok := p.(run.Data); ok {
		i.engine.UseData(d)
	}
	if k, ok := p.(books.Keeper); ok {
		i.keepIn(i.setup, k.Books())
	}
	return nil
}

// host returns what a provider sees of the app.
func (i *Instance) host(provider string) host { return host{i.setup, i.snapshots, provider} }

// complete makes the first catalog of the started providers, and checks the parts of the
// configuration that are about it.
func (i *Instance) complete(ctx context.Context) error {
	if err := i.offer(); err != nil {
		return err
	}
	if err := checkServable(i.Snapshot(), i.Mode()); err != nil {
		return err
	}
	i.warnUnreachable(i.Snapshot(), i.Mode())
	if err := i.checkApprovals(i.values); err != nil {
		return err
	}
	if !i.oneShot {
		i.warm(ctx)
	}
	return nil
}

// Engine is the path of every call.
func (i *Instance) Engine() *run.Engine { return i.engine }

// View returns the current catalog as a principal sees it whose client declares c.
func (i *Instance) View(p auth.Principal, c exposure.Client) *catalog.View {
	return i.Snapshot().View(p, exposure.ForClient(i.Mode(), c), i.Negotiated())
}

// Report is the boot report: one line for each thing worth knowing.
func (i *Instance) Report() []string {
	boot := catalog.Boot{Mode: string(i.Mode()), Entities: len(i.Snapshot().Resources())}
	var out []string
	for _, p := range i.started {
		if r, ok := p.(catalog.Reporter); ok {
			_ = i.protect(p.Name(), func() error { out = append(out, r.Report(boot)...); return nil })
		}
	}
	return out
}

// Stop stops the providers in reverse order, once.
func (i *Instance) Stop(ctx context.Context) error {
	i.once.Do(func() {
		if i.feed != nil {
			i.feed.Close()
		}
		i.stopAfterCommit(ctx)
		i.stopped = i.providers.stop(ctx)
		i.stopTelemetry(ctx)
	})
	return i.stopped
}

// stopAfterCommit waits for what runs have left for after their commit.
func (i *Instance) stopAfterCommit(ctx context.Context) {
	if i.engine == nil {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, i.values.Duration("run.afterCommitMs"))
	defer cancel()
	i.engine.Stop(ctx)
}
