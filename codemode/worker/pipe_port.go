package worker

import (
	"os"
	"time"

	"github.com/koan-go/koan/codemode/internal/language"
	"github.com/koan-go/koan/codemode/internal/wire"
	"github.com/koan-go/koan/framework/fault"
)

// pipePort is the language.Port over the worker's ends of the pipes.
type pipePort struct {
	r        *wire.Reader
	w        *wire.Writer
	lastCall uint32 // the number of the job's last call
}

// Call implements language.Port.
func (h *pipePort) Call(operation string, input []byte) language.Reply {
	h.lastCall++
	if err := h.w.Write(wire.KindCall, h.lastCall, wire.EncodeCall(operation), input); err != nil {
		os.Exit(exitOrphan)
	}
	ref, r := h.readReply()
	if ref != h.lastCall {
		os.Exit(exitBroken)
	}
	return r
}

// Start implements language.Port.
func (h *pipePort) Start(ref uint32, operation string, input []byte) {
	if h.w.Write(wire.KindStart, ref, wire.EncodeCall(operation), input) != nil {
		os.Exit(exitOrphan)
	}
}

// Await implements language.Port.
func (h *pipePort) Await(most time.Duration) (uint32, language.Reply) {
	if h.w.Write(wire.KindAwait, 0, wire.EncodeAwait(most)) != nil {
		os.Exit(exitOrphan)
	}
	return h.readReply()
}

// readReply reads the host's reply to a call or an await.
func (h *pipePort) readReply() (uint32, language.Reply) {
	f, err := h.r.Read()
	if err != nil {
		os.Exit(exitOrphan)
	}
	status, now, body, err := wire.DecodeReturn(f.Payload)
	if err != nil || f.Kind != wire.KindReturn {
		os.Exit(exitBroken)
	}
	r := language.Reply{NowMs: now}
	if status == wire.StatusOK {
		r.Out = body
		return f.ID, r
	}
	if r.Fault, err = fault.Decode(body); err != nil {
		os.Exit(exitBroken)
	}
	r.Ends = status == wire.StatusEnds
	return f.ID, r
}

// Log implements language.Port.
func (h *pipePort) Log(l wire.Log) { h.send(wire.KindLog, l) }

// Progress implements language.Port.
func (h *pipePort) Progress(p wire.Progress) { h.send(wire.KindProgress, p) }

// Emit implements language.Port.
func (h *pipePort) Emit(value []byte) {
	if h.w.Write(wire.KindEmit, 0, value) != nil {
		os.Exit(exitOrphan)
	}
}

func (h *pipePort) send(k wire.Kind, v any) {
	b, err := wire.Marshal(v)
	if err != nil {
		return // NaN in progress has no JSON
	}
	if h.w.Write(k, 0, b) != nil {
		os.Exit(exitOrphan)
	}
}

var _ language.Port = (*pipePort)(nil)
