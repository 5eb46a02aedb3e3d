package restapi

import (
	"encoding/json"
	"mime"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/koan-go/koan/framework/auth"
	"github.com/koan-go/koan/framework/catalog"
	"github.com/koan-go/koan/framework/fault"
	"github.com/koan-go/koan/framework/internal/invoke"
	"github.com/koan-go/koan/framework/internal/toolset"
)

// serveTool serves POST /tools/NAME: any tool, in the envelope, or as events.
func (h callRoutes) serveTool(w http.ResponseWriter, r *http.Request) {
	began := time.Now()
	if r.Method != http.MethodPost {
		h.allows(w, r, http.MethodPost)
		return
	}
	p := auth.From(r.Context())
	v := h.view(p)
	tool, c, err := h.toolCall(w, r, v)
	if err != nil {
		h.fail(w, r, began, asRejection(err))
		return
	}
	if wantsEvents(r) {
		h.streamTool(w, r, began, v, tool, c)
		return
	}
	got, err := h.call(r, v, c)
	describe(w, got)
	status := http.StatusOK
	if err != nil {
		status = h.rejectionHeader(w, r, asRejection(err))
	}
	h.send(w, status, h.toolEnvelope(began, v, tool, got, err))
}

// toolCall reads a request as a call of a tool.
func (h *invocations) toolCall(w http.ResponseWriter, r *http.Request, v *catalog.View) (toolset.Call, *call, error) {
	if _, err := decodeQuery(r.URL.RawQuery, nil); err != nil {
		return toolset.Call{}, nil, err
	}
	body, _, err := h.members(w, r, jsonType)
	if err != nil {
		return toolset.Call{}, nil, err
	}
	name := r.PathValue("name")
	tool, known, err := toolset.Resolve(v, name, body)
	switch {
	case !known:
		return tool, nil, rejection{Fault: toolset.UnknownTool(v, name), scopes: h.scopesFor(r, name, body)}
	case err != nil:
		return tool, nil, rejection{Fault: fault.From(err), scopes: h.scopesFor(r, name, body)}
	}
	return tool, &call{operation: tool.Operation, input: tool.Input, via: catalog.SurfaceTools}, nil
}

// scopesFor returns the scopes that would let the caller make a call, none if scopes are not
// what it lacks.
func (h *invocations) scopesFor(r *http.Request, name string, arguments json.RawMessage) []string {
	p := auth.From(r.Context())
	p.Scopes = auth.Every()
	return toolset.ScopesFor(h.view(p), name, arguments)
}

// toolEnvelope is the envelope of what a tool returned.
func (h *invocations) toolEnvelope(began time.Time, v *catalog.View, tool toolset.Call, got invoke.Result, err error) envelope {
	e := envelope{OK: err == nil, Meta: h.meta(began)}
	e.Meta.Version = got.Position
	if o := got.Outcome; o != nil {
		e.Meta.RunID, e.Meta.Attempts = o.Run, o.Attempts
		if tool.Operation.ID.Kind == catalog.KindCode {
			e.Meta.Metrics = o.ScriptMetrics()
		}
	}
	if err == nil {
		e.Result = invoke.Success(v, tool.Operation, got.Output)
		return e
	}
	e.Error = tool.Fault(asRejection(err).Fault)
	// What a failed script says beside its fault: logs, calls, whether anything is committed.
	members := rowOf(got.Failure(tool.Operation, e.Error))
	delete(members, "success")
	delete(members, "error")
	if len(members) > 0 {
		e.Result = object(members)
	}
	return e
}

// wantsEvents reports whether a client names a stream of events as what it reads, and nothing that
// it would rather have.
func wantsEvents(r *http.Request) bool {
	accepted := r.Header.Values("Accept")
	events := weight(accepted, eventsType)
	return events > 0 && events >= weight(accepted, jsonType)
}

// weight is that of a media type which an Accept header names (RFC 9110, section 12.4.2): the
// least, if it does so more than once; 0 if it does not.
func weight(accept []string, media string) float64 {
	least := 0.0
	for _, part := range strings.Split(strings.Join(accept, ","), ",") {
		named, parameters, _ := mime.ParseMediaType(part) // parameters that cannot be read say nothing
		if named != media {
			continue
		}
		q, err := strconv.ParseFloat(parameters["q"], 64)
		switch {
		case err != nil:
			q = 1
		case q <= 0:
			return 0
		}
		if least == 0 || q < least {
			least = q
		}
	}
	return least
}

// progressEvery is the shortest time between two reports of one call.
const progressEvery = 100 * time.Millisecond

// streamTool answers with events: start, progress, result or error, done.
func (h callRoutes) streamTool(w http.ResponseWriter, r *http.Request, began time.Time, v *catalog.View, tool toolset.Call, c *call) {
	s := h.stream(w)
	s.keepAlive()
	defer s.close()
	s.send("start", h.succeeded(began, map[string]any{"tool": v.Snapshot().ToolName(tool.Operation.ID)}))
	var mu sync.Mutex
	var last time.Time
	c.progress = func(done, total float64, message string) {
		mu.Lock()
		defer mu.Unlock()
		if time.Since(last) < progressEvery && (total == 0 || done < total) {
			return
		}
		last = time.Now()
		report := map[string]any{"phase": "running", "message": message, "progress": done}
		if total > 0 {
			report["total"] = total
		}
		s.send("progress", h.succeeded(began, report))
	}
	got, err := h.call(r, v, c)
	mu.Lock()
	defer mu.Unlock() // no progress follows
	if e := h.toolEnvelope(began, v, tool, got, err); err == nil {
		s.send("result", e)
	} else {
		s.send("error", e)
	}
	s.send("done", h.succeeded(began, struct{}{}))
}
