package framework

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"strings"
	"sync"

	"github.com/koan-go/koan/framework/catalog"
	"github.com/koan-go/koan/framework/exposure"
	"github.com/koan-go/koan/framework/fault"
	"github.com/koan-go/koan/framework/internal/config"
	"github.com/koan-go/koan/framework/run/approve"
)

// Reload takes part in a change of the configuration: see catalog.Reloadable.
type Reload = func(next catalog.Values) (apply func(), err error)

// reloads change the configuration of a running app.
type reloads struct {
	setup     *setup
	providers *providers
	snapshots *snapshots
	plans     *approve.Guard

	reloading sync.Mutex // held for a whole Reload
	mu        sync.Mutex
	asked     []Reload
}

// OnReload makes fn take part in each Reload.
func (r *reloads) OnReload(fn Reload) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.asked = append(r.asked, fn)
}

// Reload reads the configuration again, from the same sources as New, and applies the
// keys that can change while the app runs; others that differ are logged, one line each.
// On an error, which lists every problem, nothing has changed. Running calls keep the
// settings that they began with.
func (r *reloads) Reload(context.Context) error {
	next, err := config.Load(r.setup.app.Settings(), r.setup.source)
	if err != nil {
		return err
	}
	r.reloading.Lock()
	defer r.reloading.Unlock()
	merged, live, later := r.setup.values.With(next)
	applies, err := r.prepare(merged)
	if err != nil {
		return err
	}
	if mode := r.setup.mode(merged); mode != r.setup.Mode() {
		r.setup.warnUnreachable(r.snapshots.Snapshot(), mode)
	}
	r.setup.values.Take(merged)
	r.setup.secrets.configure(merged)
	r.setup.level.Set(level(merged))
	r.plans.Set(approvals(merged))
	for _, apply := range applies {
		_ = r.setup.protect("a reload", func() error { apply(); return nil })
	}
	for _, key := range later {
		r.setup.log.Warn("a changed configuration key takes effect at the next start", "key", key)
	}
	var changed []any // empty if only tokens or a certificate have changed: their owners log it
	if len(live) > 0 {
		changed = []any{"changed", strings.Join(live, " ")}
	}
	r.setup.log.Info("the configuration was reloaded", changed...)
	return nil
}

// Refresh has the parts of the app look anew at what other programs keep: a database that exists, whose tables
// they may have changed. What cannot be looked at stays as it was, and the error says why.
func (r *reloads) Refresh(ctx context.Context) error {
	r.reloading.Lock()
	defer r.reloading.Unlock()
	var errs []error
	for _, p := range r.providers.started {
		if one, ok := p.(catalog.Refresher); ok {
			errs = append(errs, r.setup.protect("a refresh", func() error { return one.Refresh(ctx) }))
		}
	}
	return errors.Join(errs...)
}

// prepare checks a configuration with all who take part in a reload, and returns the
// functions that apply it.
func (r *reloads) prepare(next *config.Config) (applies []func(), err error) {
	r.mu.Lock()
	asked := slices.Clone(r.asked)
	r.mu.Unlock()
	for _, p := range r.providers.started {
		if one, ok := p.(catalog.Reloadable); ok {
			asked = append(asked, one.Reload)
		}
	}
	problems := []error{checkServable(r.snapshots.Snapshot(), r.setup.mode(next)), r.checkApprovals(next)}
	for _, ask := range asked {
		var apply func()
		problems = append(problems, r.setup.protect("a reload", func() (err error) { apply, err = ask(next); return err }))
		if apply != nil {
			applies = append(applies, apply)
		}
	}
	var wrong, several config.Problems
	for _, err := range problems {
		switch {
		case errors.As(err, &several):
			wrong = append(wrong, several...)
		case err != nil:
			wrong = append(wrong, err.Error())
		}
	}
	if len(wrong) > 0 {
		return nil, wrong
	}
	return applies, nil
}

// level is that of log lines.
func level(v catalog.Values) (l slog.Level) {
	_ = l.UnmarshalText([]byte(v.String("log.level"))) // one of four checked words
	return l
}

// checkServable rejects a mode that would offer nothing.
func checkServable(s *catalog.Snapshot, mode exposure.Mode) error {
	if mode != exposure.Code || len(faces(s)) > 0 {
		return nil
	}
	return fault.New(fault.CapabilityUnsupported, "exposure is `code`, but code mode is not available").
		WithHint("Set codeMode.enabled to true, or choose another exposure.")
}

// warnUnreachable warns of entities that nobody can reach in a mode.
func (s *setup) warnUnreachable(now *catalog.Snapshot, mode exposure.Mode) {
	for _, r := range now.Resources() {
		if exposure.Unreachable(mode, r.Exposure) {
			s.log.Warn("entity cannot be reached: it is annotated `code` and the server's mode is `tools`", "entity", r.Name)
		}
	}
}
