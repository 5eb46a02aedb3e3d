package script

import (
	"reflect"
	"sync"

	"github.com/dop251/goja/ast"
	"github.com/dop251/goja/file"
)

// Walk visits every node of a syntax tree in source order, parents first. If visit returns
// false, the node's children are skipped. It works on any node of goja's, also on those of
// later versions.
func Walk(node any, visit func(node any) bool) {
	w := walker{visit: visit, seen: map[any]bool{}}
	w.walk(reflect.ValueOf(node))
}

type walker struct {
	visit func(any) bool
	seen  map[any]bool // declarations hang below two parents
}

var fileType = reflect.TypeFor[file.File]()

// children are the fields of a node's type that can have other nodes, computed once for
// each type: reflection at each node took longer than the walk.
var children sync.Map // reflect.Type -> []int

func childrenOf(t reflect.Type) []int {
	if known, ok := children.Load(t); ok {
		return known.([]int)
	}
	var out []int
	for i := range t.NumField() {
		f := t.Field(i)
		switch f.Type.Kind() {
		case reflect.Interface, reflect.Pointer, reflect.Struct, reflect.Slice:
			if f.IsExported() {
				out = append(out, i)
			}
		default:
		}
	}
	children.Store(t, out)
	return out
}

func (w *walker) walk(v reflect.Value) {
	switch v.Kind() {
	case reflect.Interface:
		if !v.IsNil() {
			w.walk(v.Elem())
		}
	case reflect.Pointer:
		if v.IsNil() || v.Elem().Type() == fileType || v.Elem().Kind() != reflect.Struct {
			return
		}
		p := v.Interface()
		if w.seen[p] {
			return
		}
		w.seen[p] = true
		if w.visit(p) {
			w.fields(v.Elem())
		}
	case reflect.Struct:
		w.fields(v)
	case reflect.Slice:
		for i := range v.Len() {
			w.walk(v.Index(i))
		}
	default:
	}
}

func (w *walker) fields(v reflect.Value) {
	for _, i := range childrenOf(v.Type()) {
		w.walk(v.Field(i))
	}
}

// mentions reports whether an identifier of that name is used as a variable.
func mentions(node any, name string) bool {
	found := false
	Walk(node, func(n any) bool {
		switch n := n.(type) {
		case *ast.Identifier:
			found = found || n.Name.String() == name
		case *ast.DotExpression:
			found = found || mentions(n.Left, name)
			return false
		}
		return !found
	})
	return found
}

// calls reports whether a function of that name is called, or passed to something that may
// call it, outside of its own body.
func calls(node any, name string) bool {
	found := false
	Walk(node, func(n any) bool {
		switch n := n.(type) {
		case *ast.CallExpression:
			found = found || is(n.Callee, name)
			for _, a := range n.ArgumentList {
				found = found || is(a, name)
			}
		case *ast.FunctionLiteral:
			return n.Name == nil || n.Name.Name.String() != name
		case *ast.Binding:
			return !is(n.Target, name)
		}
		return !found
	})
	return found
}

func is(e any, name string) bool {
	switch e := e.(type) {
	case *ast.Identifier:
		return e.Name.String() == name
	case *ast.DotExpression:
		left, ok := e.Left.(*ast.Identifier)
		return ok && left.Name == "globalThis" && e.Identifier.Name.String() == name
	}
	return false
}
