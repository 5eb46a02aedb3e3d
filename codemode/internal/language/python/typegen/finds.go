package typegen

import (
	"regexp"
	"strings"

	"github.com/koan-go/koan/codemode/internal/bind"
	"github.com/koan-go/koan/codemode/internal/wire"
	"github.com/koan-go/koan/framework/catalog"
)

// Finds declares what a search finds, as a stub would, but to be read: each name in one spelling, with what it is called
// by behind its class.
type Finds struct{}

// own are the names that the stub has for those of builtins.
var own = regexp.MustCompile(`\b_(str|int|float|bool|list)\b`)

// shown returns declarations with the names that a reader knows.
func shown(b *strings.Builder) string {
	return strings.TrimSpace(own.ReplaceAllString(b.String(), "$1")) + "\n"
}

func brief(v *catalog.View) *generator {
	g := newGenerator(v)
	g.brief = true
	return g
}

// Block implements language.Finds.
func (Finds) Block(v *catalog.View, name string) (text string, ok bool) {
	r := v.Resource(name)
	if r == nil || !isIdentifier(name) {
		return "", false
	}
	var b strings.Builder
	m := brief(v).rows(&b, r)
	b.WriteString("\nclass _" + name + "Methods: # SDK.Entities." + name + "\n")
	for _, op := range r.Operations {
		m.operation(&b, op)
	}
	return shown(&b), true
}

// Method implements language.Finds.
func (Finds) Method(v *catalog.View, id catalog.ID, fields bool) (text string, ok bool) {
	r := v.Resource(id.Owner)
	if r == nil || !isIdentifier(r.Name) || v.At(catalog.SurfaceScript).Operation(id) == nil {
		return "", false
	}
	var b strings.Builder
	g := brief(v)
	var m methods
	if fields {
		m = g.rows(&b, r)
	} else {
		m = g.methodsOf(r)
	}
	b.WriteString("\nclass _" + r.Name + "Methods: # SDK.Entities." + r.Name + "\n")
	m.operation(&b, id.Op)
	return shown(&b), true
}

// Function implements language.Finds.
func (Finds) Function(v *catalog.View, id catalog.ID) (text string, ok bool) {
	all := bind.Bind(v)
	for _, d := range all.Domains {
		if text, ok := oneFunction(v, d, "SDK."+d.Name, id); ok {
			return text, true
		}
	}
	for _, d := range all.Upstreams {
		if text, ok := oneFunction(v, d, catalog.SDKServer(d.Name), id); ok {
			return text, true
		}
	}
	return "", false
}

func oneFunction(v *catalog.View, d wire.Domain, called string, id catalog.ID) (text string, ok bool) {
	for _, f := range d.Functions {
		if f.ID != id.String() {
			continue
		}
		g := brief(v)
		name := pascal(attribute(d.Name))
		var b, of strings.Builder
		g.function(&of, name, f, map[string]bool{})
		if of.Len() == 0 { // its name is none of Python's
			return "", false
		}
		b.WriteString(g.types.String() + "class _" + name + "Functions: # " + called + "\n" + of.String())
		return shown(&b), true
	}
	return "", false
}
