package script

import (
	"errors"
	"fmt"
	"maps"
	"strings"

	"github.com/dop251/goja/ast"
	"github.com/evanw/esbuild/pkg/api"
	"github.com/go-sourcemap/sourcemap"
)

const (
	userModule    = "script"
	userNamespace = "koan"
	userSource    = userNamespace + ":" + userModule // as source maps name it
	starter       = `import * as user from "` + userModule + `";` + HookName + `(1,user.default);`
)

// supported is what goja can and cannot parse, for a target that is otherwise
// left alone: an old target would lower async functions too.
var supported = map[string]bool{
	"top-level-await": true, "async-generator": false, "for-await": false, "using": false,
	"decorators": false, "dynamic-import": false, "import-meta": false,
}

// spelledOut is lowered as well where goja cannot parse what came of it: fields named
// get, set, static or async, super in the value of a field, and "\u{10FFFF}" in a
// template with a tag.
var spelledOut = []string{"class-field", "class-static-field", "template-literal"}

// verbatim keeps the imports that a script does not use: a module may be imported for
// what it does.
const verbatim = `{"compilerOptions":{"verbatimModuleSyntax":true}}`

// module compiles a script with esbuild: first as an ES module, and where that
// fails for a top-level return, as the body of a function.
func (p *Program) module(code, language string) error {
	if p.Lowered != nil {
		p.shift = p.Lowered.Shift
		return p.adopt(code)
	}
	loader := api.LoaderTS
	if language == "javascript" {
		loader = api.LoaderJS
	}
	text := code + "\n;" + p.scope() + "export {};"
	res := p.bundle(text, loader)
	if len(res.Errors) > 0 && strings.Contains(res.Errors[0].Text, "Top-level return") {
		imports, body := hoist(code)
		head, tail := imports+"export default (async function(){"+p.directive()+p.scope(), "\n})"
		inner := p.bundle(head+body+tail, loader)
		if len(inner.Errors) == 0 || !strings.Contains(inner.Errors[0].Text, `"import"`) && !strings.Contains(inner.Errors[0].Text, `"export"`) {
			res, p.shift, text = inner, len(head), head+body+tail
		}
	}
	if len(res.Errors) > 0 {
		e := p.rejected(res.Errors[0])
		if p.shift > 0 && e.Hint == "" && word(code, "namespace") {
			e.Hint = "A namespace cannot stand in a script with a top-level return: end the script with an expression instead."
		}
		return e
	}
	shift := p.shift
	p.lowered(res.OutputFiles)
	err := p.adopt(code)
	if e := (*Error)(nil); errors.As(err, &e) && e.unparsed {
		p.shift = shift
		if again := p.bundle(text, loader, spelledOut...); len(again.Errors) == 0 {
			p.lowered(again.OutputFiles)
			err = p.adopt(code)
		}
	}
	if err != nil {
		return err
	}
	if missing := p.unused(code, text, loader); missing != nil {
		return missing
	}
	return nil
}

// bundle runs esbuild over one virtual module. Every name that the module asks
// for is refused, or esbuild would read it from the disk.
func (p *Program) bundle(text string, loader api.Loader, lower ...string) api.BuildResult {
	known := supported
	if len(lower) > 0 {
		known = maps.Clone(supported)
		for _, feature := range lower {
			known[feature] = false
		}
	}
	return api.Build(api.BuildOptions{
		Stdin:          &api.StdinOptions{Contents: starter, ResolveDir: "/", Sourcefile: "koan", Loader: api.LoaderJS},
		AbsWorkingDir:  "/",
		Bundle:         true,
		Write:          false,
		Outfile:        "/out.js",
		Format:         api.FormatESModule,
		Platform:       api.PlatformNeutral, // defines nothing: a script's process.env is no constant
		Target:         api.ESNext,
		Supported:      known,
		Charset:        api.CharsetUTF8,
		TreeShaking:    api.TreeShakingFalse,
		Sourcemap:      api.SourceMapExternal,
		SourcesContent: api.SourcesContentExclude,
		LogLevel:       api.LogLevelSilent,
		TsconfigRaw:    verbatim,
		Banner:         map[string]string{"js": "(async function(" + HookName + "){" + p.directive()},
		Footer:         map[string]string{"js": "})"},
		Plugins: []api.Plugin{{Name: "koan", Setup: func(b api.PluginBuild) {
			b.OnResolve(api.OnResolveOptions{Filter: ".*"}, func(a api.OnResolveArgs) (api.OnResolveResult, error) {
				if a.Path == userModule && a.Namespace != userNamespace {
					return api.OnResolveResult{Path: userModule, Namespace: userNamespace}, nil
				}
				if _, ok := p.exports(a.Path); ok {
					return api.OnResolveResult{Path: a.Path, Namespace: importNamespace}, nil
				}
				r := p.refusal(a.Path)
				return api.OnResolveResult{Errors: []api.Message{{Text: r.text, Detail: r}}}, nil
			})
			b.OnLoad(api.OnLoadOptions{Filter: ".*", Namespace: importNamespace}, func(a api.OnLoadArgs) (api.OnLoadResult, error) {
				text := fmt.Sprintf("module.exports = %s(%d, %q)", HookName, HookImport, a.Path)
				return api.OnLoadResult{Contents: &text, Loader: api.LoaderJS}, nil
			})
			b.OnLoad(api.OnLoadOptions{Filter: ".*", Namespace: userNamespace}, func(api.OnLoadArgs) (api.OnLoadResult, error) {
				return api.OnLoadResult{Contents: &text, Loader: loader}, nil
			})
		}}},
	})
}

// rejected turns esbuild's first error into ours.
func (p *Program) rejected(m api.Message) *Error {
	line, column, text := 0, 0, m.Text
	if m.Location != nil {
		line, column = m.Location.Line, m.Location.Column+1
		if line == 1 {
			column = max(column-p.shift, 1)
		}
		if line > len(p.user.text) { // an unclosed bracket shows behind the end
			line = len(p.user.text)
			column = len(p.user.line(line)) + 1
			text = "Unexpected end of the script"
		}
		column = p.user.column(line, column)
	}
	e := failure(p.user, text, line, column)
	if r, ok := m.Detail.(refused); ok {
		if p.shift > 0 && m.Location != nil && m.Location.Line == 1 && m.Location.Column < p.shift {
			line, column = p.user.find(r.full)
			e = failure(p.user, text, line, column)
		}
		e.Unsupported, e.Import, e.Hint = true, r.path, r.hint
	}
	return e
}

// lowered keeps what esbuild made.
func (p *Program) lowered(files []api.OutputFile) {
	p.Lowered = &Lowered{Shift: p.shift}
	for _, f := range files {
		if strings.HasSuffix(f.Path, ".map") {
			p.Lowered.Map = string(f.Contents)
		} else {
			p.Lowered.Text = string(f.Contents)
		}
	}
}

// adopt compiles what esbuild made.
func (p *Program) adopt(code string) error {
	m, err := sourcemap.Parse("", []byte(p.Lowered.Map))
	if err != nil {
		return &Error{Message: "the source map cannot be read: " + err.Error()}
	}
	p.mapped = m
	if p.shift == 0 {
		p.opens = opening(p.Lowered.Map)
	}
	text := strings.TrimRight(p.Lowered.Text, "\n")
	if e := p.assigned(code, text); e != nil {
		return e
	}
	shift := p.shift
	p.shift = 0
	tree, err := parse(text)
	if err != nil {
		return p.unparsed(err)
	}
	fn, ok := wrapped(tree)
	if !ok {
		return &Error{Message: "the script closes a bracket that it did not open"}
	}
	p.shift = shift
	if err := p.link(tree, text); err != nil {
		return err
	}
	own := p.own(tree, fn.Body.List)
	if shift > 0 { // it has a top-level return
		if inner := bodies(tree, fn); inner != nil {
			boxReturns(inner)
			own = inner
		}
	}
	p.Entry = p.entryOf(own, p.instrument(tree, own))
	p.single(fn.Body, own)
	keepLast(fn.Body.List, func(s *ast.ExpressionStatement) bool { return p.isOwn(tree, s) })
	compiled, err := p.compile(tree)
	if err != nil {
		return p.unparsed(err)
	}
	p.Code, p.Shape, p.text = compiled, Body, text
	return nil
}

// unparsed is the error of what the engine refuses although the compiler took it.
func (p *Program) unparsed(err error) *Error {
	e := p.syntax(err)
	e.unparsed = true
	if strings.HasPrefix(e.Message, "Invalid destructuring binding target") {
		e.Hint = "The engine does not know a default inside of an array pattern that has a default itself, `[a = 1] = []`: take that array apart in a statement of its own."
	}
	return e
}

// opening gives the line that a source map begins with, where it comes from the first
// byte of the user's text; 0 where it does not. The reader of source maps leaves that
// out.
func opening(sourceMap string) int {
	_, mappings, found := strings.Cut(sourceMap, `"mappings": "`)
	first := strings.TrimLeft(mappings, ";")
	if !found || !strings.HasPrefix(first, "AAAA") || !strings.Contains(sourceMap, `"sources": ["`+userSource+`"`) {
		return 0
	}
	return len(mappings) - len(first) + 1
}

// own are the statements that come from the user's text.
func (p *Program) own(tree *ast.Program, list []ast.Statement) []ast.Statement {
	var out []ast.Statement
	for _, s := range list {
		if p.isOwn(tree, s) {
			out = append(out, s)
		}
	}
	return out
}

func (p *Program) isOwn(tree *ast.Program, s ast.Statement) bool {
	offset := int(s.Idx0()) - tree.File.Base()
	at := tree.File.Position(offset)
	if _, _, ok := p.Position(at.Line, at.Column); ok {
		return true
	}
	// esbuild maps no literal and no await, so the first statement can be without a
	// position. It stands between the name of its module and the hook.
	_, expression := s.(*ast.ExpressionStatement)
	text := tree.File.Source()
	from := strings.Index(text, "\n// "+userSource+"\n")
	return expression && from >= 0 && offset > from && offset < strings.LastIndex(text, "\n"+HookName+"(0,")
}
