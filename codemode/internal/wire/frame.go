package wire

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"time"
)

// Protocol is the version of the frames. Host and worker are of the same build, so a
// difference means that the executable was replaced while the host was running.
const Protocol = 8

// Kind is what a frame carries. The comments say who sends it.
type Kind byte

const (
	KindReady    Kind = iota + 1 // worker: Ready, once
	KindJob                      // host: Job without its Bindings; the ID is its number in this worker
	KindCall                     // worker: a call (EncodeCall), answered by a KindReturn with its ID
	KindReturn                   // host: the answer to a call (EncodeReturn)
	KindLog                      // worker: Log
	KindProgress                 // worker: Progress
	KindResult                   // worker: Result, the last frame of a job
	KindProbe                    // host: a self-test of the confinement instead of a job
	KindReport                   // worker: []Check
	KindAccepted                 // worker: the job with that ID has arrived, the first frame of a job; from now on it cannot be given to another worker
	KindStart                    // worker: a call (EncodeCall) to be awaited later; not answered
	KindAwait                    // worker: waits for the end of a started call (EncodeAwait); answered by a KindReturn
	KindBindings                 // host: the Bindings of the following jobs, before the first and whenever they change

	KindEmit // worker: the JSON of a value that the script emits

	lastKind = KindEmit
)

// Frame is one message between host and worker. ID relates a reply to its call, so that several
// can be in flight; it is 0 for frames without a reply. The worker numbers calls and started
// calls separately, each from 1. A KindReturn with the ID 0 answers a KindAwait whose time
// passed before a call ended.
type Frame struct {
	Kind    Kind
	ID      uint32
	Payload []byte
}

// Ready is a worker's first frame, sent before any untrusted code reaches it.
type Ready struct {
	Protocol  int    `json:"protocol"`
	Build     string `json:"build"`
	Isolation string `json:"isolation"` // "process" or "process+seccomp"
	DataBytes int64  `json:"dataBytes"` // VmData plus what the runtime may map for a small script; 0 if not available
	SizeBytes int64  `json:"sizeBytes"` // VmSize
}

// Progress has the arguments of SDK.Out.progress.
type Progress struct {
	Done    float64 `json:"done"`
	Total   float64 `json:"total"`
	Message string  `json:"message"`
}

// Check is one check of a self-test.
type Check struct {
	Name   string `json:"name"`
	OK     bool   `json:"ok"`
	Detail string `json:"detail,omitempty"`
}

const (
	headerBytes = 9 // length, kind, id
	// maxOperation bounds the operation's name in a call, in bytes.
	maxOperation = 512
	// FrameSlack is how much longer a frame may be than the JSON in it, in bytes.
	FrameSlack = 64 << 10
)

// ErrFrame is the error for a violation of the protocol. No later frame can be trusted.
var ErrFrame = errors.New("wire: invalid frame")

// Writer sends frames. It is not safe for concurrent use.
type Writer struct {
	w   io.Writer
	buf []byte
}

// NewWriter returns a Writer that calls Write once per frame. For a long frame it calls Write
// for each part, to avoid a copy.
func NewWriter(w io.Writer) *Writer { return &Writer{w: w} }

// Write sends a frame whose payload is the concatenation of parts.
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

// NewReader returns a Reader that rejects payloads of more than max bytes.
func NewReader(r io.Reader, max int) *Reader { return &Reader{r: r, max: max} }

// SetMax changes the maximum length of a payload, in bytes.
func (r *Reader) SetMax(max int) { r.max = max }

// Read returns the next frame; its payload belongs to the caller. The error is io.EOF at an end
// between two frames, and ErrFrame for a frame that is malformed, truncated or too long.
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

// EncodeCall returns the part of the payload of a call that precedes the input.
func EncodeCall(operation string) []byte {
	return append(binary.AppendUvarint(nil, uint64(len(operation))), operation...)
}

// DecodeCall decodes the payload of a call.
func DecodeCall(payload []byte) (operation string, input json.RawMessage, err error) {
	n, size := binary.Uvarint(payload)
	if size <= 0 || n > maxOperation || n > uint64(len(payload)-size) {
		return "", nil, fmt.Errorf("%w: call", ErrFrame)
	}
	rest := payload[size:]
	return string(rest[:n]), rest[n:], nil
}

// EncodeAwait returns the payload of a KindAwait: how long to wait at most; negative means
// without limit.
func EncodeAwait(most time.Duration) []byte {
	return binary.BigEndian.AppendUint64(nil, uint64(most))
}

// DecodeAwait decodes the payload of a KindAwait.
func DecodeAwait(payload []byte) (most time.Duration, err error) {
	if len(payload) != 8 {
		return 0, fmt.Errorf("%w: await", ErrFrame)
	}
	return time.Duration(binary.BigEndian.Uint64(payload)), nil
}

// Status is what a KindReturn carries.
type Status byte

const (
	StatusOK    Status = iota // the output
	StatusFault               // a fault that the script may catch
	StatusEnds                // a fault that ends the script (run.Ends)
)

// EncodeReturn returns the part of the payload of a return that precedes the body. nowMs is the
// script's clock after the call, in Unix milliseconds.
func EncodeReturn(s Status, nowMs int64) []byte {
	return append(binary.BigEndian.AppendUint64(nil, uint64(nowMs)), byte(s))
}

// DecodeReturn decodes the payload of a return.
func DecodeReturn(payload []byte) (s Status, nowMs int64, body json.RawMessage, err error) {
	if len(payload) < 9 || Status(payload[8]) > StatusEnds {
		return 0, 0, nil, fmt.Errorf("%w: return", ErrFrame)
	}
	return Status(payload[8]), int64(binary.BigEndian.Uint64(payload)), payload[9:], nil
}
