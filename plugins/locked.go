package plugins

import (
	"fmt"
	"maps"

	"github.com/koan-go/koan/framework/catalog"
	"github.com/koan-go/koan/plugins/internal/lock"
)

// keyLocked is whether koan.lock counts.
const keyLocked = "plugins.locked"

// locks is koan.lock of an app: the plugins that `koan plugin add` brought.
type locks struct {
	path     string // "" for an app without a configuration's file, which has none
	settings func() catalog.Values
	last     *lock.File // when the configuration was read; followed by one goroutine
}

func newLocks(host catalog.Host) *locks {
	l := &locks{settings: host.Settings}
	if file := host.ConfigFile(); file != "" {
		l.path = lock.Beside(file)
	}
	return l
}

// read returns what the file says now.
func (l *locks) read() (*lock.File, error) {
	if l.path == "" {
		return &lock.File{}, nil
	}
	return lock.Read(l.path)
}

// follow returns what the file says now, and whether it lists other plugins than before: those that it does not list
// are the app's own, and believed.
func (l *locks) follow() (brought *lock.File, others bool) {
	brought, err := l.read()
	if err != nil {
		return &lock.File{}, false // no plugin starts with it
	}
	others = !maps.EqualFunc(brought.Plugins, l.last.Plugins, func(lock.Entry, lock.Entry) bool { return true })
	l.last = brought
	return brought, others
}

// mismatch says that a plugin's files are not those that koan.lock names.
type mismatch struct {
	refusal
	hint string
}

func (m *mismatch) Unwrap() error { return &m.refusal }

// check refuses a plugin whose files are not those that koan.lock names. digest waits for the digest of the files, ""
// where they have none: that of a plugin which koan.lock does not name is computed while it starts.
func (l *locks) check(e executable) (digest func() string, err error) {
	if l == nil { // of a Single, which nobody asks for it
		return func() string { return "" }, nil
	}
	f := &lock.File{}
	if l.settings().Bool(keyLocked) {
		if f, err = l.read(); err != nil {
			return nil, &refusal{"refused: " + oneLine(err)}
		}
	}
	entry, locked := f.Plugins[e.name]
	if !locked { // it is the app's own
		computed := make(chan string, 1)
		go func() {
			d, _ := lock.Digest(e.files()) // a folder with links out of it has none
			computed <- d
		}()
		return func() string { return <-computed }, nil
	}
	d, err := lock.Digest(e.files())
	if err != nil {
		return nil, &refusal{"refused: its digest is unknown: " + oneLine(err)}
	}
	if entry.Has(d) {
		return func() string { return d }, nil
	}
	return nil, &mismatch{
		refusal: refusal{fmt.Sprintf("left out: %s has the digest %s of version %s for %s, its file has %s", l.path, entry.Digest, entry.Version, entry.Platform, d)},
		hint:    fmt.Sprintf("If the file is the right one, `koan plugin upgrade %s %s` shows what changes and writes its digest; otherwise put the earlier file back, or remove the plugin with `koan plugin remove %s`.", e.name, e.files(), e.name),
	}
}

// missing returns a check for each plugin of the lock that has no file.
func (l *locks) missing(dir string, checks []catalog.Check) (out []catalog.Check) {
	f, err := l.read()
	if err != nil {
		return []catalog.Check{{Name: lock.Name, Detail: oneLine(err), Hint: "Restore the file from version control."}}
	}
	there := map[string]bool{}
	for _, c := range checks {
		there[c.Name] = true
	}
	for name, entry := range f.Plugins {
		if there[checkName(name)] {
			continue
		}
		out = append(out, catalog.Check{
			Name: checkName(name), Detail: fmt.Sprintf("%s lists it, but there is no such plugin in %s", l.path, dir),
			Hint: fmt.Sprintf("`koan plugin add` brings what is missing (version %s came from %s); `koan plugin remove %s` removes it.", entry.Version, entry.Source, name),
		})
	}
	return out
}
