package codemode

import (
	"context"
	"encoding/json"
	"time"

	"github.com/koan-go/koan/codemode/internal/wire"
	"github.com/koan-go/koan/framework/fault"
)

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
