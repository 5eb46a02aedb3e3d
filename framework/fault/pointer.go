package fault

import (
	"strconv"
	"strings"
)

var (
	escapes   = strings.NewReplacer("~", "~0", "/", "~1")
	unescapes = strings.NewReplacer("~1", "/", "~0", "~")
)

// Step makes a name a step of a path.
func Step(name string) string { return escapes.Replace(name) }

// Steps splits a path, which is a JSON Pointer (RFC 6901); "" has no steps.
func Steps(path string) []string {
	if path == "" {
		return nil
	}
	steps := strings.Split(strings.TrimPrefix(path, "/"), "/")
	for i := range steps {
		steps[i] = unescapes.Replace(steps[i])
	}
	return steps
}

// Subject names the value at a path in a sentence: the member, or the item of a list.
func Subject(path string) string {
	steps := Steps(path)
	last := len(steps) - 1
	if last < 0 {
		return "the input"
	}
	if _, err := strconv.ParseUint(steps[last], 10, 32); err == nil && last > 0 {
		return "item " + steps[last] + " of " + strconv.Quote(Clip(steps[last-1], 64))
	}
	return strconv.Quote(Clip(steps[last], 64))
}

// At returns the value at a path in plain JSON values; ok is false if there is none.
func At(doc any, path string) (v any, ok bool) {
	v = doc
	for _, step := range Steps(path) {
		switch in := v.(type) {
		case map[string]any:
			if v, ok = in[step]; !ok {
				return nil, false
			}
		case []any:
			i, err := strconv.Atoi(step)
			if err != nil || i < 0 || i >= len(in) {
				return nil, false
			}
			v = in[i]
		default:
			return nil, false
		}
	}
	return v, true
}
