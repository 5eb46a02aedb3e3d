// Package position says how much of the data a caller has seen, so that what a replica answers it is
// never older (CONTRACT section 15).
//
// What belongs here: positions, their text, and what a call carries of them. Not here: which
// server is asked, or where a server says that it is.
package position

import (
	"cmp"
	"context"
	"fmt"
	"sync"

	"github.com/koan-go/koan/framework/fault"
)

// Position is a place in the history of one database. The zero value is before all of them.
type Position struct {
	System   uint64 // which database it is: the identifier of its cluster
	Timeline uint32 // a promotion begins a new one
	Offset   uint64 // in the write-ahead log, in bytes
}

// String returns the text that clients get and send. To them it has no parts.
func (p Position) String() string {
	return fmt.Sprintf("%016x.%d.%x", p.System, p.Timeline, p.Offset)
}

// Parse reads a text of String; everything else is invalid_payload.
func Parse(text string) (Position, error) {
	var p Position
	if _, err := fmt.Sscanf(text, "%16x.%d.%x", &p.System, &p.Timeline, &p.Offset); err != nil || p.String() != text {
		return Position{}, fault.Newf(fault.InvalidPayload, "%q is not a position that this app returns", fault.Clip(text, 64)).
			WithHint("Send the position of an earlier answer as it was, or none.")
	}
	return p, nil
}

// Before reports whether a position comes before another one of the same database.
func (p Position) Before(q Position) bool {
	return cmp.Or(cmp.Compare(p.Timeline, q.Timeline), cmp.Compare(p.Offset, q.Offset)) < 0
}

// Call is what one call's caller has seen, before it and by it. It is safe for concurrent use.
type Call struct {
	mu      sync.Mutex
	seen    Position
	known   bool
	reached bool
}

// NewCall returns that of a call whose request has a position; seen is nil where it has none.
func NewCall(seen *Position) *Call {
	c := &Call{known: seen != nil}
	if seen != nil {
		c.seen = *seen
	}
	return c
}

// Seen returns the position below which the call must not read; known is false where only
// the server with the data itself knows enough.
func (c *Call) Seen() (p Position, known bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.seen, c.known
}

// Reach notes that the call has read, or written, what is there up to a position.
func (c *Call) Reach(p Position) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.known || c.seen.System != p.System || c.seen.Before(p) {
		c.seen = p
	}
	c.known, c.reached = true, true
}

// Lose notes that the call has read or written, and nobody knows up to where.
func (c *Call) Lose() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.known, c.reached = false, false
}

// Reached returns the position of the call's answer; ok is false where the call has read nothing,
// or nobody knows.
func (c *Call) Reached() (p Position, ok bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.seen, c.reached
}

// Source says how far data has come.
type Source interface {
	// Position returns how far it has come now.
	Position(ctx context.Context) (Position, error)
}

// Keeper has data that more than one server may answer from. Positions is nil where one alone does.
type Keeper interface{ Positions() Source }

type callKey struct{}

// With returns the context of a call.
func With(ctx context.Context, c *Call) context.Context { return context.WithValue(ctx, callKey{}, c) }

// From returns the call of a context, nil where nobody asks for positions.
func From(ctx context.Context) *Call {
	c, _ := ctx.Value(callKey{}).(*Call)
	return c
}
