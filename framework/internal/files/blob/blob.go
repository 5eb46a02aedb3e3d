// Package blob keeps bytes by name: in a folder, or in a bucket of an S3-compatible server.
//
// What belongs here: writing a blob whole or not at all, reading it from any place, listing and
// deleting. Not here: what a blob is for, or who may read it.
package blob

import (
	"context"
	"errors"
	"io"
	"os"
	"time"
)

// Store keeps blobs. Names are paths with slashes. Several processes may use one store, and its
// methods may be called from several goroutines. A blob that is not there is fs.ErrNotExist; the other
// errors are about the store, and may wrap one of those below.
type Store interface {
	// Spool returns an empty file on this machine, for what Put takes. The caller discards it.
	Spool() (*os.File, error)
	// Put stores what a spool file holds, from its beginning, in place of an earlier blob; sum is the
	// hexadecimal SHA-256 of that. The blob is there for good when Put returns nil. A file that was put
	// cannot be put again.
	Put(ctx context.Context, name string, from *os.File, sum string) error
	// Write stores a small blob.
	Write(ctx context.Context, name string, raw []byte) error
	// Read returns a small blob.
	Read(ctx context.Context, name string) ([]byte, error)
	// Open returns a blob of so many bytes for reading, which the caller closes. Errors, that of a blob
	// that is not there included, may come from the first Read only.
	Open(ctx context.Context, name string, size int64) (io.ReadSeekCloser, error)
	// Written returns when a blob was stored.
	Written(ctx context.Context, name string) (time.Time, error)
	// List visits the blobs whose names begin with a prefix that ends in a slash.
	List(ctx context.Context, prefix string, visit func(name string, written time.Time) error) error
	// Delete deletes a blob. It is not an error if there is none.
	Delete(ctx context.Context, name string) error
	// Tidy deletes what unfinished writes left behind before a time.
	Tidy(ctx context.Context, before time.Time) error
	// Check returns why the store cannot be used now.
	Check(ctx context.Context) error
	// String says for people where the store is.
	String() string
}

// What keeps a store from being used.
var (
	ErrRefused     = errors.New("the server rejects the request")
	ErrNoBucket    = errors.New("there is no such bucket")
	ErrUnreachable = errors.New("the server does not answer")
)

// maxSmall bounds what Read reads, in bytes.
const maxSmall = 64 << 10

// Discard closes and removes a spool file.
func Discard(f *os.File) {
	_ = f.Close()
	_ = os.Remove(f.Name()) // it is gone if it was put into a folder
}
