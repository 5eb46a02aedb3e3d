package manage

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/koan-go/koan/framework/catalog"
	"github.com/koan-go/koan/framework/fault"
	"github.com/koan-go/koan/framework/journal"
	"github.com/koan-go/koan/plugins"
	"github.com/koan-go/koan/plugins/internal/lock"
	"github.com/koan-go/koan/plugins/internal/plain"
)

// add is `plugin add`.
func add(ctx context.Context, host catalog.Host, in *catalog.Invocation) (err error) {
	p, err := placeOf(host)
	if err != nil {
		return err
	}
	if len(in.Args) == 0 {
		return p.restore(ctx, in)
	}
	s, err := p.stage(ctx, in.Args[0], in.Strings["name"], in)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.discard()) }()
	if err := p.checkFree(s.name); err != nil {
		return err
	}
	entry, d, err := examine(ctx, host, s, in)
	if err != nil {
		return err
	}
	entry.Source = p.sourceOf(in.Args[0])
	show(in.Out, d, entry)
	if err := agreed(in, "Add it?"); err != nil {
		return err
	}
	if err := p.put(ctx, s, entry); err != nil {
		return err
	}
	in.Out.Printf("\n%s %s is in %s, and in %s. A running app takes it within a few seconds.\n", s.name, entry.Version, p.dir, p.lock)
	in.Out.Printf("Its word about its effects is not believed: set plugins.%s.effects, or plugins.%s.trust.\n", s.name, s.name)
	return nil
}

// restore brings the plugins that the lock lists and that are not there, each with a digest that it lists.
func (p place) restore(ctx context.Context, in *catalog.Invocation) error {
	f, err := lock.Read(p.lock)
	if err != nil {
		return err
	}
	var problems []error
	brought := 0
	for _, name := range slices.Sorted(maps.Keys(f.Plugins)) {
		if p.find(name) != "" {
			continue
		}
		e := f.Plugins[name]
		if err := p.bring(ctx, name, e, in); err != nil {
			problems = append(problems, err)
			continue
		}
		brought++
		in.Out.Printf("%s %s is in %s.\n", name, short(e.Version), p.dir)
	}
	if brought == 0 && len(problems) == 0 {
		in.Out.Printf("All plugins of %s are in %s.\n", p.lock, p.dir)
	}
	return errors.Join(problems...)
}

// bring puts a plugin to its place from where it came from.
func (p place) bring(ctx context.Context, name string, e lock.Entry, in *catalog.Invocation) (err error) {
	s, err := p.stage(ctx, p.resolve(e.Source), name, in)
	if err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	defer func() { err = errors.Join(err, s.discard()) }()
	digest, err := lock.Digest(s.path)
	if err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	if !e.Has(digest) {
		return fault.Newf(fault.InvalidPayload, "%s has the digest %s, which %s does not have", e.Source, digest, p.lock).
			WithHint("`koan plugin upgrade %s SOURCE` takes the files of this platform, or another build, and shows what changes.", name)
	}
	return p.move(s)
}

// checkFree refuses a name that a plugin has.
func (p place) checkFree(name string) error {
	f, err := lock.Read(p.lock)
	if err != nil {
		return err
	}
	if _, ok := f.Plugins[name]; ok {
		return fault.Newf(fault.Conflict, "there is a plugin %s already", name).WithRetry(fault.Fix).WithHint("`koan plugin upgrade %s SOURCE` replaces it.", name)
	}
	if there := p.find(name); there != "" {
		return fault.Newf(fault.Conflict, "there is a plugin %s already, the app's own: %s", name, there).WithRetry(fault.Fix).WithHint("Remove it, or give the new one another name.")
	}
	return nil
}

// sourceOf returns a source as the lock has it: a path below the lock's folder relative to that, since others have it
// elsewhere, another one that does not depend on the working directory, and a URL without a password.
func (p place) sourceOf(source string) string {
	if u := address(source); u != nil {
		u.User = nil
		return u.String()
	}
	abs, err := filepath.Abs(source)
	if err != nil {
		return source
	}
	if folder, err := filepath.Abs(filepath.Dir(p.lock)); err == nil {
		if rel, err := filepath.Rel(folder, abs); err == nil && filepath.IsLocal(rel) {
			return filepath.ToSlash(rel)
		}
	}
	return abs
}

// resolve returns where a source of the lock is.
func (p place) resolve(source string) string {
	if address(source) != nil || filepath.IsAbs(source) {
		return source
	}
	return filepath.Join(filepath.Dir(p.lock), filepath.FromSlash(source))
}

// examine checks the digest of a plugin, and has it describe itself.
func examine(ctx context.Context, host catalog.Host, s *staged, in *catalog.Invocation) (lock.Entry, *plugins.Description, error) {
	var e lock.Entry
	digest, err := lock.Digest(s.path)
	if err != nil {
		return e, nil, fault.Newf(fault.InvalidPayload, "%s cannot be added: %v", s.name, err)
	}
	if want := in.Strings[digestFlag.Name]; want != "" && want != digest {
		return e, nil, fault.Newf(fault.InvalidPayload, "%s has the digest %s, not %s", s.name, digest, want).WithHint("It is not the file that was meant: it was not started.")
	}
	options := plugins.SingleOptions{Keys: map[string]string{"isolation": "confined"}, Log: host.Log(), App: "koan plugin", Version: host.Version()}
	if in.Bools[openFlag.Name] {
		options.Keys["isolation"] = "trusted"
	}
	single, err := plugins.StartSingle(ctx, s.path, options)
	if err != nil {
		f := s.notStarted(err)
		if strings.Contains(err.Error(), "cannot be confined") {
			return e, nil, fault.New(fault.PluginUnavailable, oneLine(err)).WithHint("If you trust where it comes from, --%s lets it describe itself nevertheless.", openFlag.Name)
		}
		return e, nil, f
	}
	defer single.Stop()
	d, err := single.Describe(ctx)
	if err != nil {
		return e, nil, s.notStarted(err)
	}
	return entryOf(d, digest), d, nil
}

// notStarted is why a staged plugin does not start. Its hint is about the source, since what is staged is discarded.
func (s *staged) notStarted(err error) error {
	source := s.source
	if address(source) != nil {
		source = "PATH"
	}
	return notStarted(s.name, source, err)
}

func oneLine(err error) string { return plain.Line(err.Error()) }

// entryOf returns a plugin as the lock has it.
func entryOf(d *plugins.Description, digest string) lock.Entry {
	e := lock.Entry{Version: d.Version, Contract: d.Contract, Digest: digest, Platform: lock.Platform, Needs: d.Needs, Functions: map[string]lock.Function{}}
	for _, f := range d.Functions {
		e.Functions[f.Name] = lock.Function{Effects: words(f.Effects), Scopes: f.Scopes, Input: journal.Digest(f.Input), Output: journal.Digest(f.Output)}
	}
	for _, s := range d.Settings {
		e.Settings = append(e.Settings, s.Key)
	}
	return e
}

// words returns effects in words.
func words(e catalog.Effects) string {
	var out []string
	for _, effect := range []struct {
		word string
		has  bool
	}{{"read", e.ReadOnly}, {"destructive", e.Destructive}, {"idempotent", e.Idempotent}, {"outside", e.Outside}} {
		if effect.has {
			out = append(out, effect.word)
		}
	}
	if len(out) == 0 {
		return "changes nothing outside"
	}
	return strings.Join(out, ", ")
}

// put writes the lock, and moves a plugin to its place. In this order no app starts the new files by an old digest.
func (p place) put(ctx context.Context, s *staged, entry lock.Entry) error {
	var before lock.Entry
	var had bool
	err := lock.Change(ctx, p.lock, func(f *lock.File) error {
		before, had = f.Plugins[s.name]
		f.Plugins[s.name] = entry
		return nil
	})
	if err != nil {
		return err
	}
	if err := p.move(s); err != nil {
		return errors.Join(err, lock.Change(context.WithoutCancel(ctx), p.lock, func(f *lock.File) error {
			if f.Plugins[s.name] = before; !had {
				delete(f.Plugins, s.name)
			}
			return nil
		}))
	}
	return nil
}

// move puts what is staged in the place of what is there. A folder cannot replace another one in one step: the
// earlier one is put aside first, and back if the second step fails.
func (p place) move(s *staged) error {
	to := filepath.Join(p.dir, filepath.Base(s.path))
	there := p.find(s.name)
	if there == "" {
		return os.Rename(s.path, to)
	}
	is, err := os.Lstat(s.path)
	if err != nil {
		return err
	}
	was, err := os.Lstat(there)
	if err != nil {
		return err
	}
	if there == to && is.Mode().IsRegular() && !was.IsDir() {
		return os.Rename(s.path, to)
	}
	aside := filepath.Join(s.work, "before")
	if err := os.Rename(there, aside); err != nil {
		return err
	}
	if err := os.Rename(s.path, to); err != nil {
		return errors.Join(err, os.Rename(aside, there))
	}
	return nil
}

// remove is `plugin remove`.
func remove(ctx context.Context, host catalog.Host, in *catalog.Invocation) error {
	p, err := placeOf(host)
	if err != nil {
		return err
	}
	name := in.Args[0]
	f, err := lock.Read(p.lock)
	if err != nil {
		return err
	}
	if _, ok := f.Plugins[name]; !ok {
		return notLocked(f, p, name)
	}
	if there := p.find(name); there != "" {
		if err := os.RemoveAll(there); err != nil {
			return err
		}
	}
	if err := lock.Change(ctx, p.lock, func(f *lock.File) error { delete(f.Plugins, name); return nil }); err != nil {
		return err
	}
	in.Out.Printf("%s is removed. A running app stops it within a few seconds.\n", name)
	return nil
}

// notLocked is the fault of a name that the lock does not have.
func notLocked(f *lock.File, p place, name string) error {
	if there := p.find(name); there != "" {
		return fault.Newf(fault.InvalidPayload, "%s is not in %s: it is the app's own", name, p.lock).WithHint("Build, replace or delete %s itself.", there)
	}
	var known []string
	for k := range f.Plugins {
		known = append(known, k)
	}
	return fault.Newf(fault.NotFound, "there is no plugin %s in %s%s", name, p.lock, fault.DidYouMean(name, known)).WithHint("`koan plugin list` shows those that there are.")
}
