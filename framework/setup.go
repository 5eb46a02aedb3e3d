package framework

import (
	"cmp"
	"errors"
	"log/slog"
	"os"
	"slices"
	"time"

	"github.com/koan-go/koan/framework/catalog"
	"github.com/koan-go/koan/framework/exposure"
	"github.com/koan-go/koan/framework/fault"
	"github.com/koan-go/koan/framework/internal/config"
	"github.com/koan-go/koan/framework/internal/mcpserver"
	"github.com/koan-go/koan/framework/internal/restapi"
	"github.com/koan-go/koan/framework/internal/toolset"
	"github.com/koan-go/koan/framework/journal"
	"github.com/koan-go/koan/framework/run"
	"github.com/koan-go/koan/framework/run/replay"
	"github.com/koan-go/koan/framework/seal"
)

// setup is an app with its configuration, before anything of it is started.
type setup struct {
	app      App
	source   config.Source
	values   *config.Config
	log      *slog.Logger
	level    slog.LevelVar // of log, where the app made it
	testing  bool
	oneShot  bool
	again    catalog.Again
	redactor *journal.Redactor
	secrets  secrets
	sealer   *seal.Sealer // of what clients keep
	tags     *tagSealer   // of rows
}

// newSetup reads the configuration of an app.
func newSetup(app App, o Options) (*setup, error) {
	if app.Name == "" {
		panic("framework: App.Name is empty")
	}
	app = app.assemble()
	source := o.Config.orMain()
	values, err := config.Load(app.Settings(), source)
	if err != nil {
		return nil, err
	}
	s := &setup{app: app, source: source, values: values, log: o.Log, testing: o.Testing, oneShot: o.OneShot, again: o.again}
	s.level.Set(level(values))
	if s.log == nil {
		s.log = slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: &s.level}))
	}
	if s.redactor, err = newRedactor(values.Strings("redact.patterns"), values.Strings("redact.pii")); err != nil {
		return nil, err
	}
	s.secrets.configure(values)
	s.redactor.Know(s.secrets.known)
	s.log = slog.New(s.redactor.Handler(s.log.Handler()))
	if s.sealer, err = sealer(values); err != nil {
		return nil, err
	}
	s.tags = &tagSealer{other: s.sealer}
	return s, nil
}

// App is the app that the instance was made from. Another instance made from it has parts
// of its own.
func (s *setup) App() App {
	a := s.app
	a.parts = nil
	return a
}

// Values is the configuration.
func (s *setup) Values() catalog.Values { return s.values }

// Log is the app's logger.
func (s *setup) Log() *slog.Logger { return s.log }

// Mode is the server's mode, which may be auto.
func (s *setup) Mode() exposure.Mode { return s.mode(s.values) }

func (s *setup) mode(v catalog.Values) exposure.Mode {
	return exposure.Server(exposure.Mode(v.String("exposure")), s.app.Exposure)
}

// Negotiated reports whether the configuration leaves the mode open, so that package
// defaults count.
func (s *setup) Negotiated() bool { return negotiated(s.values) }

func negotiated(v catalog.Values) bool { return exposure.Mode(v.String("exposure")) == exposure.Auto }

// live returns the live options of the MCP server in a configuration.
func (s *setup) live(v catalog.Values) mcpserver.Live {
	return mcpserver.Live{
		Exposure: s.mode(v), ExposureIsAuto: negotiated(v), Tools: toolset.Configured(v),
		QueueMax: v.Int("server.queueMax"), ToolTimeout: v.Duration("server.toolTimeoutMs"),
	}
}

// limits are the keys of the configuration that are numbers: none of these is a secret.
func (s *setup) limits() []restapi.Limit {
	var out []restapi.Limit
	for _, one := range s.app.Settings() {
		if _, number := one.Default.(int); number {
			out = append(out, restapi.Limit{Key: one.Key, Value: s.values.Int(one.Key), Unit: one.Unit, Help: one.Help})
		}
	}
	slices.SortFunc(out, func(a, b restapi.Limit) int { return cmp.Compare(a.Key, b.Key) })
	return out
}

func (s *setup) newEngine() *run.Engine {
	values := s.values
	return run.NewEngine(run.Options{
		MaxAttempts: values.Int("run.maxAttempts"), Lock: values.Duration("run.lockMs"), Log: s.log, Redactor: s.redactor, Clock: s.app.Clock,
		Expand: s.app.files.Expand, AfterCommit: values.Duration("run.afterCommitMs"),
		RequireUndo: values.Bool("run.requireUndo"), MaxBytes: int64(values.Int("run.maxBytes")), MaxTotalBytes: int64(values.Int("run.maxTotalMb")) << 20,
	})
}

func (s *setup) tapeOptions() replay.Options {
	v := s.values
	return replay.Options{
		Keep: replay.Kept(v.String("replay.keep")), MaxRunBytes: v.Int("replay.maxRunBytes"), MaxBytes: int64(v.Int("replay.maxMb")) << 20,
		Retention: time.Duration(v.Int("replay.retentionHours")) * time.Hour, ToolVersion: s.app.Version, Log: s.log,
	}
}

// protect calls code of a provider, or of the program that embeds the app. If it panics, the panic is
// logged, and the error is an internal fault.
func (s *setup) protect(whose string, fn func() error) error {
	err := fault.Guard(fn)
	if p, ok := errors.AsType[*fault.Panic](err); ok {
		s.log.Error("panic", "in", whose, "error", p)
	}
	return err
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
