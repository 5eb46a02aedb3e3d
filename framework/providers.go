package framework

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/koan-go/koan/framework/catalog"
	"github.com/koan-go/koan/framework/fault"
)

// providers are those of an app that have started, in their order. A panic of one of them is its
// fault, and does not end the app.
type providers struct {
	setup   *setup
	started []Provider
}

// start starts one provider.
func (p *providers) start(ctx context.Context, one Provider, host catalog.Host) error {
	p.setup.secrets.ask(one)
	if err := p.setup.protect(one.Name(), func() error { return one.Start(ctx, host) }); err != nil {
		return err
	}
	p.started = append(p.started, one)
	return nil
}

// warm prepares what the first calls will need.
func (p *providers) warm(ctx context.Context) {
	for _, one := range p.started {
		if w, ok := one.(catalog.Warmer); ok {
			_ = p.setup.protect(one.Name(), func() error { w.Warm(ctx); return nil })
		}
	}
}

// stop stops the providers in reverse order.
func (p *providers) stop(ctx context.Context) error {
	var errs []error
	for _, one := range slices.Backward(p.started) {
		if err := p.setup.protect(one.Name(), func() error { return one.Stop(ctx) }); err != nil {
			errs = append(errs, fmt.Errorf("%s: %w", one.Name(), err))
		}
	}
	return errors.Join(errs...)
}

// Ready returns why calls cannot be served now, as joined errors; nil if they can.
func (p *providers) Ready(ctx context.Context) error {
	var problems []error
	for _, one := range p.started {
		if r, ok := one.(catalog.Readier); ok {
			problems = append(problems, p.setup.protect(one.Name(), func() error { return r.Ready(ctx) }))
		}
	}
	return errors.Join(problems...)
}

// Checks looks at the parts of the app, as `doctor` does.
func (p *providers) Checks(ctx context.Context) []catalog.Check {
	var out []catalog.Check
	for _, one := range p.started {
		out = append(out, p.checks(ctx, one, nil, nil)...)
	}
	return out
}

// checks returns the checks of one provider; failure is why it did not start, nil if it
// did.
func (p *providers) checks(ctx context.Context, one Provider, host catalog.Host, failure error) (checks []catalog.Check) {
	if failure == nil {
		c, ok := one.(catalog.Checker)
		if !ok {
			return nil
		}
		failure = p.setup.protect(one.Name(), func() error { checks = c.Checks(ctx); return nil })
	} else if d, ok := one.(catalog.Diagnoser); ok {
		failure = p.setup.protect(one.Name(), func() error { checks = d.Diagnose(ctx, host, failure); return nil })
	}
	if failure != nil {
		return []catalog.Check{{Name: one.Name(), Detail: failure.Error(), Hint: fault.From(failure).Hint}}
	}
	return checks
}

// codeInstructions tell a model how to work in code mode.
func (p *providers) codeInstructions() string {
	var parts []string
	for _, one := range p.started {
		if in, ok := one.(catalog.Instructor); ok {
			_ = p.setup.protect(one.Name(), func() error { parts = append(parts, in.Instructions()); return nil })
		}
	}
	return strings.Join(parts, "\n\n")
}

// gauges are what the providers measure of themselves.
func (p *providers) gauges() []catalog.Gauge {
	var out []catalog.Gauge
	for _, one := range p.started {
		if m, ok := one.(catalog.Measured); ok {
			_ = p.setup.protect(one.Name(), func() error { out = append(out, m.Gauges()...); return nil })
		}
	}
	return out
}
