package cli

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/koan-go/koan/framework/ask"
	"github.com/koan-go/koan/framework/deadline"
	"github.com/koan-go/koan/framework/fault"
	"github.com/koan-go/koan/framework/run/approve"
)

// formTerminal is the ask.Client of the person who runs a script: questions are answered on
// the terminal, field by field. Plans are not decided there (`approve` does that).
type formTerminal struct {
	out   io.Writer
	limit time.Duration // for one question
	lines chan string   // what was typed; closed at the end of the input
	turn  sync.Mutex    // one question at a time
}

var _ ask.Client = (*formTerminal)(nil)

// newFormTerminal reads the input from now on, until it ends.
func newFormTerminal(in io.Reader, out io.Writer, limit time.Duration) *formTerminal {
	t := &formTerminal{out: out, limit: limit, lines: make(chan string)}
	go func() {
		defer close(t.lines)
		for r := bufio.NewReader(in); ; {
			line, err := r.ReadString('\n')
			if line != "" {
				t.lines <- strings.TrimSpace(line)
			}
			if err != nil {
				return
			}
		}
	}()
	return t
}

// Can implements ask.Client.
func (*formTerminal) Can(q ask.Question) bool {
	_, plan := approve.PlanAsked(q)
	var p struct{ Mode string }
	return q.Method == ask.Elicitation && !plan && json.Unmarshal(q.Params, &p) == nil && (p.Mode == "" || p.Mode == "form")
}

// Ask implements ask.Client. Meanwhile only the time limit for answers counts.
func (t *formTerminal) Ask(ctx context.Context, questions ...ask.Question) ([]json.RawMessage, error) {
	defer deadline.Pause(ctx)()
	t.turn.Lock()
	defer t.turn.Unlock()
	ctx, cancel := context.WithTimeoutCause(ctx, t.limit, fault.Newf(fault.Timeout, "nobody answered within %s", t.limit))
	defer cancel()
	var out []json.RawMessage
	for _, q := range questions {
		if !t.Can(q) {
			return nil, ask.Refuse(q)
		}
		answer, err := t.fill(ctx, q)
		if err != nil {
			return nil, err
		}
		out = append(out, answer)
	}
	return out, nil
}

// formField is a field of a form, as far as a line of text can fill it in.
type formField struct {
	Type, Title, Description string
	Enum                     []string
	OneOf                    []struct{ Const string }
	Items                    struct {
		Enum  []string
		AnyOf []struct{ Const string }
	}
}

// choices are the values that a field can have, nil for any.
func (f formField) choices() []string {
	out := slices.Concat(f.Enum, f.Items.Enum)
	for _, c := range append(f.OneOf, f.Items.AnyOf...) {
		out = append(out, c.Const)
	}
	return out
}

// fill asks one question.
func (t *formTerminal) fill(ctx context.Context, q ask.Question) (json.RawMessage, error) {
	var p struct {
		Message         string
		RequestedSchema struct {
			Properties map[string]formField
			Required   []string
		}
	}
	if err := json.Unmarshal(q.Params, &p); err != nil {
		return nil, fault.New(fault.Internal, "").Because(err)
	}
	fmt.Fprintf(t.out, "\n%s\n", p.Message)
	for {
		text, err := t.line(ctx, "Answer? [yes/no] ")
		if err != nil {
			return nil, err
		}
		if strings.EqualFold(text, "no") || strings.EqualFold(text, "n") {
			return json.RawMessage(`{"action":"decline"}`), nil
		}
		if strings.EqualFold(text, "yes") || strings.EqualFold(text, "y") {
			break
		}
	}
	content := map[string]any{}
	for _, name := range slices.Sorted(maps.Keys(p.RequestedSchema.Properties)) {
		value, given, err := t.field(ctx, name, p.RequestedSchema.Properties[name], slices.Contains(p.RequestedSchema.Required, name))
		if err != nil {
			return nil, err
		}
		if given {
			content[name] = value
		}
	}
	return json.Marshal(map[string]any{"action": ask.Accept, "content": content})
}

// field asks for one field until what is typed fits.
func (t *formTerminal) field(ctx context.Context, name string, f formField, required bool) (value any, given bool, err error) {
	prompt := name
	if f.Title != "" {
		prompt = f.Title
	}
	if f.Description != "" {
		prompt += " (" + f.Description + ")"
	}
	if choices := f.choices(); len(choices) > 0 {
		prompt += " [" + strings.Join(choices, "/") + "]"
	}
	if f.Type == "boolean" {
		prompt += " [yes/no]"
	}
	if !required {
		prompt += ", or nothing"
	}
	for {
		text, err := t.line(ctx, prompt+": ")
		if err != nil {
			return nil, false, err
		}
		if text == "" && !required {
			return nil, false, nil
		}
		if value, ok := f.read(text); ok {
			return value, true, nil
		}
	}
}

// read is the value of what was typed; ok is false if it does not fit.
func (f formField) read(text string) (value any, ok bool) {
	choices := f.choices()
	fits := func(s string) bool { return len(choices) == 0 || slices.Contains(choices, s) }
	switch f.Type {
	case "boolean":
		switch strings.ToLower(text) {
		case "yes", "y", "true":
			return true, true
		case "no", "n", "false":
			return false, true
		}
		return nil, false
	case "integer":
		n, err := strconv.ParseInt(text, 10, 64)
		return n, err == nil
	case "number":
		n := json.Number(text)
		_, err := n.Float64()
		return n, err == nil && json.Valid([]byte(text))
	case "array":
		var all []string
		for _, s := range strings.Split(text, ",") {
			all = append(all, strings.TrimSpace(s))
		}
		return all, !slices.ContainsFunc(all, func(s string) bool { return !fits(s) })
	}
	return text, fits(text)
}

// line asks for one line.
func (t *formTerminal) line(ctx context.Context, prompt string) (string, error) {
	fmt.Fprint(t.out, prompt)
	select {
	case text, ok := <-t.lines:
		if !ok {
			return "", fault.New(fault.Cancelled, "nobody answered: the input has ended")
		}
		return text, nil
	case <-ctx.Done():
		fmt.Fprintln(t.out)
		return "", context.Cause(ctx)
	}
}
