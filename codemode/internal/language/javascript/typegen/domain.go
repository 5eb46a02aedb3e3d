package typegen

import (
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/koan-go/koan/codemode/internal/bind"
	"github.com/koan-go/koan/codemode/internal/wire"
	"github.com/koan-go/koan/framework/catalog"
)

// files declares SDK.Files, shorter than its schemas would: every client reads it.
const files = `
  interface File { id: string; name: string; type: string; size: number; sha256: string }
  /** A plugin or server gets a file's content in base64 for {$file: id}. */
  namespace Files {
    function get(id: string): File;
    function text(id: string): string;
    function json(id: string): any;
    function create(file: { name?: string; type?: string; text?: string; base64?: string }): File;
  }
`

// filesInline is the same in the description of koan.code.execute.
const filesInline = `
  const Files: { get(id: string): any; text(id: string): string; json(id: string): any; create(file: { name?: string; type?: string; text?: string; base64?: string }): any };
`

// domainTypes declares the functions of plugins and servers.
type domainTypes struct{ *generator }

func (g domainTypes) domains() string {
	var b strings.Builder
	for _, d := range bind.Bind(g.view).Domains {
		if d.Name == bind.Files {
			b.WriteString(files)
			continue
		}
		types, functions := g.domain(d)
		b.WriteString("\n" + types + g.about(d) + "  const " + d.Name + ": {\n" + functions + "  };\n")
	}
	return b.String()
}

// servers writes SDK.Servers, "" if there are none.
func (g domainTypes) servers() string {
	var types, members strings.Builder
	for _, d := range bind.Bind(g.view).Upstreams {
		own, member := g.server(d)
		types.WriteString(own)
		members.WriteString(member)
	}
	return serversNamespace(types.String(), members.String(), "const Servers")
}

// serversNamespace declares SDK.Servers. The types are in a namespace of the same name,
// which has nothing else.
func serversNamespace(types, members, declared string) string {
	if members == "" {
		return ""
	}
	text := "\n"
	if types != "" {
		text += "  namespace Servers {\n" + types + "  }\n"
	}
	return text + "  " + declared + ": {\n" + members + "  };\n"
}

// server writes one member of SDK.Servers, and a namespace with its types.
func (g domainTypes) server(d wire.Domain) (types, member string) {
	space := catalog.Identifier(strings.ReplaceAll(d.Name, "-", "_"))
	body, functions := g.functions(d, "Servers."+space)
	if len(body) > 0 {
		types = "  namespace " + space + " {\n" + body + "  }\n"
	}
	functions += "    " + catalog.AnyTool + "(tool: string, input?: any): any;\n"
	if d.Any != "" {
		functions += "    /** Its tools are not known yet: any of them can be called. */\n    [tool: string]: (input?: any) => any;\n"
	}
	return types, g.about(d) + "  " + property(d.Name) + ": {\n" + functions + "  };\n"
}

// about returns the description that a plugin or a server has of itself, as a comment.
func (g domainTypes) about(d wire.Domain) string {
	for _, f := range d.Functions {
		id, err := catalog.ParseID(f.ID)
		if err != nil {
			continue
		}
		if owner := g.view.Snapshot().Owner(id); owner != nil && owner.Description != "" {
			return comment("  ", owner.Description)
		}
	}
	return ""
}

// domain writes a plugin's functions and, in a namespace of the same name, the types of
// their inputs and outputs.
func (g domainTypes) domain(d wire.Domain) (types, functions string) {
	types, functions = g.functions(d, d.Name)
	if types != "" {
		types = "  namespace " + d.Name + " {\n" + types + "  }\n"
	}
	return types, functions
}

// functions writes functions, and the types of their inputs and outputs, which are
// qualified by the name of their namespace.
func (g domainTypes) functions(d wire.Domain, namespaceName string) (types, functions string) {
	n := &namespace{taken: map[string]bool{}}
	var b strings.Builder
	for _, f := range d.Functions {
		id, err := catalog.ParseID(f.ID)
		if err != nil {
			continue
		}
		op := g.view.Snapshot().Operation(id)
		if op == nil {
			continue
		}
		base := catalog.Identifier(catalog.Pascal(f.Name))
		in, optional := n.input(op, base+"Input", namespaceName)
		out := n.output(op, base+"Output", namespaceName)
		mark := ""
		if optional {
			mark = "?"
		}
		b.WriteString(comment("    ", op.Summary+hints(op)))
		parameters := "input" + mark + ": " + in
		if len(f.Leading) > 0 {
			parameters = leadingParameters(f.Leading, in)
		}
		b.WriteString("    " + property(f.Name) + "(" + parameters + "): " + out + ";\n")
	}
	for _, group := range d.Groups {
		b.WriteString("    readonly " + group.Name + ": {\n" + groupFunctions(g.view, n, group, namespaceName, false) + "    };\n")
	}
	return strings.Join(n.types, ""), b.String()
}

// groupFunctions writes the functions of $resources or $prompts, and adds their types to a
// namespace.
func groupFunctions(v *catalog.View, n *namespace, group wire.Group, namespaceName string, async bool) string {
	var b strings.Builder
	for _, f := range group.Functions {
		id, err := catalog.ParseID(f.ID)
		if err != nil {
			continue
		}
		op := v.Snapshot().Operation(id)
		if op == nil {
			continue
		}
		base := catalog.Pascal(strings.TrimPrefix(group.Name, "$")) + catalog.Pascal(f.Name)
		in, optional := n.input(op, base+"Input", namespaceName)
		out := n.output(op, base+"Output", namespaceName)
		if async {
			out = "Promise<" + out + ">"
		}
		mark := ""
		if optional {
			mark = "?"
		}
		b.WriteString(comment("      ", op.Summary+hints(op)))
		b.WriteString("      " + f.Name + "(input" + mark + ": " + in + "): " + out + ";\n")
		if len(f.Leading) > 0 {
			b.WriteString("      " + f.Name + "(" + leadingParameters(f.Leading, in) + "): " + out + ";\n")
		}
	}
	return b.String()
}

// leadingParameters are the members of an input as parameters.
func leadingParameters(names []string, in string) string {
	out := make([]string, len(names))
	for i, name := range names {
		mark := ""
		if i > 0 {
			mark = "?"
		}
		out[i] = name + mark + ": " + in + "[" + quote(name) + "]"
	}
	return strings.Join(out, ", ")
}

// hints name the annotations of an operation in MCP's words
// (codemode-run-spec 6.3), and those that its server declares where they do not count.
func hints(op *catalog.Operation) string {
	e := op.Effects
	var names []string
	for _, h := range []struct {
		holds bool
		name  string
	}{{e.ReadOnly, "readOnlyHint"}, {e.Destructive, "destructiveHint"}, {e.Idempotent, "idempotentHint"}, {e.Outside, "openWorldHint"}} {
		if h.holds {
			names = append(names, h.name)
		}
	}
	text := strings.Join(names, ", ")
	declared := op.DeclaredHints()
	for i, name := range slices.Sorted(maps.Keys(declared)) {
		switch {
		case i > 0:
			text += ", "
		case text != "":
			text += "; its server says: "
		default:
			text = "its server says: "
		}
		text += name + " " + strconv.FormatBool(declared[name])
	}
	if text == "" {
		return ""
	}
	return " (" + text + ")"
}
