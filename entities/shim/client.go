package shim

import (
	"context"

	"github.com/koan-go/koan/framework/fault"
)

type clientKey struct{}

// access is the client of a set that the code of a run works on, or why there is none.
type access struct {
	client Client
	err    error
}

// WithClient returns the context of code that works on a set of a run with a client; err says
// why there is none.
func WithClient(ctx context.Context, c Client, err error) context.Context {
	return context.WithValue(ctx, clientKey{}, access{c, err})
}

// ClientOf returns the client of WithClient. Outside of a run it ends in invalid_request.
func ClientOf(ctx context.Context) (Client, error) {
	a, ok := ctx.Value(clientKey{}).(access)
	if !ok {
		return nil, fault.New(fault.InvalidRequest, "the context is not that of a run's code").
			WithHint("Pass on the context that the action, hook or function of Instance.Tx got.")
	}
	return a.client, a.err
}
