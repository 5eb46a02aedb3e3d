package worker

import (
	"encoding/json"
	"slices"
	"strings"

	"github.com/koan-go/koan/codemode/internal/validate"
	"github.com/koan-go/koan/framework/fault"
)

// maxAdvice is how many findings of validate one hint includes.
const maxAdvice = 3

// advise sets the hint of an invalid_payload to what validate says about the names that the
// call does not know: the likely name, and the known ones. If validate says nothing, the hint
// is the method's usage, if there is one. A fault that has a hint of its own keeps it.
func (s *session) advise(f *fault.Fault, usage string) {
	if f.Code != fault.InvalidPayload || f.Hint != fault.New(f.Code, "").Hint || f.Line == 0 || s.program == nil {
		return
	}
	var names []string
	for _, path := range paths(f) {
		steps := fault.Steps(path)
		if len(steps) > 0 {
			names = append(names, "`"+steps[len(steps)-1]+"`")
		}
	}
	var messages, hints []string
	for _, d := range validate.Check(s.program, s.bindings(), nil) {
		named := func(name string) bool { return strings.Contains(d.Message, name) }
		if d.Line < f.Line || d.Hint == "" || !slices.ContainsFunc(names, named) || slices.Contains(messages, sentence(d.Message)) {
			continue
		}
		messages = append(messages, sentence(d.Message))
		if !slices.Contains(hints, d.Hint) {
			hints = append(hints, d.Hint)
		}
		if len(messages) == maxAdvice {
			break
		}
	}
	switch {
	case len(messages) > 0:
		f.Hint = strings.Join(append(messages, hints...), " ")
	case usage != "":
		f.Hint = "Call it as " + usage + "."
	}
}

func sentence(message string) string {
	if strings.HasSuffix(message, "?") {
		return message
	}
	return message + "."
}

// paths returns the paths into the input that a fault names.
func paths(f *fault.Fault) []string {
	var details []fault.Detail
	if raw, err := json.Marshal(f.Details); err != nil || json.Unmarshal(raw, &details) != nil || len(details) == 0 {
		return []string{f.Path}
	}
	out := make([]string, len(details))
	for i, d := range details {
		out[i] = d.Path
	}
	return out
}
