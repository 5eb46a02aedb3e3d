// Package vocabulary is what the interpreters of the machine are told of SDK that is the same for all callers.
//
// What belongs here: what catalog, bind and fault say, as plain data. Not here: a spelling or a member that one
// language alone needs.
package vocabulary

import (
	"github.com/koan-go/koan/codemode/internal/bind"
	"github.com/koan-go/koan/framework/catalog"
	"github.com/koan-go/koan/framework/fault"
)

// Vocabulary is what an interpreter's side has to know of SDK.
type Vocabulary struct {
	Methods      map[string][]Method `json:"methods"` // of an operation of entities
	Faults       map[string]Entry    `json:"faults"`  // by the code
	WalkPageSize int                 `json:"walkPageSize"`
	MaxAll       int                 `json:"maxAll"`
}

// Method is a bind.Method.
type Method struct {
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

// Entry is a row of the registry of faults.
type Entry struct {
	Hint    string `json:"hint"`
	Retry   string `json:"retry"`
	Class   string `json:"class"`
	EndsRun bool   `json:"endsRun"`
}

// returned are the names of what methods return, as far as the interpreter's side tells them apart.
var returned = map[catalog.Returned]string{
	catalog.ReturnsIterator: "iterator", catalog.ReturnsList: "list", catalog.ReturnsEntityOrNull: "entityOrNull",
}

// New returns the vocabulary.
func New() Vocabulary {
	v := Vocabulary{
		Methods: map[string][]Method{}, Faults: map[string]Entry{},
		WalkPageSize: bind.WalkPageSize, MaxAll: bind.MaxAll,
	}
	for op := range catalog.EntityOperations() {
		for _, m := range bind.Methods(op.Name) {
			w := Method{
				Name: m.Name, Arguments: m.Arguments, Loose: m.Loose, LoneSet: m.LoneSet,
				Output: m.Output, Returns: returned[m.Returns], Walks: m.Walks, OrNull: m.OrNull,
			}
			for _, f := range m.Fixed {
				w.Fixed = append(w.Fixed, [2]any{f.Name, f.Value})
			}
			v.Methods[op.Name] = append(v.Methods[op.Name], w)
		}
	}
	for _, e := range fault.Entries() {
		v.Faults[string(e.Code)] = Entry{e.Hint, string(e.Retry), e.Class, e.EndsRun}
	}
	return v
}
