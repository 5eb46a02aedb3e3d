package signin

import (
	"bytes"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/rogpeppe/go-internal/lockedfile"

	"github.com/koan-go/koan/framework/regular"
	"github.com/koan-go/koan/framework/seal"
)

// Store keeps sign-ins in files: one for each upstream and user, sealed, that only the user
// of the system can read. Several processes use it at the same time.
type Store struct {
	dir     string // of the files, a folder for each upstream
	keyFile string
	secrets []string // instead of the key in the file
	http    *http.Client
	// Learned gets the tokens and secrets of each sign-in that is read or written, and whose they are, since no text may
	// show them; nil is nobody. It is set before the first.
	Learned func(holder string, secrets ...string)
}

// learn has the secrets of a sign-in known.
func (s *Store) learn(r *Record) {
	if s.Learned != nil && r != nil {
		s.Learned(r.Upstream+"\x00"+r.User, r.Access, r.Refresh, r.Client.Secret)
	}
}

// NewStore makes a store. Files are sealed with the first of the secrets; without one, with
// a random key that is kept in keyFile. dir "" keeps nothing: everybody is signed out.
func NewStore(dir, keyFile string, secrets []string) *Store {
	return &Store{dir: dir, keyFile: keyFile, secrets: secrets, http: newHTTPClient()}
}

const (
	fileFormat = 1
	maxFile    = 256 << 10 // bytes of a file
	lockTime   = time.Minute
	purpose    = "upstream sign-in"
)

// never is when seals of this package expire: tokens have their own end.
var never = time.Date(9999, 1, 1, 0, 0, 0, 0, time.UTC)

// file is what is in a file. The user is there for lists.
type file struct {
	Format int    `json:"format"`
	User   string `json:"user"`
	Sealed string `json:"sealed"`
}

// stem is the path of a user's files, without what they end in.
func (s *Store) stem(upstream, user string) string {
	sum := sha256.Sum256([]byte(user))
	return filepath.Join(s.dir, upstream, hex.EncodeToString(sum[:16]))
}

const suffix = ".json"

// Has reports whether there is a sign-in, of use or not.
func (s *Store) Has(upstream, user string) bool {
	if s.dir == "" {
		return false
	}
	_, err := os.Stat(s.stem(upstream, user) + suffix)
	return !errors.Is(err, fs.ErrNotExist)
}

// read returns a sign-in and the state of its file; nil if there is none. Its errors are
// Needed if the file cannot be opened with this app's key, or is not one.
func (s *Store) read(upstream, user string) (*Record, fs.FileInfo, error) {
	if s.dir == "" {
		return nil, nil, nil
	}
	path := s.stem(upstream, user) + suffix
	raw, info, err := readPrivate(path)
	if err != nil || raw == nil {
		return nil, nil, err
	}
	f, err := decodeFile(raw)
	if err != nil {
		return nil, info, &Needed{Reason: fmt.Sprintf("%s cannot be read: %v", path, err)}
	}
	sealer, err := s.sealer(false)
	if err != nil {
		return nil, info, err
	}
	if sealer == nil {
		return nil, info, &Needed{Reason: "the key of the sign-in is gone: " + s.keyFile}
	}
	plain, err := sealer.Open(f.Sealed, purpose, upstream, user)
	if err != nil {
		return nil, info, &Needed{Reason: "the sign-in was sealed with another key (server.secret, or " + s.keyFile + ")"}
	}
	var r Record
	if err := json.Unmarshal(plain, &r); err != nil {
		return nil, info, &Needed{Reason: path + " cannot be read"}
	}
	s.learn(&r)
	return &r, info, nil
}

func decodeFile(raw []byte) (file, error) {
	var f file
	if err := json.Unmarshal(raw, &f); err != nil {
		return f, errors.New("it is not JSON of this program")
	}
	if f.Format != fileFormat {
		return f, fmt.Errorf("its format is %d, and this build knows %d", f.Format, fileFormat)
	}
	return f, nil
}

// readPrivate reads a file that nobody else may read; nil if there is none.
func readPrivate(path string) ([]byte, fs.FileInfo, error) {
	info, err := os.Stat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, nil, nil
	case err != nil:
		return nil, nil, err
	case !info.Mode().IsRegular() || info.Size() > maxFile:
		return nil, nil, fmt.Errorf("%s is not a file of at most %d bytes", path, maxFile)
	case info.Mode().Perm()&0o077 != 0 && runtime.GOOS != "windows": // which has no such modes
		return nil, nil, fmt.Errorf("%s can be read or written by other users (mode %#o): run chmod 600 on it, and sign in again if somebody may have read it", path, info.Mode().Perm())
	}
	raw, err := regular.ReadFile(path, maxFile)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil, nil
	}
	return raw, info, err
}

// Users returns those who have signed in to an upstream.
func (s *Store) Users(upstream string) ([]string, error) {
	if s.dir == "" {
		return nil, nil
	}
	names, err := filepath.Glob(filepath.Join(escapeGlob(s.dir), upstream, "*"+suffix))
	if err != nil {
		return nil, err
	}
	var out []string
	for _, name := range names {
		raw, _, err := readPrivate(name)
		if err != nil || raw == nil {
			return out, err
		}
		if f, err := decodeFile(raw); err == nil {
			out = append(out, f.User)
		}
	}
	slices.Sort(out)
	return out, nil
}

var globChars = strings.NewReplacer(`\`, `\\`, "*", `\*`, "?", `\?`, "[", `\[`)

func escapeGlob(path string) string {
	if runtime.GOOS == "windows" { // where patterns have no escapes
		return path
	}
	return globChars.Replace(path)
}

// write keeps a sign-in. A reader sees the old file or the new one. The lock is held.
func (s *Store) write(r *Record) (fs.FileInfo, error) {
	s.learn(r)
	plain, err := json.Marshal(r)
	if err != nil {
		return nil, err
	}
	sealer, err := s.sealer(true)
	if err != nil {
		return nil, err
	}
	raw, err := json.Marshal(file{Format: fileFormat, User: r.User, Sealed: sealer.Seal(plain, never, purpose, r.Upstream, r.User)})
	if err != nil {
		return nil, err
	}
	path := s.stem(r.Upstream, r.User) + suffix
	if err := replace(path, raw); err != nil {
		return nil, err
	}
	return os.Stat(path)
}

// replace writes a file that nobody else may read, as a whole.
func replace(path string, raw []byte) error {
	f, err := os.CreateTemp(filepath.Dir(path), ".new-") // of mode 0600
	if err != nil {
		return err
	}
	defer os.Remove(f.Name())
	_, err = f.Write(raw)
	if err == nil {
		err = f.Sync()
	}
	if cerr := f.Close(); err == nil {
		err = cerr
	}
	if err == nil {
		err = os.Rename(f.Name(), path)
	}
	return err
}

// delete forgets a sign-in. The lock is held.
func (s *Store) delete(upstream, user string) error {
	err := os.Remove(s.stem(upstream, user) + suffix)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

// lock excludes other processes, and other goroutines, from changing a sign-in.
func (s *Store) lock(ctx context.Context, upstream, user string) (unlock func(), err error) {
	if s.dir == "" {
		return nil, errors.New("there is no folder to keep sign-ins in")
	}
	stem := s.stem(upstream, user)
	if err := privateFolder(filepath.Dir(stem)); err != nil {
		return nil, err
	}
	return lockFile(ctx, stem+".lock")
}

// lockFile takes the lock of a file within the time of the context.
func lockFile(ctx context.Context, path string) (unlock func(), err error) {
	ctx, cancel := context.WithTimeout(ctx, lockTime)
	defer cancel()
	type taken struct {
		unlock func()
		err    error
	}
	done := make(chan taken, 1)
	go func() {
		f, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o600) // the library would let others read it
		if err != nil {
			done <- taken{nil, err}
			return
		}
		_ = f.Close()
		unlock, err := lockedfile.MutexAt(path).Lock()
		done <- taken{unlock, err}
	}()
	select {
	case t := <-done:
		return t.unlock, t.err
	case <-ctx.Done():
		go func() {
			if t := <-done; t.err == nil {
				t.unlock()
			}
		}()
		return nil, fmt.Errorf("another process holds %s: %w", path, ctx.Err())
	}
}

// privateFolder makes a folder that nobody else may read.
func privateFolder(dir string) error {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	return os.Chmod(dir, 0o700)
}

// sealer returns the sealer of the store; nil if there is no key and none is to be made.
func (s *Store) sealer(create bool) (*seal.Sealer, error) {
	secrets := slices.Clone(s.secrets)
	key, _, err := readPrivate(s.keyFile)
	if err != nil {
		return nil, err
	}
	if key == nil && len(secrets) == 0 && create {
		if key, err = s.makeKey(); err != nil {
			return nil, err
		}
	}
	if key != nil {
		secrets = append(secrets, string(bytes.TrimSpace(key)))
	}
	if len(secrets) == 0 {
		return nil, nil
	}
	sealer, err := seal.New(secrets...)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", s.keyFile, err)
	}
	return sealer, nil
}

// makeKey makes the key, unless another process has just made it.
func (s *Store) makeKey() ([]byte, error) {
	if err := privateFolder(filepath.Dir(s.keyFile)); err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	unlock, err := lockFile(ctx, s.keyFile+".lock")
	if err != nil {
		return nil, err
	}
	defer unlock()
	if key, _, err := readPrivate(s.keyFile); err != nil || key != nil {
		return key, err
	}
	key := []byte(rand.Text() + rand.Text())
	return key, replace(s.keyFile, key)
}
