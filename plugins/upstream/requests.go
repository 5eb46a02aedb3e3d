package upstream

import (
	"context"
	"encoding/json"
	"maps"
	"math"
	"slices"
	"strconv"
	"sync"

	"github.com/mark3labs/mcp-go/mcp"
)

// requests are those of a connection that have no response yet.
type requests struct {
	mu      sync.Mutex
	waiting map[string]context.CancelCauseFunc // by id
	asked   int64                              // the greatest id of one so far
	told    bool                               // the server got a notification, and has answered nothing since
}

// await lets unreadable end a request.
func (r *requests) await(ctx context.Context, request mcp.RequestId, a *answer) (waiting context.Context, done func()) {
	raw, _ := request.MarshalJSON() // a number or a text
	id := string(raw)
	ctx, cancel := context.WithCancelCause(ctx)
	fail := func(err error) {
		if a != nil {
			a.fail(err)
		}
		cancel(err)
	}
	r.mu.Lock()
	r.noteAsked(id)
	r.waiting[id] = fail
	r.mu.Unlock()
	return ctx, func() {
		r.mu.Lock()
		r.told = false
		delete(r.waiting, id)
		r.mu.Unlock()
		cancel(nil)
	}
}

// unreadable ends the request whose response cannot be read: the client library would wait for
// another one.
func (r *requests) unreadable(id string, why error) {
	r.mu.Lock()
	fail := r.waiting[id]
	r.mu.Unlock()
	if fail != nil {
		fail(why)
	}
}

// noteAsked remembers that a request has had an id: they ascend from 1.
func (r *requests) noteAsked(id string) {
	if n, err := strconv.ParseInt(id, 10, 64); err == nil {
		r.asked = max(r.asked, n)
	}
}

// everAsked reports whether a request of the connection may have had an id. An answer to one that has ended
// may come late.
func (r *requests) everAsked(id json.RawMessage) bool {
	if _, ok := r.waiting[string(id)]; ok {
		return true
	}
	n, err := strconv.ParseFloat(string(id), 64)
	return err == nil && n == math.Trunc(n) && n >= 1 && n <= float64(r.asked)
}

// find reports whether a request may have had an id, and returns the id of the only one that waits,
// "" where there is none, or more.
func (r *requests) find(id json.RawMessage) (known bool, only string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.everAsked(id), oneOf(r.waiting)
}

// noteTold notes that the server gets a notification.
func (r *requests) noteTold() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.told = true
}

// ownerOf returns the id of the request that an error without one is about: the only request without a
// response; "" if there is none, or more. Some servers answer a notification, though nobody may, with
// the error that they do not know it.
func (r *requests) ownerOf(text []byte) string {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.told && isUnknownMethod(text) {
		return ""
	}
	return oneOf(r.waiting)
}

// fail ends all of them.
func (r *requests) fail(why error) {
	r.mu.Lock()
	waiting := slices.Collect(maps.Values(r.waiting))
	r.mu.Unlock()
	for _, fail := range waiting {
		fail(why)
	}
}
