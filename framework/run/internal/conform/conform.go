// Package conform holds the inputs and outputs of operations against their schemas.
//
// What belongs here: whether they fit, and whose fault it is where they do not. Not here:
// when in a call that is asked.
package conform

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"unicode/utf8"

	"github.com/koan-go/koan/framework/catalog"
	"github.com/koan-go/koan/framework/fault"
	"github.com/koan-go/koan/framework/schema"
)

// Checker checks inputs and outputs. It is safe for concurrent use.
type Checker struct {
	schemas  schema.Cache
	inputs   schema.Cache // which asserts formats
	log      *slog.Logger
	reported sync.Map // IDs of operations whose outputs did not fit, and the log says so
}

// New returns a checker that logs defects of operations.
func New(log *slog.Logger) *Checker {
	return &Checker{log: log, inputs: schema.Cache{AssertFormats: true}}
}

// Snapshot returns an error that names every operation of a catalog whose input or
// output schema does not compile. Clients that compile them themselves would refuse the
// whole list of tools. Those of proven operations are their providers' business.
func (c *Checker) Snapshot(s *catalog.Snapshot) error {
	var problems []string
	for _, op := range s.Operations() {
		if op.Proven {
			continue
		}
		for _, part := range []struct {
			name string
			raw  json.RawMessage
		}{{"input", op.Input}, {"output", op.Output}} {
			if err := c.schemas.Compile(part.raw); err != nil {
				problems = append(problems, fmt.Sprintf("the %s schema of %s cannot be used: %v", part.name, op.ID, err))
			}
		}
	}
	if len(problems) > 0 {
		return fmt.Errorf("catalog: %s", strings.Join(problems, "; "))
	}
	return nil
}

// WholeIntegers returns the output of a plugin with integers where its schema has them and it has written strings of
// digits, since its language has no others beyond 2^53. What is wrong with it Output says.
func (c *Checker) WholeIntegers(op *catalog.Operation, out json.RawMessage) json.RawMessage {
	if op.ID.Kind != catalog.KindPlugin || op.Proven {
		return out
	}
	if whole, err := c.schemas.Integers(op.Output, out); err == nil {
		return whole
	}
	return out
}

// Input returns the fault of an input that is not what an operation takes. What other servers
// mean by a format they check themselves: many take more than it says. What an action takes becomes values of rows,
// and NUL is none: a call inside would be refused, which the action's author has not foreseen.
func (c *Checker) Input(op *catalog.Operation, input json.RawMessage) error {
	if op.ID.Kind == catalog.KindUpstream {
		return c.schemas.Check(op.Input, input)
	}
	if err := c.inputs.Check(op.Input, input); err != nil || op.ID.Kind != catalog.KindAction {
		return err
	}
	return refuseNUL(input)
}

// Integers returns an input, or what else a schema is about, with its integers as the schema has them: see
// schema.Cache.Integers.
func (c *Checker) Integers(schema, value json.RawMessage) (json.RawMessage, error) {
	return c.schemas.Integers(schema, value)
}

// Output returns the fault of a call that was made, and whose output is not what its
// operation declares: clients would refuse it, and scripts would go on with it. name is
// how messages name the operation, and outside says that something outside may have changed. The
// operator reads of it once for each operation.
func (c *Checker) Output(ctx context.Context, op *catalog.Operation, name, run string, outside bool, out json.RawMessage) error {
	wrong := c.problems(op, out)
	if len(wrong) == 0 {
		return nil
	}
	f := fault.Invalid(wrong...)
	details, problems := f.Details, f.Message
	if f.Path != "" {
		problems = f.Path + ": " + problems
	}
	f = fault.Newf(fault.ExecutionError, "%s was called, but its output does not match its schema: %s", name, problems).
		WithHint("This is a defect in %s: report it to its author.", name).WithDetails(details)
	f.Retry = fault.Never
	if outside {
		f = f.WithHint("This is a defect in %s: report it to its author. Its effect outside may have happened: do not repeat the call without checking.", name)
	}
	if _, known := c.reported.LoadOrStore(op.ID, true); !known {
		c.log.ErrorContext(ctx, "the output of an operation does not match its schema", "operation", op.ID.String(), "run", run, "problems", problems)
	}
	return f
}

func (c *Checker) problems(op *catalog.Operation, out json.RawMessage) []fault.Detail {
	if len(out) == 0 {
		out = json.RawMessage("{}") // as surfaces send it
	}
	if !utf8.Valid(out) {
		return []fault.Detail{{Message: "must be UTF-8"}}
	}
	wrong, err := c.schemas.Violations(op.Output, out)
	if err != nil {
		return []fault.Detail{{Message: "the schema cannot be used: " + err.Error()}}
	}
	return wrong
}
