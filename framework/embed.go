package framework

import (
	"context"
	"io"
	"os"
	"time"

	"github.com/koan-go/koan/framework/internal/config"
	"github.com/koan-go/koan/framework/internal/files"
)

// Source is where the configuration of an app comes from, for New. The later of these count more:
// defaults, File, Env, Flags. The zero value is what Main reads: koan.yaml in the working
// directory, if there is one, and the environment. Whoever sets a field gets what it says and
// nothing else: Source{Env: []string{}} is an app with its defaults alone.
type Source struct {
	// File is the path of a YAML file; "" is none. With Must it has to exist.
	File string
	Must bool
	// Env has variables such as "KOAN_SANDBOX_CPUMS=500", as os.Environ returns them. Others than
	// KOAN_... are ignored.
	Env []string
	// Flags has values by key, written as on the command line: {"sandbox.cpuMs": "500"}.
	Flags map[string]string
	// Defaults replace the defaults of the app.
	Defaults map[string]string
}

// configFile is the file that is read where none is named.
const configFile = "koan.yaml"

// orMain returns the source, or that of Main for the zero value.
func (s Source) orMain() config.Source {
	if s.File == "" && !s.Must && s.Env == nil && s.Flags == nil && s.Defaults == nil {
		s.File, s.Env = configFile, os.Environ()
	}
	return config.Source(s)
}

// Upload is a file to be kept, for FileStore.Put.
type Upload struct {
	// Name is the file's, "" for none; Type its media type, "" for what its content looks like.
	Name, Type string
	// Set is the set that the file belongs to: who may not name it does not find the file. Owner is
	// the subject of who made it.
	Set   string
	Owner string
	// Body is read to its end, at most files.maxBytes.
	Body io.Reader
	// Key makes the upload happen once: another one of the same owner with this key is the first one
	// again, or a conflict if it is another file. "" is none.
	Key string
}

// File is what callers learn of a file.
type File struct {
	ID     string `json:"id"`     // what calls and rows refer to it by
	SHA256 string `json:"sha256"` // in hex
	Size   int64  `json:"size"`   // in bytes
	Type   string `json:"type"`   // a media type
	Name   string `json:"name"`   // without folders; "" if it has none
}

// FileStore keeps an app's files: see Instance.Files. It is safe for concurrent use.
type FileStore struct{ store *files.Store }

// Put keeps a file. Its bytes are stored for good when it returns, and nothing is kept when it fails:
// with call_too_large for a file larger than the store takes, with conflict for another file under a
// key that is taken, and with in_progress while a file under the same key is on its way.
func (s *FileStore) Put(ctx context.Context, u Upload) (File, error) {
	f, err := s.store.Put(ctx, files.Upload(u))
	return File(f), err
}

// Find returns a file. One that its reader may not know is not_found, like one that is not there.
func (s *FileStore) Find(ctx context.Context, p Principal, id string) (File, error) {
	f, err := s.store.Find(ctx, p, id)
	return File(f), err
}

// Open opens a file, which the caller closes.
func (s *FileStore) Open(ctx context.Context, p Principal, id string) (io.ReadSeekCloser, File, error) {
	body, f, err := s.store.Open(ctx, p, id)
	return body, File(f), err
}

// Bytes returns a file's content, which is at most so long; else it is call_too_large.
func (s *FileStore) Bytes(ctx context.Context, p Principal, id string, most int64) ([]byte, File, error) {
	raw, f, err := s.store.Bytes(ctx, p, id, most)
	return raw, File(f), err
}

// MaxBytes is how long a file may be.
func (s *FileStore) MaxBytes() int64 { return s.store.MaxBytes() }

// Collect deletes the files that no row and no run refers to and that are older than unusedFor, as the app
// does by itself after files.unusedHours. It returns how many.
func (s *FileStore) Collect(ctx context.Context, unusedFor time.Duration) (int, error) {
	return s.store.Collect(ctx, unusedFor, nil)
}
