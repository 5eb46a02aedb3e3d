package recording

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"time"

	"github.com/koan-go/koan/codemode/internal/wire"
	"github.com/koan-go/koan/framework/fault"
	"github.com/koan-go/koan/framework/run"
)

// Recorder is a host that records what passes through it, until that is more than may be
// kept. Of an input it keeps the beginning and the digest.
type Recorder struct {
	host  wire.Host
	most  int
	size  int
	turns []recordedTurn
}

// recordedTurn is a recorded Turn. A short input is digested only when the Script is made.
type recordedTurn struct {
	Turn
	input  json.RawMessage // at most maxShown bytes, or nil: Turn has what is kept
	output json.RawMessage
	err    error
}

// newRecordedTurn is a turn with what the script sent.
func newRecordedTurn(t Turn, input json.RawMessage) recordedTurn {
	if len(input) <= maxShown {
		return recordedTurn{Turn: t, input: input}
	}
	t.Input, t.Digest = clip(input), digest(input)
	return recordedTurn{Turn: t}
}

// turnBytes is about the size of a turn without its input and output.
const turnBytes = 100

var _ wire.Host = (*Recorder)(nil)

// NewRecorder records the conversation with a host, up to so many bytes.
func NewRecorder(h wire.Host, most int) *Recorder { return &Recorder{host: h, most: most} }

func (r *Recorder) note(t recordedTurn) {
	r.size += turnBytes + len(t.input) + len(t.Input) + len(t.output)
	if r.full() {
		r.turns = nil
		return
	}
	r.turns = append(r.turns, t)
}

func (r *Recorder) full() bool { return r.size > r.most }

// Size is about the size of the recording in bytes. If it is larger than allowed, nothing
// is kept.
func (r *Recorder) Size() int { return r.size }

// Call implements wire.Host.
func (r *Recorder) Call(ctx context.Context, id string, input json.RawMessage) (json.RawMessage, int64, error) {
	out, now, err := r.host.Call(ctx, id, input)
	if !r.full() {
		t := newRecordedTurn(Turn{Kind: turnCall, ID: id, NowMs: now}, input)
		t.output, t.err = out, err
		r.note(t)
	}
	return out, now, err
}

// Start implements wire.Host.
func (r *Recorder) Start(ctx context.Context, ref uint32, id string, input json.RawMessage) {
	r.host.Start(ctx, ref, id, input)
	if !r.full() {
		r.note(newRecordedTurn(Turn{Kind: turnStart, ID: id, Ref: ref}, input))
	}
}

// Next implements wire.Host.
func (r *Recorder) Next(ctx context.Context, most time.Duration) (uint32, json.RawMessage, int64, error) {
	ref, out, now, err := r.host.Next(ctx, most)
	r.note(recordedTurn{Turn: Turn{Kind: turnNext, Ref: ref, MostUs: bound(most), NowMs: now}, output: out, err: err})
	return ref, out, now, err
}

// bound is how long Next waits at most, in microseconds; all negative times are one.
func bound(most time.Duration) int64 {
	if most < 0 {
		return -1
	}
	return most.Microseconds()
}

// Progress implements wire.Host.
func (r *Recorder) Progress(done, total float64, message string) {
	r.host.Progress(done, total, message)
}

// Emit implements wire.Host.
func (r *Recorder) Emit(index int, value json.RawMessage) { r.host.Emit(index, value) }

// Log implements wire.Host.
func (r *Recorder) Log(l wire.Log) { r.host.Log(l) }

// Script returns the recording of a job that returned res and err. It must be called after
// the job, and takes some time: it makes digests and copies.
func (r *Recorder) Script(job wire.Job, res *wire.Result, err error) (*Script, error) {
	job.Code, job.Args = "", nil // they are in the run's input
	s := &Script{Version: version, Job: job, Turns: make([]Turn, len(r.turns)), Ending: Ending{Logs: []wire.Log{}}}
	for i, n := range r.turns {
		t := n.Turn
		if t.Kind != turnNext && t.Digest == "" {
			t.Input, t.Digest = clip(n.input), digest(n.input)
		}
		t.Output = n.output
		if n.err != nil {
			t.Output = nil
			if e := t.fail(n.err); e != nil {
				return nil, e
			}
		}
		s.Turns[i] = t
	}
	if res == nil {
		s.Ending.Cut = true
		return s, nil
	}
	s.Ending.Result, s.Ending.Answer, s.Ending.Emitted = res.Result, res.Answer, res.Emitted
	s.Ending.Logs = append(s.Ending.Logs, res.Logs...)
	f := res.Fault
	if err != nil {
		s.Ending.Cut = !isFault(err)
		if f == nil {
			f = fault.From(err)
		}
	}
	if f == nil {
		return s, nil
	}
	s.Ending.Result = nil
	s.Ending.Fault, err = wire.Marshal(f)
	return s, err
}

// fail records how a turn failed.
func (t *Turn) fail(err error) error {
	switch {
	case isFault(err) && run.Ends(err):
		t.Ends = endsFault
	case !isFault(err):
		t.Ends = endsCut
	}
	raw, merr := wire.Marshal(fault.From(err))
	t.Fault = raw
	return merr
}

func isFault(err error) bool {
	var f *fault.Fault
	return errors.As(err, &f)
}

func clip(input []byte) string {
	if len(input) <= maxShown {
		return strings.ToValidUTF8(string(input), "?")
	}
	return strings.ToValidUTF8(string(input[:maxShown]), "") + "…"
}
