package conformance

import (
	"encoding/json"
	"fmt"

	"google.golang.org/grpc"

	"github.com/koan-go/koan/framework/fault"
	"github.com/koan-go/koan/plugins/internal/wire"
)

// maxPiece is how many bytes a question may read or write at once.
const maxPiece = 1 << 20

// answering is the host of one call: it has files of its own alone, and no operations.
type answering struct {
	to    grpc.BidiStreamingClient[wire.HostMessage, wire.CallEvent]
	files map[string]*file
}

// file is one that the plugin writes.
type file struct {
	name, mediaType string
	data            []byte
	closed          bool
}

// answer answers a question, and returns its kind, "" for none that this contract has.
func (h *answering) answer(q *wire.Question) (kind string) {
	a := &wire.Answer{Id: q.GetId()}
	switch k := q.GetKind().(type) {
	case *wire.Question_Invoke:
		kind = "invoke"
		refuse(a, fault.Forbidden, fmt.Sprintf("there is no app here that has %s", k.Invoke.GetOperation()))
	case *wire.Question_OpenFile:
		kind = "open file"
		if f := h.files[k.OpenFile.GetFile()]; f != nil && f.closed {
			a.Result = &wire.Answer_File{File: describe(k.OpenFile.GetFile(), f)}
		} else {
			refuse(a, fault.NotFound, "there is no such file")
		}
	case *wire.Question_ReadFile:
		kind = "read file"
		h.read(a, k.ReadFile)
	case *wire.Question_CreateFile:
		kind = "create file"
		id := fmt.Sprintf("file-%d", len(h.files)+1)
		h.files[id] = &file{name: k.CreateFile.GetName(), mediaType: k.CreateFile.GetMediaType()}
		a.Result = &wire.Answer_File{File: describe(id, h.files[id])}
	case *wire.Question_WriteFile:
		kind = "write file"
		h.write(a, k.WriteFile)
	case *wire.Question_CloseFile:
		kind = "close file"
		if f := h.files[k.CloseFile.GetFile()]; f != nil && !f.closed {
			f.closed = true
			a.Result = &wire.Answer_File{File: describe(k.CloseFile.GetFile(), f)}
		} else {
			refuse(a, fault.NotFound, "there is no such file that is written")
		}
	default:
		refuse(a, fault.CapabilityUnsupported, "there is no such question")
	}
	_ = h.to.Send(&wire.HostMessage{Message: &wire.HostMessage_Answer{Answer: a}}) // an ended call needs none
	return kind
}

func (h *answering) read(a *wire.Answer, q *wire.ReadFile) {
	f := h.files[q.GetFile()]
	switch from := q.GetOffset(); {
	case f == nil || !f.closed:
		refuse(a, fault.NotFound, "there is no such file")
	case from < 0 || q.GetLength() < 1 || q.GetLength() > maxPiece:
		refuse(a, fault.InvalidPayload, "offset or length is out of range")
	default:
		size := int64(len(f.data))
		from = min(from, size)
		a.Result = &wire.Answer_Data{Data: f.data[from:min(from+int64(q.GetLength()), size)]}
	}
}

func (h *answering) write(a *wire.Answer, q *wire.WriteFile) {
	const most = 64 << 20
	f := h.files[q.GetFile()]
	switch {
	case f == nil || f.closed:
		refuse(a, fault.NotFound, "there is no such file that is written")
	case len(q.GetData()) > maxPiece || len(f.data)+len(q.GetData()) > most:
		refuse(a, fault.CallTooLarge, "this is too much at once")
	default:
		f.data = append(f.data, q.GetData()...)
	}
}

func describe(id string, f *file) *wire.File {
	return &wire.File{File: id, Name: f.name, MediaType: f.mediaType, Size: int64(len(f.data))}
}

func refuse(a *wire.Answer, code fault.Code, why string) {
	raw, _ := json.Marshal(fault.New(code, why)) // texts
	a.Result = &wire.Answer_Fault{Fault: raw}
}
