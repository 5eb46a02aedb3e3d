package codemode

import (
	"context"
	"encoding/json"
	"math"
	"time"

	"github.com/koan-go/koan/codemode/wire"
	"github.com/koan-go/koan/framework/catalog"
	"github.com/koan-go/koan/framework/fault"
	"github.com/koan-go/koan/framework/run"
)

// job is a job with the configured limits and an empty catalog.
func (p *provider) job(task wire.Task, code string) *wire.Job {
	return &wire.Job{
		Task: task, Code: code, Limits: p.config.limits.Limits, NowMs: time.Now().UnixMilli(),
		Bindings: wire.Bindings{Entities: []wire.Entity{}, Domains: []wire.Domain{}},
	}
}

// noHost serves scripts that have nothing to call.
type noHost struct{}

func (noHost) Call(context.Context, string, json.RawMessage) (json.RawMessage, int64, error) {
	return nil, 0, fault.New(fault.ToolNotFound, "nothing can be called here")
}

func (noHost) Progress(float64, float64, string) {}

// clockSlot is where the tape keeps the script's clock after a call.
const clockSlot = "clock"

// host serves the calls of one attempt.
type host struct {
	call    catalog.Call
	attempt *run.Attempt
}

var _ wire.Host = (*host)(nil)

// Call takes the position at once, so that positions are in the order of issue.
// The clock after the call is on the tape: a later attempt sees the same time.
func (h *host) Call(ctx context.Context, id string, input json.RawMessage) (json.RawMessage, int64, error) {
	at := h.attempt.Next()
	out, err := h.invoke(ctx, at, id, input)
	if run.Ends(err) {
		return nil, 0, err
	}
	now, terr := h.attempt.Tape().Value(at, clockSlot, func() (any, error) { return time.Now().UnixMilli(), nil })
	if terr != nil {
		return nil, 0, terr
	}
	ms, ok := now.(int64)
	if !ok {
		return nil, 0, fault.Newf(fault.Internal, "the tape holds a clock of type %T", now)
	}
	return out, ms, err
}

func (h *host) invoke(ctx context.Context, at run.Position, id string, input json.RawMessage) (json.RawMessage, error) {
	parsed, err := catalog.ParseID(id)
	if err != nil {
		return nil, err
	}
	return h.attempt.Invoke(ctx, at, parsed, input)
}

func (h *host) Progress(done, total float64, message string) {
	if math.IsNaN(done) || math.IsInf(done, 0) || math.IsNaN(total) || math.IsInf(total, 0) {
		return
	}
	h.call.Progress(done, total, message)
}
