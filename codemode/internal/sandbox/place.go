package sandbox

import "context"

// place is where a part of a job computes: the slot of its job, nil for a job that has none.
type place struct {
	queue  *queue
	ticket *ticket
	// lent says that an inner job computes in place of the part that has called it and waits for it.
	lent bool
}

type placeKey struct{}

// lend returns a context for a call of this part of a job. An inner job that it begins computes in this part's
// place, or, if the call is only started, beside it.
func (p place) lend(ctx context.Context, waits bool) context.Context {
	p.lent = waits
	return context.WithValue(ctx, placeKey{}, p)
}

// placeOf returns the place of an inner job, and what gives it back at the end.
func placeOf(ctx context.Context) (place, func()) {
	p, _ := ctx.Value(placeKey{}).(place)
	if p.lent {
		return p, func() {}
	}
	p.resume()
	return p, p.rest
}

// rest says that the part waits for something outside.
func (p place) rest() {
	if p.ticket != nil {
		p.queue.rest(p.ticket)
	}
}

// resume says that the part computes, again or from now on.
func (p place) resume() {
	if p.ticket != nil {
		p.queue.resume(p.ticket)
	}
}
