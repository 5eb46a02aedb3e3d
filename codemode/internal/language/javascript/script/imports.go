package script

import (
	"slices"
	"strconv"
	"strings"

	"github.com/dop251/goja/ast"

	"github.com/koan-go/koan/codemode/internal/wire"
	"github.com/koan-go/koan/framework/fault"
)

// importNamespace is esbuild's namespace for the modules that exist here. Each is one
// statement that gets the module's exports from the hook, whatever their number.
const importNamespace = "module"

func exports(m Modules, path string) ([]string, bool) {
	if m == nil {
		return nil, false
	}
	return m.Exports(path)
}

// refused is the reason why a module cannot be imported.
type refused struct{ full, path, text, hint string }

// importStatement finds one at the start of a line or of the text, or after a semicolon.
var importStatement = lazily(`(?m)(?:^|[;\x{2028}\x{2029}])[ \t\x{FEFF}]*import\s*(?:[\w$*\s{},]+?\sfrom\s*|[\w$*\s{},]*\}\s*from\s*)?(?:"[^"\n]*"|'[^'\n]*')`)

// hoist moves the import statements out of a script that becomes the body of a function.
// They are on one line, and the rest keeps its lines and columns.
func hoist(code string) (imports, body string) {
	blank := func(r rune) rune {
		if r == '\n' || r == '\r' || r == ';' {
			return r
		}
		return ' '
	}
	var rest strings.Builder
	from := 0
	bare := withoutText(code)
	for _, at := range importStatement().FindAllStringIndex(bare, -1) {
		begin := at[0] + strings.Index(bare[at[0]:], "import")
		imports += strings.Join(strings.Fields(bare[begin:at[1]]), " ") + ";"
		rest.WriteString(code[from:begin])
		rest.WriteString(strings.Map(blank, code[begin:at[1]]))
		from = at[1]
	}
	return imports, rest.String() + code[from:]
}

// withoutText returns the code with its comments and templates blanked out, byte for byte,
// so that nothing in them looks like a statement. A regular expression that looks like the
// start of one of them hides what follows it.
func withoutText(code string) string {
	out := []byte(code)
	for i := 0; i < len(code); {
		end := i + 1
		switch {
		case strings.HasPrefix(code[i:], "//"):
			end = i + until(code[i:], 2, "\n")
		case strings.HasPrefix(code[i:], "/*"):
			end = i + until(code[i:], 2, "*/")
		case code[i] == '`':
			end = i + quotedLength(code[i:])
		case code[i] == '"' || code[i] == '\'':
			i += quotedLength(code[i:])
			continue
		default:
			i = end
			continue
		}
		for ; i < end; i++ {
			if out[i] != '\n' && out[i] != '\r' {
				out[i] = ' '
			}
		}
	}
	return string(out)
}

// until returns the length of what ends with a text, or with the code.
func until(code string, from int, end string) int {
	if at := strings.Index(code[from:], end); at >= 0 {
		return from + at + len(end)
	}
	return len(code)
}

// quotedLength returns the length of a string or a template that code begins with. For a
// string that does not end on its line it is the length of the quote.
func quotedLength(code string) int {
	for i := 1; i < len(code); i++ {
		switch c := code[i]; {
		case c == '\\':
			i++
		case c == code[0]:
			return i + 1
		case c == '\n' && code[0] != '`':
			return 1
		}
	}
	return 1
}

// single treats a module that consists of one function, besides its imports, as a
// script of one function.
func (p *attempt) single(tree *ast.Program, module *ast.BlockStatement, own []ast.Statement) {
	if !p.implicit {
		return
	}
	added := func(s ast.Statement) bool { // by the compiler, for an import for example
		v, ok := s.(*ast.VariableStatement)
		if !ok {
			return false
		}
		if call, ok := v.List[0].Initializer.(*ast.CallExpression); ok {
			if to, ok := call.Callee.(*ast.Identifier); ok && strings.HasPrefix(to.Name.String(), "__toESM") {
				return true
			}
		}
		_, _, written := p.placeOf(tree, s.Idx0())
		return !written
	}
	switch s := onlyStatement(slices.DeleteFunc(slices.Clone(own), added)).(type) {
	case *ast.ExpressionStatement:
		p.Lone = isFunction(s.Expression)
	case *ast.FunctionDeclaration:
		if name := s.Function.Name; p.Entry != name.Name.String() {
			call := hookCall(s.Idx0(), HookDefault, &ast.Identifier{Name: name.Name, Idx: name.Idx})
			module.List = append(module.List, &ast.ExpressionStatement{Expression: call})
		}
	}
}

const sdkInstead = "Use the global SDK: its entities, plugins and SDK.Out need no import."

func refusal(m Modules, path string) refused {
	r := refused{full: path, path: path}
	if len(path) > 80 {
		r.path = strings.ToValidUTF8(path[:80], "") + "…"
	}
	if m == nil || !strings.HasPrefix(path, wire.ModulePrefix) {
		r.text = "the module " + strconv.Quote(r.path) + " cannot be imported: scripts have no packages and no files"
		r.hint = sdkInstead
		if m != nil {
			r.hint += " The modules are those of " + wire.ModulePrefix + "*."
		}
		return r
	}
	paths := m.Paths()
	r.text = "there is no module " + strconv.Quote(r.path) + fault.DidYouMean(path, paths)
	r.hint = "Import one of these: " + Listed(paths) + "."
	if id, ok := wire.ServerOf(path); ok {
		r.text = "no server " + strconv.Quote(r.path[len(path)-len(id):]) + " is connected" + fault.DidYouMean(path, paths)
	}
	return r
}

// Listed names the first of many.
func Listed(names []string) string {
	const most = 12
	if len(names) > most {
		return strings.Join(names[:most], ", ") + ", …"
	}
	return strings.Join(names, ", ")
}

var (
	// wrappedModule finds esbuild's wrapper of a module, taken finds imports of names
	// from it.
	wrappedModule = lazily(`(?m)^var (require_\w+) = __commonJS\w*\(\{\n  "` + importNamespace + `:([^"]+)"`)
	taken         = lazily(`(?m)^var (import_\w+) = __toESM\w*\((require_\w+)\(\)\);$`)
)

// link checks that a module exports what is imported from it by name, and calls the
// hook for an import() of a computed path.
func (p *attempt) link(tree *ast.Program) *Error {
	p.unwrapRequire(tree)
	if p.modules == nil {
		return nil
	}
	text := tree.File.Source()
	paths := map[string]string{} // variable -> module
	for _, m := range wrappedModule().FindAllStringSubmatch(text, -1) {
		paths[m[1]] = m[2]
	}
	named := map[string]string{}
	for _, m := range taken().FindAllStringSubmatch(text, -1) {
		if path, ok := paths[m[2]]; ok {
			named[m[1]] = path
		}
	}
	var missing *Error
	Walk(tree, func(n any) bool {
		if n, ok := n.(*ast.DotExpression); ok {
			if left, ok := n.Left.(*ast.Identifier); ok && missing == nil {
				if path, ok := named[left.Name.String()]; ok {
					missing = p.missing(tree, n, path)
				}
			}
		}
		return true
	})
	return missing
}

// required is the function that esbuild calls for an import() of a computed path,
// inside of __toESM, and for require, which no script has.
const required = "__require"

// unwrapRequire replaces the former by a call of the hook and restores the latter, and removes the
// function.
func (p *Program) unwrapRequire(tree *ast.Program) {
	module, ok := wrapped(tree)
	if !ok || !word(p.text, required) || word(p.at.user.all(), required) {
		return
	}
	module.Body.List = slices.DeleteFunc(module.Body.List, func(s ast.Statement) bool {
		v, ok := s.(*ast.VariableStatement)
		return ok && is(v.List[0].Target, required)
	})
	Walk(module.Body, func(n any) bool {
		switch n := n.(type) {
		case *ast.CallExpression:
			to, ok := n.Callee.(*ast.Identifier)
			if !ok || !strings.HasPrefix(to.Name.String(), "__toESM") || len(n.ArgumentList) == 0 {
				break
			}
			if c, ok := n.ArgumentList[0].(*ast.CallExpression); ok && is(c.Callee, required) && len(c.ArgumentList) == 1 {
				*c = *hookCall(c.Idx0(), HookImport, c.ArgumentList[0])
			}
		case *ast.Identifier:
			if n.Name.String() == required {
				n.Name = "require"
			}
		}
		return true
	})
}

// missing returns the error of a name that a module does not export, nil if it does.
func (p *attempt) missing(tree *ast.Program, use *ast.DotExpression, path string) *Error {
	names, _ := exports(p.modules, path)
	name := use.Identifier.Name.String()
	if name == "default" || names == nil { // the namespace itself, or a module whose exports are not known
		return nil
	}
	for _, n := range names {
		if n == name {
			return nil
		}
	}
	line, column, _ := p.placeOf(tree, use.Identifier.Idx)
	return p.notExported(path, name, names, line, column)
}

func (p *attempt) notExported(path, name string, names []string, line, column int) *Error {
	e := failure(p.at.user, "the module "+strconv.Quote(path)+" has no export "+strconv.Quote(name)+fault.DidYouMean(name, names), line, column)
	e.Unsupported, e.Import, e.Name = true, path, name
	e.Hint = "It exports " + Listed(names) + "."
	return e
}
