package codemode

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/koan-go/koan/codemode/internal/bind"
	"github.com/koan-go/koan/codemode/internal/wire"
	"github.com/koan-go/koan/framework/catalog"
	"github.com/koan-go/koan/framework/fault"
	"github.com/koan-go/koan/framework/run"
)

const (
	// clockSlot is the slot of the tape for the script's clock after a call.
	clockSlot = "clock"
	// deliveries is the position on the tape of the order of a run's deliveries: before that
	// of the first call.
	deliveries run.Position = "0"
	// maxInFlight bounds the calls that were started and not yet delivered.
	maxInFlight = 10_000
	// flightBytes is the memory of a started call besides its input and output.
	flightBytes = 1 << 10
)

// host serves the calls of one attempt. The executor's goroutine calls its
// methods; started calls are made in goroutines of their own.
type host struct {
	*hostOutput
	callNotes
	started
	view     *catalog.View // what the script sees
	calls    calls
	attempt  *run.Attempt
	app      bind.App
	limits   wire.Limits
	maxCalls int           // quota of calls, 0 is unlimited
	asked    int           // calls of discovery, which are not calls of a provider
	last     chan struct{} // closed when the last of the ordered calls has ended
	ended    error         // what ends the attempt
	endedBy  uint32        // the call that it is the end of, 0 for none
	history  [sha256.Size]byte
}

// started are the calls that a script has started, until their results are delivered.
type started struct {
	count   int // of all
	flights map[uint32]*flight
	ready   []*flight // arrived and not delivered, in the order of arrival
	running sync.WaitGroup

	arrival  chan struct{} // something has arrived
	mu       sync.Mutex
	arrived  []*flight
	parallel int       // calls that are being made at once
	queue    []*flight // started calls that wait for one of these to end, in the order of issue
}

// callNotes are what is remembered of calls after they have ended.
type callNotes struct {
	mu     sync.Mutex
	cutOff []string // calls outside that the end of the time has cut off
	rules  []*fault.Fault
	files  map[string]json.RawMessage // what calls have said of files, by id
}

// flight is a started call.
type flight struct {
	ref     uint32
	at      run.Position
	id      catalog.ID
	in      json.RawMessage // until it is called
	ordered bool
	whole   bool // it is a call for the whole MCP result
	files   bool // its pictures and sound become files
	bytes   int  // of input and output, which are counted for the attempt
	out     json.RawMessage
	err     error
}

// calls makes a script's calls: those of a run, or of an action in it.
type calls interface {
	Next() run.Position
	Deliveries() run.Position
	Invoke(ctx context.Context, at run.Position, id catalog.ID, input json.RawMessage) (json.RawMessage, error)
}

// ownCalls are those of the run itself. A tool of a server that could not be listed is not
// unknown: what became of the server is.
type ownCalls struct {
	*run.Attempt
	missing unlisted
}

// Invoke implements calls.
func (c ownCalls) Invoke(ctx context.Context, at run.Position, id catalog.ID, input json.RawMessage) (json.RawMessage, error) {
	if why := c.missing[id.Owner]; why != nil && id.Kind == catalog.KindUpstream && id.Op != catalog.AnyTool {
		return nil, why
	}
	return c.Attempt.Invoke(ctx, at, id, input)
}

func (ownCalls) Deliveries() run.Position { return deliveries }

var (
	_ wire.Host = (*host)(nil)
	_ calls     = ownCalls{}
	_ calls     = (*run.Nest)(nil)
)

func newHost(call catalog.Call, view *catalog.View, c calls, a *run.Attempt, app bind.App, l wire.Limits, maxCalls int) *host {
	first := make(chan struct{})
	close(first)
	return &host{
		hostOutput: &hostOutput{call: call}, started: started{flights: map[uint32]*flight{}, arrival: make(chan struct{}, 1)},
		view: view, calls: c, attempt: a, app: app, limits: l, maxCalls: maxCalls, last: first,
	}
}

// Call takes the position at once, so that positions are in the order of issue.
// The clock after the call is on the tape: a later attempt sees the same time. A
// call to an entity waits for those that were started before it.
func (h *host) Call(ctx context.Context, id string, input json.RawMessage) (json.RawMessage, int64, error) {
	if h.ended != nil {
		return nil, 0, h.ended
	}
	at := h.calls.Next()
	id, whole := strings.CutPrefix(id, wire.WholePrefix)
	if whole {
		ctx = catalog.WithWholeResult(ctx)
	}
	parsed, err := catalog.ParseID(id)
	var out json.RawMessage
	if err == nil {
		if h.ordered(parsed) {
			select {
			case <-h.last:
			case <-ctx.Done():
				return nil, 0, ctx.Err()
			}
		}
		if out, err = h.calls.Invoke(ctx, at, parsed, input); whole && err == nil {
			out, err = wholeResult(parsed, out)
		}
		h.noteCutOff(ctx, parsed, err)
		h.noteRule(err)
		if parsed.Kind == catalog.KindUpstream && !run.Ends(err) {
			err = explainInput(err, h.view.At(catalog.SurfaceScript).Operation(parsed), input)
		}
	}
	if run.Ends(err) {
		return nil, 0, err
	}
	if err == nil && id == wire.FilesGet {
		h.noteFile(out)
	}
	now, terr := h.clock(at)
	if terr != nil {
		return nil, 0, terr
	}
	return out, now, err
}

// noteFile keeps what a call said of a file: a result has no others.
func (h *callNotes) noteFile(raw json.RawMessage) {
	var f resultFile
	if json.Unmarshal(raw, &f) != nil {
		return
	}
	if h.files == nil {
		h.files = map[string]json.RawMessage{}
	}
	h.files[f.ID] = raw
}

func (h *host) clock(at run.Position) (int64, error) {
	return h.attempt.Tape().Clock(at, clockSlot, h.attempt.Clock)
}

func (h *host) ordered(id catalog.ID) bool {
	op := h.view.Snapshot().Operation(id)
	return op != nil && (op.Serial || op.Composed())
}

// Start implements wire.Host. A call that cannot be started fails at its delivery, or ends
// the attempt.
func (h *host) Start(ctx context.Context, ref uint32, id string, input json.RawMessage) {
	if h.ended != nil {
		return
	}
	f := &flight{ref: ref, at: h.calls.Next(), bytes: flightBytes + len(input)}
	asks := strings.HasPrefix(id, wire.DiscoveryPrefix)
	if err := h.admit(f, asks); err != nil {
		h.end(err, ref)
		return
	}
	h.flights[ref] = f
	if asks {
		f.ordered = true // it is over at once
		f.out, f.err = h.discover(f.at, id, input)
		if err := h.holdOutput(f); err != nil {
			h.end(err, ref)
			return
		}
		h.ready = append(h.ready, f)
		return
	}
	id, f.files = strings.CutPrefix(id, wire.FilesPrefix)
	id, f.whole = strings.CutPrefix(id, wire.WholePrefix)
	parsed, err := catalog.ParseID(id)
	if err != nil {
		f.ordered, f.err = true, err
		h.ready = append(h.ready, f)
		return
	}
	f.id, f.in = parsed, input
	if f.ordered = h.ordered(parsed); f.ordered {
		turn, over := h.last, make(chan struct{})
		h.last = over
		h.running.Go(func() { h.makeInTurn(ctx, f, turn, over) })
		return
	}
	h.started.mu.Lock()
	defer h.started.mu.Unlock()
	if h.parallel >= h.limits.MaxParallelCalls {
		h.queue = append(h.queue, f)
		return
	}
	h.parallel++
	h.running.Go(func() { h.makeParallel(ctx, f) })
}

// admit bounds the calls that wait: a script that starts calls faster than they are made
// must not fill this process. The quota is counted when a call is made.
func (h *host) admit(f *flight, asks bool) error {
	if !asks {
		h.count++
	}
	switch {
	case h.flights[f.ref] != nil || f.ref == 0:
		return fault.Newf(fault.ExecutionError, "the call number %d was started twice", f.ref)
	case h.maxCalls > 0 && h.count > h.maxCalls:
		return run.TooManyCalls(h.view, h.maxCalls)
	case len(h.flights) >= maxInFlight:
		return fault.Newf(fault.ParallelCallsExceeded, "more than %d calls wait to be made or to be awaited", maxInFlight).WithDetails(map[string]any{"limit": maxInFlight})
	}
	return h.attempt.Hold(f.bytes)
}

// holdOutput counts the output of a started call until it is delivered. Outputs of calls
// that no transaction covers are on the tape, which counts them.
func (h *host) holdOutput(f *flight) error {
	if !f.ordered {
		return nil
	}
	if err := h.attempt.Hold(len(f.out)); err != nil {
		f.out, f.err = nil, err
		return err
	}
	f.bytes += len(f.out)
	return nil
}

// makeInTurn makes an ordered call when the one before it is over.
func (h *host) makeInTurn(ctx context.Context, f *flight, turn, over chan struct{}) {
	defer close(over)
	select {
	case <-turn:
	case <-ctx.Done():
	}
	h.make(ctx, f)
}

// makeParallel makes a call that waits for no other, and after it those that wait for its
// place. It makes no more once a call has ended the attempt.
func (h *host) makeParallel(ctx context.Context, f *flight) {
	for f != nil {
		h.make(ctx, f)
		h.started.mu.Lock()
		if run.Ends(f.err) {
			h.queue = nil
		}
		f = nil
		if len(h.queue) > 0 {
			f, h.queue = h.queue[0], h.queue[1:]
		} else {
			h.parallel--
		}
		h.started.mu.Unlock()
	}
}

// make makes a started call, and notes that it has ended.
func (h *host) make(ctx context.Context, f *flight) {
	if f.err = ctx.Err(); f.err == nil {
		made := ctx
		if !f.files { // it is one of a module's function
			made = catalog.WithMediaInPlace(ctx)
		}
		if f.whole {
			made = catalog.WithWholeResult(made)
		}
		if f.out, f.err = h.calls.Invoke(made, f.at, f.id, f.in); f.whole && f.err == nil {
			f.out, f.err = wholeResult(f.id, f.out)
		}
		h.noteCutOff(ctx, f.id, f.err)
		h.noteRule(f.err)
		f.err = explainInput(f.err, h.view.At(catalog.SurfaceScript).Operation(f.id), f.in)
	}
	f.in = nil
	_ = h.holdOutput(f) // its end tells
	h.started.mu.Lock()
	h.arrived = append(h.arrived, f)
	h.started.mu.Unlock()
	select {
	case h.arrival <- struct{}{}:
	default: // it is known
	}
}

// maxRules bounds the refusals of rules that are remembered.
const maxRules = 64

// noteRule remembers the fault of a rule of the app, since the worker cannot tell it from others.
func (h *callNotes) noteRule(err error) {
	var f *fault.Fault
	if !errors.As(err, &f) || !f.IsByRule() {
		return
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if len(h.rules) < maxRules {
		h.rules = append(h.rules, f)
	}
}

// restoreRule returns the fault that ended a script as the call returned it, where a rule refused that.
func (h *callNotes) restoreRule(f *fault.Fault) *fault.Fault {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, r := range h.rules {
		if r.Code == f.Code && r.Message == f.Message {
			return f.ByRule()
		}
	}
	return f
}

// noteCutOff notes a call of a plugin or a server that has failed because its time is over: what
// the run waited for is what its caller wants to know.
func (h *callNotes) noteCutOff(ctx context.Context, id catalog.ID, err error) {
	if err == nil || ctx.Err() == nil || id.Kind != catalog.KindUpstream && id.Kind != catalog.KindPlugin {
		return
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	name := id.Owner + "." + id.Op
	if id.Op == catalog.AnyTool {
		name = id.Owner
	}
	if !slices.Contains(h.cutOff, name) {
		h.cutOff = append(h.cutOff, name)
	}
}

// end records the error that ends the attempt, and the call that caused it, 0 for none.
func (h *host) end(err error, ref uint32) {
	if h.ended == nil {
		h.ended, h.endedBy = err, ref
	}
}

// Next implements wire.Host. Which call is delivered is on the tape, keyed by what the
// script did and got so far: an attempt that does the same gets the same order, and one
// that does something else gets a new one.
func (h *host) Next(ctx context.Context, most time.Duration) (uint32, json.RawMessage, int64, error) {
	if h.ended == nil && len(h.flights) == 0 {
		h.end(fault.New(fault.ExecutionError, "the script waits for calls that were not started"), 0)
	}
	slot := fmt.Sprintf("%s %d %t", hex.EncodeToString(h.history[:8]), len(h.flights), most >= 0)
	chosen, err := h.attempt.Tape().Value(h.calls.Deliveries(), slot, func() (any, error) { return h.first(ctx, most) })
	if err != nil {
		return h.endedBy, nil, 0, err
	}
	ref, ok := chosen.(int64)
	if !ok {
		return 0, nil, 0, fault.Newf(fault.Internal, "the tape holds a delivery of type %T", chosen)
	}
	h.history = sha256.Sum256(fmt.Appendf(h.history[:], "%s %d", slot, ref))
	if ref == 0 {
		return 0, nil, 0, nil
	}
	f, err := h.take(ctx, uint32(ref))
	if err != nil {
		return h.endedBy, nil, 0, err
	}
	now, err := h.clock(f.at)
	if err != nil {
		return 0, nil, 0, err
	}
	return f.ref, f.out, now, f.err
}

// first waits for the first call to end and returns its number, 0 if most has passed
// before.
func (h *host) first(ctx context.Context, most time.Duration) (any, error) {
	var late <-chan time.Time
	if most >= 0 {
		timer := time.NewTimer(most)
		defer timer.Stop()
		late = timer.C
	}
	for h.ended == nil && len(h.ready) == 0 {
		select {
		case <-h.arrival:
			h.receive()
		case <-late:
			return int64(0), nil
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
	if h.ended != nil {
		return nil, h.ended
	}
	return int64(h.ready[0].ref), nil
}

// receive collects the calls that have ended. One that ends the attempt does so at once,
// even if others are before it.
func (h *host) receive() {
	h.started.mu.Lock()
	arrived := h.arrived
	h.arrived = nil
	h.started.mu.Unlock()
	for _, f := range arrived {
		h.ready = append(h.ready, f)
		if run.Ends(f.err) {
			h.end(f.err, f.ref)
		}
	}
}

// exceededLimit returns the fault of a limit that was exceeded by a call which the script did not
// await, nil for none: such a script fails.
func (h *host) exceededLimit() error {
	h.receive()
	var f *fault.Fault
	if errors.As(h.ended, &f) && f.EndsRun() {
		return f
	}
	return nil
}

// take waits for a certain call, removes it and returns it.
func (h *host) take(ctx context.Context, ref uint32) (*flight, error) {
	if h.flights[ref] == nil {
		return nil, fault.Newf(fault.Internal, "the tape delivers the call number %d, which is not in flight", ref)
	}
	for {
		for i, f := range h.ready {
			if f.ref == ref {
				h.ready = append(h.ready[:i], h.ready[i+1:]...)
				delete(h.flights, ref)
				h.attempt.Release(f.bytes)
				return f, nil
			}
		}
		select {
		case <-h.arrival:
			h.receive()
		case <-ctx.Done():
			return nil, ctx.Err()
		}
		if h.ended != nil {
			return nil, h.ended
		}
	}
}

// wait waits until no call of the job runs any more. The context that Start got must have
// ended.
func (h *host) wait() { h.running.Wait() }
