package replay

import (
	"encoding/json"
	"fmt"
	"log/slog"

	"github.com/koan-go/koan/framework/fault"
	"github.com/koan-go/koan/framework/run/tape"
)

// PendingTape is a run on its way to a shelf. Encoding and compressing it is left to who
// writes there, beside the runs.
type PendingTape struct {
	kept    *KeptRun
	tape    *tape.Tape
	script  recorded
	failure error
	size    int // about, of all that is kept
	most    int // replay.maxRunBytes
	log     *slog.Logger
}

// minTapeBytes is what is kept of a run that is too large, and of any other besides what
// it took and gave.
const minTapeBytes = 2 << 10

// newPendingTape holds of a run only what is written, and of one that is too large nothing.
func newPendingTape(k *KeptRun, t *tape.Tape, script recorded, failure error, o Options) *PendingTape {
	values, bytes := t.Values()
	p := &PendingTape{kept: k, tape: values, script: script, failure: failure, size: script.size + len(k.Input) + bytes, most: o.MaxRunBytes, log: o.Log}
	if p.size > p.most {
		p.tape, p.script = nil, recorded{}
		k.Input, k.Output = nil, nil
	}
	return p
}

// Size is about how many bytes wait to be written.
func (t *PendingTape) Size() int {
	if t.tape == nil {
		return minTapeBytes
	}
	return minTapeBytes + t.size
}

// Pack returns the run as a shelf has it. It is called once; p belongs to one
// goroutine.
func (t *PendingTape) Pack(p *Packer) KeptTape {
	out := KeptTape{Run: t.kept.Run, At: t.kept.Started, Subject: t.kept.Subject, Operation: t.kept.Operation, Outcome: t.kept.Outcome, Bytes: t.size}
	if t.size > t.most {
		out.Why = fmt.Sprintf("its inputs and outputs exceed replay.maxRunBytes (%d)", t.most)
		return out
	}
	err := t.fill()
	if err == nil {
		out.Body, out.Bytes, err = p.body(t.kept)
	}
	switch {
	case err != nil:
		out.Body, out.Why = nil, fault.From(err).Message
		t.log.Warn("a run cannot be kept for a replay", "run", t.kept.Run, "error", err)
	case out.Bytes > t.most:
		out.Body, out.Why = nil, fmt.Sprintf("it takes %d bytes, and replay.maxRunBytes is %d", out.Bytes, t.most)
	}
	return out
}

func (t *PendingTape) fill() (err error) {
	if t.failure != nil {
		if t.kept.Fault, err = json.Marshal(fault.From(t.failure)); err != nil {
			return err
		}
	}
	if t.kept.Tape, err = t.tape.FreezeValues(); err != nil {
		return err
	}
	if t.script.encode != nil {
		t.kept.Script, err = t.script.encode()
	}
	return err
}
