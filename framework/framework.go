// Package framework is what an app developer imports: App, Main and New.
//
// What belongs here: assembling entities, plugins, code mode, configuration, engine and
// surfaces, and the boot report. What must never: what any of them does. Only this package
// and koantest import the wings (entities, plugins, codemode); the packages below it
// import nothing else of the repository.
package framework

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/koan-go/koan/framework/auth"
	"github.com/koan-go/koan/framework/catalog"
	"github.com/koan-go/koan/framework/exposure"
	"github.com/koan-go/koan/framework/fault"
	"github.com/koan-go/koan/framework/internal/access"
	"github.com/koan-go/koan/framework/internal/config"
	"github.com/koan-go/koan/framework/internal/feed"
	"github.com/koan-go/koan/framework/internal/mcpserver"
	"github.com/koan-go/koan/framework/internal/restapi"
	"github.com/koan-go/koan/framework/internal/telemetry"
	"github.com/koan-go/koan/framework/internal/toolset"
	"github.com/koan-go/koan/framework/journal"
	"github.com/koan-go/koan/framework/ledger/books"
	"github.com/koan-go/koan/framework/run"
	"github.com/koan-go/koan/framework/seal"
)

// Options are for embedding an app; Main fills them from the command line.
type Options struct {
	Config  Source       // the zero value is what Main reads without flags
	Log     *slog.Logger // nil: text on stderr at log.level
	Testing bool         // koantest only: fresh stores, in-process executor
}

// Instance is a running app.
type Instance struct {
	app    App
	source config.Source
	values *config.Config
	log    *slog.Logger
	level  slog.LevelVar // of log, where the app made it
	engine *run.Engine
	participants
	feed *feed.Hub // of committed changes
	// telemetry is nil if nothing is exported.
	telemetry *telemetry.Telemetry
	testing   bool
	redactor  *journal.Redactor
	secrets   secrets

	snapshot  atomic.Pointer[catalog.Snapshot]
	changing  sync.Mutex
	reloading sync.Mutex
	started   []Provider
	watchers  []func()
	reloads   []Reload
	sealer    *seal.Sealer                      // of what clients keep
	tags      *tagSealer                        // of rows
	inProcess func() (*mcpserver.Server, error) // serves clients in this program; made when it is first asked for
	once      sync.Once
	stopped   error
}

// Settings are the keys of the kernel itself; each provider adds its own.
func (a App) Settings() []catalog.Setting {
	out := []catalog.Setting{
		{Key: "exposure", Live: true, Default: string(exposure.Auto), OneOf: []string{"auto", "code", "tools", "full"}, Help: "which tools clients are shown"},
		{Key: "run.lockMs", Default: 250, Min: 1, Max: 60000, Unit: "ms", Help: "how long an outside call may keep a write lock waiting"},
		{Key: "run.maxAttempts", Default: 5, Min: 1, Max: 100, Help: "attempts of a run before it ends in conflict"},
		{Key: "run.keyLeaseMs", Default: 15000, Min: 500, Max: 600000, Unit: "ms", Help: "how long a run that was cut off keeps its idempotency key"},
		{Key: "run.keyRetentionHours", Default: 168, Min: 1, Max: 87600, Help: "hours for which the result of a run with an idempotency key is kept"},
		{Key: "run.keyMaxBytes", Default: 1 << 20, Min: 4096, Max: 64 << 20, Unit: "bytes", Help: "reply of a run with an idempotency key"},
		{Key: "run.maxBytes", Default: 24 << 20, Min: 1 << 20, Max: 1 << 30, Unit: "bytes", Help: "what the server may hold for one run: changes with their rows before and after, results of plugins, inputs and records of calls"},
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
		{Key: "server.requestsPerMinute", Live: true, Default: 0, Min: 0, Max: 1000000, Help: "HTTP requests that one caller may send in a minute; 0 is no limit"},
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
	i.engine = i.newEngine()
	i.takePart()
	err = i.start(ctx)
	if err == nil {
		err = i.startTelemetry(ctx)
	}
	if err != nil {
		return nil, errors.Join(err, i.Stop(context.WithoutCancel(ctx)))
	}
	return i, nil
}

func (i *Instance) newEngine() *run.Engine {
	values := i.values
	return run.NewEngine(run.Options{
		MaxAttempts: values.Int("run.maxAttempts"), Lock: values.Duration("run.lockMs"), Log: i.log, Redactor: i.redactor, Clock: i.app.Clock,
		Expand: i.app.files.Expand, AfterCommit: values.Duration("run.afterCommitMs"),
		RequireUndo: values.Bool("run.requireUndo"), MaxBytes: int64(values.Int("run.maxBytes")), MaxTotalBytes: int64(values.Int("run.maxTotalMb")) << 20,
	})
}

// configured returns an instance that has read its configuration and is not started.
func configured(app App, o Options) (*Instance, error) {
	if app.Name == "" {
		panic("framework: App.Name is empty")
	}
	app = app.assemble()
	source := o.Config.orMain()
	values, err := config.Load(app.Settings(), source)
	if err != nil {
		return nil, err
	}
	i := &Instance{app: app, source: source, values: values, log: o.Log, testing: o.Testing}
	i.inProcess = sync.OnceValues(i.mcpServer)
	i.level.Set(level(values))
	if i.log == nil {
		i.log = slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: &i.level}))
	}
	if i.redactor, err = newRedactor(values.Strings("redact.patterns"), values.Strings("redact.pii")); err != nil {
		return nil, err
	}
	i.secrets.configure(values)
	i.redactor.Know(i.secrets.known)
	i.log = slog.New(i.redactor.Handler(i.log.Handler()))
	if i.sealer, err = sealer(values); err != nil {
		return nil, err
	}
	i.tags = &tagSealer{other: i.sealer}
	return i, nil
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
	i.secrets.ask(p)
	if err := i.protect(p.Name(), func() error { return p.Start(ctx, host{i, p.Name()}) }); err != nil {
		return err
	}
	i.started = append(i.started, p)
	if d, ok := p.(run.Data); ok {
		i.engine.UseData(d)
	}
	if k, ok := p.(books.Keeper); ok {
		i.keepIn(k.Books())
	}
	return nil
}

// complete makes the first catalog of the started providers, and checks the parts of the
// configuration that are about it.
func (i *Instance) complete(ctx context.Context) error {
	if err := i.offer(); err != nil {
		return err
	}
	if err := i.checkExposure(); err != nil {
		return err
	}
	if err := i.checkApprovals(i.values); err != nil {
		return err
	}
	for _, p := range i.started {
		if w, ok := p.(catalog.Warmer); ok {
			_ = i.protect(p.Name(), func() error { w.Warm(ctx); return nil })
		}
	}
	return nil
}

// offer makes a new snapshot of the providers' current offers.
func (i *Instance) offer() error {
	i.changing.Lock()
	defer i.changing.Unlock()
	offers := make([]catalog.Offer, len(i.started))
	var failed error
	for n, p := range i.started {
		var err error
		if offers[n], err = i.offerOf(p); err != nil {
			failed = errors.Join(failed, fmt.Errorf("%s: %w", p.Name(), err))
		}
	}
	about := catalog.Offer{Documents: []*catalog.Document{catalog.Contents(i.app.Name, i.app.Version)}, Operations: append(toolset.Operations(), restapi.Operations(i.tags.get)...)}
	if slices.ContainsFunc(offers, func(o catalog.Offer) bool { return len(o.Resources) > 0 }) {
		about.Documents = append(about.Documents, i.rows())
	}
	s, err := i.snapshotOf(append(offers, about), failed)
	if err != nil {
		for _, o := range offers {
			if o.Closed != nil {
				o.Closed()
			}
		}
		return err
	}
	if last := i.snapshot.Swap(s); last != nil {
		defer last.Retire()
	}
	i.redactor.Hide(sensitive(s))
	return nil
}

// snapshotOf makes the snapshot of offers; failed is why one of them is missing, or nil.
func (i *Instance) snapshotOf(offers []catalog.Offer, failed error) (*catalog.Snapshot, error) {
	if failed != nil {
		return nil, failed
	}
	s, err := catalog.NewSnapshot(offers...)
	if err == nil {
		err = i.engine.CheckSchemas(s)
	}
	return s, err
}

// sensitive returns the names of fields that nobody may read.
func sensitive(s *catalog.Snapshot) []string {
	var out []string
	for _, r := range s.Resources() {
		for i := range r.Fields {
			if r.Fields[i].Sensitive {
				out = append(out, r.Fields[i].Name)
			}
		}
	}
	return out
}

// checkPatterns rejects invalid patterns.
func checkPatterns(v any) error {
	patterns, _ := v.([]string)
	_, err := journal.NewRedactor(patterns)
	return err
}

func checkPII(v any) error {
	kinds, _ := v.([]string)
	_, err := newRedactor(nil, kinds)
	return err
}

// newRedactor makes the redactor of an app's own patterns and kinds of personal data.
func newRedactor(patterns, personal []string) (*journal.Redactor, error) {
	r, err := journal.NewRedactor(patterns)
	if err == nil {
		err = r.HidePII(personal)
	}
	return r, err
}

// checkExposure rejects a mode that would offer nothing, and warns of entities that
// nobody can reach.
func (i *Instance) checkExposure() error {
	mode := i.Mode()
	if err := i.checkServable(mode); err != nil {
		return err
	}
	i.warnUnreachable(mode)
	return nil
}

func (i *Instance) warnUnreachable(mode exposure.Mode) {
	for _, r := range i.Snapshot().Resources() {
		if exposure.Unreachable(mode, r.Exposure) {
			i.log.Warn("entity cannot be reached: it is annotated `code` and the server's mode is `tools`", "entity", r.Name)
		}
	}
}

// checkServable rejects a mode that would offer nothing.
func (i *Instance) checkServable(mode exposure.Mode) error {
	if mode != exposure.Code || len(faces(i.Snapshot())) > 0 {
		return nil
	}
	return fault.New(fault.CapabilityUnsupported, "exposure is `code`, but code mode is not available").
		WithHint("Set codeMode.enabled to true, or choose another exposure.")
}

// App is the app that the instance was made from. Another instance made from it has parts
// of its own.
func (i *Instance) App() App {
	a := i.app
	a.parts = nil
	return a
}

// Values is the configuration.
func (i *Instance) Values() catalog.Values { return i.values }

// Engine is the path of every call.
func (i *Instance) Engine() *run.Engine { return i.engine }

// Log is the app's logger.
func (i *Instance) Log() *slog.Logger { return i.log }

// Snapshot is the current catalog.
func (i *Instance) Snapshot() *catalog.Snapshot { return i.snapshot.Load() }

// Mode is the server's mode, which may be auto.
func (i *Instance) Mode() exposure.Mode { return i.mode(i.values) }

func (i *Instance) mode(v catalog.Values) exposure.Mode {
	return exposure.Server(exposure.Mode(v.String("exposure")), i.app.Exposure)
}

// Negotiated reports whether the configuration leaves the mode open, so that package
// defaults count.
func (i *Instance) Negotiated() bool { return negotiated(i.values) }

func negotiated(v catalog.Values) bool { return exposure.Mode(v.String("exposure")) == exposure.Auto }

// View returns the current catalog as a principal sees it whose client declares c.
func (i *Instance) View(p auth.Principal, c exposure.Client) *catalog.View {
	return i.Snapshot().View(p, exposure.ForClient(i.Mode(), c), i.Negotiated())
}

// OnChange makes fn be called after each change of the catalog.
func (i *Instance) OnChange(fn func()) {
	i.changing.Lock()
	defer i.changing.Unlock()
	i.watchers = append(i.watchers, fn)
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

// Ready returns why calls cannot be served now, as joined errors; nil if they can.
func (i *Instance) Ready(ctx context.Context) error {
	var problems []error
	for _, p := range i.started {
		if r, ok := p.(catalog.Readier); ok {
			problems = append(problems, i.protect(p.Name(), func() error { return r.Ready(ctx) }))
		}
	}
	return errors.Join(problems...)
}

// Stop stops the providers in reverse order, once.
func (i *Instance) Stop(ctx context.Context) error {
	i.once.Do(func() {
		var errs []error
		if i.feed != nil {
			i.feed.Close()
		}
		i.stopAfterCommit(ctx)
		for _, p := range slices.Backward(i.started) {
			if err := i.protect(p.Name(), func() error { return p.Stop(ctx) }); err != nil {
				errs = append(errs, fmt.Errorf("%s: %w", p.Name(), err))
			}
		}
		i.stopTelemetry(ctx)
		i.stopped = errors.Join(errs...)
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

// host is the app as one provider sees it.
type host struct {
	i        *Instance
	provider string
}

var _ catalog.Host = host{}

func (h host) App() string                 { return h.i.app.Name }
func (h host) Command() string             { return cmp.Or(h.i.app.Command, h.i.app.Name) }
func (h host) Version() string             { return h.i.app.Version }
func (h host) Settings() catalog.Values    { return h.i.values }
func (h host) Snapshot() *catalog.Snapshot { return h.i.Snapshot() }
func (h host) Log() *slog.Logger           { return h.i.log.With("provider", h.provider) }
func (h host) Testing() bool               { return h.i.testing }

func (h host) Changed() {
	h.i.changing.Lock() // until the first snapshot is made, if it is being made from earlier offers
	starting := h.i.Snapshot() == nil
	h.i.changing.Unlock()
	if starting {
		return // the first snapshot will have it
	}
	if err := h.i.offer(); err != nil {
		h.i.log.Error("the changed catalog was rejected; the old one stays in effect", "error", err)
		return
	}
	h.i.changing.Lock()
	watchers := slices.Clone(h.i.watchers)
	h.i.changing.Unlock()
	for _, fn := range watchers {
		fn()
	}
}
