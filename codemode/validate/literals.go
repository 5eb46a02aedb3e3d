package validate

import (
	"iter"

	"github.com/dop251/goja/ast"
	"github.com/dop251/goja/file"
)

// key is a property's name in an object literal.
type key struct {
	name string
	at   file.Idx
}

// literalProperties gives the properties of an object literal whose names are
// known; nothing for any other expression.
func literalProperties(e ast.Expression) iter.Seq2[key, ast.Expression] {
	return func(yield func(key, ast.Expression) bool) {
		obj, ok := e.(*ast.ObjectLiteral)
		if !ok {
			return
		}
		for _, p := range obj.Value {
			switch p := p.(type) {
			case *ast.PropertyShort:
				if !yield(key{p.Name.Name.String(), p.Name.Idx}, &p.Name) {
					return
				}
			case *ast.PropertyKeyed:
				if name, ok := literalKey(p); ok && !yield(key{name, p.Key.Idx0()}, p.Value) {
					return
				}
			}
		}
	}
}

// literalKey gives the name of a property that is not computed.
func literalKey(p *ast.PropertyKeyed) (string, bool) {
	if p.Computed {
		return "", false
	}
	switch k := p.Key.(type) {
	case *ast.StringLiteral:
		return k.Value.String(), true
	case *ast.Identifier:
		return k.Name.String(), true
	}
	return "", false
}

// stringLiterals gives a string literal, or those in an array literal.
func stringLiterals(e ast.Expression) iter.Seq[*ast.StringLiteral] {
	return func(yield func(*ast.StringLiteral) bool) {
		list := []ast.Expression{e}
		if arr, ok := e.(*ast.ArrayLiteral); ok {
			list = arr.Value
		}
		for _, one := range list {
			if lit, ok := one.(*ast.StringLiteral); ok && !yield(lit) {
				return
			}
		}
	}
}
