package plugins

import (
	"context"
	"encoding/json"

	"github.com/koan-go/koan/framework/fault"
	"github.com/koan-go/koan/framework/run"
)

// holding is the share of the run's budget that a call holds until it ends.
type holding struct {
	attempt *run.Attempt // nil outside of a run
	held    int
}

func newHolding(ctx context.Context) *holding {
	a, _, _ := run.Current(ctx)
	return &holding{attempt: a}
}

// hold counts n more bytes before they are kept.
func (h *holding) hold(n int) error {
	if h.attempt == nil {
		return nil
	}
	if err := h.attempt.Hold(n); err != nil {
		return err
	}
	h.held += n
	return nil
}

func (h *holding) release() {
	if h.attempt != nil {
		h.attempt.Release(h.held)
	}
}

// output is an output that comes in parts.
type output struct {
	most int // bytes that it may have
	raw  []byte
}

// breach is a way to break the contract of a call.
type breach string

func (b breach) Error() string { return string(b) }

const (
	errParts   = breach("the parts of its output do not fit together")
	errNotJSON = breach("its output is not JSON")
	errNothing = breach("it ended the call without an output or a fault")
)

// add takes a part. With the first one the whole output is counted.
func (o *output) add(h *holding, size int64, data []byte) error {
	if o.raw == nil {
		if size > int64(o.most) {
			return outputTooLarge(size, o.most)
		}
		if size <= 0 {
			return errParts
		}
		if err := h.hold(int(size)); err != nil {
			return err
		}
		o.raw = make([]byte, 0, size)
	}
	if int64(cap(o.raw)) < size || len(data) == 0 || len(data) > cap(o.raw)-len(o.raw) {
		return errParts
	}
	o.raw = append(o.raw, data...)
	return nil
}

// end takes the rest of the output, or all of it.
func (o *output) end(h *holding, data []byte) (json.RawMessage, error) {
	out := data
	switch {
	case o.raw != nil && len(data) != cap(o.raw)-len(o.raw):
		return nil, errParts
	case o.raw != nil:
		out = append(o.raw, data...)
	case len(data) > o.most:
		return nil, outputTooLarge(int64(len(data)), o.most)
	default:
		if err := h.hold(len(data)); err != nil {
			return nil, err
		}
	}
	if !json.Valid(out) {
		return nil, errNotJSON
	}
	return out, nil
}

func outputTooLarge(size int64, most int) *fault.Fault {
	return fault.Newf(fault.CallTooLarge, "the output has %d bytes; %d are allowed", size, most).
		WithDetails(map[string]any{"limit": most, "received": size}).
		WithHint("Ask for less of it. A plugin returns large results as files.")
}
