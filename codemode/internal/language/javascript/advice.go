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
	var messages, hints, advice []string // advice has each message with its hint behind it
	for _, d := range hs.diagnostics() {
		named := func(name string) bool { return strings.Contains(d.Message, name) }
		if d.Line < f.Line || d.Hint == "" || !slices.ContainsFunc(names, named) || slices.Contains(messages, sentence(d.Message)) {
			continue
		}
		messages = append(messages, sentence(d.Message))
		advice = append(advice, sentence(d.Message))
		if !slices.Contains(hints, d.Hint) {
			hints, advice = append(hints, d.Hint), append(advice, d.Hint)
		}
		if len(messages) == maxAdvice {
			break
		}
	}
	if len(messages) == 0 && by != nil {
		for _, d := range problems {
			if hint := validate.CallHint(by.entity, by.Name, d); len(hints) < maxAdvice && !slices.Contains(hints, hint) {
				hints, advice = append(hints, hint), append(advice, hint)
			}
		}
	}
	if len(advice) > 0 {
		f.Hint = strings.Join(advice, " ")
	}
}

// sentence makes a sentence of a message, which begins with a name or with "there is".
func sentence(message string) string {
	if rest, ok := strings.CutPrefix(message, "there "); ok {
		message = "There " + rest
	}
	if strings.HasSuffix(message, "?") {
		return message
	}
	return message + "."
}
