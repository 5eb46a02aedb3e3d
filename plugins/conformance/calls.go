package conformance

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/koan-go/koan/framework/fault"
	"github.com/koan-go/koan/framework/schema"
	"github.com/koan-go/koan/plugins/internal/wire"
)

// trial is an input that a function is called with.
type trial struct {
	fn    *wire.Function
	input []byte
}

// calls has the plugin called in the ways in which apps call it, and in some that they do not.
func (c *checker) calls(ctx context.Context) {
	trials := c.trials()
	if !c.examples(ctx, trials) {
		return
	}
	if !c.survives(ctx, "unknown function", "Answer with the fault tool_not_found.", c.unknownFunction) ||
		!c.survives(ctx, "unfit input", "Answer with the fault invalid_payload: an app checks inputs before, and so should a plugin.", c.unfitInput) {
		return
	}
	if len(trials) > 0 {
		first := trials[0]
		if !c.survives(ctx, "parallel calls", "Serve calls at the same time: an app makes up to maxParallel, 16 by default.", func(ctx context.Context) []string { return c.parallel(ctx, first) }) ||
			!c.survives(ctx, "cancellation", "A cancelled call ends, and the process keeps running.", func(ctx context.Context) []string { return c.cancelled(ctx, first) }) ||
			!c.survives(ctx, "deadline", "A call whose time is over ends, and the process keeps running.", func(ctx context.Context) []string { return c.late(ctx, first) }) {
			return
		}
		c.inOnePiece(ctx, first)
	}
	c.events()
}

// trials are the examples of read-only functions, and the inputs that were given.
func (c *checker) trials() (all []trial) {
	for _, f := range c.manifest.GetFunctions() {
		if len(f.GetExample()) > 0 && f.GetEffects().GetReadOnly() {
			all = append(all, trial{f, f.GetExample()})
		}
		if input, ok := c.opts.Inputs[f.GetName()]; ok {
			all = append(all, trial{f, input})
		}
	}
	return all
}

// examples calls the functions with what is known to work.
func (c *checker) examples(ctx context.Context, trials []trial) bool {
	var unknown []string
	for _, name := range slices.Sorted(maps.Keys(c.opts.Inputs)) {
		if !slices.ContainsFunc(c.manifest.GetFunctions(), func(f *wire.Function) bool { return f.GetName() == name }) {
			unknown = append(unknown, name)
		}
	}
	if len(unknown) > 0 {
		c.fail("inputs", "Name functions as the manifest does.", "there is no function %s", strings.Join(unknown, ", "))
	}
	if len(trials) == 0 {
		c.findings = append(c.findings, Finding{Name: "call", OK: true, Detail: "no function was called", Hint: "Give read-only functions an example, so that they can be tried."})
		return true
	}
	for _, t := range trials {
		name := "call " + t.fn.GetName()
		a := c.call(ctx, t.fn.GetName(), t.input, true)
		problems := a.problems
		if a.fault != nil || a.err != nil {
			problems = append(problems, "it failed with "+a.String())
		} else if err := schema.Check(t.fn.GetOutputSchema(), a.output); err != nil && len(problems) == 0 {
			problems = append(problems, "the output does not fit the output schema: "+err.Error())
		}
		c.judge(name, "An example is an input that works on a fresh app, and its output fits the output schema.", problems, "%s in %d ms", a, a.took.Milliseconds())
		if a.err == nil {
			continue
		}
		if err := c.lives(ctx); err != nil {
			c.fail("process", "A call must not end the process, nor keep it from answering.", "it died in a call of %s: %s", t.fn.GetName(), err)
			return false
		}
	}
	return true
}

// survives makes a check, whose problems it reports, and looks whether the process lives and still answers.
func (c *checker) survives(ctx context.Context, name, hint string, check func(context.Context) []string) bool {
	problems := check(ctx)
	alive := c.lives(ctx)
	if alive != nil {
		problems = append(problems, "the process did not survive it: "+alive.Error())
	}
	c.judge(name, hint, problems, "as it should be")
	return alive == nil
}

// lives returns why the process does not answer any more.
func (s *session) lives(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	_, err := s.client().Describe(ctx, &wire.DescribeRequest{App: "koan", AppVersion: "check"})
	return err
}

func (c *checker) unknownFunction(ctx context.Context) []string {
	a := c.call(ctx, "no-such-function-0", []byte("{}"), true)
	if a.fault == nil || a.fault.Code != fault.ToolNotFound {
		return append(a.problems, "a function that is not there was answered with "+a.String())
	}
	return a.problems
}

// unfitInput calls a function with an input that its schema does not take.
func (c *checker) unfitInput(ctx context.Context) (problems []string) {
	for _, f := range c.manifest.GetFunctions() {
		input := unfit(f.GetInputSchema())
		if input == nil {
			continue
		}
		a := c.call(ctx, f.GetName(), input, true)
		if a.fault == nil || a.fault.Code != fault.InvalidPayload {
			problems = append(problems, fmt.Sprintf("%s has answered %s with %s", f.GetName(), input, a))
		}
		return append(problems, a.problems...)
	}
	return nil
}

// unfit returns an input that a schema does not take, nil where it takes those that are tried.
func unfit(raw []byte) []byte {
	for _, input := range []string{`{"no such field 0":true}`, `{}`, `[]`} {
		if schema.Check(raw, json.RawMessage(input)) != nil {
			return []byte(input)
		}
	}
	return nil
}

// parallel calls a function several times at once.
func (c *checker) parallel(ctx context.Context, t trial) []string {
	const calls = 8
	answers := make([]*answer, calls)
	var all sync.WaitGroup
	for i := range answers {
		all.Go(func() { answers[i] = c.call(ctx, t.fn.GetName(), t.input, true) })
	}
	all.Wait()
	for i, a := range answers {
		if a.fault != nil || a.err != nil || len(a.problems) > 0 {
			return append(a.problems, fmt.Sprintf("call %d of %d of %s at once failed with %s", i+1, calls, t.fn.GetName(), a))
		}
	}
	return nil
}

// cancelled cancels a call as soon as it has been made.
func (c *checker) cancelled(ctx context.Context, t trial) []string {
	ctx, cancel := context.WithCancel(ctx)
	time.AfterFunc(time.Millisecond, cancel)
	c.call(ctx, t.fn.GetName(), t.input, true) // it may have been faster
	cancel()
	return nil
}

// late makes a call that has a millisecond.
func (c *checker) late(ctx context.Context, t trial) []string {
	ctx, cancel := context.WithTimeout(ctx, time.Millisecond)
	defer cancel()
	a := c.call(ctx, t.fn.GetName(), t.input, true)
	if code := status.Code(a.err); a.err != nil && code != codes.DeadlineExceeded && code != codes.Canceled {
		return []string{"a call whose time was over failed with " + a.String()}
	}
	return nil
}

// inOnePiece makes a call of a host that takes no parts.
func (c *checker) inOnePiece(ctx context.Context, t trial) {
	a := c.call(ctx, t.fn.GetName(), t.input, false)
	if a.fault != nil || a.err != nil {
		a.problems = append(a.problems, "it failed with "+a.String())
	}
	c.judge("whole output", "Send parts only where CallRequest.parts is set.", a.problems, "%s", a)
}

// events says what was seen of progress, parts and questions in all calls.
func (c *checker) events() {
	s := &c.collected
	s.mu.Lock()
	defer s.mu.Unlock()
	c.judge("events", "Progress counts up to its total; the parts of an output have its size, none is empty, and the output event ends it.", s.problems,
		"progress: %d, of these with a partial result: %d, parts: %d, longest output: %d bytes", s.progress, s.partials, s.parts, s.longest)
	if c.manifest.GetConverses() {
		var asked []string
		for _, kind := range slices.Sorted(maps.Keys(s.questions)) {
			asked = append(asked, fmt.Sprintf("%s: %d", kind, s.questions[kind]))
		}
		if asked == nil {
			asked = []string{"nothing"}
		}
		c.ok("converse", "it was called so, and asked %s", strings.Join(asked, ", "))
	}
}
