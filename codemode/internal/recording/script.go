package recording

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"github.com/koan-go/koan/codemode/internal/wire"
	"github.com/koan-go/koan/framework/fault"
)

// version is the version of Script's format.
const version = 1

// ErrScript is the error (wrapped) of Decode for bytes that are not a recorded script.
var ErrScript = errors.New("replay: this is not a recorded script")

// Script is the recording of one attempt of a script: its input, its conversation with the
// host, and how it ended.
type Script struct {
	Version int      `json:"version"`
	Job     wire.Job `json:"job"`
	Turns   []Turn   `json:"turns"`
	Ending  Ending   `json:"ending"`
}

// Kinds of a Turn, after the methods of wire.Host.
const (
	turnCall  = "call"
	turnStart = "start"
	turnNext  = "next"
)

// How the conversation ended at a Turn, if it did.
const (
	// endsFault is a fault that the script cannot catch.
	endsFault = "fault"
	// endsCut is the end of the run's time, its cancellation, or a new attempt: the
	// script got no answer.
	endsCut = "cut"
)

// Turn is one request of the script to the host, and the answer.
type Turn struct {
	Kind   string `json:"kind"`
	ID     string `json:"id,omitempty"`     // of the operation
	Input  string `json:"input,omitempty"`  // its beginning
	Digest string `json:"digest,omitempty"` // of the whole input, hex
	// Ref numbers started calls; of a next it is the call that ended, 0 for none.
	Ref uint32 `json:"ref,omitempty"`
	// MostUs is how long a next would wait, in microseconds; negative is no bound.
	MostUs int64           `json:"mostUs,omitempty"`
	Output json.RawMessage `json:"output,omitempty"`
	Fault  json.RawMessage `json:"fault,omitempty"`
	Ends   string          `json:"ends,omitempty"`
	NowMs  int64           `json:"nowMs,omitempty"` // the script's clock then
}

// Ending is how the attempt ended.
type Ending struct {
	Result json.RawMessage `json:"result,omitempty"`
	Answer json.RawMessage `json:"answer,omitempty"`
	Fault  json.RawMessage `json:"fault,omitempty"`
	Logs   []wire.Log      `json:"logs"`
	// Emitted are the values that the script emitted.
	Emitted []json.RawMessage `json:"emitted,omitempty"`
	// Cut says that the attempt was ended from outside.
	Cut bool `json:"cut,omitempty"`
}

// maxShown is how much of an input is kept beside its digest, in bytes.
const maxShown = 200

func digest(input []byte) string {
	sum := sha256.Sum256(input)
	return hex.EncodeToString(sum[:16])
}

// Encode returns the bytes that Decode reads.
func (s *Script) Encode() ([]byte, error) { return wire.Marshal(s) }

// Decode reads the output of Encode, and rejects everything else. The code and the
// arguments are not part of it: they are stored in the run's input only.
func Decode(raw []byte, code string, args json.RawMessage) (*Script, error) {
	var s Script
	d := json.NewDecoder(bytes.NewReader(raw))
	d.DisallowUnknownFields()
	err := d.Decode(&s)
	if err == nil {
		if _, more := d.Token(); !errors.Is(more, io.EOF) {
			err = errors.New("something follows it")
		}
	}
	if err == nil && s.Version != version {
		err = fmt.Errorf("its version is %d, this build knows %d", s.Version, version)
	}
	for i := range s.Turns {
		if err == nil {
			err = s.Turns[i].check()
		}
	}
	if err == nil && s.Ending.Fault != nil {
		_, err = fault.Decode(s.Ending.Fault)
	}
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrScript, err)
	}
	s.Job.Code, s.Job.Args = code, args
	return &s, nil
}

func (t *Turn) check() error {
	switch t.Kind {
	case turnCall, turnStart, turnNext:
	default:
		return fmt.Errorf("a turn is of kind %q", t.Kind)
	}
	switch t.Ends {
	case "", endsCut:
	case endsFault:
		if t.Fault == nil {
			return errors.New("a turn ends the script without a fault")
		}
	default:
		return fmt.Errorf("a turn ends by %q", t.Ends)
	}
	if t.Fault != nil {
		if _, err := fault.Decode(t.Fault); err != nil {
			return err
		}
	}
	return nil
}

// fault returns the fault of a turn that failed, nil for others.
func (t *Turn) fault() error {
	if t.Fault == nil {
		return nil
	}
	f, err := fault.Decode(t.Fault)
	if err != nil { // it was read before
		return fault.New(fault.Internal, "").Because(err)
	}
	return f
}
