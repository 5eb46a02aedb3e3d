// Package files keeps files that callers upload and that scripts create.
//
// What belongs here: the bytes of files, what is known of each, who may read them, and how
// long they are kept. Not here: what a file means to an app, or SQL.
package files

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"hash"
	"io"
	"io/fs"
	"os"
	"strings"
	"sync"
	"syscall"
	"time"
	"unicode/utf8"

	"github.com/koan-go/koan/framework/auth"
	"github.com/koan-go/koan/framework/fault"
	"github.com/koan-go/koan/framework/internal/files/blob"
)

// File is what callers learn of a file (CONTRACT section 11).
type File struct {
	ID     string `json:"id"`
	SHA256 string `json:"sha256"` // in hex
	Size   int64  `json:"size"`   // in bytes
	Type   string `json:"type"`   // a media type
	Name   string `json:"name"`   // without folders; "" if it has none
}

// record is what the store knows of a file: a file of JSON beside the others.
type record struct {
	File
	Set   string    `json:"set"`
	Owner string    `json:"owner"` // the subject who made it
	At    time.Time `json:"at"`
}

// ReadScope lets a caller read the files of others, in the sets that it may use.
const ReadScope = "files:read"

// Store keeps files: their bytes by hash, so that equal ones are kept once, and a record of each.
// Several servers may share the blobs that it keeps them in. Its methods may be called from several
// goroutines.
type Store struct {
	blobs   blob.Store
	limits  Limits
	quota   quota
	clock   func() time.Time
	kept    keptHashes
	uploads sync.Map     // the ids of uploads with a key that are under way here
	keeping sync.RWMutex // held while bytes get their record; to write, while bytes without one are deleted
}

// Where blobs are.
const (
	recordFolder = "records/" // ID.json
	dataFolder   = "data/"    // the first two digits of the hash, then the hash
	usedFolder   = "used/"    // ID, of files that a row may name: they are kept for good
	runsFolder   = "runs/"    // RUN/ID, of files that a run refers to: kept as long as it is
	plansFolder  = "plans/"   // SECONDS/ID, of files that a plan refers to: kept until then, in Unix time
)

// New returns a store in blobs.
func New(blobs blob.Store, limits Limits) *Store {
	return &Store{blobs: blobs, limits: limits, quota: quota{uploading: map[string]int64{}}, clock: time.Now, kept: keptHashes{}}
}

// Upload is a file to be kept.
type Upload struct {
	Name, Type string // as the caller says; Type may be ""
	Set        string
	Owner      string
	Body       io.Reader
	// Key makes the upload happen once: another one of the same owner with this key is the
	// first one again, or a conflict if it is another file. "" is none.
	Key string
}

// IDPrefix begins the id of every file.
const IDPrefix = "file_"

// idDigits is the length of an id behind its prefix.
const idDigits = 32

// IsID reports whether a text can be the id of a file.
func IsID(id string) bool {
	rest, ok := strings.CutPrefix(id, IDPrefix)
	if !ok || len(rest) != idDigits {
		return false
	}
	return strings.Trim(rest, "0123456789abcdef") == ""
}

// keyedID returns the id of the file that somebody uploads under an idempotency key.
func keyedID(owner, key string) string {
	sum := sha256.Sum256([]byte(owner + "\x00" + key))
	return IDPrefix + hex.EncodeToString(sum[:idDigits/2])
}

// newID is not to be guessed.
func newID() string {
	var b [idDigits / 2]byte
	_, _ = rand.Read(b[:]) // never fails
	return IDPrefix + hex.EncodeToString(b[:])
}

// Put keeps a file. Its bytes are stored for good when it returns, and nothing is kept when it
// fails: with call_too_large for a file larger than the store takes, with conflict for another file
// under a key that is taken, and with in_progress while a file under the same key is on its way, and with rate_limited or
// service_unavailable where the limits leave no room for it.
func (s *Store) Put(ctx context.Context, u Upload) (File, error) {
	name, err := validName(u.Name)
	if err != nil {
		return File{}, err
	}
	id := newID()
	if u.Key != "" {
		id = keyedID(u.Owner, u.Key)
		if _, busy := s.uploads.LoadOrStore(id, true); busy {
			return File{}, fault.New(fault.InProgress, "an upload with this idempotency key is under way").WithPath("/idempotencyKey")
		}
		defer s.uploads.Delete(id)
		if kept, err := s.record(ctx, id); !errors.Is(err, fs.ErrNotExist) { // also where there is no room for another one
			return s.compare(ctx, u, name, kept, err)
		}
	}
	room, err := s.reserve(ctx, u.Owner)
	if err != nil {
		return File{}, broken(err)
	}
	var kept *record
	defer func() { room.end(kept) }()
	f, err := s.blobs.Spool()
	if err != nil {
		return File{}, broken(err)
	}
	defer blob.Discard(f)
	r, err := s.take(ctx, u, room, f)
	if err != nil {
		return File{}, err
	}
	r.ID, r.Name = id, name
	if u.Key != "" {
		if there, err := s.record(ctx, r.ID); !errors.Is(err, fs.ErrNotExist) {
			return r.sameAs(there, err)
		}
	}
	if err := s.keep(ctx, f, r); err != nil {
		return File{}, broken(err)
	}
	kept = r
	return r.File, nil
}

// take reads the body of an upload into a file, and into room before.
func (s *Store) take(ctx context.Context, u Upload, room, into io.Writer) (*record, error) {
	w := &writer{to: into, sum: sha256.New()}
	switch n, err := io.Copy(io.MultiWriter(room, w), io.LimitReader(&reader{ctx, u.Body}, s.limits.File+1)); {
	case w.failed != nil:
		return nil, broken(w.failed)
	case err != nil:
		return nil, err
	case n > s.limits.File:
		return nil, s.TooLarge()
	}
	return &record{
		File: File{SHA256: hex.EncodeToString(w.sum.Sum(nil)), Size: w.size, Type: mediaType(w.head, u.Type)},
		Set:  u.Set, Owner: u.Owner, At: s.clock().UTC(),
	}, nil
}

// compare returns the file that is kept under the key of an upload; err is that of reading its record.
func (s *Store) compare(ctx context.Context, u Upload, name string, kept *record, err error) (File, error) {
	if err != nil {
		return File{}, broken(err)
	}
	r, err := s.take(ctx, u, io.Discard, io.Discard)
	if err != nil {
		return File{}, err
	}
	r.ID, r.Name = kept.ID, name
	return r.sameAs(kept, nil)
}

// Discard deletes those of some files at once to which nothing refers: a run has created them that
// leaves nothing behind.
func (s *Store) Discard(ctx context.Context, ids []string) error {
	gone := s.quota.forget(ids)
	if len(gone) == 0 {
		return nil
	}
	s.keeping.Lock()
	defer s.keeping.Unlock()
	sums := map[string]bool{}
	for id, e := range gone {
		if err := s.blobs.Delete(ctx, recordName(id)); err != nil {
			return broken(err)
		}
		sums[e.sum] = true
	}
	s.quota.drop(sums)
	err := s.blobs.List(ctx, recordFolder, func(name string, _ time.Time) error {
		id := strings.TrimSuffix(strings.TrimPrefix(name, recordFolder), ".json")
		if len(sums) == 0 || s.quota.knows(id) {
			return nil
		}
		r, err := s.record(ctx, id) // that of another server
		if err == nil {
			delete(sums, r.SHA256)
		} else if !errors.Is(err, fs.ErrNotExist) {
			return err // it may name any bytes
		}
		return nil
	})
	for sum := range sums {
		if err == nil {
			err = s.blobs.Delete(ctx, dataName(sum))
		}
	}
	if err != nil {
		return broken(err)
	}
	return nil
}

// sameAs returns the file that is kept under the key of r, and a conflict if that is another one.
func (r *record) sameAs(kept *record, err error) (File, error) {
	switch {
	case err != nil:
		return File{}, broken(err)
	case kept.File != r.File || kept.Set != r.Set || kept.Owner != r.Owner:
		return File{}, fault.New(fault.Conflict, "this idempotency key belongs to another file").
			WithRetry(fault.Fix).WithHint("Send the original file, or use a new key for another one.").WithPath("/idempotencyKey")
	}
	return kept.File, nil
}

// MaxBytes is how large a file may be.
func (s *Store) MaxBytes() int64 { return s.limits.File }

// DefaultSet is the set of a file that is made where none is named, as everywhere.
const DefaultSet = "default"

// ValidSet reports whether a text can be the name of a set.
func ValidSet(name string) bool {
	return name != "" && len(name) <= 48 && strings.Trim(name, "abcdefghijklmnopqrstuvwxyz0123456789_-") == ""
}

// TooLarge is the fault of a file that is larger than the store takes.
func (s *Store) TooLarge() *fault.Fault {
	return fault.Newf(fault.CallTooLarge, "a file may have at most %d bytes", s.limits.File).WithHint("Send a smaller file, or raise files.maxBytes.")
}

// keep stores the bytes, and then the record, which makes them a file.
func (s *Store) keep(ctx context.Context, from *os.File, r *record) error {
	raw, err := json.Marshal(r)
	if err != nil {
		return err
	}
	s.keeping.RLock()
	defer s.keeping.RUnlock()
	if err := s.blobs.Put(ctx, dataName(r.SHA256), from, r.SHA256); err != nil {
		return err
	}
	if err := s.blobs.Write(ctx, recordName(r.ID), raw); err != nil {
		return err
	}
	// Who collected equal bytes at this moment may not have seen the record.
	if _, err := s.blobs.Written(ctx, dataName(r.SHA256)); err != nil {
		return errors.Join(err, s.blobs.Delete(context.WithoutCancel(ctx), recordName(r.ID)))
	}
	return nil
}

// broken is the fault of a store that cannot be read or written.
func broken(err error) *fault.Fault {
	if errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT) || errors.Is(err, syscall.EFBIG) {
		return fault.New(fault.ServiceUnavailable, "the disk of the files is full").
			WithHint("Free space on the disk of the files' folder (files.dir; with a bucket that of temporary files, TMPDIR).").Because(err)
	}
	f := fault.New(fault.ServiceUnavailable, "the store of files cannot be used").Because(err)
	switch {
	case errors.Is(err, blob.ErrRefused):
		return f.WithRetry(fault.Never).WithHint("The server of the bucket rejects what this app asks of it: its operator looks at files.s3.accessKey and files.s3.secretKey, at what they may do, and at files.s3.region.")
	case errors.Is(err, blob.ErrNoBucket):
		return f.WithRetry(fault.Never).WithHint("The bucket that files.s3.bucket names is not there: the operator of this app creates it.")
	case errors.Is(err, blob.ErrUnreachable):
		return f.WithHint("The server that files.s3.endpoint names does not answer, or broke off. Nothing was half-written: try again.")
	}
	return f
}

func recordName(id string) string { return recordFolder + id + ".json" }
func dataName(sum string) string  { return dataFolder + sum[:2] + "/" + sum }
func usedName(id string) string   { return usedFolder + id }

// UnknownSet is the fault of a file for a set that is not there, or that its maker may not name.
func UnknownSet(set string) *fault.Fault {
	return fault.Newf(fault.UnknownSet, "there is no set %q", fault.Clip(strings.ToValidUTF8(set, "?"), 64))
}

// may reports whether somebody may read a file: who made it, and who may read those of others, in
// sets that it may name.
func may(p auth.Principal, f *record) bool {
	return p.MayName(f.Set) && (f.Owner == p.Subject || p.Has(ReadScope))
}

// Find returns a file. One that its reader may not know is not_found, like one that is not
// there.
func (s *Store) Find(ctx context.Context, p auth.Principal, id string) (File, error) {
	found, err := s.find(ctx, p, id)
	if err != nil {
		return File{}, err
	}
	return found.File, nil
}

func (s *Store) find(ctx context.Context, p auth.Principal, id string) (*record, error) {
	missing := func() *fault.Fault {
		return fault.Newf(fault.NotFound, "there is no file %q", fault.Clip(strings.ToValidUTF8(id, "?"), 64)).
			WithHint("Use an id that POST /api/files or SDK.Files.create returned. What nothing refers to is deleted after a day.")
	}
	if !IsID(id) {
		return nil, missing()
	}
	found, err := s.record(ctx, id)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, missing()
	case err != nil:
		return nil, broken(err)
	case !may(p, found):
		return nil, missing()
	}
	return found, nil
}

// record reads what the store knows of a file: fs.ErrNotExist if there is none.
func (s *Store) record(ctx context.Context, id string) (*record, error) {
	raw, err := s.blobs.Read(ctx, recordName(id))
	if err != nil {
		return nil, err
	}
	var found record
	if err := json.Unmarshal(raw, &found); err != nil || len(found.SHA256) != 2*sha256.Size {
		return nil, fmt.Errorf("the record of %s is damaged: %v", id, err) //nolint:errorlint // it may be nil
	}
	return &found, nil
}

// Open opens a file, which the caller closes.
func (s *Store) Open(ctx context.Context, p auth.Principal, id string) (io.ReadSeekCloser, File, error) {
	found, err := s.Find(ctx, p, id)
	if err != nil {
		return nil, File{}, err
	}
	f, err := s.blobs.Open(ctx, dataName(found.SHA256), found.Size)
	if err != nil {
		return nil, File{}, broken(err)
	}
	return &content{f}, found, nil
}

// content is the content of a file, whose errors are faults.
type content struct{ io.ReadSeekCloser }

func (c *content) Read(p []byte) (int, error) {
	n, err := c.ReadSeekCloser.Read(p)
	if err != nil && !errors.Is(err, io.EOF) {
		err = broken(err)
	}
	return n, err
}

// Bytes returns a file's content, which is at most so long; else it is call_too_large.
func (s *Store) Bytes(ctx context.Context, p auth.Principal, id string, most int64) ([]byte, File, error) {
	f, found, err := s.Open(ctx, p, id)
	if err != nil {
		return nil, File{}, err
	}
	defer f.Close()
	if found.Size > most {
		return nil, File{}, fault.Newf(fault.CallTooLarge, "the file %s has %d bytes; at most %d can be read at once", id, found.Size, most)
	}
	raw, err := io.ReadAll(f)
	if err != nil {
		return nil, File{}, err
	}
	if sum := sha256.Sum256(raw); hex.EncodeToString(sum[:]) != found.SHA256 {
		return nil, File{}, broken(fmt.Errorf("the bytes of %s are not those that were kept", id))
	}
	return raw, found, nil
}

// maxName bounds the name of a file, in bytes.
const maxName = 255

// validName returns a file's name without folders.
func validName(name string) (string, error) {
	if i := strings.LastIndexAny(name, `/\`); i >= 0 {
		name = name[i+1:]
	}
	if len(name) > maxName || !utf8.ValidString(name) || strings.ContainsFunc(name, func(r rune) bool { return r < ' ' || r == 0x7f }) {
		return "", fault.Invalid(fault.Detail{Path: "/name", Message: fmt.Sprintf("must be text of at most %d bytes without control characters", maxName), Expected: "the name of a file"})
	}
	return name, nil
}

// writer writes a file, with its hash and its first bytes.
type writer struct {
	to     io.Writer
	sum    hash.Hash
	head   []byte
	size   int64
	failed error // of the disk, not of who sends the file
}

func (w *writer) Write(p []byte) (int, error) {
	if more := sniffed - len(w.head); more > 0 {
		w.head = append(w.head, p[:min(more, len(p))]...)
	}
	w.sum.Write(p)
	n, err := w.to.Write(p)
	w.size += int64(n)
	w.failed = err
	return n, err
}

// reader ends with its context.
type reader struct {
	ctx context.Context
	of  io.Reader
}

func (r *reader) Read(p []byte) (int, error) {
	if err := r.ctx.Err(); err != nil {
		return 0, err
	}
	return r.of.Read(p)
}
