package python

import (
	"github.com/koan-go/koan/codemode/internal/bind"
	"github.com/koan-go/koan/framework/catalog"
	"github.com/koan-go/koan/framework/fault"
)

// vocabulary is what the interpreter's side has to know of SDK that is the same for all callers.
type vocabulary struct {
	Methods      map[string][]method `json:"methods"` // of an operation of entities
	Options      map[string]string   `json:"options"` // their own names, by each spelling
	Faults       map[string]entry    `json:"faults"`  // by the code
	Modules      []string            `json:"modules"` // beside the standard library
	WalkPageSize int                 `json:"walkPageSize"`
	MaxAll       int                 `json:"maxAll"`
}

// method is a bind.Method.
type method struct {
	Name      string   `json:"name"`
	Fixed     [][2]any `json:"fixed"`
	Arguments []string `json:"arguments"`
	Loose     bool     `json:"loose"`
	LoneSet   bool     `json:"loneSet"`
	Output    string   `json:"output"`
	Returns   string   `json:"returns"`
	Walks     bool     `json:"walks"`
	OrNull    string   `json:"orNull"`
}

// entry is a row of the registry of faults.
type entry struct {
	Hint    string `json:"hint"`
	Retry   string `json:"retry"`
	Class   string `json:"class"`
	EndsRun bool   `json:"endsRun"`
}

// returned are the names of what methods return, as far as the interpreter's side tells them apart.
var returned = map[catalog.Returned]string{
	catalog.ReturnsIterator: "iterator", catalog.ReturnsList: "list", catalog.ReturnsEntityOrNull: "entityOrNull",
}

func newVocabulary(modules []string) vocabulary {
	v := vocabulary{
		Methods: map[string][]method{}, Options: map[string]string{}, Faults: map[string]entry{}, Modules: modules,
		WalkPageSize: bind.WalkPageSize, MaxAll: bind.MaxAll,
	}
	for op := range catalog.EntityOperations() {
		for _, m := range bind.Methods(op.Name) {
			w := method{
				Name: m.Name, Arguments: m.Arguments, Loose: m.Loose, LoneSet: m.LoneSet,
				Output: m.Output, Returns: returned[m.Returns], Walks: m.Walks, OrNull: m.OrNull,
			}
			for _, f := range m.Fixed {
				w.Fixed = append(w.Fixed, [2]any{f.Name, f.Value})
			}
			v.Methods[op.Name] = append(v.Methods[op.Name], w)
		}
		for _, name := range op.Inputs() {
			v.Options[snake(name)], v.Options[name], v.Options[name+"_"] = name, name, name // `with` is a keyword
		}
	}
	for _, e := range fault.Entries() {
		v.Faults[string(e.Code)] = entry{e.Hint, string(e.Retry), e.Class, e.EndsRun}
	}
	return v
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
