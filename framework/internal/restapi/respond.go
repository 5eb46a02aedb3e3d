package restapi

import (
	"encoding/json"
	"errors"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/koan-go/koan/framework/fault"
	"github.com/koan-go/koan/framework/internal/invoke"
)

// Headers of our own, and the one for keys.
const (
	runHeader     = "Koan-Run"
	keyHeader     = "Idempotency-Key"
	versionHeader = "Koan-Version" // how far the data has come that an answer, or its caller, has seen
)

const (
	jsonType    = "application/json"
	problemType = "application/problem+json"
	eventsType  = "text/event-stream"
)

// rejection is a fault with an HTTP status other than that of its code.
type rejection struct {
	*fault.Fault
	status int
	allow  string // for 405
	scopes []string
}

// reject sends a fault as a problem (RFC 9457), or in the envelope where tools are called.
func (h *responder) reject(w http.ResponseWriter, r *http.Request, f *fault.Fault) {
	h.rejectAs(w, r, rejection{Fault: f})
}

// Reject answers a request of another route of the same server as REST rejects its own.
func (h *responder) Reject(w http.ResponseWriter, r *http.Request, f *fault.Fault) {
	w.Header().Set("X-Content-Type-Options", "nosniff")
	w.Header().Set("Cache-Control", "no-store")
	h.reject(w, r, f)
}

func (h *responder) rejectAs(w http.ResponseWriter, r *http.Request, j rejection) {
	if strings.HasPrefix(r.URL.Path, toolsPath) {
		h.fail(w, r, time.Now(), j)
		return
	}
	status := h.rejectionHeader(w, r, j)
	h.write(w, status, problemType, problem(h.redacted(j.Fault), status))
}

// redacted returns a fault without secrets, which it may quote of a request that came to no call.
func (h *responder) redacted(f *fault.Fault) *fault.Fault {
	f, _ = h.opts.Engine.Redactor().Fault(f)
	return f
}

// rejectionHeader sets the headers of a rejection and returns its status.
func (h *responder) rejectionHeader(w http.ResponseWriter, r *http.Request, j rejection) (status int) {
	if status = j.status; status == 0 {
		status = j.HTTPStatus()
	}
	if challenge := h.opts.Admission.StepUp(r, j.scopes); challenge != "" {
		w.Header().Set("WWW-Authenticate", challenge)
		status = http.StatusForbidden
	}
	if j.allow != "" {
		w.Header().Set("Allow", j.allow)
	}
	if (status == http.StatusServiceUnavailable || status == http.StatusTooManyRequests) && j.Retry != fault.Never && w.Header().Get("Retry-After") == "" {
		w.Header().Set("Retry-After", retryAfter(j.Fault))
	}
	w.Header().Del("ETag")
	return status
}

// retryAfter returns after how many seconds another try may succeed: as the fault's details say, else 1.
func retryAfter(f *fault.Fault) string {
	details, _ := f.Details.(map[string]any)
	ms, _ := details["retryAfterMs"].(int64)
	return strconv.FormatInt(max(1, (ms+999)/1000), 10)
}

// problem is a fault as application/problem+json: the members of RFC 9457, and the fault's.
func problem(f *fault.Fault, status int) json.RawMessage {
	entry, _ := fault.Lookup(f.Code)
	f = f.WithHint("%s", hintOf(f, entry))
	body := struct {
		Type   string `json:"type"`
		Title  string `json:"title"`
		Status int    `json:"status"`
		Detail string `json:"detail"`
		*fault.Fault
	}{"urn:koan:fault:" + string(f.Code), entry.Meaning, status, f.Message, f}
	raw, err := invoke.Encode(body)
	if err != nil { // details that are not JSON
		body.Fault = fault.New(f.Code, f.Message)
		raw, _ = invoke.Encode(body)
	}
	return raw
}

// maxInHint is how many bytes of a message stand in a hint.
const maxInHint = 500

// hintOf is the hint of a problem, for clients that show that alone: where it is the one of all faults of the
// code, or the message asks what was meant, it has the message, too.
func hintOf(f *fault.Fault, entry fault.Entry) string {
	general := f.Hint == entry.Hint && f.Message != entry.Meaning
	if !general && !strings.Contains(f.Message, "; did you mean ") {
		return f.Hint
	}
	return strings.TrimSuffix(f.Hint, ".") + " (" + strings.TrimSuffix(fault.Clip(f.Message, maxInHint), ".") + ")."
}

// write sends a body of JSON.
func (h *responder) write(w http.ResponseWriter, status int, media string, body []byte) {
	w.Header().Set("Content-Type", media)
	w.Header().Set("Content-Length", strconv.Itoa(len(body))) // or longer ones are sent in chunks
	_ = http.NewResponseController(w).SetWriteDeadline(time.Now().Add(h.opts.WriteTime))
	w.WriteHeader(status)
	_, _ = w.Write(body)
}

// allows reports whether a request has one of some methods. Otherwise it has answered.
func (h *responder) allows(w http.ResponseWriter, r *http.Request, methods ...string) bool {
	for _, m := range methods {
		if r.Method == m || r.Method == http.MethodHead && m == http.MethodGet {
			return true
		}
	}
	h.rejectMethod(w, r, methods)
	return false
}

// rejectMethod answers a request whose path has other methods: OPTIONS with those.
func (h *responder) rejectMethod(w http.ResponseWriter, r *http.Request, methods []string) {
	allow := allowed(methods)
	if r.Method == http.MethodOptions {
		w.Header().Set("Allow", allow)
		w.WriteHeader(http.StatusNoContent)
		return
	}
	h.rejectAs(w, r, rejection{Fault: fault.Newf(fault.InvalidRequest, "this path has no method %s", fault.Clip(r.Method, 16)).
		WithHint("Use one of %s.", allow), status: http.StatusMethodNotAllowed, allow: allow})
}

func allowed(methods []string) string {
	var out []string
	for _, m := range methods {
		out = append(out, m)
		if m == http.MethodGet {
			out = append(out, http.MethodHead)
		}
	}
	return strings.Join(append(out, http.MethodOptions), ", ")
}

// asRejection returns the rejection in an error.
func asRejection(err error) rejection {
	var j rejection
	if errors.As(err, &j) {
		return j
	}
	return rejection{Fault: fault.From(err)}
}
