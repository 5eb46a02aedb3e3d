package typegen

import (
	"regexp"
	"slices"
	"strings"
	"unicode"

	"github.com/koan-go/koan/codemode/internal/bind"
	"github.com/koan-go/koan/codemode/internal/wire"
	"github.com/koan-go/koan/framework/catalog"
)

// Folder returns the stubs of everything that a script can name, for an editor: the packages koan and servers, and what
// scripts have without an import, which pyright and its editors read from __builtins__.pyi.
func Folder(v *catalog.View, app bind.App) map[string]string {
	g := newGenerator(v)
	g.folder = true
	out := map[string]string{
		"koan/__init__.pyi":     g.stub(),
		"koan/errors.pyi":       errorsHead + errorClass + errorClasses(),
		"client/__init__.pyi":   "from .mcp_client import call_tool as call_tool\n",
		"client/mcp_client.pyi": clientModule,
		"__builtins__.pyi":      builtins,
	}
	var modules strings.Builder
	for i := range 2 { // the short names, and then the long ones: the first that has a name is the module
		for _, s := range bind.Servers(v, app) {
			if ids := s.IDs(); i < len(ids) {
				name := serverModule(ids[i])
				path := "servers/" + name + ".pyi"
				if out[path] != "" {
					continue
				}
				modules.WriteString("from . import " + name + " as " + name + "\n")
				out[path] = module(v, s)
			}
		}
	}
	out["servers/__init__.pyi"] = modules.String()
	return out
}

const (
	errorsHead = `from builtins import str as _str
from typing import Any, Union

`
	clientModule = `from typing import Any, Mapping, Optional

async def call_tool(server_id: str, name: str, arguments: Optional[Mapping[str, Any]] = ...) -> Any: ...
`
	builtins = `# What a script has without an import.

import asyncio as asyncio
import servers as servers
from koan import SDK as SDK
`
	moduleHead = `from builtins import bool as _bool, float as _float, int as _int, list as _list, str as _str
from typing import Any, Awaitable, Callable, Literal, Mapping, TypedDict, Union

from koan import _Members, _Row

`
	// moduleTail has the whole results of tools, and what the module says of itself.
	moduleTail = `
class _Raw:
    def __getattr__(self, name: _str) -> Callable[..., Awaitable[Any]]: ...

raw: _Raw
__meta__: Mapping[_str, Any]
`
)

// errorClasses are those of koan.errors behind the base.
func errorClasses() string {
	var b strings.Builder
	base := "KoanError"
	for _, name := range wire.ErrorClasses {
		if name == "KoanError" {
			continue
		}
		b.WriteString("\nclass " + name + "(" + base + "): ...\n")
		base = wire.ErrorClasses[0]
	}
	return b.String() + "\nclass ModuleUnavailableError(KoanError, ModuleNotFoundError): ...\n" +
		"\nclass ModuleMemberError(KoanError, ImportError): ...\n\nclass ArgumentError(SchemaValidationError, TypeError): ...\n"
}

// module returns the stub of a server's module.
func module(v *catalog.View, s *bind.Server) string {
	g := &generator{view: v, taken: map[string]bool{"Any": true, "Awaitable": true, "Callable": true, "Literal": true, "Mapping": true, "TypedDict": true, "Union": true, "raw": true}}
	names := g.functionsOf(s.Tools)
	var functions strings.Builder
	for i, op := range s.Operations {
		g.coroutine(&functions, names[i], op)
	}
	for _, group := range s.Groups {
		functions.WriteString(strings.TrimPrefix(group.Name, "$") + ": Any\n")
	}
	if s.Any != "" {
		functions.WriteString("def __getattr__(name: _str) -> Any: ...\n")
	}
	return moduleHead + g.types.String() + functions.String() + moduleTail
}

// functionsOf returns the names of the functions of each tool, as the runtime does (koan_runtime.names.functions_of).
func (g *generator) functionsOf(tools []wire.Tool) [][]string {
	names := make([][]string, len(tools))
	take := func(i int, name string) {
		if isIdentifier(name) && !g.taken[name] {
			g.taken[name] = true
			names[i] = append(names[i], name)
		}
	}
	for _, exact := range []bool{true, false} {
		for i, t := range tools {
			if identifier.MatchString(t.Name) == exact {
				take(i, toolFunction(t.Name))
			}
		}
	}
	for i, t := range tools {
		if len(names[i]) == 0 {
			take(i, t.Export)
		} else {
			take(i, snake(names[i][0]))
		}
	}
	return names
}

// coroutine writes the wrapper of a tool under its names.
func (g *generator) coroutine(b *strings.Builder, names []string, op *catalog.Operation) {
	if len(names) == 0 {
		return
	}
	in := g.inputs(pascal(names[0])+"Input", op.Input).input()
	if op.ID.Kind == catalog.KindEntity { // whose options take both spellings
		in.open = true
	}
	out := g.outputs(pascal(names[0])+"Output", op.Output).output()
	for _, name := range names {
		b.WriteString("async def " + name + "(_given: " + in.whole + " = ..., /" + in.parameters(false) + ") -> " + out + ":" + body(op.Summary, "    "))
	}
}

var (
	apart      = regexp.MustCompile(`[._-]+`)
	notOfWords = regexp.MustCompile(`[^\p{L}\p{M}\p{Nd}_]`)
	several    = regexp.MustCompile(`_+`)
)

// toolFunction returns the name of a tool's function as the runtime does (koan_runtime.names.tool_function).
func toolFunction(name string) string {
	out := name
	if !identifier.MatchString(name) {
		parts := slices.DeleteFunc(apart.Split(name, -1), func(p string) bool { return p == "" })
		out = strings.ToLower(notOfWords.ReplaceAllString(strings.Join(parts, "_"), "_"))
	}
	return afterAll(out)
}

// serverModule returns the name of a server's module as the runtime does (koan_runtime.names.server_module).
func serverModule(id string) string {
	out := notOfWords.ReplaceAllString(snake(strings.NewReplacer("-", "_", ".", "_").Replace(id)), "_")
	if out = strings.Trim(several.ReplaceAllString(out, "_"), "_"); out == "" {
		out = "server"
	}
	return afterAll(out)
}

// afterAll makes an identifier of a name that begins with a digit, or is a keyword.
func afterAll(name string) string {
	if name == "" || unicode.IsDigit([]rune(name)[0]) {
		name = "_" + name
	}
	if slices.Contains(keywords, name) {
		name += "_"
	}
	return name
}
