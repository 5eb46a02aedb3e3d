// Package memory answers what plugins ask during their calls, without an app: from files in memory and from
// functions that stand for operations.
//
// What belongs here: the answers, by the rules of the protocol. Not here: how a plugin is started or called.
package memory

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"sync"

	"github.com/koan-go/koan/framework/fault"
	"github.com/koan-go/koan/plugins/internal/wire"
)

// maxFile bounds one file, in bytes.
const maxFile = 256 << 20

// Operation stands for an operation of an app. What it returns becomes JSON; its error reaches the plugin as a fault.
type Operation func(ctx context.Context, input json.RawMessage) (any, error)

// Host answers questions. It is safe for concurrent use.
type Host struct {
	// Operations are what the plugin may invoke, by id.
	Operations map[string]Operation

	mu    sync.Mutex
	files map[string]*File
}

// File is a file of the host.
type File struct {
	Name, Type string
	Data       []byte
	open       bool // it is being written
}

// AddFile keeps a file, and returns its id. Without mediaType the content tells it.
func (h *Host) AddFile(name, mediaType string, data []byte) string {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.add(&File{Name: name, Type: mediaTypeOf(mediaType, data), Data: slices.Clone(data)})
}

func mediaTypeOf(told string, data []byte) string {
	if told == "" {
		return http.DetectContentType(data)
	}
	return told
}

func (h *Host) add(f *File) string {
	if h.files == nil {
		h.files = map[string]*File{}
	}
	id := fmt.Sprintf("file-%d", len(h.files)+1)
	h.files[id] = f
	return id
}

// File returns a file that is complete.
func (h *Host) File(id string) (f File, ok bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if f := h.files[id]; f != nil && !f.open {
		return File{Name: f.Name, Type: f.Type, Data: slices.Clone(f.Data)}, true
	}
	return f, false
}

// Answer answers a question, and returns its kind, "" for none that the protocol has.
func (h *Host) Answer(ctx context.Context, q *wire.Question) (kind string, a *wire.Answer) {
	a = &wire.Answer{Id: q.GetId()}
	var err error
	switch k := q.GetKind().(type) {
	case *wire.Question_Invoke:
		kind, err = "invoke", h.invoke(ctx, a, k.Invoke)
	case *wire.Question_OpenFile:
		kind, err = "open file", h.open(a, k.OpenFile.GetFile())
	case *wire.Question_ReadFile:
		kind, err = "read file", h.read(a, k.ReadFile)
	case *wire.Question_CreateFile:
		kind, err = "create file", h.create(a, k.CreateFile)
	case *wire.Question_WriteFile:
		kind, err = "write file", h.write(k.WriteFile)
	case *wire.Question_CloseFile:
		kind, err = "close file", h.close(a, k.CloseFile.GetFile())
	default:
		err = fault.New(fault.CapabilityUnsupported, "there is no such question")
	}
	if err != nil {
		raw, _ := json.Marshal(fault.From(err)) // texts
		a.Result = &wire.Answer_Fault{Fault: raw}
	}
	return kind, a
}

func (h *Host) invoke(ctx context.Context, a *wire.Answer, q *wire.Invoke) error {
	operation := h.Operations[q.GetOperation()]
	if operation == nil {
		return fault.Newf(fault.Forbidden, "%s is not granted", q.GetOperation())
	}
	out, err := operation(ctx, q.GetInput())
	if err != nil {
		return err
	}
	raw, err := json.Marshal(out)
	a.Result = &wire.Answer_Output{Output: raw}
	return err
}

// find returns a file that is complete, or one that is being written.
func (h *Host) find(id string, open bool) (*File, error) {
	if f := h.files[id]; f != nil && f.open == open {
		return f, nil
	}
	return nil, fault.Newf(fault.NotFound, "there is no file %q", id)
}

func (h *Host) open(a *wire.Answer, id string) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	f, err := h.find(id, false)
	if err == nil {
		a.Result = &wire.Answer_File{File: f.described(id)}
	}
	return err
}

func (f *File) described(id string) *wire.File {
	return &wire.File{File: id, Name: f.Name, MediaType: f.Type, Size: int64(len(f.Data))}
}

func (h *Host) read(a *wire.Answer, q *wire.ReadFile) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	f, err := h.find(q.GetFile(), false)
	if err != nil {
		return err
	}
	from, length := q.GetOffset(), int64(q.GetLength())
	if from < 0 || length < 1 || length > wire.MaxChunkBytes {
		return fault.Newf(fault.InvalidPayload, "offset %d or length %d is out of range", from, length)
	}
	size := int64(len(f.Data))
	from = min(from, size)
	a.Result = &wire.Answer_Data{Data: slices.Clone(f.Data[from:min(from+length, size)])}
	return nil
}

func (h *Host) create(a *wire.Answer, q *wire.CreateFile) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	f := &File{Name: q.GetName(), Type: q.GetMediaType(), open: true}
	id := h.add(f)
	a.Result = &wire.Answer_File{File: f.described(id)}
	return nil
}

func (h *Host) write(q *wire.WriteFile) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	f, err := h.find(q.GetFile(), true)
	if err != nil {
		return err
	}
	if len(q.GetData()) > wire.MaxChunkBytes || len(f.Data)+len(q.GetData()) > maxFile {
		return fault.New(fault.CallTooLarge, "this is too much at once")
	}
	f.Data = append(f.Data, q.GetData()...)
	return nil
}

func (h *Host) close(a *wire.Answer, id string) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	f, err := h.find(id, true)
	if err != nil {
		return err
	}
	f.open, f.Type = false, mediaTypeOf(f.Type, f.Data)
	a.Result = &wire.Answer_File{File: f.described(id)}
	return nil
}
