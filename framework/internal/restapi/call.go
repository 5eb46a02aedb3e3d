package restapi

import (
	"bytes"
	"encoding/json"
	"net/http"
	"slices"
	"unicode/utf8"

	"github.com/koan-go/koan/framework/auth"
	"github.com/koan-go/koan/framework/catalog"
	"github.com/koan-go/koan/framework/exact"
	"github.com/koan-go/koan/framework/fault"
	"github.com/koan-go/koan/framework/inflight"
	"github.com/koan-go/koan/framework/internal/invoke"
	"github.com/koan-go/koan/framework/run"
	"github.com/koan-go/koan/framework/run/observe"
)

// surface names REST in the journal.
const surface = "rest"

// call is a request for one operation.
type call struct {
	operation *catalog.Operation
	input     json.RawMessage
	// merge says that changes are a merge patch (RFC 7396), matches that If-Match names what must be
	// there, keyed that a header has the idempotency key.
	merge, matches, keyed bool
	via                   catalog.Surface // SurfaceApp for an operation that routes alone reach
	// faultPath turns a path into the input into one into the request; id reports that it is
	// that of the id in the path. nil: they are the same.
	faultPath func(path string) (at string, id bool)
	progress  func(done, total float64, message string)
	tags      tagger // of an entity's row; known before the call, so that no response fails when a write is done
}

// maxKey bounds an idempotency key, in characters.
const maxKey = 200

// givenKey reads the idempotency key of a request, "" for none.
func givenKey(r *http.Request) (string, error) {
	given := r.Header.Values(keyHeader)
	switch {
	case len(given) == 0:
		return "", nil
	case len(given) > 1 || given[0] == "" || utf8.RuneCountInString(given[0]) > maxKey || !utf8.ValidString(given[0]):
		return "", fault.Newf(fault.InvalidPayload, "the header %s must have one value of 1 to %d characters", keyHeader, maxKey)
	}
	return given[0], nil
}

// key reads the idempotency key of a request for an operation.
func key(r *http.Request, op *catalog.Operation) (string, error) {
	given, err := givenKey(r)
	switch {
	case given == "":
		return "", err
	case op.Effects.ReadOnly:
		return "", fault.Newf(fault.InvalidPayload, "the header %s is for what changes something", keyHeader).WithHint("Leave it out.")
	}
	return given, nil
}

// keyMember is the member of the input of code tools that says the same as the header: their keys
// are about more than the input of one call.
const keyMember = "idempotencyKey"

// withKey returns the input of a code tool with the key of the request's header.
func withKey(op *catalog.Operation, input json.RawMessage, key string) (json.RawMessage, error) {
	if memberOf(op, keyMember) == nil {
		return nil, fault.Newf(fault.InvalidPayload, "%s takes no key: it cannot be made to happen once", op.ID.Op).WithHint("Leave the header %s out, or call koan.code.execute, which takes it.", keyHeader)
	}
	members := rowOf(input)
	if members == nil {
		return input, nil // the tool says what is wrong with it
	}
	quoted := json.RawMessage(exact.AppendString(nil, key))
	var own string
	switch said := members[keyMember]; {
	case said == nil: // spliced in, so that the tool sees the rest as it was sent
		rest := bytes.TrimSpace(bytes.TrimPrefix(bytes.TrimSpace(input), []byte("{")))
		sep := ","
		if rest[0] == '}' {
			sep = ""
		}
		return slices.Concat([]byte(`{"`+keyMember+`":`), quoted, []byte(sep), rest), nil
	case string(said) == "null":
		members[keyMember] = quoted
		return object(members), nil
	case json.Unmarshal(said, &own) == nil && own != key:
		return nil, fault.Newf(fault.InvalidPayload, "the header %s and idempotencyKey in the body differ", keyHeader).WithPath("/" + keyMember).WithHint("Send one of them.")
	}
	return input, nil
}

// call makes a call within the caller's bounds. The error is a rejection.
func (h *invocations) call(r *http.Request, v *catalog.View, c *call) (invoke.Result, error) {
	live, gate := h.now(), &caller(r).Calls
	slot, running := gate.Enter(live.QueueMax)
	if slot == nil {
		return invoke.Result{}, fault.Newf(fault.QueueOverloaded, "%d calls are in flight, which is the limit", running).
			WithDetails(map[string]any{"queue": map[string]any{"max": live.QueueMax, "size": running}})
	}
	const inputs = 4 // a parsed body takes many times its length
	defer slot.Leave()
	if bytes, ok := slot.AddBytes(len(c.input), inputs*h.opts.MaxBody); !ok {
		return invoke.Result{}, fault.Newf(fault.QueueOverloaded, "the calls in flight hold %d bytes of input, so %d more are too many", bytes, len(c.input))
	}
	name, err := key(r, c.operation)
	c.keyed = name != ""
	if err == nil && c.keyed && c.operation.ID.Kind == catalog.KindCode {
		c.input, err = withKey(c.operation, c.input, name)
		name = ""
	}
	if err != nil {
		return invoke.Result{}, err
	}
	ctx, stop := invoke.WithLimit(inflight.With(r.Context(), slot), c.operation, invoke.Limit(c.operation, live.ToolTimeout))
	defer stop()
	got := invoke.Call(ctx, h.opts.Engine, run.Request{
		View: v, Principal: auth.From(r.Context()), ID: c.operation.ID, Input: c.input, Surface: surface, Via: c.via, IdempotencyKey: name,
		Parent: parent(r), Reports: run.Reports{Progress: c.progress},
	}, r.Header.Get(versionHeader))
	switch f := got.Fault(); {
	case f == nil && c.foundNone(got):
		return got, rejection{Fault: gone(), status: http.StatusPreconditionFailed}
	case f == nil:
		return got, nil
	case h.cutOff(f):
		return got, rejection{Fault: f, status: http.StatusServiceUnavailable}
	default:
		return got, c.rejection(f)
	}
}

// cutOff reports whether it was the end of the server that a call was cut off by. The call is
// cancelled all the same: what it did outside is not known to have failed.
func (h *invocations) cutOff(f *fault.Fault) bool {
	return f.Code == fault.Cancelled && h.calls.Err() != nil
}

// parent is the trace context of a request.
func parent(r *http.Request) observe.TraceContext {
	return observe.TraceContext{Parent: r.Header.Get("Traceparent"), State: r.Header.Get("Tracestate")}.Bounded()
}

// foundNone reports whether the row was not there that a call should delete and If-Match names.
func (c *call) foundNone(got invoke.Result) bool {
	return c.matches && c.operation.ID.Op == "delete" && len(got.Outcome.Counts) == 0
}

// gone is the fault of a request whose If-Match names an entity that is no longer there.
func gone() *fault.Fault {
	return fault.New(fault.Conflict, "there is no entity with this id, so none that If-Match names").WithRetry(fault.Fix)
}

// rejection is what the caller gets for a fault of the call.
func (c *call) rejection(f *fault.Fault) error {
	switch {
	case c.keyed && f.Path == "/idempotencyKey":
		return rejection{Fault: f.WithPath("")}
	case c.matches && f.Code == fault.NotFound && f.Path == "/id":
		return rejection{Fault: gone(), status: http.StatusPreconditionFailed}
	case f.Code == fault.Conflict && (c.matches && f.Path == "/ifVersion" || f.Path == matchPath):
		return rejection{Fault: f.WithPath("").WithRetry(fault.Fix), status: http.StatusPreconditionFailed} // the same request fails again
	case c.faultPath == nil:
		return f
	}
	details, several := f.Details.([]fault.Detail)
	at, id := c.faultPath(f.Path)
	if f.Code == fault.InvalidPayload && (id || several && len(details) > 0 && !slices.ContainsFunc(details, func(d fault.Detail) bool {
		_, id := c.faultPath(d.Path)
		return !id
	})) {
		return fault.Newf(fault.NotFound, "no entity has an id like this: %s", f.Message).WithPath("/id")
	}
	moved := *f
	moved.Path = at
	if several {
		details = slices.Clone(details)
		for i := range details {
			details[i].Path, _ = c.faultPath(details[i].Path)
		}
		moved.Details = details
		if len(details) > 1 {
			moved.Message = fault.Invalid(details...).Message
		}
	}
	return &moved
}
