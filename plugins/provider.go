// Package plugins runs plugins: executables in one folder that implement the contract of
// package wire and add operations to the app (DESIGN section 5, CONTRACT section 2).
//
// What belongs here: finding, starting, calling, restarting and stopping plugin
// processes, and turning their manifests into operations. Not here: what
// a plugin does, and the author's side (package kit).
package plugins

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/koan-go/koan/framework/catalog"
	"github.com/koan-go/koan/plugins/internal/manifests"
)

// Options are an app's settings for its plugins, in code. The configuration takes
// precedence. The zero value is right for ordinary apps.
type Options struct {
	// Dir is the folder to use if plugins.dir is not configured; "" is `plugins` beside
	// the executable. A relative one is relative to the executable.
	Dir string
	// Beside returns the folder of the app's data, beside whose files plugins keep their state unless
	// plugins.stateDir is configured; "" if it is in no folder. It is called when a plugin starts. nil is "".
	Beside func() string
	// Configured has an app without plugins.dir load none, whatever lies beside its executable.
	Configured bool
	// StartTimeout bounds the start of one plugin, 0 is 10 s.
	StartTimeout time.Duration
	// SilentAfter is how long a process may answer nothing, neither a call nor whether it is well,
	// before it is replaced; 0 is 10 s.
	SilentAfter time.Duration
	// RestartWait is how long a call waits for a plugin that is being restarted, 0 is
	// 5 s.
	RestartWait time.Duration
}

// atOnce is how many plugins start at the same time.
const atOnce = 4

const (
	keyOpen     = "plugins"
	keyDir      = "plugins.dir"
	keyRequired = "plugins.required"
)

// Provider is the catalog's provider of plugin operations.
type Provider struct {
	opts Options

	host catalog.Host
	dir  string
	running
	wake  chan struct{} // has the folder looked at now
	locks *locks
	kept  manifests.Store
	// secrets are the values of settings that manifests declare secret.
	secrets catalog.SecretList

	mu sync.Mutex
	look
	given   configurations
	current map[string]*plugin // those that are offered, by name
	pending map[string]*plugin // of new or changed files, until they run
	alive   map[*plugin]bool   // all that have not ended
	offered bool               // Start has returned: changes are to be announced
}

// running is what all processes have in common.
type running struct {
	life   context.Context
	cancel context.CancelFunc
	ended  sync.WaitGroup
	slots  chan struct{} // bounds how many plugins start at the same time
}

// look is what the last look at the folder has found.
type look struct {
	missing bool     // the default folder is not there
	skipped []string // why files were left alone
}

var (
	_ catalog.Provider     = (*Provider)(nil)
	_ catalog.Configurable = (*Provider)(nil)
	_ catalog.Checker      = (*Provider)(nil)
	_ catalog.Reloadable   = (*Provider)(nil)
	_ catalog.Readier      = (*Provider)(nil)
	_ catalog.SecretHolder = (*Provider)(nil)
	_ catalog.Yielder      = (*Provider)(nil)
)

// Provide makes the provider. Every executable file in the folder is a plugin,
// and its file name (without .exe) the plugin's name and domain. Files that are
// not executable, or begin with "." or "_", are left alone.
//
// A plugin that does not start does not stop the app: its operations are not offered, the
// log and `doctor` say why, and it is started again until it succeeds. A plugin that is
// rejected (it has another contract version, or its manifest is invalid) is not started
// again. A plugin that dies later is restarted, and its operations stay offered; calls
// meanwhile wait for it up to Options.RestartWait, then fail with plugin_unavailable.
//
// The folder is watched: plugins are added, replaced and removed with their files, within
// a few seconds. Runs that have begun keep the process that they began with. If a changed
// file does not start, the earlier process stays.
func Provide(o Options) *Provider {
	if o.StartTimeout == 0 {
		o.StartTimeout = 10 * time.Second
	}
	if o.SilentAfter == 0 {
		o.SilentAfter = 10 * time.Second
	}
	if o.RestartWait == 0 {
		o.RestartWait = 5 * time.Second
	}
	return &Provider{
		opts: o, running: running{slots: make(chan struct{}, atOnce)}, wake: make(chan struct{}, 1),
		current: map[string]*plugin{}, pending: map[string]*plugin{}, alive: map[*plugin]bool{},
	}
}

// Name is "plugins".
func (*Provider) Name() string { return "plugins" }

// Secrets implements catalog.SecretHolder.
func (p *Provider) Secrets() []string { return p.secrets.Secrets() }

// Settings are plugins.dir, and the keys below plugins.<domain> that plugins declare.
func (*Provider) Settings() []catalog.Setting {
	return []catalog.Setting{
		{Key: keyDir, Default: "", Help: "folder of the plugins' executables (default: `plugins` beside the app's executable)"},
		{Key: keyStateDir, Default: "", Help: "folder below which plugins keep their state, each in a folder of its own (default: `plugins` beside the app's data; with PostgreSQL, or without entities, $XDG_DATA_HOME/APP/plugins)"},
		{Key: keyRequired, Live: true, Default: []string{}, Help: "plugins that /readyz needs to say that the app is ready"},
		{Key: keyLocked, Live: true, Default: true, Help: "leave out plugins that koan.lock lists with another digest than their file has"},
		{Key: keyOpen, Open: true, Live: true, CheckKey: checkKey, Help: "a plugin: plugins.<domain>.settings.<key> for its own settings, and effects, trust, tools and more (docs/howto/plugin.md)"},
	}
}

// Start starts all plugins. It fails if the configuration is wrong: the configured folder
// does not exist, no plugin has a setting, or a plugin rejects one.
func (p *Provider) Start(ctx context.Context, host catalog.Host) error {
	p.host = host
	dir, explicit, err := p.folder(host.Settings())
	if err != nil {
		return err
	}
	p.dir = dir
	var found []executable
	var skipped []string
	if dir != "" {
		found, skipped, err = discover(dir)
	}
	switch {
	case dir == "":
		p.missing = true
	case errors.Is(err, fs.ErrNotExist) && !explicit:
		p.missing = true
	case err != nil:
		return fmt.Errorf("%s: the folder %s cannot be read: %w", keyDir, dir, err)
	}
	p.noteSkipped(skipped)
	p.locks, p.kept = newLocks(host), keepManifests(host, p.opts.Beside)
	brought, err := p.locks.read()
	if err != nil {
		return err
	}
	p.locks.last = brought
	if p.given, err = readConfigurations(host.Settings(), p.dir, names(found), brought); err != nil {
		return err
	}
	p.life, p.cancel = context.WithCancel(context.WithoutCancel(ctx))
	p.ended.Go(sweepOrphans)
	for _, e := range found {
		p.current[e.name] = newPlugin(e, p.given[e.name], p)
	}
	if err := p.startAll(ctx); err != nil {
		p.cancel()
		p.ended.Wait()
		return err
	}
	p.mu.Lock()
	p.offered = true
	p.mu.Unlock()
	if dir != "" {
		p.ended.Go(func() { p.follow(p.life, found) })
	}
	return nil
}

// startAll starts the first plugins, and waits until each has started or failed.
func (p *Provider) startAll(ctx context.Context) error {
	first := p.offering()
	for _, pl := range first {
		p.begin(pl)
	}
	var problems []error
	for _, pl := range first {
		select {
		case <-pl.tried:
		case <-ctx.Done():
			return ctx.Err()
		}
		var misconfigured *configurationError
		var other *mismatch
		switch err := pl.state().failure; {
		case errors.As(err, &misconfigured):
			problems = append(problems, err)
		case errors.As(err, &other) && slices.Contains(p.required(), pl.name):
			problems = append(problems, fmt.Errorf("the plugin %s, which is required, is %w\n%s", pl.name, err, other.hint))
		}
	}
	return errors.Join(problems...)
}

// begin supervises a plugin until it is retired or the provider stops.
func (p *Provider) begin(pl *plugin) {
	ctx, cancel := context.WithCancel(p.life)
	p.mu.Lock()
	pl.cancel, p.alive[pl] = cancel, true
	p.mu.Unlock()
	p.ended.Go(func() {
		defer cancel()
		pl.supervise(ctx, p.slots)
		p.mu.Lock()
		delete(p.alive, pl)
		p.mu.Unlock()
	})
}

// noteSkipped notes which files are not plugins, and logs new ones.
func (p *Provider) noteSkipped(skipped []string) {
	p.mu.Lock()
	before := p.skipped
	p.skipped = skipped
	p.mu.Unlock()
	for _, s := range skipped {
		if !slices.Contains(before, s) {
			p.host.Log().Warn("not a plugin", "reason", s)
		}
	}
}

// folder returns the plugins' folder, and whether the configuration names it.
func (p *Provider) folder(v catalog.Values) (dir string, explicit bool, err error) {
	if dir = v.String(keyDir); dir != "" {
		dir, err = filepath.Abs(dir)
		return dir, true, err
	}
	if p.opts.Configured {
		return "", false, nil
	}
	dir = p.opts.Dir
	if dir == "" {
		dir = "plugins"
	}
	if filepath.IsAbs(dir) {
		return dir, false, nil
	}
	exe, err := os.Executable()
	if err != nil {
		return "", false, fmt.Errorf("%s: the executable's folder is unknown: %w", keyDir, err)
	}
	return filepath.Join(filepath.Dir(exe), dir), false, nil
}

func names(found []executable) []string {
	out := make([]string, len(found))
	for i, e := range found {
		out[i] = e.name
	}
	return out
}

// offering returns the plugins that are offered, by name.
func (p *Provider) offering() []*plugin {
	p.mu.Lock()
	defer p.mu.Unlock()
	return sorted(p.current)
}

func sorted(by map[string]*plugin) []*plugin {
	var out []*plugin
	for _, name := range slices.Sorted(maps.Keys(by)) {
		out = append(out, by[name])
	}
	return out
}

// Offer returns the operations of all plugins that have ever started. Their processes stay
// until no run needs them.
func (p *Provider) Offer() catalog.Offer { return p.OfferBeside(nil) }

// OfferBeside implements catalog.Yielder: a plugin is not offered whose name something else has.
func (p *Provider) OfferBeside(others []catalog.Offer) catalog.Offer {
	var o catalog.Offer
	taken := takenNames(others)
	p.mu.Lock()
	defer p.mu.Unlock()
	needed := sorted(p.current)
	for _, pl := range needed {
		s := pl.state()
		pl.uses++
		if yield(pl, taken[pl.name]); taken[pl.name] != "" {
			continue
		}
		o.Operations = append(o.Operations, s.operations...)
		if s.manifest != nil {
			owner := ownerOf(s.manifest)
			owner.Digest = s.digest
			o.Owners = append(o.Owners, owner)
		}
	}
	o.Closed = func() { p.retireUnused(needed) }
	return o
}

// retireUnused stops the plugins that no snapshot offers any more.
func (p *Provider) retireUnused(needed []*plugin) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, pl := range needed {
		if pl.uses--; pl.uses == 0 && pl.retired {
			pl.cancel()
		}
	}
}

// retire stops a plugin as soon as no run needs it.
func (p *Provider) retire(pl *plugin) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if pl.retired = true; pl.uses == 0 && pl.cancel != nil {
		pl.cancel()
	}
}

// changed notifies the app that Offer returns something new.
func (p *Provider) changed() {
	p.mu.Lock()
	tell := p.offered
	p.mu.Unlock()
	if tell {
		p.host.Changed()
	}
}

// Stop stops all plugin processes: it asks them to exit, waits, and kills those that do
// not. None is left when it returns.
func (p *Provider) Stop(ctx context.Context) error {
	if p.cancel == nil {
		return nil
	}
	p.mu.Lock()
	p.offered = false
	p.mu.Unlock()
	p.cancel()
	done := make(chan struct{})
	go func() {
		p.ended.Wait()
		close(done)
	}()
	select {
	case <-done:
		return nil
	case <-ctx.Done():
	}
	p.mu.Lock()
	late := slices.Collect(maps.Keys(p.alive))
	p.mu.Unlock()
	for _, pl := range late {
		pl.kill()
	}
	<-done
	return nil
}

// Checks say where plugins are searched for and the state of each one.
func (p *Provider) Checks(ctx context.Context) []catalog.Check {
	for _, pl := range p.offering() {
		pl.await(ctx, p.opts.StartTimeout)
	}
	p.mu.Lock()
	missing, skipped, current, coming := p.missing, p.skipped, sorted(p.current), maps.Clone(p.pending)
	p.mu.Unlock()
	folder := catalog.Check{Name: "plugins", OK: true, Detail: fmt.Sprintf("%d in %s", len(current), p.dir)}
	if missing {
		folder.Detail = fmt.Sprintf("none: there is no folder %s", p.dir)
		if p.dir == "" {
			folder.Detail = "none: " + keyDir + " names no folder"
		}
	}
	if len(skipped) > 0 {
		folder.OK = false
		folder.Detail += "; skipped: " + strings.Join(skipped, "; ")
		folder.Hint = "Name plugin files in lower-case kebab and make them executable, or take them out of the folder."
	}
	checks := []catalog.Check{folder}
	for _, pl := range current {
		check := pl.check()
		if next := coming[pl.name]; next != nil {
			check = next.replacing(check)
			delete(coming, pl.name)
		}
		checks = append(checks, check)
	}
	for _, pl := range sorted(coming) {
		checks = append(checks, pl.check())
	}
	checks = append(checks, absent(p.required(), p.dir, checks)...)
	return append(checks, p.locks.missing(p.dir, checks)...)
}

// checkName is the name of a plugin's check in `doctor`.
func checkName(plugin string) string { return "plugin " + plugin }
