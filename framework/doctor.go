package framework

import (
	"context"
	"time"

	"github.com/koan-go/koan/framework/catalog"
)

// stopTime bounds how long stopping may take once the checks are done.
const stopTime = 10 * time.Second

// diagnose returns the checks that `doctor` prints: those of all providers, also of
// providers that do not start. Nothing is left running. The error is about the
// configuration, or about an invalid catalog although all providers have started.
func diagnose(ctx context.Context, app App, o Options) (checks []catalog.Check, err error) {
	i, err := configured(app, o)
	if err != nil {
		return nil, err
	}
	i.assemble()
	defer func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), stopTime)
		defer cancel()
		if err := i.Stop(ctx); err != nil {
			i.log.Warn("the app did not stop cleanly", "error", err)
		}
	}()
	failures := map[string]error{}
	for _, p := range i.app.parts {
		if err := i.startProvider(ctx, p); err != nil {
			failures[p.Name()] = err
		}
	}
	if err := i.complete(ctx); err != nil && len(failures) == 0 { // else it may come of what is missing
		return nil, err
	}
	for _, p := range i.app.parts {
		checks = append(checks, i.checks(ctx, p, i.host(p.Name()), failures[p.Name()])...)
	}
	return checks, nil
}
