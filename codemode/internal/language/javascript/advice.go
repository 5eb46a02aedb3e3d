package javascript

import (
	"slices"
	"strings"

	"github.com/koan-go/koan/codemode/internal/language/javascript/validate"
	"github.com/koan-go/koan/framework/fault"
)

// maxAdvice is how many findings of validate one hint includes.
const maxAdvice = 3

// advise sets the hint of an invalid_payload to what validate says about the names that the
// call does not know: the likely name, and the known ones. If validate says nothing, the hint
// is about the values, if a method of an entity was called. A fault that has a hint of its own
// keeps it.
func (hs *hints) advise(f *fault.Fault, by *entityMethod) {
	if f.Code != fault.InvalidPayload || f.Hint != fault.New(f.Code, "").Hint || f.Line == 0 || hs.job.program == nil {
		return
	}
	var names []string
	problems := validate.Details(f)
	for _, d := range problems {
		if steps := fault.Steps(d.Path); len(steps) > 0 {
			names = append(names, "`"+steps[len(steps)-1]+"`")
		}
	}
	var messages, hints []string
	for _, d := range hs.diagnostics() {
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
	if len(messages) == 0 && by != nil {
		for _, d := range problems {
			if hint := validate.CallHint(by.entity, by.Name, d); len(hints) < maxAdvice && !slices.Contains(hints, hint) {
				hints = append(hints, hint)
			}
		}
	}
	if len(hints) > 0 {
		f.Hint = strings.Join(append(messages, hints...), " ")
	}
}

func sentence(message string) string {
	if strings.HasSuffix(message, "?") {
		return message
	}
	return message + "."
}
