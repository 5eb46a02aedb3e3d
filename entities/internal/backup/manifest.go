package backup

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/koan-go/koan/framework/database"
	"github.com/koan-go/koan/framework/fault"
)

// form is the version of what a backup is made of.
const form = 1

// manifestFile is written last: a folder without it is not a backup.
const (
	manifestFile = "manifest.json"
	maxManifest  = 256 << 20
)

// manifest says what a backup has.
type manifest struct {
	Koan     int       `json:"koan"` // form
	App      string    `json:"app"`
	Version  string    `json:"version"`
	Database string    `json:"database"`
	Made     time.Time `json:"made"`
	Sets     []string  `json:"sets"`
	Files    []file    `json:"files"`
}

// file is one file of a backup. Its name has slashes, and is below the backup's folder.
type file struct {
	Name   string `json:"name"`
	Size   int64  `json:"size"`
	SHA256 string `json:"sha256"`
}

// decodeManifest reads a manifest that an app may restore, and believes nothing of it.
func decodeManifest(raw []byte, app, keptIn string) (*manifest, error) {
	var m manifest
	in := json.NewDecoder(bytes.NewReader(raw))
	if err := in.Decode(&m); err != nil {
		return nil, brokenFault("its " + manifestFile + " is not JSON").Because(err)
	}
	switch {
	case m.Koan != form:
		return nil, brokenFault(fmt.Sprintf("it has the form %d, and this build reads %d", m.Koan, form))
	case m.App != app:
		return nil, fault.Newf(fault.InvalidRequest, "this is a backup of %s, not of %s", quoted(m.App), quoted(app)).WithHint("Name the folder of a backup of this app.")
	case m.Database != keptIn:
		return nil, fault.Newf(fault.InvalidRequest, "this is a backup of %s, and the data is to be in %s", quoted(m.Database), quoted(keptIn)).
			WithHint("Restore it into a database of its kind. `export` and `import` take rows from one kind to another.")
	}
	there := map[string]bool{}
	for _, f := range m.Files {
		if !filepath.IsLocal(filepath.FromSlash(f.Name)) || f.Name == manifestFile || there[f.Name] || f.Size < 0 {
			return nil, brokenFault("its " + manifestFile + " names a file " + quoted(f.Name))
		}
		there[f.Name] = true
	}
	sets := map[string]bool{}
	for _, set := range m.Sets {
		if !database.ValidSet(set) || sets[set] || !there[setName(set)] {
			return nil, brokenFault("its " + manifestFile + " names a set " + quoted(set))
		}
		sets[set] = true
	}
	for name := range there {
		set, isSet := strings.CutPrefix(strings.TrimSuffix(name, ".db"), setsFolder+"/")
		if isSet && !sets[set] || !isSet && name != ledgerFile && name != keyFile && !strings.HasPrefix(name, filesFolder+"/") {
			return nil, brokenFault("its " + manifestFile + " names a file " + quoted(name))
		}
	}
	return &m, nil
}

// hasFiles reports whether the backup has files of callers.
func (m *manifest) hasFiles() bool {
	for _, f := range m.Files {
		if strings.HasPrefix(f.Name, filesFolder+"/") {
			return true
		}
	}
	return false
}

// quoted bounds what somebody wrote into a file.
func quoted(s string) string { return fmt.Sprintf("%q", fault.Clip(s, 64)) }

func brokenFault(why string) *fault.Fault {
	return fault.New(fault.InvalidRequest, "this backup cannot be restored: "+why).
		WithHint("Nothing was changed. Restore another backup, or copy this one again from where it was made.")
}

// check reads the manifest of a backup, and compares every file with it.
func check(dir, app, keptIn string) (*manifest, error) {
	in, err := os.Open(filepath.Join(dir, manifestFile))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, brokenFault("there is no " + manifestFile + ", which is written last")
	}
	if err != nil {
		return nil, unreadable(err)
	}
	defer in.Close()
	raw, err := io.ReadAll(io.LimitReader(in, maxManifest))
	if err != nil {
		return nil, unreadable(err)
	}
	m, err := decodeManifest(raw, app, keptIn)
	if err != nil {
		return nil, err
	}
	for _, f := range m.Files {
		found, err := measure(dir, f.Name)
		if errors.Is(err, fs.ErrNotExist) {
			return nil, brokenFault(quoted(f.Name) + " is missing")
		}
		if err != nil {
			return nil, unreadable(err)
		}
		if found != f {
			return nil, brokenFault(quoted(f.Name) + " is not what was written")
		}
	}
	return m, nil
}

func unreadable(err error) error {
	return fault.New(fault.ServiceUnavailable, "the backup cannot be read").Because(err)
}

// measure reads a file of a backup.
func measure(dir, name string) (file, error) {
	in, err := os.Open(filepath.Join(dir, filepath.FromSlash(name)))
	if err != nil {
		return file{}, err
	}
	defer in.Close()
	h := sha256.New()
	n, err := io.Copy(h, in)
	return file{Name: name, Size: n, SHA256: hex.EncodeToString(h.Sum(nil))}, err
}

// write writes the manifest, which makes the folder a backup.
func (m *manifest) write(dir string) error {
	raw, err := json.MarshalIndent(m, "", "  ")
	if err != nil {
		return err
	}
	draft := filepath.Join(dir, "."+manifestFile)
	out, err := os.OpenFile(draft, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return err
	}
	_, err = out.Write(append(raw, '\n'))
	if err = errors.Join(err, out.Sync(), out.Close()); err != nil {
		return err
	}
	if err := os.Rename(draft, filepath.Join(dir, manifestFile)); err != nil {
		return err
	}
	return database.SyncFolder(dir)
}
