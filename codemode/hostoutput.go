package codemode

import (
	"bytes"
	"encoding/json"
	"log/slog"
	"math"

	"github.com/koan-go/koan/codemode/internal/wire"
	"github.com/koan-go/koan/framework/catalog"
)

// hostOutput passes on to the caller what a script says while it runs.
type hostOutput struct {
	call     catalog.Call
	log      func(wire.Log)    // of an action; nil: messages are for the caller
	logged   int               // messages of this attempt
	sentLogs int               // messages of the attempts before
	emitted  []json.RawMessage // values that the caller has got, of attempts before too
}

// Progress implements wire.Host.
func (h *hostOutput) Progress(done, total float64, message string) {
	if math.IsNaN(done) || math.IsInf(done, 0) || math.IsNaN(total) || math.IsInf(total, 0) {
		return
	}
	h.call.Progress(done, total, message)
}

// Emit implements wire.Host. Later attempts repeat the values of earlier ones; the caller
// gets each once, and again where it is another.
func (h *hostOutput) Emit(index int, value json.RawMessage) {
	if index < len(h.emitted) && bytes.Equal(h.emitted[index], value) {
		return
	}
	h.emitted = append(h.emitted[:min(index, len(h.emitted)):index], value)
	h.call.Emit(index, value)
}

// levels are the levels of a script's logs.
var levels = map[string]slog.Level{"debug": slog.LevelDebug, "info": slog.LevelInfo, "warn": slog.LevelWarn, "error": slog.LevelError}

// Log implements wire.Host. Later attempts repeat the messages of earlier ones, and the
// caller gets each once.
func (h *hostOutput) Log(l wire.Log) {
	if h.log != nil {
		h.log(l)
		return
	}
	if h.logged++; h.logged > h.sentLogs {
		h.call.Log(levels[l.Level], l.Message)
	}
}
