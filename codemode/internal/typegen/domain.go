package typegen

import (
	"strings"

	"github.com/koan-go/koan/codemode/internal/bind"
	"github.com/koan-go/koan/codemode/internal/wire"
	"github.com/koan-go/koan/framework/catalog"
)

func (g *generator) domains() string {
	var b strings.Builder
	for _, d := range bind.Bind(g.view).Domains {
		types, functions := g.domain(d)
		b.WriteString("\n" + types + g.about(d) + "  const " + d.Name + ": {\n" + functions + "  };\n")
	}
	return b.String()
}

// about is what a plugin says of itself, as a comment.
func (g *generator) about(d wire.Domain) string {
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

// domain writes a plugin's functions and, in a namespace of the same name, the
// types they take and give.
func (g *generator) domain(d wire.Domain) (types, functions string) {
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
		in, optional := n.input(op.Input, base+"Input", d.Name)
		out := n.root(op.Output, base+"Output", d.Name)
		mark := ""
		if optional {
			mark = "?"
		}
		b.WriteString(comment("    ", op.Summary+hints(op.Effects)))
		b.WriteString("    " + property(f.Name) + "(input" + mark + ": " + in + "): " + out + ";\n")
	}
	if len(n.types) > 0 {
		types = "  namespace " + d.Name + " {\n" + strings.Join(n.types, "") + "  }\n"
	}
	return types, b.String()
}

// hints name the annotations that hold of an operation, as MCP calls them
// (codemode-run-spec 6.3).
func hints(e catalog.Effects) string {
	var names []string
	for _, h := range []struct {
		holds bool
		name  string
	}{{e.ReadOnly, "readOnlyHint"}, {e.Destructive, "destructiveHint"}, {e.Idempotent, "idempotentHint"}, {e.Outside, "openWorldHint"}} {
		if h.holds {
			names = append(names, h.name)
		}
	}
	if len(names) == 0 {
		return ""
	}
	return " (" + strings.Join(names, ", ") + ")"
}
