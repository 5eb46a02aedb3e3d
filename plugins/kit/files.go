package kit

import (
	"bufio"
	"context"
	"errors"
	"io"
	"sync"

	"github.com/koan-go/koan/plugins/internal/wire"
)

// File names a file that the app keeps, as the type of a field of an input or output. In an input it is what callers
// send as {"$file": id}, which for a field of another type is replaced by the content in base64. Call.File opens it.
type File struct {
	ID   string `json:"$file"`
	Name string `json:"name,omitempty"`
	Type string `json:"type,omitempty"` // a media type
	Size int64  `json:"size,omitempty"` // in bytes
}

// chunkBytes is how much of a file is read or written at once.
const chunkBytes = wire.MaxChunkBytes / 4

// OpenedFile is a file of the app that a function reads: an io.Reader, io.ReaderAt and io.Seeker. It is read as it
// is needed, so that it may have any size. It ends with the call. ReadAt may be called from several goroutines.
type OpenedFile struct {
	File
	*io.SectionReader
}

// Size returns the size of the file, in bytes.
func (f *OpenedFile) Size() int64 { return f.File.Size }

// File opens a file that the caller may read, by its id. Another one is the fault not_found.
func (c Call) File(ctx context.Context, id string) (*OpenedFile, error) {
	a, err := c.ask(ctx, &wire.Question{Kind: &wire.Question_OpenFile{OpenFile: &wire.OpenFile{File: id}}})
	if err != nil {
		return nil, err
	}
	f := fileOf(a)
	return &OpenedFile{f, io.NewSectionReader(&chunks{ctx: ctx, call: c, id: f.ID}, 0, f.Size)}, nil
}

func fileOf(a *wire.Answer) File {
	f := a.GetFile()
	return File{ID: f.GetFile(), Name: f.GetName(), Type: f.GetMediaType(), Size: f.GetSize()}
}

// chunks reads a file, and keeps the last chunk of small reads.
type chunks struct {
	ctx  context.Context
	call Call
	id   string

	mu   sync.Mutex
	at   int64
	kept []byte
}

// ReadAt implements io.ReaderAt.
func (c *chunks) ReadAt(p []byte, offset int64) (n int, err error) {
	for n < len(p) {
		data, err := c.next(len(p)-n, offset+int64(n))
		if err != nil {
			return n, err
		}
		if len(data) == 0 {
			return n, io.EOF
		}
		n += copy(p[n:], data)
	}
	return n, nil
}

// next returns bytes from an offset on: those that are kept, else as many as are needed or are in a chunk.
func (c *chunks) next(needed int, offset int64) ([]byte, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if from := offset - c.at; from >= 0 && from < int64(len(c.kept)) {
		return c.kept[from:], nil
	}
	length := min(max(needed, chunkBytes), wire.MaxChunkBytes)
	a, err := c.call.ask(c.ctx, &wire.Question{Kind: &wire.Question_ReadFile{ReadFile: &wire.ReadFile{File: c.id, Offset: offset, Length: int32(length)}}})
	if err != nil {
		return nil, err
	}
	c.at, c.kept = offset, a.GetData()
	return c.kept, nil
}

// CreatedFile is a file that a function writes. It is kept when Close has returned without an error.
type CreatedFile struct {
	ctx  context.Context
	call Call
	id   string // in this call
	to   *bufio.Writer
	kept File
	over bool
}

// CreateFile begins a file of the caller's, of any size that the app takes. mediaType may be "", for what the content
// looks like. An output names it by CreatedFile.Handle. A file that is not closed before the function returns is dropped,
// and so are those of a run that leaves nothing behind.
func (c Call) CreateFile(ctx context.Context, name, mediaType string) (*CreatedFile, error) {
	a, err := c.ask(ctx, &wire.Question{Kind: &wire.Question_CreateFile{CreateFile: &wire.CreateFile{Name: name, MediaType: mediaType}}})
	if err != nil {
		return nil, err
	}
	f := &CreatedFile{ctx: ctx, call: c, id: a.GetFile().GetFile()}
	f.to = bufio.NewWriterSize(parts{f}, chunkBytes)
	return f, nil
}

// Write implements io.Writer.
func (f *CreatedFile) Write(p []byte) (int, error) {
	if f.over {
		return 0, errClosed
	}
	return f.to.Write(p)
}

var errClosed = errors.New("the file is closed")

// Close ends the file.
func (f *CreatedFile) Close() error {
	if f.over {
		return errClosed
	}
	f.over = true
	if err := f.to.Flush(); err != nil {
		return err
	}
	a, err := f.call.ask(f.ctx, &wire.Question{Kind: &wire.Question_CloseFile{CloseFile: &wire.CloseFile{File: f.id}}})
	if err != nil {
		return err
	}
	f.kept = fileOf(a)
	return nil
}

// Handle returns what names the file, for an output. It panics before Close has returned without an error: there is
// no such file then.
func (f *CreatedFile) Handle() File {
	if f.kept.ID == "" {
		panic("kit: a file has no handle before it is closed")
	}
	return f.kept
}

// parts sends what is written, in parts that the app takes.
type parts struct{ of *CreatedFile }

func (w parts) Write(p []byte) (n int, err error) {
	for n < len(p) {
		part := p[n:min(n+wire.MaxChunkBytes, len(p))]
		if _, err := w.of.call.ask(w.of.ctx, &wire.Question{Kind: &wire.Question_WriteFile{WriteFile: &wire.WriteFile{File: w.of.id, Data: part}}}); err != nil {
			return n, err
		}
		n += len(part)
	}
	return n, nil
}
