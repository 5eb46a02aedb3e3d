package python

import (
	"github.com/koan-go/koan/codemode/internal/language/vocabulary"
	"github.com/koan-go/koan/framework/catalog"
)

// told is what the interpreter's side has to know of SDK that is the same for all callers.
type told struct {
	vocabulary.Vocabulary
	Options map[string]string `json:"options"` // their own names, by each spelling
	Modules []string          `json:"modules"` // beside the standard library
}

func newTold(modules []string) told {
	t := told{vocabulary.New(), map[string]string{}, modules}
	for op := range catalog.EntityOperations() {
		for _, name := range op.Inputs() {
			t.Options[snake(name)], t.Options[name], t.Options[name+"_"] = name, name, name // `with` is a keyword
		}
	}
	return t
}

// snake returns the snake_case spelling of a name in camelCase.
func snake(name string) string {
	var out []rune
	for _, r := range name {
		if 'A' <= r && r <= 'Z' {
			out = append(out, '_', r-'A'+'a')
			continue
		}
		out = append(out, r)
	}
	return string(out)
}
