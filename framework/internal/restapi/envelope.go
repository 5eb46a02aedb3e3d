package restapi

import (
	"encoding/json"
	"net/http"
	"time"

	"github.com/koan-go/koan/framework/catalog"
	"github.com/koan-go/koan/framework/fault"
	"github.com/koan-go/koan/framework/internal/invoke"
)

// envelope is the body of responses of /tools, /health and /status, as the tooling API
// contract has it (section 7).
type envelope struct {
	OK     bool            `json:"ok"`
	Result json.RawMessage `json:"result,omitempty"`
	Error  *fault.Fault    `json:"error,omitempty"`
	Meta   meta            `json:"_meta"`
}

// meta describes a response, and the run that it is of.
type meta struct {
	SchemaVersion string         `json:"schemaVersion"`
	ToolVersion   string         `json:"toolVersion"`
	TS            string         `json:"ts"` // RFC 3339
	DurationMs    int64          `json:"durationMs"`
	RunID         string         `json:"runId,omitempty"`
	Attempts      int            `json:"attempts,omitempty"`
	Metrics       map[string]any `json:"metrics,omitempty"` // of a script
	Version       string         `json:"version,omitempty"` // what the header Koan-Version has, which an answer in events cannot have
}

func (h *responder) meta(began time.Time) meta {
	return meta{SchemaVersion: catalog.SchemaVersion, ToolVersion: h.opts.Version, TS: time.Now().UTC().Format(time.RFC3339Nano), DurationMs: time.Since(began).Milliseconds()}
}

func (h *responder) succeeded(began time.Time, result any) envelope {
	raw, err := invoke.Encode(result)
	if err != nil {
		return h.failed(began, fault.New(fault.Internal, "").Because(err))
	}
	return envelope{OK: true, Result: raw, Meta: h.meta(began)}
}

func (h *responder) failed(began time.Time, f *fault.Fault) envelope {
	return envelope{Error: h.redacted(f), Meta: h.meta(began)}
}

// send writes an envelope.
func (h *responder) send(w http.ResponseWriter, status int, e envelope) {
	h.write(w, status, jsonType, encoded(e))
}

func encoded(e envelope) []byte {
	raw, err := invoke.Encode(e)
	if err != nil { // details that are not JSON
		e.Error = fault.New(e.Error.Code, e.Error.Message)
		raw, _ = invoke.Encode(e)
	}
	return raw
}

// fail writes the envelope of a failure.
func (h *responder) fail(w http.ResponseWriter, r *http.Request, began time.Time, j rejection) {
	status := h.rejectionHeader(w, r, j)
	h.send(w, status, h.failed(began, j.Fault))
}
