package validate

import (
	"slices"
	"strings"

	"github.com/dop251/goja/file"

	"github.com/koan-go/koan/codemode/internal/wire"
	"github.com/koan-go/koan/framework/catalog"
	"github.com/koan-go/koan/framework/fault"
)

// fields finds names of fields and relationships that an entity does not have.
type fields struct {
	*findings
	*api
}

// readable returns the fields of an entity that a caller may name in a query.
func readable(e *wire.Entity) []string {
	var out []string
	for i, name := range e.Fields {
		if class(e, i) != catalog.ClassHidden {
			out = append(out, name)
		}
	}
	return out
}

// path reports a path with a step that is neither a field nor an edge.
func (f *fields) path(e *wire.Entity, path string, at file.Idx) bool {
	first, rest, nested := strings.Cut(path, ".")
	fields := readable(e)
	if slices.Contains(fields, first) || slices.Contains(e.Edges, first) {
		if target := f.leadsTo(e, first); target != nil && nested {
			return f.path(target, rest, at)
		}
		return true
	}
	f.noField(e, first, slices.Concat(fields, e.Edges), at)
	return false
}

func (f *fields) noField(e *wire.Entity, name string, known []string, at file.Idx) {
	f.fail(at, "", wire.DiagnosticUnknownField, e.Name+" has no field "+quote(name)+fault.DidYouMean(name, known), availableNames(known))
}
