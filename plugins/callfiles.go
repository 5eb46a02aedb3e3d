package plugins

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"

	"github.com/koan-go/koan/framework/catalog"
	"github.com/koan-go/koan/framework/fault"
	"github.com/koan-go/koan/plugins/internal/wire"
)

const (
	// maxReaders is how many opened files of a call are kept open; a read of another one opens that again.
	maxReaders = 8
	// maxBegun is how many files a call may write at the same time.
	maxBegun = 16
)

// callFiles are the files that a plugin reads and writes in one call. It is safe for concurrent use.
type callFiles struct {
	ctx  context.Context // of the call
	call catalog.Call
	host catalog.Host

	mu      sync.Mutex
	readers []*fileReader // the last used one last
	begun   map[string]*begunFile
	number  int
	writing sync.WaitGroup
}

// fileReader is an opened file.
type fileReader struct {
	file catalog.File
	mu   sync.Mutex
	body io.ReadSeekCloser
	at   int64
}

// open opens a file, or returns it where it is open.
func (f *callFiles) open(id string) (*fileReader, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if i := slices.IndexFunc(f.readers, func(r *fileReader) bool { return r.file.ID == id }); i >= 0 {
		r := f.readers[i]
		f.readers = append(slices.Delete(f.readers, i, i+1), r)
		return r, nil
	}
	files, err := filesOf(f.host)
	if err != nil {
		return nil, err
	}
	body, file, err := files.Open(f.ctx, f.call.Principal(), id)
	if err != nil {
		return nil, err
	}
	r := &fileReader{file: file, body: body}
	if f.readers = append(f.readers, r); len(f.readers) > maxReaders {
		f.readers[0].close()
		f.readers = slices.Delete(f.readers, 0, 1)
	}
	return r, nil
}

// close closes the file once nobody reads from it.
func (r *fileReader) close() {
	r.mu.Lock()
	defer r.mu.Unlock()
	_ = r.body.Close()
	r.body = nil
}

// errFileClosed is the error of a read from a file that has been closed for others.
var errFileClosed = errors.New("the file has been closed")

// read reads a part of the file, a shorter one at its end.
func (r *fileReader) read(offset int64, length int) ([]byte, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.body == nil {
		return nil, errFileClosed
	}
	if offset >= r.file.Size {
		return nil, nil
	}
	if offset != r.at {
		if _, err := r.body.Seek(offset, io.SeekStart); err != nil {
			return nil, err
		}
	}
	data := make([]byte, min(int64(length), r.file.Size-offset))
	n, err := io.ReadFull(r.body, data)
	if r.at = offset + int64(n); err != nil {
		r.at = -1
		return nil, err
	}
	return data, nil
}

func (f *callFiles) read(q *wire.ReadFile) (data []byte, err error) {
	if q.GetOffset() < 0 || q.GetLength() < 1 || q.GetLength() > wire.MaxChunkBytes {
		return nil, fault.Invalid(fault.Detail{Message: fmt.Sprintf("a part of a file begins at 0 or later, and has 1 to %d bytes", wire.MaxChunkBytes)})
	}
	for range maxReaders {
		r, err := f.open(q.GetFile())
		if err != nil {
			return nil, err
		}
		if data, err = r.read(q.GetOffset(), int(q.GetLength())); !errors.Is(err, errFileClosed) {
			return data, err
		}
	}
	return nil, fault.New(fault.ServiceUnavailable, "too many files are read at the same time")
}

// begunFile is a file that the plugin writes.
type begunFile struct {
	to   *io.PipeWriter
	done chan struct{} // closed when file and err are known
	file catalog.File
	err  error
	last chan struct{} // closed when the last write that was asked for is over
}

// mayCreate returns a fault for a caller that may not create files.
func (f *callFiles) mayCreate() error {
	op := f.call.View().Snapshot().Operation(catalog.PluginID("files", "create"))
	if op == nil {
		return nil // there is nowhere to keep them, which filesOf says
	}
	if missing := f.call.Principal().Missing(op.Needs()); missing != "" {
		return fault.Newf(fault.Forbidden, "the scope %q is missing", missing).WithDetails(map[string]any{"scope": missing})
	}
	return nil
}

// create begins a file, whose id is good for this call.
func (f *callFiles) create(q *wire.CreateFile) (string, error) {
	if err := f.mayCreate(); err != nil {
		return "", err
	}
	files, err := filesOf(f.host)
	if err != nil {
		return "", err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if len(f.begun) >= maxBegun {
		return "", fault.Invalid(fault.Detail{Message: fmt.Sprintf("at most %d files are written at the same time", maxBegun)}).WithHint("Close files that are written.")
	}
	from, to := io.Pipe()
	f.number++
	id := fmt.Sprint("new-", f.number)
	b := &begunFile{to: to, done: make(chan struct{}), last: make(chan struct{})}
	close(b.last)
	f.begun[id] = b
	name, mediaType := strings.ToValidUTF8(q.GetName(), "?"), strings.ToValidUTF8(q.GetMediaType(), "?")
	f.writing.Go(func() {
		defer close(b.done)
		b.err = fault.Guard(func() (err error) {
			b.file, err = files.Create(f.ctx, f.call.Principal(), name, mediaType, from)
			return err
		})
		_ = from.CloseWithError(b.err) // for who writes; nil is io.ErrClosedPipe
	})
	return id, nil
}

// inOrder returns a function that waits until the writes to a file are over that were asked for before, and one
// that lets the next one begin. It is called in the order of the questions.
func (f *callFiles) inOrder(id string) (wait, over func()) {
	f.mu.Lock()
	defer f.mu.Unlock()
	b := f.begun[id]
	if b == nil {
		return func() {}, func() {}
	}
	before, mine := b.last, make(chan struct{})
	b.last = mine
	return func() { <-before }, func() { close(mine) }
}

// find returns a file that is being written; with end that is over.
func (f *callFiles) find(id string, end bool) (*begunFile, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	b := f.begun[id]
	if b == nil {
		return nil, fault.Newf(fault.NotFound, "no file %q is being written in this call", bounded(id, 64))
	}
	if end {
		delete(f.begun, id)
	}
	return b, nil
}

func (f *callFiles) write(q *wire.WriteFile) error {
	if n := len(q.GetData()); n > wire.MaxChunkBytes {
		return fault.Newf(fault.CallTooLarge, "a write to a file has %d bytes; %d are allowed", n, wire.MaxChunkBytes)
	}
	b, err := f.find(q.GetFile(), false)
	if err != nil {
		return err
	}
	_, err = b.to.Write(q.GetData())
	return err
}

// finish ends a file, and returns what is kept.
func (f *callFiles) finish(q *wire.CloseFile) (catalog.File, error) {
	b, err := f.find(q.GetFile(), true)
	if err != nil {
		return catalog.File{}, err
	}
	_ = b.to.Close() // never fails
	<-b.done
	return b.file, b.err
}

// drop drops the files that are not finished. What waits to write to them goes on.
func (f *callFiles) drop() {
	f.mu.Lock()
	defer f.mu.Unlock()
	for id, b := range f.begun {
		_ = b.to.CloseWithError(errConversationOver)
		delete(f.begun, id)
	}
}

// close closes all files, when nothing is asked any more.
func (f *callFiles) close() {
	f.drop()
	f.writing.Wait()
	for _, r := range f.readers {
		r.close()
	}
}

// filesOf returns where an app keeps files.
func filesOf(host catalog.Host) (catalog.Files, error) {
	if k, ok := host.(catalog.FileKeeper); ok {
		return k.Files()
	}
	return nil, fault.New(fault.CapabilityUnsupported, "this app keeps no files")
}

// onWire returns a file as a plugin gets it.
func onWire(id string, file catalog.File) *wire.Answer {
	return &wire.Answer{Result: &wire.Answer_File{File: &wire.File{File: id, Name: file.Name, MediaType: file.Type, Size: file.Size}}}
}
