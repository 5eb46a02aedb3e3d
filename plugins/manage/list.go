package manage

import (
	"context"
	"errors"
	"io/fs"
	"maps"
	"os"
	"slices"
	"strings"

	"github.com/koan-go/koan/framework/catalog"
	"github.com/koan-go/koan/plugins"
	"github.com/koan-go/koan/plugins/internal/lock"
	"github.com/koan-go/koan/plugins/internal/plain"
)

// show prints what a plugin would be able to do.
func show(to catalog.Printer, d *plugins.Description, e lock.Entry) {
	to.Printf("%s %s: %s\n", d.Domain, d.Version, short(d.About))
	to.Printf("  from    %s\n  digest  %s\n\n", e.Source, e.Digest)
	rows := [][]catalog.Cell{{{Text: "function", Mood: catalog.Faint}, {Text: "says it", Mood: catalog.Faint}, {Text: "scopes", Mood: catalog.Faint}, {}}}
	for _, f := range d.Functions {
		rows = append(rows, []catalog.Cell{{Text: f.Name}, {Text: e.Functions[f.Name].Effects}, {Text: strings.Join(f.Scopes, " ")}, {Text: short(f.Summary), Mood: catalog.Faint}})
	}
	to.Table(rows)
	if len(d.Settings) > 0 {
		rows = [][]catalog.Cell{{{Text: "\nsetting", Mood: catalog.Faint}, {}, {}}}
		for _, s := range d.Settings {
			kind := s.Default
			if s.Secret {
				kind = "secret"
			}
			rows = append(rows, []catalog.Cell{{Text: s.Key}, {Text: short(kind)}, {Text: short(s.Help), Mood: catalog.Faint}})
		}
		to.Table(rows)
	}
	if len(d.Needs) > 0 {
		to.Printf("\nIt asks to call %s (plugins.%s.grants).\n", strings.Join(d.Needs, ", "), d.Domain)
	}
}

// short is a stranger's text on one line, of a length that fits a table.
func short(text string) string {
	const most = 200
	if text = plain.Line(text); len(text) > most {
		text = strings.ToValidUTF8(text[:most], "") + "…"
	}
	return text
}

// list is `plugin list`.
func list(_ context.Context, host catalog.Host, in *catalog.Invocation) error {
	p, err := placeOf(host)
	if err != nil {
		return err
	}
	f, err := lock.Read(p.lock)
	if err != nil {
		return err
	}
	own, err := p.own(f)
	if err != nil {
		return err
	}
	rows := [][]catalog.Cell{{{Text: "plugin", Mood: catalog.Faint}, {Text: "version", Mood: catalog.Faint}, {Text: "files", Mood: catalog.Faint}, {Text: "from", Mood: catalog.Faint}}}
	for _, name := range slices.Sorted(maps.Keys(f.Plugins)) {
		e := f.Plugins[name]
		state := p.state(name, e)
		rows = append(rows, []catalog.Cell{{Text: name}, {Text: short(e.Version)}, state, {Text: short(e.Source), Mood: catalog.Faint}})
	}
	for _, name := range own {
		rows = append(rows, []catalog.Cell{{Text: name}, {Text: "-"}, {Text: "the app's own"}, {Text: p.find(name), Mood: catalog.Faint}})
	}
	if len(rows) == 1 {
		in.Out.Printf("There are no plugins in %s.\n", p.dir)
		return nil
	}
	in.Out.Table(rows)
	return nil
}

// state says whether the files of a plugin are those of the lock.
func (p place) state(name string, e lock.Entry) catalog.Cell {
	there := p.find(name)
	if there == "" {
		return catalog.Cell{Text: "missing", Mood: catalog.Bad}
	}
	switch digest, err := lock.Digest(there); {
	case err != nil:
		return catalog.Cell{Text: oneLine(err), Mood: catalog.Bad}
	case !e.Has(digest):
		return catalog.Cell{Text: "not those of koan.lock", Mood: catalog.Bad}
	}
	return catalog.Cell{Text: "as locked", Mood: catalog.Good}
}

// own returns the plugins of the folder that the lock does not have.
func (p place) own(f *lock.File) (out []string, err error) {
	names, err := plugins.Names(p.dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	for _, name := range names {
		if _, locked := f.Plugins[name]; !locked {
			out = append(out, name)
		}
	}
	return out, err
}

// samePlace reports whether two paths name one file or folder.
func samePlace(a, b string) bool {
	x, err := os.Stat(a)
	y, err2 := os.Stat(b)
	return err == nil && err2 == nil && os.SameFile(x, y)
}
