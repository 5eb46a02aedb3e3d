// Package source is Python as the host of scripts knows it: by the text of scripts.
//
// What belongs here: what a text refers to, and texts that are made of others. Not here: running a script;
// a finding about one, which the interpreter makes.
package source

import (
	"bytes"
	"encoding/json"
	"path"
	"regexp"
	"strings"

	"github.com/koan-go/koan/codemode/internal/bind"
	"github.com/koan-go/koan/codemode/internal/language"
	"github.com/koan-go/koan/codemode/internal/language/python/typegen"
	"github.com/koan-go/koan/codemode/internal/wire"
	"github.com/koan-go/koan/framework/catalog"
)

// Name is the language's own name.
const Name = "python"

// Python is the language.
type Python struct{}

var (
	_ language.Source = Python{}
	_ language.Stubs  = Python{}
)

// Names implements language.Source.
func (Python) Names() []string { return []string{Name} }

// Imports implements language.Source. A script that computes a name may import any module.
func (Python) Imports(code string) func(path string) bool {
	if !strings.Contains(code, "servers") && !strings.Contains(code, client) {
		return nil
	}
	if computed.MatchString(code) || strings.Contains(code, client) {
		return func(string) bool { return true }
	}
	return func(path string) bool {
		id, ok := wire.ServerOf(path)
		return ok && strings.Contains(code, Module(id))
	}
}

// client is the module that calls tools by their names.
const client = "mcp_client"

// computed matches what may lead to any member of a package.
var computed = regexp.MustCompile(`\b(?:getattr|import_module|__import__|vars|dir|eval|exec|pkgutil|__dict__)\b|\bimport\s*\*`)

// Module returns the name of a server's module (specs/code-mcp-guide.md).
func Module(id string) string { return wire.GuideModule(id) }

// References implements language.Source: a server is referred to where its name or its module's is in the text, or
// its name in the arguments.
func (Python) References(code string, args json.RawMessage) language.References {
	return references{code, string(args)}
}

type references struct{ code, args string }

// Imports implements language.References.
func (r references) Imports(server string) bool {
	return (strings.Contains(r.code, "servers") || strings.Contains(r.code, client)) && r.names(server)
}

// Names implements language.References.
func (r references) Names(servers []string) (out []string) {
	for _, s := range servers {
		if r.names(s) || strings.Contains(r.args, s) {
			out = append(out, s)
		}
	}
	return out
}

func (r references) names(server string) bool {
	return strings.Contains(r.code, server) || strings.Contains(r.code, Module(bind.ModulePart(server))) || computed.MatchString(r.code)
}

// ActionOf implements language.Source. Tests and parts of packages are no actions.
func (Python) ActionOf(file string) (action, name string, ok bool) {
	if path.Ext(file) != ".py" || strings.HasPrefix(file, ".") || strings.HasPrefix(file, "_") || strings.HasPrefix(file, "test_") || strings.HasSuffix(file, "_test.py") {
		return "", "", false
	}
	return strings.TrimSuffix(file, ".py"), Name, true
}

// ActionFile implements language.Source: the declaration stands before the script, which stays as it is. The names of
// actions are words with dashes, as those of their tools.
func (Python) ActionFile(a language.Action) (file, text, name string) {
	var b bytes.Buffer
	declaration := map[string]json.RawMessage{"description": marshal(a.Description), "input": a.Input, "rights": marshal("caller")}
	b.WriteString("action = {\n")
	for _, key := range []string{"description", "input", "rights"} {
		b.WriteString("    " + string(marshal(key)) + ": " + literal(declaration[key]) + ",\n")
	}
	if len(a.Example) > 0 {
		b.WriteString(`    "examples": [` + literal(a.Example) + "],\n")
	}
	b.WriteString("}\n\n")
	code := strings.Trim(a.Code, "\n")
	if inFence := fence.FindStringSubmatch(code); inFence != nil {
		code = inFence[1]
	}
	future := ""
	if at := futures.FindAllStringIndex(code, -1); at != nil { // they have to come first
		end := at[len(at)-1][1]
		future, code = strings.TrimRight(code[:end], "\n")+"\n\n", strings.TrimLeft(code[end:], "\n")
	}
	return a.Name + ".py", future + b.String() + code + "\n", Name
}

var (
	fence   = regexp.MustCompile("(?s)^\\s*```[^\n]*\n(.*?)\n?\\s*```\\s*$")
	futures = regexp.MustCompile(`(?m)^from __future__ import .*\n?`)
)

// StubFile implements language.Stubs.
func (Python) StubFile() string { return "koan.pyi" }

// Stub implements language.Stubs.
func (Python) Stub(v *catalog.View) string { return typegen.Stub(v) }

// StubFolder implements language.Stubs.
func (Python) StubFolder(v *catalog.View, app bind.App) map[string]string {
	return typegen.Folder(v, app)
}

// Finds implements language.Source.
func (Python) Finds() language.Finds { return typegen.Finds{} }

// Types implements language.Source: SDK is declared in the first language's types.
func (Python) Types() language.Types { return nil }

func marshal(v any) json.RawMessage {
	raw, err := wire.Marshal(v)
	if err != nil { // a string cannot fail
		return json.RawMessage(`""`)
	}
	return raw
}

// literal returns JSON as Python writes it. Strings of JSON are strings of Python.
func literal(raw json.RawMessage) string {
	var b strings.Builder
	for i := 0; i < len(raw); {
		switch rest := string(raw[i:]); {
		case raw[i] == '"':
			n := i + 1
			for n < len(raw) && raw[n] != '"' {
				if raw[n] == '\\' {
					n++
				}
				n++
			}
			b.Write(raw[i:min(n+1, len(raw))])
			i = n + 1
		case strings.HasPrefix(rest, "true"):
			b.WriteString("True")
			i += len("true")
		case strings.HasPrefix(rest, "false"):
			b.WriteString("False")
			i += len("false")
		case strings.HasPrefix(rest, "null"):
			b.WriteString("None")
			i += len("null")
		default:
			b.WriteByte(raw[i])
			i++
		}
	}
	return b.String()
}
