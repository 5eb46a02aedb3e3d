package worker

import (
	"encoding/json"
	"slices"
	"strings"

	"github.com/koan-go/koan/codemode/internal/validate"
	"github.com/koan-go/koan/framework/fault"
)

// maxAdvice is how many findings of a check one hint takes up.
const maxAdvice = 3

// advise puts into the hint of an invalid_payload what a check of the script says
// of the names that the call did not know: what was likely meant, and what there
// is. Names that are made while the script runs are in no text, and keep the hint;
// so does a fault that says more than the general one. Where a check says nothing,
// usage does: how the method is called.
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
	var said, hints []string
	for _, d := range validate.Check(s.program, s.job.Bindings, nil) {
		named := func(name string) bool { return strings.Contains(d.Message, name) }
		if d.Line < f.Line || d.Hint == "" || !slices.ContainsFunc(names, named) || slices.Contains(said, sentence(d.Message)) {
			continue
		}
		said = append(said, sentence(d.Message))
		if !slices.Contains(hints, d.Hint) {
			hints = append(hints, d.Hint)
		}
		if len(said) == maxAdvice {
			break
		}
	}
	switch {
	case len(said) > 0:
		f.Hint = strings.Join(append(said, hints...), " ")
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

// paths are the places in the input of which a fault speaks.
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
