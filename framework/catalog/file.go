package catalog

import (
	"bytes"
	"context"
	"io"

	"github.com/koan-go/koan/framework/auth"
)

// FileMember is the member of an object that stands for a file: its id.
const FileMember = "$file"

// File describes a file that an app keeps.
type File struct {
	ID   string
	Name string // without folders; "" if it has none
	Type string // a media type
	Size int64  // in bytes
}

// Files are the files that an app keeps. It is safe for concurrent use.
type Files interface {
	// Open opens a file for a caller, which closes it. One that the caller may not read is not_found, like
	// one that is not there.
	Open(ctx context.Context, who auth.Principal, id string) (io.ReadSeekCloser, File, error)
	// Create keeps what body has as a file of the caller of the call that ctx belongs to. If the run of that
	// call leaves nothing behind, neither does the file.
	Create(ctx context.Context, who auth.Principal, name, mediaType string, body io.Reader) (File, error)
}

// FileKeeper is a Host whose app keeps files.
type FileKeeper interface {
	// Files returns where they are kept: capability_unsupported where that is nowhere.
	Files() (Files, error)
}

// TakesFiles reports whether an input may name files, which the handler opens, in place of their content.
func (op *Operation) TakesFiles() bool {
	return op.ID.Kind == KindPlugin && bytes.Contains(op.Input, []byte(`"`+FileMember+`"`))
}
