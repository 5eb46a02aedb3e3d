package architecture

import (
	"go/ast"
	"go/token"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
)

const (
	// mostMethods and mostFields are how many methods and fields a type has at most: one that has more is several.
	mostMethods = 25
	mostFields  = 15
)

// measuredRooms are the packages whose types are measured.
var measuredRooms = []string{"codemode/languages", "codemode/worker", "codemode/internal/language", "codemode/internal/language/javascript", "codemode/internal/language/javascript/source", "codemode/internal/bind"}

func TestTypesAreSmall(t *testing.T) {
	t.Parallel()
	methods, fields := map[string]int{}, map[string]int{}
	for _, s := range sources(t) {
		if s.test || !slices.Contains(measuredRooms, s.pkg) {
			continue
		}
		for _, d := range s.file.Decls {
			switch d := d.(type) {
			case *ast.FuncDecl:
				if of := receiverOf(d); of != "" {
					methods[s.pkg+"."+of]++
				}
			case *ast.GenDecl:
				if d.Tok != token.TYPE {
					continue
				}
				for _, spec := range d.Specs {
					if of, ok := spec.(*ast.TypeSpec).Type.(*ast.StructType); ok {
						fields[s.pkg+"."+spec.(*ast.TypeSpec).Name.Name] = of.Fields.NumFields()
					}
				}
			}
		}
	}
	require.NotEmpty(t, methods)
	for name, n := range methods {
		require.LessOrEqual(t, n, mostMethods, "methods of %s", name)
	}
	for name, n := range fields {
		require.LessOrEqual(t, n, mostFields, "fields of %s", name)
	}
}
