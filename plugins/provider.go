// Package plugins runs plugins: executables that lie in one folder, speak the
// contract of package wire, and give the app operations (DESIGN section 5,
// CONTRACT section 2).
//
// What belongs here: finding, starting, calling, restarting and stopping plugin
// processes, and turning their manifests into operations. What must never: what
// a plugin does, and the author's side (package kit).
package plugins

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/koan-go/koan/framework/catalog"
	"github.com/koan-go/koan/framework/fault"
)

// Options are what an app's code says about its plugins. Configuration comes
// before it. The zero value is right for ordinary apps.
type Options struct {
	// Dir is the folder to use when plugins.dir is not configured; "" is `plugins`
	// beside the executable. A relative one is relative to the executable.
	Dir string
	// StartTimeout bounds the start of one plugin, 0 is 10 s.
	StartTimeout time.Duration
	// Patience is how long a call waits for a plugin that is being restarted, 0 is
	// 5 s.
	Patience time.Duration
}

// atOnce is how many plugins start at the same time.
const atOnce = 4

const (
	keyOpen = "plugins"
	keyDir  = "plugins.dir"
)

// Provider is the catalog's provider of plugin operations.
type Provider struct {
	opts Options

	host    catalog.Host
	dir     string
	missing bool // the default folder is not there
	skipped []string
	cancel  context.CancelFunc
	ended   sync.WaitGroup

	mu      sync.Mutex
	plugins []*plugin
	offered bool // Start has returned: changes are to be told
}

var (
	_ catalog.Provider     = (*Provider)(nil)
	_ catalog.Configurable = (*Provider)(nil)
	_ catalog.Checker      = (*Provider)(nil)
)

// Provide makes the provider. Every executable file in the folder is a plugin,
// and its file name (without .exe) the plugin's name and domain. Files that are
// not executable, or begin with "." or "_", are left alone.
//
// A plugin that does not start does not stop the app: its operations are not
// offered, the log and `doctor` say why, and it is tried again until it starts,
// which offers them. A plugin that is refused (it speaks another contract
// version, or its manifest is wrong) is not tried again. A plugin that dies
// later is restarted, and its operations stay offered; calls meanwhile wait a
// little, then end in plugin_unavailable.
func Provide(o Options) *Provider {
	if o.StartTimeout == 0 {
		o.StartTimeout = 10 * time.Second
	}
	if o.Patience == 0 {
		o.Patience = 5 * time.Second
	}
	return &Provider{opts: o}
}

// Name is "plugins".
func (*Provider) Name() string { return "plugins" }

// Settings are plugins.dir, and whatever the plugins declare below
// plugins.<domain>.
func (*Provider) Settings() []catalog.Setting {
	return []catalog.Setting{
		{Key: keyDir, Default: "", Help: "folder of the plugins' executables (default: `plugins` beside the app's executable)"},
		{Key: keyOpen, Open: true, Help: "settings of a plugin: plugins.<domain>.<key>"},
	}
}

// Start starts all plugins. It ends in an error where the configuration is
// wrong: a configured folder that is not there, a setting that no plugin has, a
// setting that its plugin refuses.
func (p *Provider) Start(ctx context.Context, host catalog.Host) error {
	p.host = host
	dir, explicit, err := p.folder(host.Settings())
	if err != nil {
		return err
	}
	p.dir = dir
	found, skipped, err := discover(dir)
	switch {
	case errors.Is(err, fs.ErrNotExist) && !explicit:
		p.missing = true
	case err != nil:
		return fmt.Errorf("%s: the folder %s cannot be read: %w", keyDir, dir, err)
	}
	p.skipped = skipped
	for _, s := range skipped {
		host.Log().Warn("not a plugin", "reason", s)
	}
	settings, err := p.settings(found)
	if err != nil {
		return err
	}
	for _, e := range found {
		p.plugins = append(p.plugins, newPlugin(e, settings[e.name], p))
	}
	return p.startAll(ctx)
}

func (p *Provider) startAll(ctx context.Context) error {
	life, cancel := context.WithCancel(context.WithoutCancel(ctx))
	p.cancel = cancel
	slots := make(chan struct{}, atOnce)
	for _, pl := range p.plugins {
		p.ended.Go(func() { pl.supervise(life, slots) })
	}
	var problems []error
	for _, pl := range p.plugins {
		select {
		case <-pl.tried:
		case <-ctx.Done():
			p.abandon()
			return ctx.Err()
		}
		var misconfigured *configurationError
		if err := pl.state().failure; errors.As(err, &misconfigured) {
			problems = append(problems, err)
		}
	}
	if err := errors.Join(problems...); err != nil {
		p.abandon()
		return err
	}
	p.mu.Lock()
	p.offered = true
	p.mu.Unlock()
	return nil
}

// abandon stops what a failed start has started.
func (p *Provider) abandon() {
	p.cancel()
	p.ended.Wait()
}

// folder gives the plugins' folder, and whether the configuration names it.
func (p *Provider) folder(v catalog.Values) (dir string, explicit bool, err error) {
	if dir = v.String(keyDir); dir != "" {
		dir, err = filepath.Abs(dir)
		return dir, true, err
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

// settings sorts the free keys by plugin. A key that belongs to no plugin is an
// error; which keys a plugin has, its manifest says later.
func (p *Provider) settings(found []executable) (map[string]map[string]string, error) {
	names := make([]string, len(found))
	for i, e := range found {
		names[i] = e.name
	}
	out := map[string]map[string]string{}
	var problems []string
	for key, value := range p.host.Settings().Under(keyOpen) {
		domain, rest, ok := strings.Cut(key, ".")
		if !ok || !slices.Contains(names, domain) {
			problems = append(problems, fmt.Sprintf("%s.%s: there is no plugin %q in %s%s", keyOpen, key, domain, p.dir, fault.DidYouMean(domain, names)))
			continue
		}
		if out[domain] == nil {
			out[domain] = map[string]string{}
		}
		out[domain][rest] = value
	}
	if len(problems) > 0 {
		slices.Sort(problems)
		return nil, errors.New(strings.Join(problems, "; "))
	}
	return out, nil
}

// Offer gives the operations of all plugins that have ever started.
func (p *Provider) Offer() catalog.Offer {
	var o catalog.Offer
	for _, pl := range p.plugins {
		o.Operations = append(o.Operations, pl.state().operations...)
	}
	return o
}

// changed tells the app that Offer gives something new.
func (p *Provider) changed() {
	p.mu.Lock()
	tell := p.offered
	p.mu.Unlock()
	if tell {
		p.host.Changed()
	}
}

// Stop ends all plugin processes: it asks, waits a moment, and kills. None is
// left when it returns.
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
	for _, pl := range p.plugins {
		pl.kill()
	}
	<-done
	return nil
}

// Checks say where plugins are looked for and how each one is.
func (p *Provider) Checks(context.Context) []catalog.Check {
	folder := catalog.Check{Name: "plugins", OK: true, Detail: fmt.Sprintf("%d in %s", len(p.plugins), p.dir)}
	if p.missing {
		folder.Detail = fmt.Sprintf("none: there is no folder %s", p.dir)
	}
	if len(p.skipped) > 0 {
		folder.OK = false
		folder.Detail += "; left alone: " + strings.Join(p.skipped, "; ")
		folder.Hint = "Name plugin files in lower-case kebab and make them executable, or take them out of the folder."
	}
	checks := []catalog.Check{folder}
	for _, pl := range p.plugins {
		checks = append(checks, pl.check())
	}
	return checks
}
