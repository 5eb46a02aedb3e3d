package restapi

import (
	"context"
	"net/http"
	"time"

	"github.com/koan-go/koan/framework/auth"
	"github.com/koan-go/koan/framework/fault"
)

// readyTime is how long what readiness depends on may take to answer.
const readyTime = 2 * time.Second

// serveHealth serves GET /health: that the server answers.
func (h *Handler) serveHealth(w http.ResponseWriter, r *http.Request) {
	if h.allows(w, r, http.MethodGet) {
		h.send(w, http.StatusOK, h.succeeded(time.Now(), map[string]any{"uptimeMs": time.Since(h.started).Milliseconds()}))
	}
}

// appStatus is what /status says of the app to a caller.
type appStatus struct {
	App    string `json:"app"`
	Status struct {
		Ready    bool            `json:"ready"`
		Missing  []*fault.Fault  `json:"missing"` // why it is not ready
		UptimeMs int64           `json:"uptimeMs"`
		Mode     string          `json:"mode"`
		Catalog  string          `json:"catalog"` // version of what the caller sees
		Entities int             `json:"entities"`
		Tools    int             `json:"tools"`
		Code     *codeModeStatus `json:"codeMode,omitempty"`
		Calls    struct {
			Max     int `json:"max"`
			Running int `json:"running"`
		} `json:"calls"` // of this caller
	} `json:"status"`
}

type codeModeStatus struct {
	Runtime string   `json:"runtime"`
	Faces   []string `json:"faces"`
}

func (h *Handler) status(r *http.Request) appStatus {
	v := h.view(auth.From(r.Context()))
	out := appStatus{App: h.opts.Name}
	s := &out.Status
	ctx, cancel := context.WithTimeout(r.Context(), readyTime)
	defer cancel()
	s.Missing = append([]*fault.Fault{}, fault.All(h.opts.Ready(ctx))...)
	s.Ready, s.UptimeMs = len(s.Missing) == 0, time.Since(h.started).Milliseconds()
	s.Mode, s.Catalog, s.Entities, s.Tools = string(v.Mode()), v.Version(), len(tableOf(v).entities), len(v.Tools())
	if h.opts.Runtime != "" {
		s.Code = &codeModeStatus{h.opts.Runtime, h.opts.Faces}
	}
	s.Calls.Max, s.Calls.Running = h.now().QueueMax, caller(r).Calls.Running()
	return out
}

// serveStatus serves GET /status.
func (h *Handler) serveStatus(w http.ResponseWriter, r *http.Request) {
	began := time.Now()
	if h.allows(w, r, http.MethodGet) {
		h.send(w, http.StatusOK, h.succeeded(began, h.status(r)))
	}
}

// streamStatus serves GET /status/stream: the same as events.
func (h *Handler) streamStatus(w http.ResponseWriter, r *http.Request) {
	began := time.Now()
	if !h.allows(w, r, http.MethodGet) {
		return
	}
	s := h.stream(w)
	s.keepAlive()
	defer s.close()
	s.send("start", h.succeeded(began, map[string]any{"app": h.opts.Name}))
	s.send("result", h.succeeded(began, h.status(r)))
	s.send("done", h.succeeded(began, struct{}{}))
}
