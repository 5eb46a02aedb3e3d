// Package lock holds koan.lock, which says which files the plugins of an app are that were brought
// from elsewhere.
//
// What belongs here: the file's format, and the digest of a plugin. Not here: how a plugin is
// fetched, put into its folder or started.
package lock

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"time"

	"go.yaml.in/yaml/v3"

	"github.com/koan-go/koan/framework/catalog"
	"github.com/koan-go/koan/framework/filelock"
	"github.com/koan-go/koan/framework/regular"
)

// Name is the name of the file, which lies beside the configuration's file.
const Name = "koan.lock"

const (
	format   = 1 // of the file
	maxBytes = 1 << 20
	header   = "# Written by `koan plugin`. Commit it: a start leaves out each plugin below whose file has another digest.\n"
)

// File is what koan.lock says.
type File struct {
	Version int              `yaml:"version"` // of the format
	Plugins map[string]Entry `yaml:"plugins"` // by domain
}

// Entry is one plugin, as it was when a person agreed to it.
type Entry struct {
	Version   string              `yaml:"version"`             // the plugin's own
	Contract  int                 `yaml:"contract"`            // version of the protocol
	Digest    string              `yaml:"digest"`              // "sha256:" and 64 hexadecimal digits
	Platform  string              `yaml:"platform"`            // where it was added, as Platform says it
	Elsewhere map[string]string   `yaml:"elsewhere,omitempty"` // digests of the same version by platform, where they are others
	Source    string              `yaml:"source"`              // the path or URL that it came from
	Functions map[string]Function `yaml:"functions"`
	Settings  []string            `yaml:"settings,omitempty"`
	Needs     []string            `yaml:"needs,omitempty"`
}

// Platform is what programs are built for: "linux/amd64".
const Platform = runtime.GOOS + "/" + runtime.GOARCH

// Has reports whether somebody has agreed to files with a digest, for this platform or another one.
func (e *Entry) Has(digest string) bool {
	if digest == e.Digest {
		return true
	}
	for _, other := range e.Elsewhere {
		if other == digest {
			return true
		}
	}
	return false
}

// With returns the entry of the same version with one more digest, of this platform's files.
func (e *Entry) With(digest string) Entry {
	more := *e
	if e.Platform == Platform {
		more.Digest = digest
		return more
	}
	more.Elsewhere = maps.Clone(e.Elsewhere)
	if more.Elsewhere == nil {
		more.Elsewhere = map[string]string{}
	}
	more.Elsewhere[Platform] = digest
	return more
}

// Function is what a plugin declares of one function. The schemas are the digests of their JSON.
type Function struct {
	Effects string   `yaml:"effects"` // in words: "read", "write, destructive"
	Scopes  []string `yaml:"scopes,omitempty"`
	Input   string   `yaml:"input"`
	Output  string   `yaml:"output"`
}

// Beside returns the path of the lock that belongs to a configuration's file.
func Beside(config string) string { return filepath.Join(filepath.Dir(config), Name) }

// Read reads a lock. Where there is no file, it is empty.
func Read(path string) (*File, error) {
	raw, err := regular.ReadFile(path, maxBytes)
	if errors.Is(err, fs.ErrNotExist) {
		return &File{Version: format}, nil
	}
	if err != nil {
		return nil, err
	}
	f, err := parse(raw)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return f, nil
}

var digestForm = regexp.MustCompile(`^sha256:[0-9a-f]{64}$`)

func parse(raw []byte) (*File, error) {
	var f File
	d := yaml.NewDecoder(bytes.NewReader(raw))
	d.KnownFields(true)
	if err := d.Decode(&f); err != nil && !errors.Is(err, io.EOF) {
		return nil, err
	}
	if f.Version != format {
		return nil, fmt.Errorf("version is %d; this build reads %d", f.Version, format)
	}
	for _, name := range slices.Sorted(maps.Keys(f.Plugins)) {
		if catalog.Kebab(name) != name || name == "" {
			return nil, fmt.Errorf("plugins: %q is not a name in lower-case kebab", name)
		}
		e := f.Plugins[name]
		if !digestForm.MatchString(e.Digest) {
			return nil, fmt.Errorf("plugins.%s.digest: want sha256: and 64 hexadecimal digits", name)
		}
		for platform, digest := range e.Elsewhere {
			if !digestForm.MatchString(digest) {
				return nil, fmt.Errorf("plugins.%s.elsewhere.%s: want sha256: and 64 hexadecimal digits", name, platform)
			}
		}
	}
	return &f, nil
}

// Change reads the lock at path, has change change it, and writes it, whole or not at all. One process
// changes it at a time, others wait until ctx ends.
func Change(ctx context.Context, path string, change func(*File) error) error {
	folder, err := os.Open(filepath.Dir(path))
	if err != nil {
		return err
	}
	defer folder.Close()
	if err := acquire(ctx, folder); err != nil {
		return err
	}
	f, err := Read(path)
	if err != nil {
		return err
	}
	if f.Plugins == nil {
		f.Plugins = map[string]Entry{}
	}
	if err := change(f); err != nil {
		return err
	}
	out := bytes.NewBufferString(header)
	e := yaml.NewEncoder(out)
	e.SetIndent(2)
	if err := errors.Join(e.Encode(f), e.Close()); err != nil {
		return err
	}
	return replace(path, out.Bytes())
}

// acquire takes the lock of a folder, which ends when that is closed.
func acquire(ctx context.Context, folder *os.File) error {
	const pause = 20 * time.Millisecond
	for filelock.Supported {
		held, err := filelock.Try(folder)
		if err != nil || held {
			return err
		}
		select {
		case <-time.After(pause):
		case <-ctx.Done():
			return fmt.Errorf("another process changes %s: %w", Name, context.Cause(ctx))
		}
	}
	return nil
}

// replace replaces a file by one with this content.
func replace(path string, content []byte) (err error) {
	tmp, err := os.CreateTemp(filepath.Dir(path), "."+Name+"-*")
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, os.Remove(tmp.Name()))
		}
	}()
	_, err = tmp.Write(content)
	err = errors.Join(err, tmp.Chmod(0o644), tmp.Sync(), tmp.Close())
	if err != nil {
		return err
	}
	return os.Rename(tmp.Name(), path)
}
