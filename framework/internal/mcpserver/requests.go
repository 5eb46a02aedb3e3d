package mcpserver

import (
	"context"
	"encoding/json"
	"errors"
	"maps"
	"slices"
	"sync"

	"github.com/koan-go/koan/framework/fault"
	"github.com/koan-go/koan/framework/inflight"
	"github.com/koan-go/koan/framework/internal/admission"
)

// requests are a client's requests that have no response yet: calls and, in the modern era,
// subscriptions. An id is in flight once among all of them.
type requests struct {
	server  *Server
	gate    *admission.CallGate
	streams *admission.Gate // of the subscriptions
	// maxStreams bounds the subscriptions; 0 is Options.QueueMax. Like the gates it is set before
	// the first message.
	maxStreams int

	mu        sync.Mutex
	calls     map[string]*pending      // by id key
	listening map[string]*subscription // by id key
	ended     bool
	answered  sync.WaitGroup
}

// pending is a call that has no response yet.
type pending struct {
	cancel    context.CancelCauseFunc
	cancelled bool      // by the client: nothing more is sent about it
	exchange  *exchange // that it is of
}

// Why a call's context ended.
var (
	errByClient = errors.New("the client cancelled the call")
	errEnding   = errors.New("the connection is ending")
)

// cancel stops a call or a subscription. Nothing more is sent about it.
func (k *requests) cancel(id json.RawMessage) {
	key, ok := idKey(id)
	if !ok {
		return
	}
	k.mu.Lock()
	if k.listening[key] != nil {
		delete(k.listening, key)
		k.streams.Leave()
	}
	c := k.calls[key]
	if c != nil {
		c.cancelled = true
		c.cancel(errByClient)
		delete(k.calls, key)
	}
	k.mu.Unlock()
	if c != nil {
		c.exchange.stopNotifying() // not under the lock: a report may be waiting for the queue
	}
}

// inputBuffers bounds the inputs of the calls in flight, in multiples of
// Options.MaxBufferBytes: a parsed message takes many times its length.
const inputBuffers = 4

// admit takes a place for a call. Its id is free again once finish has returned, its
// place once the gate was left.
func (k *requests) admit(ctx context.Context, ex *exchange) (context.Context, *rpcError) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.calls[ex.key] != nil || k.listening[ex.key] != nil {
		return nil, protocolError(fault.Newf(fault.InvalidRequest, "a request with the id %s is in flight", ex.id))
	}
	if k.ended {
		return nil, protocolError(fault.New(fault.Cancelled, "the connection is ending"))
	}
	limit := k.server.now().QueueMax
	slot, running := k.gate.Enter(limit)
	queue := func() map[string]any { return map[string]any{"max": limit, "size": running} }
	if slot == nil {
		f := fault.Newf(fault.QueueOverloaded, "%d calls are in flight, which is the limit", running)
		return nil, protocolError(f.WithDetails(map[string]any{"queue": queue()}))
	}
	most := inputBuffers * k.server.opts.MaxBufferBytes
	if bytes, ok := slot.AddBytes(len(ex.params), most); !ok {
		slot.Leave()
		running--
		f := fault.Newf(fault.QueueOverloaded, "the calls in flight hold %d bytes of input, so %d more are too many", bytes, len(ex.params))
		return nil, protocolError(f.WithDetails(map[string]any{"queue": queue(), "maxBytes": most, "bytes": bytes}))
	}
	ex.pending, ex.slot = &pending{exchange: ex}, slot
	ctx, ex.pending.cancel = context.WithCancelCause(inflight.With(ctx, slot))
	if k.calls == nil {
		k.calls = map[string]*pending{}
	}
	k.calls[ex.key] = ex.pending
	k.answered.Add(1)
	return ctx, nil
}

// finish reports whether a call may still get a response, and frees its id.
func (k *requests) finish(ex *exchange) bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	if ex.pending.cancelled {
		return false
	}
	delete(k.calls, ex.key)
	return true
}

// drain refuses further requests. It returns the subscriptions, which are the caller's to end; the
// channel is closed when every call has its response.
func (k *requests) drain() (open map[string]*subscription, done <-chan struct{}) {
	k.mu.Lock()
	k.ended = true
	open, k.listening = k.listening, nil
	k.mu.Unlock()
	answered := make(chan struct{})
	go func() {
		k.answered.Wait()
		close(answered)
	}()
	for range open {
		k.streams.Leave()
	}
	return open, answered
}

// stop cancels all calls; each is answered as cancelled.
func (k *requests) stop(why error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	for _, c := range k.calls {
		c.cancel(why)
	}
}

// idle reports whether no call is waiting for its answer.
func (k *requests) idle() bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	return len(k.calls) == 0
}

// conclude responds to a request, once; it returns false if there was a response already.
// taken is called when the response is in the writer's queue. A goroutine that has
// nothing else to do writes the response itself if the writer is idle.
func (k *requests) conclude(ex *exchange, result any, failed *rpcError, taken func()) bool {
	if ex.concluded.Swap(true) {
		return false
	}
	out := outgoing{isAnswer: true}
	if k.finish(ex) {
		ex.progress.flush()
		out = answerOf(ex.id, result, k.server.redactError(failed))
	}
	ex.stopNotifying()
	out.progress, out.taken = ex.progress.gap(), taken
	var write func()
	if c, ok := ex.to.(carrier); ok {
		write = c.carry(out)
	} else {
		ex.to.put(out) // empty for a cancelled one, which a batch waits for as well
	}
	ex.pending.cancel(nil)
	k.answered.Done()
	if write != nil {
		write()
	}
	return true
}

// isOpen reports whether a subscription has not ended.
func (k *requests) isOpen(sub *subscription) bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.listening[sub.key] == sub
}

// subscribed are the open subscriptions.
func (k *requests) subscribed() []*subscription {
	k.mu.Lock()
	defer k.mu.Unlock()
	return slices.Collect(maps.Values(k.listening))
}

// subscribe takes a place for a subscription.
func (k *requests) subscribe(sub *subscription) *rpcError {
	k.mu.Lock()
	defer k.mu.Unlock()
	switch {
	case k.ended:
		return protocolError(fault.New(fault.Cancelled, "the connection is ending"))
	case k.calls[sub.key] != nil || k.listening[sub.key] != nil:
		return protocolError(fault.Newf(fault.InvalidRequest, "a request with the id %s is in flight", sub.id))
	}
	limit := k.maxStreams
	if limit == 0 {
		limit = k.server.now().QueueMax
	}
	if open, ok := k.streams.Enter(limit); !ok {
		f := fault.Newf(fault.QueueOverloaded, "%d subscriptions are open, which is the limit", open)
		return protocolError(f.WithDetails(map[string]any{"queue": map[string]any{"max": limit, "size": open}}))
	}
	if k.listening == nil {
		k.listening = map[string]*subscription{}
	}
	k.listening[sub.key] = sub
	return nil
}
