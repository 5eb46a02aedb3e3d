package run

import (
	"context"
	"encoding/json"

	"github.com/koan-go/koan/framework/catalog"
	"github.com/koan-go/koan/framework/fault"
)

// CheckInput reports what is wrong with the input of a call that a script would make,
// without making it; ctx is the one that the handler of a code operation got. Nothing
// is wrong with a call of what scripts of the caller cannot call.
func CheckInput(ctx context.Context, id catalog.ID, input json.RawMessage) error {
	c := currentCall(ctx)
	if c == nil {
		return fault.New(fault.Internal, "only a code operation checks inputs")
	}
	op := c.request.View.At(catalog.SurfaceScript).Operation(id)
	if op == nil {
		return nil
	}
	if err := c.engine.decodeIn(&call{engine: c.engine, request: c.request, op: op, input: input}, c.request.Set, c.request.Principal); err != nil {
		return err
	}
	if op.Decode != nil && op.Check != nil {
		return op.Check(input)
	}
	return nil
}
