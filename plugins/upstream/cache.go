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

	"github.com/koan-go/koan/framework/journal"
	"github.com/koan-go/koan/framework/regular"
)

// listing is the list of a server's tools, as the server sent it.
type listing struct {
	Format int               `json:"format"`
	About  about             `json:"about"`
	Tools  []json.RawMessage `json:"tools"`
	// Prompts are there if all of them are known.
	Prompts []json.RawMessage `json:"prompts,omitempty"`
	At      time.Time         `json:"at"`
	// Wrong is what is wrong with the list, for people.
	Wrong []string `json:"wrong,omitempty"`
	// Operator says that it is what the operator of this app sees.
	Operator bool `json:"operator,omitempty"`
	// Unusable are the schemas that cannot be used, by digest, and why; nil if nobody has
	// looked. To look takes longer than all the rest of a start.
	Unusable map[string]string `json:"unusable"`
}

// listingFormat is raised when older files cannot be read any more, and when other schemas
// can be used.
const listingFormat = 5

// check finds the schemas that cannot be used.
func (l *listing) check() {
	if l.Unusable != nil {
		return
	}
	l.Unusable = map[string]string{}
	for _, raw := range l.Tools {
		var t tool
		if json.Unmarshal(raw, &t) != nil {
			continue
		}
		for _, schema := range []json.RawMessage{t.InputSchema, t.OutputSchema} {
			if why := unusable(schema); why != "" {
				l.Unusable[journal.Digest(schema)] = why
			}
		}
	}
}

// unusable returns why one of the listing's schemas cannot be used, "" if it can.
func (l *listing) unusable(schema json.RawMessage) string {
	if len(l.Unusable) == 0 {
		return ""
	}
	return l.Unusable[journal.Digest(schema)]
}

func (l *listing) equal(other *listing) bool {
	same := func(a, b json.RawMessage) bool { return bytes.Equal(a, b) }
	return l.About.offered() == other.About.offered() && slices.EqualFunc(l.Tools, other.Tools, same) && slices.EqualFunc(l.Prompts, other.Prompts, same)
}

// with returns the listing with the tools and prompts that another user sees. What both
// have is the operator's, else the later one.
func (l *listing) with(other *listing) *listing {
	out := *l
	out.Unusable = nil
	out.At, out.Tools = other.At, joined(l.Tools, other.Tools, l.Operator)
	out.About.Resources = l.About.Resources || other.About.Resources
	out.About.Prompts = l.About.Prompts || other.About.Prompts
	out.Prompts = joined(l.Prompts, other.Prompts, l.Operator)
	if l.About.Prompts && l.Prompts == nil || other.About.Prompts && other.Prompts == nil {
		out.Prompts = nil // some are not known
	}
	return &out
}

// joined returns the members of both lists, by name. Of two with one name it has the first,
// if keep is set, else the second.
func joined(first, second []json.RawMessage, keep bool) []json.RawMessage {
	out := slices.Clone(first)
	places := map[string]int{}
	for i, raw := range out {
		places[nameOf(raw)] = i
	}
	for _, raw := range second {
		switch i, both := places[nameOf(raw)]; {
		case !both && len(out) < maxTools:
			out = append(out, raw)
		case both && !keep:
			out[i] = raw
		}
	}
	return out
}

// compact returns JSON texts as they are read from the cache again: a listing that was kept
// is equal to the same one of the server, and its schemas have the digests that they had.
func compact(texts []json.RawMessage) []json.RawMessage {
	for i, raw := range texts {
		if shorter, err := json.Marshal(raw); err == nil {
			texts[i] = shorter
		}
	}
	return texts
}

func nameOf(raw json.RawMessage) string {
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

// path is the file of a server. Another command, environment, address or header is another server.
func (c *cache) path(cfg *Config) string {
	what, _ := json.Marshal([]any{cfg.Command, cfg.URL, cfg.Transport, cfg.Dir, cfg.Env, cfg.EnvFile, cfg.Headers}) // texts always encode
	sum := sha256.Sum256(what)
	return filepath.Join(c.dir, cfg.ID+"-"+hex.EncodeToString(sum[:8])+".json")
}

// read returns the listing of a server, nil if there is none.
func (c *cache) read(cfg *Config) (*listing, error) {
	if c.dir == "" {
		return nil, nil
	}
	path := c.path(cfg)
	raw, err := regular.ReadFile(path, maxListing)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
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
