package script

import (
	"strings"

	"github.com/dop251/goja/ast"
)

// AsFunction returns a script as the body of an async function that returns the script's value,
// and its import statements, which must precede the function. If the engine cannot parse the
// script, the body is unchanged and returns only what its own return statements return.
func AsFunction(code string) (imports, body string) {
	code = strings.TrimSpace(Unfence(code))
	imports, body = hoist(code)
	imports = strings.ReplaceAll(imports, ";import ", ";\nimport ")
	if imports != "" { // their lines are blank
		body = strings.TrimLeft(body, " \t\r\n;")
	}
	const open = "(async function(){\n"
	tree, err := parse(open + body + "\n})")
	if err != nil {
		if lone, err := parse("(" + strings.TrimRight(body, "; \n") + ")"); err == nil && len(lone.Body) == 1 {
			if s, ok := lone.Body[0].(*ast.ExpressionStatement); ok && isFunction(s.Expression) {
				return imports, "return (" + strings.TrimRight(body, "; \n") + ")();"
			}
		}
		return imports, body
	}
	fn, ok := wrapped(tree)
	if !ok {
		return imports, body
	}
	if only, ok := onlyStatement(fn.Body.List).(*ast.ExpressionStatement); ok && isFunction(only.Expression) {
		return imports, "return (" + strings.TrimRight(body, "; \n") + ")();"
	}
	for _, s := range fn.Body.List {
		if f, ok := s.(*ast.FunctionDeclaration); ok && f.Function.Name.Name.String() == defaultEntry && !calls(fn.Body.List, defaultEntry) {
			return imports, body + "\nreturn " + defaultEntry + "();"
		}
	}
	var last ast.Statement
	for _, s := range fn.Body.List {
		if _, empty := s.(*ast.EmptyStatement); !empty {
			last = s
		}
	}
	if e, ok := last.(*ast.ExpressionStatement); ok {
		at := int(e.Idx0()) - tree.File.Base() - len(open)
		if 0 <= at && at <= len(body) {
			return imports, body[:at] + "return " + body[at:]
		}
	}
	return imports, body
}
