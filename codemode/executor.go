package codemode

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/koan-go/koan/codemode/internal/sandbox"
	"github.com/koan-go/koan/codemode/internal/wire"
	"github.com/koan-go/koan/codemode/languages"
	"github.com/koan-go/koan/framework/catalog"
)

// newExecutor returns the executor of production: confined processes, each of one
// caller. Under koantest it runs scripts in the test's own process.
func newExecutor(l limits) (wire.Executor, error) {
	own, err := newOwnExecutor(l)
	if err != nil {
		return nil, err
	}
	return newByLanguage(own, l)
}

// newOwnExecutor returns the executor of the languages that this build runs itself.
func newOwnExecutor(l limits) (wire.Executor, error) {
	if l.testing {
		return sandbox.NewInProcess(languages.All), nil
	}
	return sandbox.New(sandbox.Options{Require: l.require, MaxWorkers: l.maxWorkers, QueueMax: l.queueMax, Fresh: l.fresh, OnDemand: l.oneShot, Log: l.log})
}

// Optional interfaces of executors.
type (
	// isolated reports how scripts are isolated ("process+seccomp"), which layers are
	// missing on this machine, and what workers are made of.
	isolated interface {
		Isolation() string
		Missing() []sandbox.Missing
		Program() string
	}
	// warmed starts workers in advance; it blocks until they are idle.
	warmed interface {
		Warm(ctx context.Context) error
	}
	// tested tests the confinement from inside a worker.
	tested interface {
		SelfTest(ctx context.Context) ([]wire.Check, error)
	}
)

// isolationOf names the isolation of an executor.
func isolationOf(x wire.Executor) string {
	if i, ok := x.(isolated); ok {
		return i.Isolation()
	}
	return "none"
}

// checkConfinement returns the results of the executor's self-test, layer by layer.
func checkConfinement(ctx context.Context, x wire.Executor) []catalog.Check {
	t, ok := x.(tested)
	if !ok {
		return nil
	}
	found, err := t.SelfTest(ctx)
	if err != nil {
		return []catalog.Check{{Name: "confinement", Detail: err.Error(), Hint: "Look into the server's log for why no worker starts."}}
	}
	var layers []string
	total, failed := map[string]int{}, map[string][]catalog.Check{}
	for _, c := range found {
		layer, tried, _ := strings.Cut(c.Name, ": ")
		if !slices.Contains(layers, layer) {
			layers = append(layers, layer)
		}
		total[layer]++
		if !c.OK {
			failed[layer] = append(failed[layer], catalog.Check{Name: "confinement: " + tried, Detail: c.Detail, Hint: layer + " did not stop this. Report it with the version of Linux."})
		}
	}
	var out []catalog.Check
	for _, l := range layers {
		stopped := total[l] - len(failed[l])
		check := catalog.Check{Name: "confinement: " + l, OK: stopped == total[l], Detail: fmt.Sprintf("blocked %d of %d escape attempts", stopped, total[l])}
		if !check.OK {
			check.Hint = "See the lines below."
		}
		out = append(append(out, check), failed[l]...)
	}
	return out
}

// checkLayers returns the layers of isolation, and which are missing and why.
func checkLayers(x wire.Executor) []catalog.Check {
	i, ok := x.(isolated)
	if !ok {
		return nil
	}
	program := i.Program()
	if program == "" {
		program = "the app's own executable"
	}
	checks := []catalog.Check{
		{Name: "isolation", OK: true, Detail: i.Isolation()},
		{Name: "worker", OK: true, Detail: program},
	}
	for _, m := range i.Missing() {
		checks = append(checks, catalog.Check{
			Name: "isolation: " + m.Layer, Detail: "not available here: " + m.Why,
			Hint: "Scripts are held by what remains. Put it into sandbox.require to refuse to start without it.",
		})
	}
	return checks
}
