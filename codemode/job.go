package codemode

import (
	"context"
	"encoding/json"
	"time"

	"github.com/koan-go/koan/codemode/internal/wire"
	"github.com/koan-go/koan/framework/fault"
)

// job is a job with the configured limits and an empty catalog.
func (p *provider) job(task wire.Task, code string) *wire.Job {
	return &wire.Job{
		Task: task, Code: code, Limits: p.config().limits.Limits, Occasion: wire.Occasion{NowMs: time.Now().UnixMilli()},
		Bindings: wire.Bindings{Entities: []wire.Entity{}, Domains: []wire.Domain{}},
	}
}

// noHost is the host of scripts that have nothing to call.
type noHost struct{}

func (noHost) Call(context.Context, string, json.RawMessage) (json.RawMessage, int64, error) {
	return nil, 0, fault.New(fault.ToolNotFound, "nothing can be called here")
}

func (noHost) Start(context.Context, uint32, string, json.RawMessage) {}

func (noHost) Next(context.Context, time.Duration) (uint32, json.RawMessage, int64, error) {
	return 0, nil, 0, fault.New(fault.Internal, "nothing was started")
}

func (noHost) Progress(float64, float64, string) {}

func (noHost) Emit(int, json.RawMessage) {}

func (noHost) Log(wire.Log) {}
