package install

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/koan-go/koan/framework/catalog"
	"github.com/koan-go/koan/framework/fault"
)

// store is the file with the servers that were moved out of a client's file. It is one
// that --mcp-config reads; the member koan says how they are returned.
type store struct {
	Servers map[string]json.RawMessage `json:"mcpServers"`
	Koan    moves                      `json:"koan"`
}

type moves struct {
	Format int     `json:"format"`
	Client string  `json:"client"`
	File   string  `json:"file"`
	Entry  string  `json:"entry"` // the one in place of them
	Moved  []piece `json:"moved"`
}

const storeFormat = 1

// storePath is where the servers of a client lie once they are moved.
func (m Machine) storePath(c client) string {
	return filepath.Join(m.programs("koan"), c.id+"-servers.json")
}

// isStoreName reports whether a file is named as the store of the client is, in any folder.
func (p *plan) isStoreName(path string) bool {
	return filepath.Base(path) == filepath.Base(p.Machine.storePath(p.client))
}

// findStore finds the file that the servers of a client were moved to: the one that the
// entry names, wherever it lies, else the one that would be made now.
func (p *plan) findStore(d document) error {
	if p.Dir != "" {
		return nil // a project's servers never move
	}
	for _, one := range d.servers() {
		if one.name != p.Entry.Name {
			continue
		}
		if err := p.namedStore(clientFileOf(one)); err != nil || p.store != nil {
			return err
		}
	}
	f, err := look(p.Machine.storePath(p.client), 0o600)
	if err != nil {
		return err
	}
	p.storeFile = f
	if f.fresh {
		return nil
	}
	s, err := f.store()
	if err != nil {
		return err
	}
	if s.Koan.Entry == p.Entry.Name && s.Koan.File == p.file.path {
		p.store = s
	} else if p.Gateway && !p.Remove {
		return p.behind(s.Koan.Entry)
	}
	return nil
}

// namedStore reads the store that the entry names, if the file is one: it may be somebody's
// own, given with --mcp-config. One that is gone has taken the servers with it, so that the
// entry stays as the only trace of them.
func (p *plan) namedStore(path string) error {
	if !filepath.IsAbs(path) {
		return nil
	}
	f, err := look(path, 0o600)
	if err != nil {
		return err
	}
	if f.fresh && !p.isStoreName(path) {
		return nil
	}
	if f.fresh {
		return fault.Newf(fault.NotFound, "the servers of %s were moved to %s, which is not there", p.title, path).
			WithHint("Nothing was changed. Put that file back, or copy the servers out of a copy of the client's file from before (%s.koan-*), take %q out by hand, and run the command again.", p.file.real, p.Entry.Name)
	}
	var has struct {
		Koan json.RawMessage `json:"koan"`
	}
	if err := json.Unmarshal(f.was, &has); has.Koan == nil && (err == nil || !p.isStoreName(path)) {
		return nil
	}
	s, err := f.store()
	if err != nil {
		return err
	}
	if s.Koan.Client != p.id {
		return nil
	}
	if s.Koan.File != p.file.path { // which was moved, or copied
		_, err := os.Stat(s.Koan.File)
		p.shared = err == nil
	}
	s.Koan.File, s.Koan.Entry = p.file.path, p.Entry.Name
	p.store, p.storeFile = s, f
	return nil
}

// otherGateway returns the name of another entry of this program with a store of the client;
// "" if there is none.
func (p *plan) otherGateway(d document) string {
	for _, one := range d.servers() {
		if one.name != p.Entry.Name && p.starts(one) && p.isStoreName(clientFileOf(one)) {
			return one.name
		}
	}
	return ""
}

// clientFileOf returns the file that a server's arguments name with --mcp-config; "" for none.
func clientFileOf(s server) (path string) {
	args, _ := s.value["args"].([]any)
	for i, arg := range args {
		switch name, value, inline := strings.Cut(fmt.Sprint(arg), "="); {
		case name != "--mcp-config":
		case inline:
			path = value
		case i+1 < len(args):
			path = fmt.Sprint(args[i+1])
		}
	}
	return path
}

// store reads a file as a store.
func (f *file) store() (*store, error) {
	var s store
	if err := json.Unmarshal(f.was, &s); err != nil {
		return nil, damaged(f.path, err)
	}
	if s.Koan.Format != storeFormat {
		return nil, damaged(f.path, fmt.Errorf("it does not say how its servers are returned (koan.format %d)", s.Koan.Format))
	}
	return &s, nil
}

func (s *store) encode() []byte { return []byte(encode(s, "", "  ") + "\n") }

// stay is a server that is left in the client's file, and why.
type stay struct {
	name string
	why  error
}

// gather moves all servers of a document into a store that can be.
func (c client) gather(d document, s *store, entry string, check func(servers []byte) error) (moved []string, stays []stay) {
	all := d.servers()
	behind := map[string]bool{}
	for _, one := range idsFirst(all) {
		if one.name == entry {
			continue
		}
		raw, err := c.gatherOne(one, s, check)
		if err != nil {
			stays = append(stays, stay{one.name, err})
			continue
		}
		s.Servers[one.name] = raw
		behind[one.name] = true
	}
	for _, one := range all { // as they stand, so that each finds its place again
		if behind[one.name] {
			s.Koan.Moved = append(s.Koan.Moved, d.take(one.name)...)
			moved = append(moved, one.name)
		}
	}
	return moved, stays
}

// idsFirst returns the servers whose names are their ids behind the app, then the others: of several with one
// id the app takes the one that is called so, else the first.
func idsFirst(all []server) []server {
	out := slices.Clone(all)
	slices.SortStableFunc(out, func(a, b server) int {
		ownA, ownB := catalog.UpstreamID(a.name) == a.name, catalog.UpstreamID(b.name) == b.name
		switch {
		case ownA == ownB:
			return 0
		case ownA:
			return -1
		}
		return 1
	})
	return out
}

func (c client) gatherOne(one server, s *store, check func([]byte) error) (json.RawMessage, error) {
	if one.fixed != "" {
		return nil, errors.New(one.fixed)
	}
	if _, there := s.Servers[one.name]; there {
		return nil, fmt.Errorf("another server of that name was moved before")
	}
	value, err := c.moved(one.value)
	if err != nil {
		return nil, err
	}
	raw, err := json.Marshal(value)
	if err != nil {
		return nil, err
	}
	with := maps.Clone(s.Servers)
	with[one.name] = raw
	all, err := json.Marshal(map[string]any{"mcpServers": with})
	if err != nil {
		return nil, err
	}
	return raw, check(all)
}

// back puts the servers of a store into a document again.
func (s *store) back(d document) error {
	var twice []string
	for _, one := range d.servers() {
		if slices.ContainsFunc(s.Koan.Moved, func(p piece) bool { return p.Name == one.name }) {
			twice = append(twice, one.name)
		}
	}
	if len(twice) > 0 {
		return fault.Newf(fault.Conflict, "servers that were moved have been added again: %v", twice).
			WithHint("Rename or remove them in %s, and run the command again.", s.Koan.File)
	}
	return d.put(s.Koan.Moved)
}

// differs lists the servers of a store that somebody has added or changed there.
func (s *store) differs(c client) []string {
	original := map[string]json.RawMessage{}
	if d, err := c.open(nil); err == nil && d.put(s.Koan.Moved) == nil {
		for _, one := range d.servers() {
			if v, err := c.moved(one.value); err == nil {
				original[one.name], _ = json.Marshal(v)
			}
		}
	}
	var out []string
	for _, name := range slices.Sorted(maps.Keys(s.Servers)) {
		var now any
		if json.Unmarshal(s.Servers[name], &now) != nil {
			continue
		}
		raw, _ := json.Marshal(now)
		if string(raw) != string(original[name]) {
			out = append(out, name)
		}
	}
	return out
}

// removeFile removes a file that is as it was read.
func (f *file) removeFile() error {
	if err := f.unchanged(); err != nil {
		return err
	}
	if err := os.Remove(f.real); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return cannot("write", f.path, err)
	}
	return nil
}
