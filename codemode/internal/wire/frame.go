package wire

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"time"
)

// Protocol is the version of the frames. Host and worker are the same build, so
// a difference means that the executable was replaced under a running host.
const Protocol = 8

// Kind says what a frame carries and who sends it.
type Kind byte

const (
	KindReady    Kind = iota + 1 // worker: Ready, once
	KindJob                      // host: Job without its Bindings; the ID is its number in this worker
	KindCall                     // worker: a call (EncodeCall); the id is answered
	KindReturn                   // host: the answer to a call (EncodeReturn)
	KindLog                      // worker: Log
	KindProgress                 // worker: Progress
	KindResult                   // worker: Result, the last frame of a job
	KindProbe                    // host: asks for a self-test of the confinement instead of a job
	KindReport                   // worker: []Check
	KindAccepted                 // worker: the job of that ID has arrived, before anything else of it; what ends it from now on is its own end
	KindStart                    // worker: a call (EncodeCall) whose end it asks for later; not answered
	KindAwait                    // worker: waits for the end of a started call (EncodeAwait); answered by a KindReturn
	KindBindings                 // host: the Bindings of the jobs to come, before the first and where they change

	KindEmit // worker: the JSON of a value that the script emits

	lastKind = KindEmit
)

// Frame is one message between host and worker. ID ties an answer to its call,
// so that several may be under way at once; it is 0 for what is not answered.
// The worker counts calls and started calls apart, each from 1. A KindReturn with
// the ID 0 answers a KindAwait whose time passed before a call ended.
type Frame struct {
	Kind    Kind
	ID      uint32
	Payload []byte
}

// Ready is what a worker says before any untrusted code reaches it.
type Ready struct {
	Protocol  int    `json:"protocol"`
	Build     string `json:"build"`
	Isolation string `json:"isolation"` // "process" or "process+seccomp"
	DataBytes int64  `json:"dataBytes"` // VmData and what the runtime maps by itself; 0 where the system has no such figure
	SizeBytes int64  `json:"sizeBytes"` // VmSize
}

// Progress is SDK.Out.progress.
type Progress struct {
	Done    float64 `json:"done"`
	Total   float64 `json:"total"`
	Message string  `json:"message"`
}

// Check is one finding of a self-test.
type Check struct {
	Name   string `json:"name"`
	OK     bool   `json:"ok"`
	Detail string `json:"detail,omitempty"`
}

const (
	headerBytes = 9 // length, kind, id
	// maxOperation bounds the operation's name in a call, in bytes.
	maxOperation = 512
	// FrameSlack is what a frame may be longer than the JSON inside it.
	FrameSlack = 64 << 10
)

// ErrFrame is what a reader ends in when the other side does not keep to the
// protocol. No frame after it can be trusted.
var ErrFrame = errors.New("wire: broken frame")

// Writer sends frames. It is not safe for concurrent use.
type Writer struct {
	w   io.Writer
	buf []byte
}

// NewWriter returns a Writer that makes one Write call per frame, and for a long frame one
// for each part, which is not copied then.
func NewWriter(w io.Writer) *Writer { return &Writer{w: w} }

// Write sends a frame whose payload is the parts joined.
func (w *Writer) Write(k Kind, id uint32, parts ...[]byte) error {
	n := headerBytes - 4
	for _, p := range parts {
		n += len(p)
	}
	b := binary.BigEndian.AppendUint32(w.buf[:0], uint32(n))
	b = append(b, byte(k))
	b = binary.BigEndian.AppendUint32(b, id)
	if n > FrameSlack {
		parts = append([][]byte{b}, parts...)
		for _, p := range parts {
			if _, err := w.w.Write(p); err != nil {
				return err
			}
		}
		return nil
	}
	for _, p := range parts {
		b = append(b, p...)
	}
	w.buf = b
	_, err := w.w.Write(b)
	return err
}

// WriteJSON sends a frame with the JSON of v.
func (w *Writer) WriteJSON(k Kind, id uint32, v any) error {
	b, err := Marshal(v)
	if err != nil {
		return err
	}
	return w.Write(k, id, b)
}

// Reader receives frames. It is not safe for concurrent use.
type Reader struct {
	r   io.Reader
	max int
}

// NewReader returns a Reader that refuses frames with a payload above max bytes.
func NewReader(r io.Reader, max int) *Reader { return &Reader{r: r, max: max} }

// SetMax changes the bound, in bytes of payload.
func (r *Reader) SetMax(max int) { r.max = max }

// Read returns the next frame; its payload belongs to the caller. It ends in
// io.EOF between two frames, in ErrFrame for a frame that is malformed, cut off
// or too long.
func (r *Reader) Read() (Frame, error) {
	var h [headerBytes]byte
	if n, err := io.ReadFull(r.r, h[:]); err != nil {
		if n == 0 && errors.Is(err, io.EOF) {
			return Frame{}, io.EOF
		}
		return Frame{}, fmt.Errorf("%w: header: %w", ErrFrame, err)
	}
	n := int64(binary.BigEndian.Uint32(h[:4])) - (headerBytes - 4)
	k := Kind(h[4])
	if n < 0 || n > int64(r.max) || k < KindReady || k > lastKind {
		return Frame{}, fmt.Errorf("%w: kind %d with %d bytes", ErrFrame, k, n)
	}
	f := Frame{Kind: k, ID: binary.BigEndian.Uint32(h[5:]), Payload: make([]byte, n)}
	if _, err := io.ReadFull(r.r, f.Payload); err != nil {
		return Frame{}, fmt.Errorf("%w: payload: %w", ErrFrame, err)
	}
	return f, nil
}

// EncodeCall returns the bytes before the input in the payload of a call.
func EncodeCall(operation string) []byte {
	return append(binary.AppendUvarint(nil, uint64(len(operation))), operation...)
}

// DecodeCall reads the payload of a call.
func DecodeCall(payload []byte) (operation string, input json.RawMessage, err error) {
	n, size := binary.Uvarint(payload)
	if size <= 0 || n > maxOperation || n > uint64(len(payload)-size) {
		return "", nil, fmt.Errorf("%w: call", ErrFrame)
	}
	rest := payload[size:]
	return string(rest[:n]), rest[n:], nil
}

// EncodeAwait returns the payload of a KindAwait: how long to wait at most, negative
// for as long as it takes.
func EncodeAwait(most time.Duration) []byte {
	return binary.BigEndian.AppendUint64(nil, uint64(most))
}

// DecodeAwait reads the payload of a KindAwait.
func DecodeAwait(payload []byte) (most time.Duration, err error) {
	if len(payload) != 8 {
		return 0, fmt.Errorf("%w: await", ErrFrame)
	}
	return time.Duration(binary.BigEndian.Uint64(payload)), nil
}

// Status says what a return carries.
type Status byte

const (
	StatusOK    Status = iota // the output
	StatusFault               // a fault that the script may catch
	StatusEnds                // a fault that ends the script (run.Ends)
)

// EncodeReturn returns the bytes before the body in the payload of a return.
// nowMs is the script's clock after the call, in Unix milliseconds.
func EncodeReturn(s Status, nowMs int64) []byte {
	return append(binary.BigEndian.AppendUint64(nil, uint64(nowMs)), byte(s))
}

// DecodeReturn reads the payload of a return.
func DecodeReturn(payload []byte) (s Status, nowMs int64, body json.RawMessage, err error) {
	if len(payload) < 9 || Status(payload[8]) > StatusEnds {
		return 0, 0, nil, fmt.Errorf("%w: return", ErrFrame)
	}
	return Status(payload[8]), int64(binary.BigEndian.Uint64(payload)), payload[9:], nil
}
