// Package manifests keeps on the disk what plugins have said of themselves, so that a start need not wait for a
// plugin whose files it has started before.
//
// What belongs here: the files. Not here: whether a manifest is acceptable, which package plugins checks each
// time that it reads one.
package manifests

import (
	"bytes"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"

	"google.golang.org/protobuf/proto"

	"github.com/koan-go/koan/framework/regular"
	"github.com/koan-go/koan/plugins/internal/wire"
)

// Store is a folder with one file for each plugin. The zero value keeps nothing.
type Store struct{ Dir string }

// kept is the content of a file.
type kept struct {
	Format   int    `json:"format"`
	Digest   string `json:"digest"` // of the plugin's files
	Manifest []byte `json:"manifest"`
	// Salt and Conditions tell whether the plugin started under the same conditions, which have secrets in
	// them: they cannot be read back.
	Salt       []byte `json:"salt"`
	Conditions []byte `json:"conditions"`
}

// format is raised when older files cannot be read any more.
const format = 1

// maxFile bounds a file, in bytes: a manifest in base64, and little else.
const maxFile = 2 * wire.MaxManifestBytes

// Manifest is what a plugin said of itself when it was last started.
type Manifest struct {
	*wire.Manifest
	kept kept
}

// StartedUnder reports whether the plugin started under these conditions.
func (m *Manifest) StartedUnder(conditions []byte) bool {
	return hmac.Equal(m.kept.Conditions, sealed(m.kept.Salt, conditions))
}

// Read returns the manifest of a plugin whose files have a digest; nil where none is kept, or that of other files.
func (s Store) Read(plugin, digest string) (*Manifest, error) {
	if s.Dir == "" || digest == "" {
		return nil, nil
	}
	raw, err := regular.ReadFile(s.path(plugin), maxFile)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	m, err := parse(raw)
	if m == nil || m.kept.Digest != digest {
		return nil, err
	}
	return m, nil
}

// parse reads a file; nil is one of another format.
func parse(raw []byte) (*Manifest, error) {
	m := &Manifest{Manifest: &wire.Manifest{}}
	if err := json.Unmarshal(raw, &m.kept); err != nil || m.kept.Format != format {
		return nil, err
	}
	if err := proto.Unmarshal(m.kept.Manifest, m.Manifest); err != nil {
		return nil, err
	}
	return m, nil
}

// Write keeps the manifest of a plugin that has started. A reader sees the earlier one or this one.
func (s Store) Write(plugin, digest string, m *wire.Manifest, conditions []byte) error {
	if s.Dir == "" || digest == "" {
		return nil
	}
	said, err := proto.MarshalOptions{Deterministic: true}.Marshal(m)
	if err != nil {
		return err
	}
	if old, err := s.Read(plugin, digest); err == nil && old != nil && bytes.Equal(old.kept.Manifest, said) && old.StartedUnder(conditions) {
		return nil
	}
	k := kept{Format: format, Digest: digest, Manifest: said, Salt: make([]byte, sha256.Size)}
	_, _ = rand.Read(k.Salt) // never fails
	k.Conditions = sealed(k.Salt, conditions)
	raw, err := json.Marshal(&k)
	if err != nil {
		return err
	}
	return s.replace(plugin, raw)
}

func (s Store) replace(plugin string, raw []byte) error {
	if err := os.MkdirAll(s.Dir, 0o700); err != nil {
		return err
	}
	f, err := os.CreateTemp(s.Dir, ".manifest-")
	if err != nil {
		return err
	}
	defer os.Remove(f.Name())
	_, err = f.Write(raw)
	if err = errors.Join(err, f.Close()); err != nil {
		return err
	}
	return os.Rename(f.Name(), s.path(plugin))
}

// path is the file of a plugin, whose name is in kebab-case.
func (s Store) path(plugin string) string { return filepath.Join(s.Dir, plugin+".json") }

func sealed(salt, conditions []byte) []byte {
	sum := hmac.New(sha256.New, salt)
	sum.Write(conditions)
	return sum.Sum(nil)
}
