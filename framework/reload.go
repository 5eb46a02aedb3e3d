package framework

import (
	"context"
	"errors"
	"log/slog"
	"strings"

	"github.com/koan-go/koan/framework/catalog"
	"github.com/koan-go/koan/framework/internal/config"
)

// Reload takes part in a change of the configuration: see catalog.Reloadable.
type Reload = func(next catalog.Values) (apply func(), err error)

// OnReload makes fn take part in each Reload.
func (i *Instance) OnReload(fn Reload) {
	i.changing.Lock()
	defer i.changing.Unlock()
	i.reloads = append(i.reloads, fn)
}

// Reload reads the configuration again, from the same sources as New, and applies the
// keys that can change while the app runs; others that differ are logged, one line each.
// On an error, which lists every problem, nothing has changed. Running calls keep the
// settings that they began with.
func (i *Instance) Reload(context.Context) error {
	next, err := config.Load(i.app.Settings(), i.source)
	if err != nil {
		return err
	}
	i.reloading.Lock()
	defer i.reloading.Unlock()
	merged, live, later := i.values.With(next)
	applies, err := i.prepare(merged)
	if err != nil {
		return err
	}
	if mode := i.mode(merged); mode != i.Mode() {
		i.warnUnreachable(mode)
	}
	i.values.Take(merged)
	i.secrets.configure(merged)
	i.level.Set(level(merged))
	i.guard.Set(approvals(merged))
	for _, apply := range applies {
		_ = i.protect("a reload", func() error { apply(); return nil })
	}
	for _, key := range later {
		i.log.Warn("a changed configuration key takes effect at the next start", "key", key)
	}
	var changed []any // empty if only tokens or a certificate have changed: their owners log it
	if len(live) > 0 {
		changed = []any{"changed", strings.Join(live, " ")}
	}
	i.log.Info("the configuration was reloaded", changed...)
	return nil
}

// prepare checks a configuration with all who take part in a reload, and returns the
// functions that apply it.
func (i *Instance) prepare(next *config.Config) (applies []func(), err error) {
	i.changing.Lock()
	asked := append([]Reload{}, i.reloads...)
	i.changing.Unlock()
	for _, p := range i.started {
		if r, ok := p.(catalog.Reloadable); ok {
			asked = append(asked, r.Reload)
		}
	}
	problems := []error{i.checkServable(i.mode(next)), i.checkApprovals(next)}
	for _, ask := range asked {
		var apply func()
		problems = append(problems, i.protect("a reload", func() (err error) { apply, err = ask(next); return err }))
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
