package codemode

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/koan-go/koan/codemode/internal/bind"
	"github.com/koan-go/koan/codemode/internal/language"
	"github.com/koan-go/koan/codemode/internal/wire"
	"github.com/koan-go/koan/framework/catalog"
	"github.com/koan-go/koan/framework/fault"
)

// Provide returns the provider of code mode: the operations of its faces, the actions in
// files, and the declarations as documents.
func Provide(o Options) catalog.Provider {
	p := &provider{}
	p.actions.opts, p.actions.scripts = o, &p.scripts
	return p
}

type provider struct {
	scripts scripts
	actions actionProvider
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
	p.scripts.settings.Store(&config)
	p.scripts.app, p.scripts.log, p.scripts.tools = bind.App{Name: host.App(), Version: host.Version()}, host.Log(), toolLists{host.Snapshot}
	p.actions.changed = host.Changed
	if err := config.supported(); err != nil {
		return err
	}
	if !config.enabled && !p.actions.configured(host.Settings()) {
		return nil
	}
	config.limits.testing, config.limits.oneShot = host.Testing(), host.OneShot()
	config.limits.log = host.Log()
	executor, err := newExecutor(config.limits)
	if err != nil {
		return err
	}
	p.scripts.executor = executor
	if err := p.actions.open(ctx, host.Settings()); err != nil {
		_ = p.Stop(ctx)
		return err
	}
	return nil
}

// Reload applies new limits to scripts that begin later (catalog.Reloadable). Keys that
// are not live are unchanged in next.
func (p *provider) Reload(next catalog.Values) (apply func(), err error) {
	config := read(next)
	last := p.scripts.config().limits
	config.limits.testing, config.limits.oneShot, config.limits.log = last.testing, last.oneShot, last.log
	return func() {
		p.scripts.settings.Store(&config)
		if x, ok := p.scripts.executor.(*byLanguage); ok && config.limits.Limits != last.Limits {
			x.reload(config.limits)
		}
	}, nil
}

func (p *provider) Stop(context.Context) error {
	if p.scripts.executor == nil {
		return nil
	}
	p.actions.close()
	err := p.scripts.executor.Close()
	p.actions.watching.Wait() // a file that was being read is given up with the executor
	return err
}

// ActionFile returns the file of an action that does what a script did (cli.ActionWriter).
func (p *provider) ActionFile(ctx context.Context, name, code, in string, args json.RawMessage) (file string, text []byte, err error) {
	return p.actions.newFile(ctx, name, code, in, args)
}

// Offer returns the operations of the configured faces. Those of `koan` are always there
// for the app's own commands. If code mode is disabled they stay in the catalog, are
// listed nowhere, and fail with code_mode_disabled.
func (p *provider) Offer() catalog.Offer {
	koan := koanFace{&p.scripts}
	operations := []*catalog.Operation{koan.executeOperation(), koan.validateOperation(), koan.searchOperation(), statusOperation()}
	if !p.scripts.offers(faceKoan) {
		for _, op := range operations {
			op.Reach = catalog.ReachApp
		}
	}
	if p.scripts.offers(faceCodemode) {
		operations = append(operations, moduleFace{&p.scripts}.operation())
	}
	if p.scripts.offers(faceGateway) {
		operations = append(operations, gatewayFace{&p.scripts}.operations()...)
	}
	if !p.scripts.config().enabled {
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
	operations = append(operations, koan.undoOperation())
	acts := p.actions.operations()
	offer := catalog.Offer{Operations: append(operations, acts...)}
	if p.scripts.config().enabled {
		offer.Documents = append(documents(p.scripts.app), stubs(p.scripts.config().limits.languages, p.scripts.app)...)
		if p.scripts.offers(faceKoan) {
			offer.Prompts = []*catalog.Prompt{koan.prompt()}
		}
	}
	for _, op := range acts {
		offer.Prompts = append(offer.Prompts, catalog.ActionPrompt(op))
	}
	return offer
}

const executeInstructions = "Do a job of several steps with one koan.code.execute script instead of one tool call per step: it runs as one transaction, and `dryRun: true` shows what it would change. koan.code.search finds what SDK has; its types are also the resource "

// Instructions implements catalog.Instructor.
func (p *provider) Instructions() string {
	var parts []string
	if p.scripts.offers(faceKoan) {
		parts = append(parts, executeInstructions+p.scripts.typesURI()+".")
	}
	if p.scripts.offers(faceCodemode) {
		parts = append(parts, runInstructions)
	}
	if p.scripts.offers(faceGateway) {
		parts = append(parts, gatewayInstructions)
	}
	return strings.Join(parts, "\n\n")
}

// Checks reports to `doctor` whether scripts can run, by running one.
func (p *provider) Checks(ctx context.Context) []catalog.Check {
	if !p.scripts.config().enabled {
		return append([]catalog.Check{{Name: "code mode", OK: true, Detail: "disabled by codeMode.enabled"}}, p.actions.checks()...)
	}
	l := p.scripts.config().limits
	checks := []catalog.Check{{
		Name: "limits", OK: true,
		Detail: fmt.Sprintf("cpu %d ms, wall %d ms, memory %d MB, recursion %d, code %d characters, %d SDK calls",
			l.CPUMs, p.scripts.config().wall.Milliseconds(), l.MemoryBytes>>20, l.MaxRecursion, p.scripts.config().maxCodeLength, p.scripts.config().maxCalls),
	}}
	own := ownExecutor(p.scripts.executor)
	return append(append(append(checks, checkLayers(own)...), checkConfinement(ctx, own)...), append(append([]catalog.Check{p.trial(ctx)}, checkInterpreters(ctx, p.scripts.executor)...), p.actions.checks()...)...)
}

// trial runs a minimal script.
func (p *provider) trial(ctx context.Context) catalog.Check {
	check := catalog.Check{Name: "sandbox"}
	ctx, cancel := context.WithTimeout(ctx, p.scripts.config().wall)
	defer cancel()
	job := p.scripts.job(wire.Execute, `SDK.Out.answer(6 * 7)`)
	res, err := p.scripts.executor.Execute(ctx, job, noHost{})
	switch {
	case err != nil:
		check.Detail, check.Hint = "no script can run: "+fault.From(err).Message, fault.From(err).Hint
	case res.Fault != nil:
		check.Detail, check.Hint = "a script that adds two numbers failed: "+res.Fault.Message, res.Fault.Hint
	case string(res.Answer) != "42":
		check.Detail, check.Hint = "6 * 7 gave "+string(res.Answer), "Report this: the engine is broken."
	default:
		check.OK, check.Detail = true, "isolation="+isolationOf(ownExecutor(p.scripts.executor))
	}
	return check
}

// Report is the boot report's line (CONTRACT section 1). If code mode is disabled it has
// no limits.
func (p *provider) Report(b catalog.Boot) []string {
	c := p.scripts.config()
	if !c.enabled {
		return []string{fmt.Sprintf("CodeMode: enabled=false mode=%s entities=%d", b.Mode, b.Entities)}
	}
	return []string{fmt.Sprintf("CodeMode: enabled=true mode=%s runtime=%s isolation=%s cpuMs=%d memoryMb=%d maxSdkCalls=%d requireAnswer=%t entities=%d",
		b.Mode, c.runtime, isolationOf(ownExecutor(p.scripts.executor)), c.limits.CPUMs, c.limits.MemoryBytes>>20, c.maxCalls, c.requireAnswer, b.Entities)}
}

// Warm fills the pool of workers before the first script, without blocking.
func (p *provider) Warm(ctx context.Context) {
	w, ok := p.scripts.executor.(warmed)
	if !ok {
		return
	}
	go func() {
		if err := w.Warm(ctx); err != nil && ctx.Err() == nil {
			p.scripts.config().limits.log.DebugContext(ctx, "no worker was started ahead", "error", err)
		}
	}()
}

const mimeTypeScript = "text/x-typescript"

// URIs of the declarations.
const (
	sdkURI          = "koan://sdk/"
	declarationsURI = sdkURI + "koan.d.ts"
	modulesURI      = sdkURI + "modules.d.ts"
)

// documents are the declarations: of SDK, of one entity, and of the modules.
func documents(app bind.App) []*catalog.Document {
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
				return []byte(types.Modules(v, app)), nil
			},
		},
	}
}

// typesURI returns the URI of the declarations in the language of scripts that name none.
func (s *scripts) typesURI() string {
	if own, ok := sourceOf(s.first()).(language.Stubs); ok {
		return sdkURI + own.StubFile()
	}
	return declarationsURI
}

// stubs are the declarations for the tools of other languages, of those that an app has.
func stubs(languages []string, app bind.App) (out []*catalog.Document) {
	for _, source := range known {
		name := source.Names()[0]
		s, ok := source.(language.Stubs)
		if !ok || !slices.Contains(languages, name) {
			continue
		}
		out = append(out, &catalog.Document{
			URI: sdkURI + s.StubFile(), Name: s.StubFile(), MIME: "text/plain", Description: "What a script in " + source.Primer().Title + " can call, as its type checkers read it.",
			Read: func(_ context.Context, v *catalog.View, _ string) ([]byte, error) {
				return []byte(s.Stub(v)), nil
			},
			Folder: func(v *catalog.View) map[string]string { return s.StubFolder(v, app) },
		})
	}
	return out
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
