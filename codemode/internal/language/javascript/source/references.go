package source

import (
	"bytes"
	"encoding/json"
	"strings"

	"github.com/koan-go/koan/codemode/internal/bind"
	"github.com/koan-go/koan/codemode/internal/wire"
)

// references are the servers that a script refers to, as far as its text and its arguments say: comments and
// what is only said in a string are no references.
type references struct {
	strings map[string]bool // values of string literals
	names   map[string]bool // identifiers, wherever they stand
	members map[string]bool // members of SDK.Servers that are read by name
	args    json.RawMessage

	passed   bool // SDK.Servers is a value: its members may be read somewhere else
	computed bool // a member of SDK.Servers, or an id, is computed
	imports  bool // the path of a module is computed
}

// referencesOf reads a script and its arguments. It reads tokens, not statements: the text of a script is
// parsed in a worker only.
func referencesOf(code string, args json.RawMessage) *references {
	r := &references{strings: map[string]bool{}, names: map[string]bool{}, members: map[string]bool{}, args: args}
	tokens := tokensOf(code)
	at := func(i int) token {
		if i < len(tokens) {
			return tokens[i]
		}
		return token{}
	}
	for i, t := range tokens {
		switch {
		case t.kind == tokenString:
			r.strings[t.text] = true
			r.passed = r.passed || t.text == "Servers"
		case t.kind != tokenName:
		case t.text == "Servers":
			r.takeMember(at(i+1), at(i+2), at(i+3))
		case t.text == "SDK" && at(i+1).text == "[" && at(i+2).kind != tokenString:
			r.passed = true
		case t.text == "callTool":
			r.computed = r.computed || at(i+1).text != "(" || !isWhole(at(i+2), at(i+3))
		case t.text == "import" && at(i+1).text == "(":
			r.imports = r.imports || !isWhole(at(i+2), at(i+3))
		default:
			r.names[t.text] = true
		}
	}
	return r
}

// isWhole reports whether an argument is one string.
func isWhole(argument, after token) bool {
	return argument.kind == tokenString && (after.text == "," || after.text == ")")
}

// takeMember notes what follows SDK.Servers.
func (r *references) takeMember(dot, next, after token) {
	switch {
	case dot.text == "?" && next.text == ".": // Servers?.x and Servers?.[x]
		r.takeMember(token{text: "."}, after, token{})
	case dot.text == "." && next.kind == tokenName:
		r.members[next.text] = true
	case (dot.text == "[" || dot.text == "." && next.text == "[") && next.kind == tokenString && after.text == "]":
		r.members[next.text] = true
	case dot.text == "[", dot.text == "." && next.text == "[":
		r.computed = true
	default:
		r.passed = true
	}
}

// Imports reports whether the tools of a server have to be known before the script begins: it imports
// them, asks for them, or calls one by its id.
func (r *references) Imports(server string) bool {
	return r.imports || r.strings[wire.GuidePath(bind.ModulePart(server))] || r.strings[wire.ModuleDiscovery] || r.hasModule(server) || r.hasID(server)
}

// Names returns those of some servers that the script refers to. Where it computes a name, those count
// whose names are among its strings or in its arguments; if none is, each of them may be meant.
func (r *references) Names(servers []string) (out []string) {
	var meant []string
	for _, s := range servers {
		said := r.strings[s] || r.strings[bind.ModulePart(s)] || r.argued(s)
		switch {
		case r.members[s], r.hasModule(s), r.strings[wire.GuidePath(bind.ModulePart(s))], r.hasID(s), r.passed && (said || r.names[s]), r.strings[wire.ModuleDiscovery] && said:
			out = append(out, s)
		case said:
			meant = append(meant, s)
		}
	}
	switch {
	case !r.computed && !r.imports:
		return out
	case len(out)+len(meant) == 0:
		return servers
	}
	return append(out, meant...)
}

// hasModule reports whether a string is the path of a server's module.
func (r *references) hasModule(server string) bool {
	path := wire.ModuleServers + bind.ModulePart(server)
	if r.strings[path] {
		return true
	}
	for s := range r.strings { // of one of several with the same path
		if rest, ok := strings.CutPrefix(s, path); ok && strings.HasPrefix(rest, "--") {
			return true
		}
	}
	return false
}

// hasID reports whether a string is the id of a tool of a server.
func (r *references) hasID(server string) bool {
	for s := range r.strings {
		if strings.HasPrefix(s, "upstream::"+server+"::") {
			return true
		}
	}
	return false
}

// argued reports whether the name of a server, the path of its module, or the id of one of its tools is in
// the arguments.
func (r *references) argued(server string) bool {
	if len(r.args) == 0 {
		return false
	}
	for _, begin := range []string{server + `"`, wire.ModuleServers + bind.ModulePart(server) + `"`, "upstream::" + server + "::"} {
		if bytes.Contains(r.args, []byte(`"`+begin)) {
			return true
		}
	}
	return false
}
