package validate

import (
	"slices"
	"strings"

	"github.com/dop251/goja/ast"
	"github.com/dop251/goja/file"

	"github.com/koan-go/koan/codemode/internal/wire"
	"github.com/koan-go/koan/framework/fault"
)

// The compiler turns an import into a loader for each module,
//
//	var require_koan = __commonJS({ "module:@codemode/servers/koan"(...) {...} });
//
// and its value, `var koan = __toESM(require_koan())`.
const (
	makesLoader = "__commonJS"
	takesModule = "__toESM"
	moduleMark  = "module:"
)

// imported returns the server whose module a call in the compiled code returns.
func (w *expressions) imported(s *scope, e *ast.CallExpression) value {
	callee, ok := e.Callee.(*ast.Identifier)
	if !ok || !w.compiled || len(e.ArgumentList) == 0 {
		return value{}
	}
	switch name := callee.Name.String(); {
	case strings.HasPrefix(name, makesLoader):
		obj, ok := e.ArgumentList[0].(*ast.ObjectLiteral)
		if !ok || len(obj.Value) == 0 {
			return value{}
		}
		p, ok := obj.Value[0].(*ast.PropertyKeyed)
		if !ok {
			return value{}
		}
		mark, _ := literalKey(p)
		path, _ := strings.CutPrefix(mark, moduleMark)
		return value{kind: loader, server: w.server(path)}
	case strings.HasPrefix(name, takesModule):
		inner, ok := e.ArgumentList[0].(*ast.CallExpression)
		if !ok {
			return value{}
		}
		if from := w.expr(s, inner.Callee); from.kind == loader && from.server != nil {
			return value{kind: server, server: from.server}
		}
	}
	return value{}
}

// alwaysExported are the exports of a module besides its tools.
var alwaysExported = map[string]bool{"__meta__": true, "default": true, "__esModule": true}

func (m *members) exported(s *wire.Server, name string, at file.Idx) (value, string, func()) {
	subject := s.ID + "." + name
	names := make([]string, len(s.Tools))
	for i, t := range s.Tools {
		names[i] = t.Export
		if t.Export == name {
			return m.tool(t), subject, nil
		}
	}
	if i := slices.IndexFunc(s.Tools, func(t wire.Tool) bool { return wire.GuideFunction(t.Name) == name }); i >= 0 {
		return m.tool(s.Tools[i]), subject, nil // a script that imports by the other path does not compile
	}
	if i := slices.IndexFunc(s.Groups, func(g wire.Group) bool { return g.Name == name }); i >= 0 {
		return value{kind: group, group: &s.Groups[i]}, subject, nil
	}
	if alwaysExported[name] {
		return value{}, subject, nil
	}
	return value{}, subject, func() {
		m.fail(at, subject, wire.DiagnosticUnknownExport, "the module of the server "+quote(s.ID)+" has no function "+quote(name)+fault.DidYouMean(name, names), availableNames(names))
	}
}
