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

// readStore returns the store of a client; nil if there is none.
func readStore(path string) (*store, *file, error) {
	f, err := look(path, 0o600)
	if err != nil {
		return nil, nil, err
	}
	if f.fresh {
		return nil, f, nil
	}
	var s store
	if err := json.Unmarshal(f.was, &s); err != nil {
		return nil, nil, damaged(path, err)
	}
	if s.Koan.Format != storeFormat {
		return nil, nil, damaged(path, fmt.Errorf("it does not say how its servers are returned (koan.format %d)", storeFormat))
	}
	return &s, f, nil
}

func (s *store) encode() []byte { return []byte(encode(s, "", "  ") + "\n") }

// stay is a server that is left in the client's file, and why.
type stay struct {
	name string
	why  error
}

// gather moves all servers of a document into a store that can be.
func (c client) gather(d document, s *store, entry string, check func(servers []byte) error) (moved []string, stays []stay) {
	for _, one := range d.servers() {
		if one.name == entry {
			continue
		}
		raw, err := c.gatherOne(one, s, check)
		if err != nil {
			stays = append(stays, stay{one.name, err})
			continue
		}
		s.Servers[one.name] = raw
		s.Koan.Moved = append(s.Koan.Moved, d.take(one.name)...)
		moved = append(moved, one.name)
	}
	return moved, stays
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
