package manage

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/koan-go/koan/framework/catalog"
	"github.com/koan-go/koan/plugins/internal/lock"
)

// upgrade is `plugin upgrade`.
func upgrade(ctx context.Context, host catalog.Host, in *catalog.Invocation) (err error) {
	p, err := placeOf(host)
	if err != nil {
		return err
	}
	name := in.Args[0]
	f, err := lock.Read(p.lock)
	if err != nil {
		return err
	}
	was, ok := f.Plugins[name]
	if !ok {
		return notLocked(f, p, name)
	}
	source := p.resolve(was.Source)
	if len(in.Args) > 1 {
		source = in.Args[1]
	}
	s, err := p.stage(ctx, source, name, in)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.discard()) }()
	is, _, err := examine(ctx, host, s, in)
	if err != nil {
		return err
	}
	if is.Source = p.sourceOf(source); samePlace(source, p.find(name)) {
		is.Source = was.Source // the file in its place is what it is to be
	}
	if there, err := lock.Digest(p.find(name)); err == nil && there == is.Digest && was.Has(there) {
		in.Out.Printf("%s %s is there already.\n", name, is.Version)
		return nil
	}
	changes, wider := compare(was, is)
	if len(changes) == 0 && was.Version == is.Version && was.Platform != lock.Platform {
		is = was.With(is.Digest) // the same build for another platform
	}
	in.Out.Printf("%s %s -> %s\n", name, short(was.Version), short(is.Version))
	for _, c := range changes {
		in.Out.Printf("  %s\n", c)
	}
	if len(changes) == 0 {
		in.Out.Printf("  It declares what it did; its files are others.\n")
	}
	if wider {
		in.Out.Printf("Approvals of changed functions that were given for good end.\n")
		if err := agreed(in, "Upgrade it?"); err != nil {
			return err
		}
	}
	if err := p.put(ctx, s, is); err != nil {
		return err
	}
	in.Out.Printf("%s is upgraded. A running app takes it within a few seconds; runs that have begun keep the earlier one.\n", name)
	return nil
}

// compare returns what a build declares otherwise than the one before, in words, and whether anything is wider: a
// function that is new or has other effects, scopes or schemas, or one more operation that it asks to call.
func compare(was, is lock.Entry) (changes []string, wider bool) {
	note := func(wide bool, format string, args ...any) {
		changes, wider = append(changes, fmt.Sprintf(format, args...)), wider || wide
	}
	if was.Contract != is.Contract {
		note(true, "contract version %d -> %d", was.Contract, is.Contract)
	}
	names := map[string]bool{}
	for name := range was.Functions {
		names[name] = true
	}
	for name := range is.Functions {
		names[name] = true
	}
	for _, name := range slices.Sorted(maps.Keys(names)) {
		before, had := was.Functions[name]
		after, has := is.Functions[name]
		switch {
		case !had:
			note(true, "%s is new (%s)", name, after.Effects)
			continue
		case !has:
			note(false, "%s is gone", name)
			continue
		}
		if before.Effects != after.Effects {
			note(true, "%s: effects %s -> %s", name, before.Effects, after.Effects)
		}
		if !slices.Equal(before.Scopes, after.Scopes) {
			note(true, "%s: scopes %s -> %s", name, orNone(before.Scopes), orNone(after.Scopes))
		}
		if before.Input != after.Input {
			note(true, "%s: its input schema is another one", name)
		}
		if before.Output != after.Output {
			note(true, "%s: its output schema is another one", name)
		}
	}
	for _, need := range is.Needs {
		if !slices.Contains(was.Needs, need) {
			note(true, "it asks to call %s", need)
		}
	}
	for _, need := range was.Needs {
		if !slices.Contains(is.Needs, need) {
			note(false, "it does not ask to call %s any more", need)
		}
	}
	for _, key := range is.Settings {
		if !slices.Contains(was.Settings, key) {
			note(false, "a new setting %s", key)
		}
	}
	for _, key := range was.Settings {
		if !slices.Contains(is.Settings, key) {
			note(false, "the setting %s is gone: the app does not start while it is configured", key)
		}
	}
	return changes, wider
}

func orNone(list []string) string {
	if len(list) == 0 {
		return "none"
	}
	return strings.Join(list, " ")
}
