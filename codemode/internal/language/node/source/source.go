// Package source is Node as the host of scripts knows it: by the text of scripts.
//
// What belongs here: what a text refers to. Not here: running a script; a finding about one, which the
// interpreter makes.
package source

import (
	"encoding/json"
	"slices"
	"strings"

	"github.com/koan-go/koan/codemode/internal/bind"
	"github.com/koan-go/koan/codemode/internal/language"
	javascript "github.com/koan-go/koan/codemode/internal/language/javascript/source"
	python "github.com/koan-go/koan/codemode/internal/language/python/source"
	"github.com/koan-go/koan/codemode/internal/wire"
)

// Name is the language's own name.
const Name = "node"

// Node is the language. Its texts are JavaScript, whose source it asks.
type Node struct{ javascript.JavaScript }

var _ language.Source = Node{}

// Names implements language.Source.
func (Node) Names() []string { return []string{Name} }

// Imports implements language.Source: by the path of a module, or by its file (specs/code-mcp-guide.md).
func (n Node) Imports(code string) func(path string) bool {
	may := n.JavaScript.Imports(code)
	if !strings.Contains(code, folder) && !strings.Contains(code, client) {
		return may
	}
	return func(path string) bool {
		if may != nil && may(path) || strings.Contains(code, client) {
			return true
		}
		id, ok := wire.ServerOf(path)
		return ok && strings.Contains(code, folder+python.Module(id)+"/")
	}
}

// The folder of servers' modules, and the module that calls tools by their names.
const (
	folder = "servers/"
	client = "client/mcp_client"
)

// References implements language.Source.
func (n Node) References(code string, args json.RawMessage) language.References {
	return references{n.JavaScript.References(code, args), code}
}

type references struct {
	language.References
	code string
}

// Imports implements language.References.
func (r references) Imports(server string) bool {
	return r.References.Imports(server) || r.byFile(server)
}

// Names implements language.References.
func (r references) Names(servers []string) []string {
	out := r.References.Names(servers)
	for _, s := range servers {
		if r.byFile(s) && !slices.Contains(out, s) {
			out = append(out, s)
		}
	}
	return out
}

func (r references) byFile(server string) bool {
	return strings.Contains(r.code, client) || strings.Contains(r.code, folder+python.Module(bind.ModulePart(server))+"/")
}

// ActionOf implements language.Source: files of actions are in other languages.
func (Node) ActionOf(string) (action, name string, ok bool) { return "", "", false }

// ActionFile implements language.Source: an action that does the same is in JavaScript.
func (n Node) ActionFile(a language.Action) (file, text, name string) {
	a.Language = "javascript"
	return n.JavaScript.ActionFile(a)
}

// Types implements language.Source: SDK is declared in the first language's types.
func (Node) Types() language.Types { return nil }
