package upstream

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"
)

// listing is the list of a server's tools, as the server sent it.
type listing struct {
	Format int               `json:"format"`
	About  about             `json:"about"`
	Tools  []json.RawMessage `json:"tools"`
	// Prompts are there if all of them are known.
	Prompts []json.RawMessage `json:"prompts,omitempty"`
	At      time.Time         `json:"at"`
	// Operator says that it is what the operator of this app sees.
	Operator bool `json:"operator,omitempty"`
}

// listingFormat is raised when older files cannot be read any more.
const listingFormat = 2

func (l *listing) equal(other *listing) bool {
	same := func(a, b json.RawMessage) bool { return bytes.Equal(a, b) }
	return l.About.offered() == other.About.offered() && slices.EqualFunc(l.Tools, other.Tools, same) && slices.EqualFunc(l.Prompts, other.Prompts, same)
}

// with returns the listing with the tools that another user sees. A tool that both have is
// the operator's, else the later one.
func (l *listing) with(other *listing) *listing {
	out := *l
	out.At, out.Tools = other.At, slices.Clone(l.Tools)
	if !l.Operator {
		out.Prompts = other.Prompts
	}
	places := map[string]int{}
	for i, raw := range out.Tools {
		places[toolName(raw)] = i
	}
	for _, raw := range other.Tools {
		switch i, both := places[toolName(raw)]; {
		case !both && len(out.Tools) < maxTools:
			out.Tools = append(out.Tools, raw)
		case both && !l.Operator:
			out.Tools[i] = raw
		}
	}
	return &out
}

func toolName(raw json.RawMessage) string {
	var t struct {
		Name string `json:"name"`
	}
	_ = json.Unmarshal(raw, &t) // one that cannot be read has no name, and is not offered
	return t.Name
}

// cache keeps listings on the disk, so that a start does not wait for servers.
type cache struct{ dir string } // "" keeps nothing

// maxListing bounds a file, in bytes.
const maxListing = 64 << 20

// path is the file of a server. Another command or address is another server.
func (c *cache) path(cfg *Config) string {
	what, _ := json.Marshal([]any{cfg.Command, cfg.URL, cfg.Transport, cfg.Dir}) // texts always encode
	sum := sha256.Sum256(what)
	return filepath.Join(c.dir, cfg.ID+"-"+hex.EncodeToString(sum[:8])+".json")
}

// read returns the listing of a server, nil if there is none.
func (c *cache) read(cfg *Config) (*listing, error) {
	if c.dir == "" {
		return nil, nil
	}
	path := c.path(cfg)
	info, err := os.Stat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	if info.Size() > maxListing {
		return nil, errors.New(path + " is too large")
	}
	raw, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	var l listing
	if err := json.Unmarshal(raw, &l); err != nil || l.Format != listingFormat {
		return nil, err
	}
	return &l, nil
}

// write keeps a listing. A reader sees the old one or the new one.
func (c *cache) write(cfg *Config, l *listing) error {
	if c.dir == "" {
		return nil
	}
	kept := *l
	kept.Format = listingFormat
	raw, err := json.Marshal(&kept)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(c.dir, 0o700); err != nil {
		return err
	}
	f, err := os.CreateTemp(c.dir, ".listing-")
	if err != nil {
		return err
	}
	defer os.Remove(f.Name())
	_, err = f.Write(raw)
	if cerr := f.Close(); err == nil {
		err = cerr
	}
	if err == nil {
		err = os.Rename(f.Name(), c.path(cfg))
	}
	return err
}
