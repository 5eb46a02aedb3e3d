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
	return c.engine.decode(&call{request: c.request, op: op}, catalog.Input{JSON: input, Set: c.request.Set, Ahead: true})
}
