package plugins

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"time"

	"github.com/koan-go/koan/framework/catalog"
	"github.com/koan-go/koan/plugins/internal/lock"
)

// pollInterval is how often the folder is checked: one stat per file.
const pollInterval = time.Second

// follow keeps the plugins in line with the folder's files and the settings. A file counts
// once two checks have found it unchanged, so that a file which is being written does not.
func (p *Provider) follow(ctx context.Context, last []executable) {
	look := time.NewTicker(pollInterval)
	defer look.Stop()
	var unreadable string
	for {
		select {
		case <-ctx.Done():
			return
		case <-p.wake:
		case <-look.C:
		}
		found, skipped, err := discover(p.dir)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			if text := err.Error(); text != unreadable {
				unreadable = text
				p.host.Log().Error("the plugins' folder cannot be read; the plugins stay as they are", "folder", p.dir, "error", err)
			}
			continue
		}
		unreadable = ""
		p.mu.Lock()
		p.missing = err != nil
		p.mu.Unlock()
		p.noteSkipped(skipped)
		p.match(found, last)
		last = found
	}
}

// match starts the plugins of new and changed files, and retires those of removed files.
func (p *Provider) match(found, last []executable) {
	before := map[string]executable{}
	for _, e := range last {
		before[e.name] = e
	}
	there := names(found)
	brought, others := p.locks.follow()
	if others {
		reread(p, there, brought)
	}
	for _, e := range found {
		p.mu.Lock()
		latest, configured := p.latest(e.name), p.given.of(e.name, brought)
		p.mu.Unlock()
		switch {
		case latest != nil && latest.same(e) && latest.configured.equal(configured), !before[e.name].same(e):
		default:
			p.startBeside(newPlugin(e, configured, p))
		}
	}
	p.mu.Lock()
	var gone []*plugin
	for _, by := range []map[string]*plugin{p.current, p.pending} {
		for name, pl := range by {
			if _, lately := before[name]; !lately && !slices.Contains(there, name) {
				delete(by, name)
				gone = append(gone, pl)
			}
		}
	}
	p.mu.Unlock()
	p.removed(gone)
}

// reread sorts the configuration anew for the plugins of the folder and of koan.lock.
func reread(p *Provider, there []string, brought *lock.File) {
	given, err := readConfigurations(p.host.Settings(), p.dir, there, brought)
	if err != nil {
		p.host.Log().Error("the configuration of plugins does not go with koan.lock as it is now; it stays as it was", "error", err)
		return
	}
	p.mu.Lock()
	p.given = given
	p.mu.Unlock()
}

// latest returns the plugin of the latest file of a name, nil if there is none. p.mu is
// held.
func (p *Provider) latest(name string) *plugin {
	if pl := p.pending[name]; pl != nil {
		return pl
	}
	return p.current[name]
}

// startBeside starts a plugin beside the one that it replaces, if there is one.
func (p *Provider) startBeside(pl *plugin) {
	p.mu.Lock()
	earlier := p.pending[pl.name]
	p.pending[pl.name] = pl
	_, replaces := p.current[pl.name]
	p.mu.Unlock()
	if earlier != nil {
		p.retire(earlier)
	}
	pl.log.Info("a plugin was added or changed", "path", pl.path, "replaces", replaces)
	p.begin(pl)
}

// removed retires the plugins of removed files.
func (p *Provider) removed(gone []*plugin) {
	if len(gone) == 0 {
		return
	}
	for _, pl := range gone {
		pl.log.Info("the plugin's file was removed, so the plugin is removed", "path", pl.path)
		p.retire(pl)
	}
	p.changed()
}

// putInPlace offers a plugin that runs instead of the one it replaces. fresh means that
// its operations differ from those that were offered before.
func (p *Provider) putInPlace(pl *plugin, fresh bool) {
	p.mu.Lock()
	var replaced *plugin
	comes := p.pending[pl.name] == pl
	if comes {
		delete(p.pending, pl.name)
		replaced, p.current[pl.name] = p.current[pl.name], pl
	}
	p.mu.Unlock()
	if replaced != nil {
		if changed := changedFunctions(replaced.state().operations, pl.state().operations); len(changed) > 0 {
			pl.log.Warn("functions of the plugin are not what they were; lasting approvals of them have ended", "functions", changed)
		}
		p.retire(replaced)
	}
	if comes || fresh {
		p.changed()
	}
}

// Reload takes new settings of the plugins: each plugin whose settings have changed is
// restarted with them, and the folder is checked again (catalog.Reloadable).
func (p *Provider) Reload(next catalog.Values) (apply func(), err error) {
	found, _, err := discover(p.dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("%s: the folder %s cannot be read: %w", keyDir, p.dir, err)
	}
	brought, err := p.locks.read()
	if err != nil {
		return nil, err
	}
	given, err := readConfigurations(next, p.dir, names(found), brought)
	problems := []error{err}
	for _, pl := range p.offering() {
		if m := pl.state().manifest; m != nil && given[pl.name] != nil {
			_, err := checkSettings(pl.name, m, given[pl.name].given)
			problems = append(problems, err)
		}
	}
	if err := errors.Join(problems...); err != nil {
		return nil, err
	}
	return func() {
		p.mu.Lock()
		p.given = given
		p.mu.Unlock()
		select {
		case p.wake <- struct{}{}:
		default: // it is going to look
		}
	}, nil
}
