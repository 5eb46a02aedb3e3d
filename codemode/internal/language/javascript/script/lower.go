package script

import (
	"fmt"
	"maps"
	"strconv"
	"strings"

	"github.com/dop251/goja/ast"
	"github.com/evanw/esbuild/pkg/api"
)

const (
	userModule    = "script"
	userNamespace = "koan"
	userSource    = userNamespace + ":" + userModule // as source maps name it
	starter       = `import * as user from "` + userModule + `";` + HookName + `(1,user.default);`
)

// starter imports the script's module, and passes on what it exports.
func (c *compiler) starter() string {
	if c.action {
		return starter + HookName + "(" + strconv.Itoa(HookAction) + ",user.action);"
	}
	return starter
}

// supported lists what goja can and cannot parse, for a modern target: an old target would
// lower async functions too.
var supported = map[string]bool{
	"top-level-await": true, "async-generator": false, "for-await": false, "using": false,
	"decorators": false, "dynamic-import": false, "import-meta": false,
}

// spelledOut is lowered as well if goja cannot parse the result: fields named get, set,
// static or async, super in the value of a field, and "\u{10FFFF}" in a tagged template.
var spelledOut = []string{"class-field", "class-static-field", "template-literal"}

// verbatim keeps the imports that a script does not use: a module may be imported for its
// effects.
const verbatim = `{"compilerOptions":{"verbatimModuleSyntax":true}}`

// lower compiles a script by esbuild: as the body of a function, which can have a top-level
// return, or as an ES module, which can import and export. Both are tried before a script
// is rejected, with the error of the module, which is the script as it was sent.
func (p *attempt) lower(code, language string) *Error {
	c := compiler{attempt: p, loader: loader(language)}
	var body, module *Error
	if !moduleWords().MatchString(code) {
		if body = c.asBody(code); body == nil {
			return nil
		}
	}
	if module = c.asModule(code); module == nil {
		return nil
	}
	if !strings.Contains(module.Message, "Top-level return") {
		return module
	}
	if body == nil {
		body = c.asBody(code)
	}
	switch {
	case body == nil:
		return nil
	case strings.Contains(body.Message, `"import"`), strings.Contains(body.Message, `"export"`): // which cannot be combined with return
		return module
	}
	return body
}

// loader reads a language; "" is any.
func loader(language string) api.Loader {
	if language == "javascript" {
		return api.LoaderJS
	}
	return api.LoaderTS
}

// moduleWords find syntax that no function can have.
var moduleWords = lazily(`\b(?:import|export|namespace|module|declare)\b`)

// compiler runs esbuild on one script.
type compiler struct {
	*attempt
	loader api.Loader
	text   string // what it is given for the script
	shift  int    // lines of it before the user's text
}

func (c *compiler) asModule(code string) *Error {
	c.text, c.shift = code+"\n;"+c.scope()+"export {};", 0
	return c.run(code)
}

func (c *compiler) asBody(code string) *Error {
	imports, body := hoist(code)
	c.text, c.shift = imports+"export default (async function(){"+c.scope()+"\n"+body+"\n})", 1
	return c.run(code)
}

// run compiles the text.
func (c *compiler) run(code string) *Error {
	res := c.bundle()
	if len(res.Errors) > 0 {
		return c.rejected(code, res.Errors[0])
	}
	err := c.adopt(code, res)
	if err != nil && err.unparsed {
		if again := c.bundle(spelledOut...); len(again.Errors) == 0 {
			err = c.adopt(code, again)
		}
	}
	if err == nil {
		err = c.unused(code, c.text, c.loader)
	}
	return err
}

// bundle runs esbuild on one virtual module. Every path that the module imports is
// resolved here, or esbuild would read it from the disk.
func (c *compiler) bundle(lower ...string) api.BuildResult {
	known := supported
	if len(lower) > 0 {
		known = maps.Clone(supported)
		for _, feature := range lower {
			known[feature] = false
		}
	}
	return api.Build(api.BuildOptions{
		Stdin:          &api.StdinOptions{Contents: c.starter(), ResolveDir: "/", Sourcefile: "koan", Loader: api.LoaderJS},
		AbsWorkingDir:  "/",
		Bundle:         true,
		Write:          false,
		Outfile:        "/out.js",
		Format:         api.FormatESModule,
		Platform:       api.PlatformNeutral, // defines nothing: a script's process.env is not a constant
		Target:         api.ESNext,
		Supported:      known,
		Charset:        api.CharsetUTF8,
		TreeShaking:    api.TreeShakingFalse,
		Sourcemap:      api.SourceMapExternal,
		SourcesContent: api.SourcesContentExclude,
		LogLevel:       api.LogLevelSilent,
		TsconfigRaw:    verbatim,
		Banner:         map[string]string{"js": "(async function(" + HookName + "){" + c.directive()},
		Footer:         map[string]string{"js": "})"},
		Plugins: []api.Plugin{{Name: "koan", Setup: func(b api.PluginBuild) {
			b.OnResolve(api.OnResolveOptions{Filter: ".*"}, func(a api.OnResolveArgs) (api.OnResolveResult, error) {
				if a.Path == userModule && a.Namespace != userNamespace {
					return api.OnResolveResult{Path: userModule, Namespace: userNamespace}, nil
				}
				if _, ok := exports(c.modules, a.Path); ok {
					return api.OnResolveResult{Path: a.Path, Namespace: importNamespace}, nil
				}
				// An import() of what is not there rejects its promise, where the script runs.
				if a.Kind == api.ResolveJSRequireCall || a.Kind == api.ResolveJSDynamicImport && c.modules != nil {
					return api.OnResolveResult{Path: a.Path, External: true}, nil
				}
				r := refusal(c.modules, a.Path)
				return api.OnResolveResult{Errors: []api.Message{{Text: r.text, Detail: r}}}, nil
			})
			b.OnLoad(api.OnLoadOptions{Filter: ".*", Namespace: importNamespace}, func(a api.OnLoadArgs) (api.OnLoadResult, error) {
				text := fmt.Sprintf("module.exports = %s(%d, %q)", HookName, HookImport, a.Path)
				return api.OnLoadResult{Contents: &text, Loader: api.LoaderJS}, nil
			})
			b.OnLoad(api.OnLoadOptions{Filter: ".*", Namespace: userNamespace}, func(api.OnLoadArgs) (api.OnLoadResult, error) {
				return api.OnLoadResult{Contents: &c.text, Loader: c.loader}, nil
			})
		}}},
	})
}

// rejected converts esbuild's first error into an *Error.
func (c *compiler) rejected(code string, m api.Message) *Error {
	user := c.at.user
	line, column, text := 0, 0, m.Text
	r, refusal := m.Detail.(refused)
	switch {
	case m.Location == nil:
	case m.Location.Line <= c.shift && refusal: // an import that was hoisted
		line, column = user.find(r.full)
	case m.Location.Line-c.shift > len(user.text): // an unclosed bracket is reported after the end
		line = len(user.text)
		column = user.column(line, len(user.line(line))+1)
		text = "Unexpected end of the script"
	default:
		line = m.Location.Line - c.shift
		column = user.column(line, m.Location.Column+1)
	}
	e := failure(user, text, line, column)
	switch {
	case refusal:
		e.Unsupported, e.Import, e.Hint = true, r.path, r.hint
	case c.shift > 0 && word(code, "namespace"):
		e.Hint = "A script with a top-level return cannot have a namespace: end the script with an expression instead."
	}
	return e
}

// adopt compiles the output of esbuild. A failure has no effect.
func (c *compiler) adopt(code string, res api.BuildResult) (err *Error) {
	var text, sourceMap string
	for _, f := range res.OutputFiles {
		if strings.HasSuffix(f.Path, ".map") {
			sourceMap = string(f.Contents)
		} else {
			text = strings.TrimRight(string(f.Contents), "\n")
		}
	}
	c.try(func(p *attempt) bool {
		p.text, p.Lowered, p.at.shift = text, true, c.shift
		err = p.parseLowered(code, sourceMap)
		return err == nil
	})
	return err
}

// parseLowered compiles p.text, which esbuild made of the code.
func (p *attempt) parseLowered(code, sourceMap string) *Error {
	text := p.text
	segments, err := decodeSourceMap(sourceMap)
	if err != nil {
		return &Error{Message: err.Error()}
	}
	p.at.segments, p.at.made = segments, newLines(text)
	if e := p.assigned(code, text); e != nil {
		return e
	}
	tree, err := parse(text)
	if err != nil {
		return p.unparsed(err)
	}
	module, ok := wrapped(tree)
	if !ok {
		return &Error{Message: closesTooMuch}
	}
	if e := p.link(tree); e != nil {
		return e
	}
	own, ok := p.userStatements(tree, module)
	if !ok {
		return &Error{Message: closesTooMuch}
	}
	if err := p.finish(tree, module, own); err != nil {
		return p.unparsed(err)
	}
	return nil
}

const closesTooMuch = "the script closes a bracket that it did not open"

// unparsed is the error of a script that the engine rejects although esbuild accepted it.
func (p *attempt) unparsed(err error) *Error {
	e := p.syntax(err)
	e.unparsed = true
	if strings.HasPrefix(e.Message, "Invalid destructuring binding target") {
		e.Hint = "The engine does not know a default inside of an array pattern that has a default itself, `[a = 1] = []`: destructure that array in a separate statement."
	}
	return e
}

// userStatements returns the statements that were compiled from the user's text: those after the name
// of its module and before the hook, or those of the function that the script was put
// into, which then become statements of the module as well. ok is false if the script
// closed that function itself.
func (p *attempt) userStatements(tree *ast.Program, module *ast.FunctionLiteral) (out []ast.Statement, ok bool) {
	if p.at.shift > 0 {
		return inline(module)
	}
	begin := strings.Index(tree.File.Source(), "\n// "+userSource+"\n")
	for _, s := range module.Body.List {
		if isHook(s) {
			break
		}
		if at := s.Idx0(); at > 0 && int(at)-tree.File.Base() < begin { // some statements have no position
			out = nil
			continue
		}
		out = append(out, s)
	}
	return out, true
}

// inline puts the statements of the function that is the default export in its place,
// and returns those that are the user's.
func inline(module *ast.FunctionLiteral) (out []ast.Statement, ok bool) {
	list := module.Body.List
	for i, s := range list {
		v, ok := s.(*ast.VariableStatement)
		if !ok || len(v.List) != 1 {
			continue
		}
		fn, ok := v.List[0].Initializer.(*ast.FunctionLiteral)
		if !ok {
			continue
		}
		if own, ok := afterScope(fn.Body.List); ok && i+2 == len(list) && isHook(list[i+1]) {
			module.Body.List = append(list[:i:i], fn.Body.List...)
			module.DeclarationList = append(module.DeclarationList, fn.DeclarationList...)
			return own, true
		}
	}
	return nil, false
}

// isHook reports whether a statement calls the hook.
func isHook(s ast.Statement) bool {
	e, ok := s.(*ast.ExpressionStatement)
	if !ok {
		return false
	}
	c, ok := e.Expression.(*ast.CallExpression)
	return ok && is(c.Callee, HookName)
}
