// Package inflight knows the place of a call among those that its client may have in flight.
//
// What belongs here: giving the place back for a while. Not here: how many places there
// are, which each surface decides.
package inflight

import "context"

// Place is the place of a call. It is safe for concurrent use.
type Place interface {
	// Suspend gives the place back until resume is called. Calls of a script may do so at the
	// same time.
	Suspend() (resume func())
}

type key struct{}

// With returns the context of a call that has a place.
func With(ctx context.Context, p Place) context.Context { return context.WithValue(ctx, key{}, p) }

// Suspend gives the place of ctx's call back until resume is called: a call that waits for
// something outside keeps no other call of its client waiting. Whoever calls it bounds how many
// calls wait.
func Suspend(ctx context.Context) (resume func()) {
	if p, ok := ctx.Value(key{}).(Place); ok {
		return p.Suspend()
	}
	return func() {}
}
