package plugins

import (
	"fmt"

	"github.com/koan-go/koan/framework/catalog"
	"github.com/koan-go/koan/plugins/internal/lock"
)

// keyLocked is whether koan.lock counts.
const keyLocked = "plugins.locked"

// locks is koan.lock of an app: the plugins that `koan plugin add` brought.
type locks struct {
	path     string // "" for an app without a configuration's file, which has none
	settings func() catalog.Values
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

// mismatch says that a plugin's files are not those that koan.lock names.
type mismatch struct {
	refusal
	hint string
}

func (m *mismatch) Unwrap() error { return &m.refusal }

// check returns the digest of a plugin's files, "" where they have none, and refuses one whose files are not those
// that koan.lock names.
func (l *locks) check(e executable) (digest string, err error) {
	digest, unknown := lock.Digest(e.files())
	if l == nil || !l.settings().Bool(keyLocked) { // a Single has none
		return digest, nil
	}
	f, err := l.read()
	if err != nil {
		return "", &refusal{"refused: " + oneLine(err)}
	}
	entry, locked := f.Plugins[e.name]
	switch {
	case !locked || unknown == nil && entry.Has(digest): // it is the app's own, or as agreed to
		return digest, nil
	case unknown != nil:
		return "", &refusal{"refused: its digest is unknown: " + oneLine(unknown)}
	}
	return "", &mismatch{
		refusal: refusal{fmt.Sprintf("left out: %s has the digest %s of version %s for %s, its file has %s", l.path, entry.Digest, entry.Version, entry.Platform, digest)},
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
