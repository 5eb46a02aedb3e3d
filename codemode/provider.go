package codemode

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/koan-go/koan/codemode/internal/actions"
	"github.com/koan-go/koan/codemode/internal/bind"
	"github.com/koan-go/koan/codemode/internal/wire"
	"github.com/koan-go/koan/framework/catalog"
	"github.com/koan-go/koan/framework/fault"
)

// Provide returns the provider of code mode: the operations of its faces, the actions in
// files, and the declarations as documents.
func Provide(o Options) catalog.Provider { return &provider{opts: o} }

type provider struct {
	opts    Options
	now     atomic.Pointer[settings]
	app     bind.App
	log     *slog.Logger
	changed func()
	// snapshot returns the catalog as it is now.
	snapshot func() *catalog.Snapshot

	executor wire.Executor

	actions  atomic.Pointer[actions.Set] // nil: the app has no files of actions
	unwatch  context.CancelFunc          // nil: no folder is watched
	watching sync.WaitGroup
}

var (
	_ catalog.Provider     = (*provider)(nil)
	_ catalog.Configurable = (*provider)(nil)
	_ catalog.Checker      = (*provider)(nil)
	_ catalog.Reporter     = (*provider)(nil)
	_ catalog.Warmer       = (*provider)(nil)
	_ catalog.Instructor   = (*provider)(nil)
	_ catalog.Reloadable   = (*provider)(nil)
)

func (p *provider) Name() string { return "codemode" }

func (p *provider) Settings() []catalog.Setting { return declared() }

// Start rejects options that this build does not support (capability_unsupported), and
// makes the executor.
func (p *provider) Start(ctx context.Context, host catalog.Host) error {
	config := read(host.Settings())
	p.now.Store(&config)
	p.app, p.log, p.changed = bind.App{Name: host.App(), Version: host.Version()}, host.Log(), host.Changed
	p.snapshot = host.Snapshot
	if err := config.supported(); err != nil {
		return err
	}
	if !config.enabled && !p.hasActions(host.Settings()) {
		return nil
	}
	config.limits.testing = host.Testing()
	config.limits.log = host.Log()
	executor, err := newExecutor(config.limits)
	if err != nil {
		return fmt.Errorf("codemode: %w", err)
	}
	p.executor = executor
	if err := p.openActions(ctx, host.Settings()); err != nil {
		_ = p.Stop(ctx)
		return err
	}
	return nil
}

// config returns the settings for a script that begins now.
func (p *provider) config() *settings { return p.now.Load() }

// Reload applies new limits to scripts that begin later (catalog.Reloadable). Keys that
// are not live are unchanged in next.
func (p *provider) Reload(next catalog.Values) (apply func(), err error) {
	config := read(next)
	last := p.config().limits
	config.limits.testing, config.limits.log = last.testing, last.log
	return func() { p.now.Store(&config) }, nil
}

func (p *provider) Stop(context.Context) error {
	if p.executor == nil {
		return nil
	}
	if p.unwatch != nil {
		p.unwatch()
	}
	err := p.executor.Close()
	p.watching.Wait()
	return err
}

// Offer returns the operations of the configured faces. Those of `koan` are always there
// for the app's own commands. If code mode is disabled they stay in the catalog, are
// listed nowhere, and fail with code_mode_disabled.
func (p *provider) Offer() catalog.Offer {
	operations := []*catalog.Operation{p.executeOperation(), p.validateOperation(), p.searchOperation(), p.statusOperation()}
	if !p.has(faceKoan) {
		for _, op := range operations {
			op.Reach = catalog.ReachApp
		}
	}
	if p.has(faceCodemode) {
		operations = append(operations, p.runOperation())
	}
	if p.has(faceGateway) {
		operations = append(operations, p.gatewayOperations()...)
	}
	if !p.config().enabled {
		for _, op := range operations {
			op.Reach = 0
			op.Describe = nil
			disabled := fault.New(fault.CodeModeDisabled, "")
			if op.ID.Owner == faceGateway {
				disabled = withKind(disabled)
			}
			op.Decode = func(catalog.Input) (catalog.Decoded, error) { return catalog.Decoded{}, disabled }
		}
	}
	operations = append(operations, p.undoOperation())
	acts := p.actionOperations()
	offer := catalog.Offer{Operations: append(operations, acts...)}
	if p.config().enabled {
		offer.Documents = p.documents()
		if p.has(faceKoan) {
			offer.Prompts = []*catalog.Prompt{p.prompt()}
		}
	}
	for _, op := range acts {
		offer.Prompts = append(offer.Prompts, catalog.ActionPrompt(op))
	}
	return offer
}

func (p *provider) has(face string) bool { return slices.Contains(p.config().faces, face) }

const executeInstructions = "Do a job of several steps with one koan.code.execute script instead of one tool call per step: it runs as one transaction, and `dryRun: true` shows what it would change. koan.code.search finds what SDK has; its types are also the resource " + declarationsURI + "."

// Instructions implements catalog.Instructor.
func (p *provider) Instructions() string {
	var parts []string
	if p.has(faceKoan) {
		parts = append(parts, executeInstructions)
	}
	if p.has(faceCodemode) {
		parts = append(parts, runInstructions)
	}
	if p.has(faceGateway) {
		parts = append(parts, gatewayInstructions)
	}
	return strings.Join(parts, "\n\n")
}

// Checks reports to `doctor` whether scripts can run, by running one.
func (p *provider) Checks(ctx context.Context) []catalog.Check {
	if !p.config().enabled {
		return append([]catalog.Check{{Name: "code mode", OK: true, Detail: "disabled by codeMode.enabled"}}, p.actionChecks()...)
	}
	l := p.config().limits
	checks := []catalog.Check{{
		Name: "limits", OK: true,
		Detail: fmt.Sprintf("cpu %d ms, wall %d ms, memory %d MB, recursion %d, code %d characters, %d SDK calls",
			l.CPUMs, p.config().wall.Milliseconds(), l.MemoryBytes>>20, l.MaxRecursion, p.config().maxCodeLength, p.config().maxCalls),
	}}
	return append(append(append(checks, p.layers()...), p.confinement(ctx)...), append([]catalog.Check{p.trial(ctx)}, p.actionChecks()...)...)
}

// trial runs a minimal script.
func (p *provider) trial(ctx context.Context) catalog.Check {
	check := catalog.Check{Name: "sandbox"}
	ctx, cancel := context.WithTimeout(ctx, p.config().wall)
	defer cancel()
	job := p.job(wire.Execute, `SDK.Out.answer(6 * 7)`)
	res, err := p.executor.Execute(ctx, job, noHost{})
	switch {
	case err != nil:
		check.Detail, check.Hint = "no script can run: "+fault.From(err).Message, fault.From(err).Hint
	case res.Fault != nil:
		check.Detail, check.Hint = "a script that adds two numbers failed: "+res.Fault.Message, res.Fault.Hint
	case string(res.Answer) != "42":
		check.Detail, check.Hint = "6 * 7 gave "+string(res.Answer), "Report this: the engine is broken."
	default:
		check.OK, check.Detail = true, "isolation="+p.isolation()
	}
	return check
}

// Report is the boot report's line (CONTRACT section 1). If code mode is disabled it has
// no limits.
func (p *provider) Report(b catalog.Boot) []string {
	c := p.config()
	if !c.enabled {
		return []string{fmt.Sprintf("CodeMode: enabled=false mode=%s entities=%d", b.Mode, b.Entities)}
	}
	return []string{fmt.Sprintf("CodeMode: enabled=true mode=%s runtime=%s isolation=%s cpuMs=%d memoryMb=%d maxSdkCalls=%d requireAnswer=%t entities=%d",
		b.Mode, c.runtime, p.isolation(), c.limits.CPUMs, c.limits.MemoryBytes>>20, c.maxCalls, c.requireAnswer, b.Entities)}
}

// Warm fills the pool of workers before the first script, without blocking.
func (p *provider) Warm(ctx context.Context) {
	w, ok := p.executor.(warmed)
	if !ok {
		return
	}
	go func() {
		if err := w.Warm(ctx); err != nil && ctx.Err() == nil {
			p.config().limits.log.DebugContext(ctx, "no worker was started ahead", "error", err)
		}
	}()
}

const mimeTypeScript = "text/x-typescript"

// URIs of the declarations.
const (
	declarationsURI = "koan://sdk/koan.d.ts"
	modulesURI      = "koan://sdk/modules.d.ts"
)

// documents are the declarations: of SDK, of one entity, and of the modules.
func (p *provider) documents() []*catalog.Document {
	return []*catalog.Document{
		{
			URI: declarationsURI, Name: "koan.d.ts", MIME: mimeTypeScript,
			Description: "TypeScript declarations of everything that a script can call.",
			Read: func(_ context.Context, v *catalog.View, _ string) ([]byte, error) {
				return []byte(types.Declarations(v)), nil
			},
		},
		{
			URI: "koan://sdk/{name}.d.ts", Name: "entity.d.ts", MIME: mimeTypeScript, Template: true,
			Description: "TypeScript declarations of one entity.",
			List:        entityNames,
			Read: func(_ context.Context, v *catalog.View, name string) ([]byte, error) {
				text, ok := types.Entity(v, name)
				if !ok {
					return nil, fault.Newf(fault.NotFound, "there is no entity %q%s", shorten(name), fault.DidYouMean(name, entityNames(v)))
				}
				return []byte(text), nil
			},
		},
		{
			URI: modulesURI, Name: "modules.d.ts", MIME: mimeTypeScript,
			Description: "TypeScript declarations of the modules that a script can import.",
			Read: func(_ context.Context, v *catalog.View, _ string) ([]byte, error) {
				return []byte(types.Modules(v, p.app)), nil
			},
		},
	}
}

func entityNames(v *catalog.View) []string {
	var names []string
	for _, r := range v.Resources() {
		names = append(names, r.Name)
	}
	return names
}

// shorten cuts a text of a caller so that it can be shown.
func shorten(s string) string {
	const most = 64
	if short := beginning(s, most); len(short) < len(s) {
		s = short + "…"
	}
	return strings.ToValidUTF8(s, "?")
}

// beginning returns the first characters of a text, at most so many.
func beginning(s string, most int) string {
	n := 0
	for i := range s {
		if n == most {
			return s[:i]
		}
		n++
	}
	return s
}
