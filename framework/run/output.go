package run

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/koan-go/koan/framework/catalog"
	"github.com/koan-go/koan/framework/fault"
	"github.com/koan-go/koan/framework/run/internal/budget"
)

// CheckSchemas returns an error that names every operation of a catalog whose input or
// output schema does not compile. Clients that compile them themselves would refuse the
// whole list of tools. Those of proven operations are their providers' business.
func (e *Engine) CheckSchemas(s *catalog.Snapshot) error {
	var problems []string
	for _, op := range s.Operations() {
		if op.Proven {
			continue
		}
		for _, part := range []struct {
			name string
			raw  json.RawMessage
		}{{"input", op.Input}, {"output", op.Output}} {
			if err := e.schemas.Compile(part.raw); err != nil {
				problems = append(problems, fmt.Sprintf("the %s schema of %s cannot be used: %v", part.name, op.ID, err))
			}
		}
	}
	if len(problems) > 0 {
		return fmt.Errorf("catalog: %s", strings.Join(problems, "; "))
	}
	return nil
}

// checkOutput returns the fault of a call that was made, and whose output is not what
// its operation declares: clients would refuse it, and scripts would go on with it. The
// operator reads of it once for each operation.
func (e *Engine) checkOutput(ctx context.Context, c *call, out json.RawMessage) error {
	op := c.op
	if op.Proven {
		return nil
	}
	if c.attempt != nil { // it is decoded to be checked
		n := int(budget.Weight(out))
		if err := c.attempt.Hold(n); err != nil {
			return err
		}
		defer c.attempt.Release(n)
	}
	wrong := e.outputProblems(op, out)
	if len(wrong) == 0 {
		return nil
	}
	name := c.nameOf(op.ID)
	f := fault.Invalid(wrong...)
	details, problems := f.Details, f.Message
	if f.Path != "" {
		problems = f.Path + ": " + problems
	}
	f = fault.Newf(fault.ExecutionError, "%s was called, but its output does not match its schema: %s", name, problems).
		WithHint("This is a defect in %s: report it to its author.", name).WithDetails(details)
	f.Retry = fault.Never
	if op.Effects.Outside && !op.Effects.ReadOnly {
		f = f.WithHint("This is a defect in %s: report it to its author. Its effect outside may have happened: do not repeat the call without checking.", name)
	}
	if _, known := e.blamed.LoadOrStore(op.ID, true); !known {
		e.opts.Log.ErrorContext(ctx, "the output of an operation does not match its schema", "operation", op.ID.String(), "run", c.Run(), "problems", problems)
	}
	return f
}

func (e *Engine) outputProblems(op *catalog.Operation, out json.RawMessage) []fault.Detail {
	if len(out) == 0 {
		out = json.RawMessage("{}") // as surfaces send it
	}
	if !utf8.Valid(out) {
		return []fault.Detail{{Message: "must be UTF-8"}}
	}
	wrong, err := e.schemas.Violations(op.Output, out)
	if err != nil {
		return []fault.Detail{{Message: "the schema cannot be used: " + err.Error()}}
	}
	return wrong
}
