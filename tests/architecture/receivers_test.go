package architecture

import (
	"go/ast"
	"go/token"
	"testing"

	"github.com/stretchr/testify/require"
)

const (
	// maxMethods and maxFields are how many methods and fields a type may have: one that has more does several things.
	maxMethods = 25
	maxFields  = 15
)

// oversized is a type beyond a limit: how many methods or fields it has, and why it has them.
type oversized struct {
	has int
	why string
}

func TestReceiversAreSmall(t *testing.T) {
	t.Parallel()
	methods, _ := typeSizes(t)
	requireOnlyListed(t, "methods", methods, maxMethods, largeReceivers)
}

func TestStructsAreSmall(t *testing.T) {
	t.Parallel()
	_, fields := typeSizes(t)
	requireOnlyListed(t, "fields", fields, maxFields, largeStructs)
}

// requireOnlyListed fails for each type beyond a limit that is not in a list or has grown, and for each entry of the
// list whose number is not the type's, so that what became smaller stays so.
func requireOnlyListed(t *testing.T, what string, sizes map[string]int, limit int, listed map[string]oversized) {
	t.Helper()
	require.Greater(t, len(sizes), 100, "the walk found the types")
	for name, n := range sizes {
		if _, ok := listed[name]; !ok && n > limit {
			t.Errorf("%s has %d %s, more than %d: cut it into types with one purpose each", name, n, what, limit)
		}
	}
	for name, one := range listed {
		switch n := sizes[name]; {
		case n <= limit:
			t.Errorf("%s has %d %s: take it off the list", name, n, what)
		case n > one.has:
			t.Errorf("%s has %d %s and had %d: it must not grow", name, n, what, one.has)
		case n < one.has:
			t.Errorf("%s has %d %s and had %d: say so in the list", name, n, what, one.has)
		}
		require.NotEmpty(t, one.why, name)
	}
}

// typeSizes counts the methods and fields of each type that is neither generated nor part of a test. A method that
// exists once for each platform counts once.
func typeSizes(t *testing.T) (methods, fields map[string]int) {
	methods, fields = map[string]int{}, map[string]int{}
	seen := map[string]bool{}
	for _, s := range sources(t) {
		if s.test || ast.IsGenerated(s.file) {
			continue
		}
		for _, d := range s.file.Decls {
			switch d := d.(type) {
			case *ast.FuncDecl:
				if of := receiverOf(d); of != "" && !seen[s.pkg+"."+of+"."+d.Name.Name] {
					seen[s.pkg+"."+of+"."+d.Name.Name] = true
					methods[s.pkg+"."+of]++
				}
			case *ast.GenDecl:
				if d.Tok != token.TYPE {
					continue
				}
				for _, spec := range d.Specs {
					spec := spec.(*ast.TypeSpec)
					if of, ok := spec.Type.(*ast.StructType); ok {
						fields[s.pkg+"."+spec.Name.Name] = of.Fields.NumFields()
					}
				}
			}
		}
	}
	return methods, fields
}
