package codemode

import (
	"context"
	"fmt"

	"github.com/koan-go/koan/codemode/sandbox"
	"github.com/koan-go/koan/codemode/wire"
	"github.com/koan-go/koan/framework/catalog"
)

// sandboxed makes the executor of production: a fresh confined process for each
// attempt. Under koantest it runs scripts in the test's own process.
func sandboxed(l Limits) (wire.Executor, error) {
	if l.Testing {
		return sandbox.NewInProcess(), nil
	}
	return sandbox.New(sandbox.Options{})
}

// What an executor may be able to do besides running scripts.
type (
	// isolated says how scripts are held apart: "process+seccomp".
	isolated interface{ Isolation() string }
	// warmed starts workers ahead; it blocks until they wait.
	warmed interface {
		Warm(ctx context.Context) error
	}
	// tested tries from inside a worker what its confinement must stop.
	tested interface {
		SelfTest(ctx context.Context) ([]wire.Check, error)
	}
)

func (p *provider) isolation() string {
	if i, ok := p.executor.(isolated); ok {
		return i.Isolation()
	}
	return "none"
}

// confinement tells what the executor's self-test found.
func (p *provider) confinement(ctx context.Context) []catalog.Check {
	t, ok := p.executor.(tested)
	if !ok {
		return nil
	}
	found, err := t.SelfTest(ctx)
	if err != nil {
		return []catalog.Check{{Name: "confinement", Detail: err.Error(), Hint: "Look into the server's log for why no worker starts."}}
	}
	var out []catalog.Check
	for _, c := range found {
		if !c.OK {
			out = append(out, catalog.Check{Name: "confinement: " + c.Name, Detail: c.Detail, Hint: "Scripts are held by process limits only; run on Linux with seccomp for more."})
		}
	}
	held := catalog.Check{Name: "confinement", OK: len(out) == 0, Detail: fmt.Sprintf("a worker was refused %d of %d things that scripts must not do", len(found)-len(out), len(found))}
	if !held.OK {
		held.Hint = "See the lines below."
	}
	return append([]catalog.Check{held}, out...)
}
