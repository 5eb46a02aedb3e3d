package replay

import (
	"bytes"
	"compress/flate"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/koan-go/koan/framework/auth"
	"github.com/koan-go/koan/framework/catalog"
	"github.com/koan-go/koan/framework/run/tape"
)

// Shelving is how long it takes at most, on a machine that is not too busy, until a run is on the
// shelf.
const Shelving = time.Second

// KeptTape is one run on the shelf.
type KeptTape struct {
	Run       string
	At        time.Time // its start
	Subject   string    // who called
	Operation string
	Outcome   string // "ok" or a fault's code
	Bytes     int    // uncompressed
	// Body is compressed; nil where the run was larger than MaxRunBytes, or could not be
	// kept for another reason, which is Why.
	Body []byte
	Why  string
}

// Shelf keeps tapes, where the journal is. It is safe for concurrent use.
type Shelf interface {
	// Bound says that tapes are going to come, how long each is kept, and how many bytes
	// of bodies are at most. Beyond that the oldest go, of those callers who have more than
	// an even share: no caller's runs push out another's. It is called once, before Take.
	Bound(retention time.Duration, most int64)
	// Take has a tape written beside the runs. It neither waits nor fails: what comes
	// while too much waits already is left out, and said in the log.
	Take(t *PendingTape)
	// Get returns the tape of a run that was taken before, nil where there is none.
	Get(ctx context.Context, run string) (*KeptTape, error)
}

// keptVersion is of KeptRun's form.
const keptVersion = 1

// KeptRun is all that a replay needs to know of a run.
type KeptRun struct {
	Version int    `json:"version"`
	Run     string `json:"run"`
	KeptCall
	Started        time.Time       `json:"started"`
	ToolVersion    string          `json:"toolVersion"`
	CatalogVersion string          `json:"catalogVersion"`
	Attempts       int             `json:"attempts"`
	Committed      bool            `json:"committed,omitempty"`
	Outcome        string          `json:"outcome"` // "ok" or a fault's code
	Input          json.RawMessage `json:"input"`
	Output         json.RawMessage `json:"output,omitempty"` // of a single call
	Fault          json.RawMessage `json:"fault,omitempty"`
	// Tape has clock, seed and generated values; what calls gave stands in Script.
	Tape json.RawMessage `json:"tape"`
	// Script is what the provider of a code operation keeps of its last attempt.
	Script json.RawMessage `json:"script,omitempty"`
}

// KeptCall is what a kept run was called with, beside its input.
type KeptCall struct {
	Operation string          `json:"operation"`
	Surface   string          `json:"surface"`
	Via       catalog.Surface `json:"via,omitempty"` // the surface that it was called by
	Subject   string          `json:"subject"`
	Scopes    []string        `json:"scopes"`
	Sets      []string        `json:"sets"`
	Mode      string          `json:"mode"` // the exposure that its caller saw
	Set       string          `json:"set"`
}

// Principal is who made the run's call.
func (k *KeptRun) Principal() auth.Principal {
	return auth.Principal{Subject: k.Subject, Scopes: k.Scopes, Sets: k.Sets}
}

// ID is what was called.
func (k *KeptRun) ID() (catalog.ID, error) { return catalog.ParseID(k.Operation) }

// Packer makes the bodies of kept tapes, one at a time. Its compressor takes a
// megabyte, which one goroutine need not ask for again and again. The zero value is
// ready.
type Packer struct{ flate *flate.Writer }

// body returns a run as it is kept, and how large it was.
func (p *Packer) body(k *KeptRun) (body []byte, size int, err error) {
	raw, err := tape.Marshal(k)
	if err != nil {
		return nil, 0, err
	}
	var b bytes.Buffer
	b.WriteByte(keptVersion)
	if p.flate == nil {
		if p.flate, err = flate.NewWriter(&b, flate.BestSpeed); err != nil {
			return nil, 0, err
		}
	} else {
		p.flate.Reset(&b)
	}
	if _, err = p.flate.Write(raw); err == nil {
		err = p.flate.Close()
	}
	return b.Bytes(), len(raw), err
}

// UnpackRun reads the body of a kept tape. The error wraps tape.ErrFormat.
func UnpackRun(body []byte) (*KeptRun, error) {
	if len(body) == 0 || body[0] != keptVersion {
		return nil, fmt.Errorf("%w: it was packed by another version", tape.ErrFormat)
	}
	raw, err := io.ReadAll(io.LimitReader(flate.NewReader(bytes.NewReader(body[1:])), tape.MaxBytes+1))
	if err == nil && len(raw) > tape.MaxBytes {
		err = errors.New("it is too long")
	}
	if err != nil {
		return nil, fmt.Errorf("%w: %w", tape.ErrFormat, err)
	}
	var k KeptRun
	if err := tape.Unmarshal(raw, &k); err != nil {
		return nil, fmt.Errorf("%w: %w", tape.ErrFormat, err)
	}
	if k.Version != keptVersion {
		return nil, fmt.Errorf("%w: its version is %d, this build knows %d", tape.ErrFormat, k.Version, keptVersion)
	}
	if _, err := k.ID(); err != nil {
		return nil, fmt.Errorf("%w: %w", tape.ErrFormat, err)
	}
	return &k, nil
}
