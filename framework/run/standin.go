package run

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/koan-go/koan/framework/catalog"
	"github.com/koan-go/koan/framework/run/internal/callfault"
)

// standIn returns the operation to call for id: the one that stands for it if it is a tool of a
// server whose tools were not known when the run began.
func (c *call) standIn(id catalog.ID) catalog.ID {
	snapshot := c.request.View.Snapshot()
	if id.Kind != catalog.KindUpstream || snapshot.Operation(id) != nil {
		return id
	}
	other := catalog.ID{Kind: id.Kind, Owner: id.Owner, Op: catalog.AnyTool}
	if snapshot.Operation(other) == nil || !json.Valid(c.input) {
		return id
	}
	tool, _ := json.Marshal(id.Op) // a text always encodes
	c.input = fmt.Appendf(nil, `{"tool":%s,"input":%s}`, tool, c.input)
	return other
}

// asked returns the operation that a call asks for: id, or the tool that the input of one that
// stands for others names, which may turn out not to exist.
func (c *call) asked(id catalog.ID) catalog.ID {
	var in struct{ Tool string }
	if c.called.Kind != catalog.KindUpstream || c.called.Op != catalog.AnyTool || json.Unmarshal(c.input, &in) != nil {
		return id
	}
	tool := c.called
	tool.Op = in.Tool
	if parsed, err := catalog.ParseID(tool.String()); err != nil || parsed != tool {
		return id
	}
	return tool
}

// resolve turns a call of an operation that stands for others into one of the operation that it
// is of. Nothing stays locked while it waits.
func (e *Engine) resolve(ctx context.Context, c *call) error {
	if c.op.Resolve == nil {
		return nil
	}
	if err := e.decode(c, catalog.Input{JSON: c.input}); err != nil {
		return err
	}
	var op *catalog.Operation
	input, err := c.attempt.awaitOutside(ctx, true, func(ctx context.Context) (input json.RawMessage, err error) {
		op, input, err = c.op.Resolve(ctx, c)
		return input, err
	})
	if err != nil {
		return err
	}
	if missing := c.request.Principal.Missing(op.Needs()); missing != "" {
		return callfault.MissingScope(missing)
	}
	c.through, c.op, c.input = c.op, op, input
	c.decoded = catalog.Decoded{}
	if c.nest != nil {
		return c.nest.admits(op)
	}
	return nil
}
