package typegen

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"github.com/koan-go/koan/codemode/internal/bind"
	"github.com/koan-go/koan/framework/catalog"
)

// ofDict are the methods that a row has unless a field has their name.
var ofDict = []string{"keys", "values", "items", "get"}

// entity writes the types of an entity, and the class of its methods.
func (g *generator) entity(b *strings.Builder, r *catalog.Resource) {
	if !isIdentifier(r.Name) {
		return
	}
	m := g.rows(b, r)
	b.WriteString("\nclass _" + r.Name + "Methods:\n")
	for _, op := range r.Operations {
		m.operation(b, op)
	}
	b.WriteString("    def __contains__(self, name: _str) -> _bool: ...\n\n")
}

// rows writes the types of what is read and written of an entity, and returns what writes its methods.
func (g *generator) rows(b *strings.Builder, r *catalog.Resource) methods {
	g.row(b, r)
	m := g.methodsOf(r)
	input := m.input
	if !r.ReadOnly {
		b.WriteString(input + " = TypedDict(" + quote(input) + ", {")
		for i := range r.Fields {
			if f := &r.Fields[i]; !f.ReadOnly {
				b.WriteString(quote(f.Name) + ": " + quote(kindOf(f)) + ", ")
			}
		}
		for _, e := range r.Edges {
			if !e.ReadOnly {
				b.WriteString(quote(e.Name) + ": Any, ")
			}
		}
		if !slices.ContainsFunc(r.Fields, func(f catalog.Field) bool { return f.Name == r.Key.Name }) {
			b.WriteString(quote(r.Key.Name) + ": _str")
		}
		b.WriteString("}, total=False)\n")
	}
	return m
}

// methodsOf returns what writes the methods of an entity.
func (g *generator) methodsOf(r *catalog.Resource) methods {
	set := "_str"
	if len(r.Sets) > 0 && !slices.ContainsFunc(r.Sets, func(s string) bool { return strings.HasSuffix(s, "*") }) {
		set = literal(r.Sets)
	}
	return methods{g, r, g.unique(r.Name + "Input"), set}
}

// row writes the class of what is read of an entity.
func (g *generator) row(b *strings.Builder, r *catalog.Resource) {
	base := "_Row"
	names := []string{r.Key.Name}
	for _, f := range r.Fields {
		names = append(names, f.Name)
	}
	for _, e := range r.Edges {
		names = append(names, e.Name)
	}
	if slices.ContainsFunc(names, func(n string) bool { return slices.Contains(ofDict, n) }) {
		base = "_Members"
	}
	b.WriteString("class " + r.Name + "(" + base + "):" + strings.TrimSuffix(body(r.Description, "    "), " ...\n"))
	if r.Description == "" {
		b.WriteString("\n")
	}
	member := func(name, kind string) {
		if isIdentifier(name) {
			b.WriteString("    " + name + ": " + kind + "\n")
			return
		}
		b.WriteString("    # row[" + quote(name) + "]: " + kind + "\n")
	}
	member(r.Key.Name, "_str")
	for i := range r.Fields {
		if f := &r.Fields[i]; f.Readable() && f.Name != r.Key.Name {
			member(f.Name, kindOf(f))
		}
	}
	for _, e := range r.Edges {
		switch {
		case e.WriteOnly:
		case g.view.Resource(e.Target) == nil || !isIdentifier(e.Target):
			member(e.Name, "Any")
		case e.Many:
			member(e.Name, "_list["+quote(e.Target)+"]")
		case e.Required:
			member(e.Name, quote(e.Target))
		default:
			member(e.Name, "Union["+quote(e.Target)+", None]")
		}
	}
	b.WriteString("\n")
}

// kindOf is the type of a field.
func kindOf(f *catalog.Field) string {
	kind := "_str"
	switch f.Type {
	case catalog.TypeInt:
		if kind = "_int"; f.Wide {
			kind = "Union[_int, _str]" // beyond 2^53
		}
	case catalog.TypeFloat:
		kind = "_float"
	case catalog.TypeBool:
		kind = "_bool"
	case catalog.TypeEnum:
		kind = literal(f.Enum)
	case catalog.TypeJSON:
		return "Any"
	case catalog.TypeString, catalog.TypeText, catalog.TypeTime, catalog.TypeDay, catalog.TypeUUID, catalog.TypeID, catalog.TypeBytes, catalog.TypeDecimal:
	}
	if f.Nullable {
		return "Union[" + kind + ", None]"
	}
	return kind
}

// literal is the type of one of some texts.
func literal(values []string) string {
	if len(values) == 0 {
		return "_str"
	}
	quoted := make([]string, len(values))
	for i, v := range values {
		quoted[i] = quote(v)
	}
	return "Literal[" + strings.Join(quoted, ", ") + "]"
}

// quote returns a string of Python, with escapes for what a reader would not see. Strings of JSON are strings of Python.
func quote(s string) string {
	raw, err := json.Marshal(s)
	if err != nil { // a string cannot fail
		return strconv.Quote(s)
	}
	var b strings.Builder
	for _, r := range string(raw) {
		switch {
		case unicode.IsPrint(r):
			b.WriteRune(r)
		case r > 0xffff:
			fmt.Fprintf(&b, `\U%08x`, r)
		default:
			fmt.Fprintf(&b, `\u%04x`, r)
		}
	}
	return b.String()
}

// methods writes the methods of one entity.
type methods struct {
	*generator
	of         *catalog.Resource
	input, set string
}

// operation writes the methods of an operation, in both spellings.
func (m methods) operation(b *strings.Builder, op string) {
	known := m.options(op)
	for _, method := range bind.Methods(op) {
		var signature strings.Builder
		signature.WriteString("(self")
		for i, name := range method.Arguments {
			optional := method.LoneSet || method.Loose && i == len(method.Arguments)-1
			signature.WriteString(", " + name + ": " + m.argument(op, name))
			if optional {
				signature.WriteString(" = ...")
			}
		}
		signature.WriteString(", options: Union[_str, Mapping[_str, Any]] = ...")
		written := map[string]bool{}
		var named strings.Builder
		for _, name := range known {
			if slices.Contains(method.Arguments, name) || slices.ContainsFunc(method.Fixed, func(f bind.Member) bool { return f.Name == name }) {
				continue
			}
			for _, spelling := range m.spellings(name) {
				if !isIdentifier(spelling) {
					spelling += "_"
				}
				if !written[spelling] {
					written[spelling] = true
					named.WriteString(", " + spelling + ": " + m.argument(op, name) + " = ...")
				}
			}
		}
		if named.Len() > 0 {
			signature.WriteString(", *" + named.String())
		}
		signature.WriteString(") -> " + m.returned(method) + ": ...\n")
		for _, spelling := range m.spellings(method.Name) {
			b.WriteString("    def " + spelling + signature.String())
		}
	}
}

// options are the members of an operation's input that it does not take by position.
func (m methods) options(op string) []string {
	o := m.view.At(catalog.SurfaceScript).Operation(catalog.EntityID(m.of.Name, op))
	if o == nil {
		return nil
	}
	var schema struct {
		Properties map[string]json.RawMessage `json:"properties"`
	}
	if json.Unmarshal(o.Input, &schema) != nil {
		return nil
	}
	var out []string
	for e := range catalog.EntityOperations() {
		if e.Name != op {
			continue
		}
		for _, name := range e.Inputs() {
			if raw, there := schema.Properties[name]; there && string(raw) != "false" {
				out = append(out, name)
			}
		}
	}
	return out
}

// argument is the type of a member of an operation's input.
func (m methods) argument(op, name string) string {
	model := "Union[" + m.input + ", " + m.of.Name + "]"
	switch name {
	case "id":
		return "Union[_str, _int]"
	case "ids":
		return "Sequence[Union[_str, _int]]"
	case "model", "changes":
		return model
	case "models":
		return "Sequence[" + model + "]"
	case "filter":
		if op == "count" {
			return "Union[_str, _Filter, None]"
		}
		return "Union[_Filter, None]"
	case "sort":
		return "_Sort"
	case "with":
		return "_With"
	case "fields":
		return "Union[_str, Sequence[_str]]"
	case "set":
		return m.set
	}
	return scalar(op, name)
}

// scalar is the type of a member of an operation's input whose type is the same for all entities.
func scalar(op, name string) string {
	switch name {
	case "q", "cursor", "timeZone":
		return "_str"
	case "page", "pageSize", "limit", "ifVersion", "maxAffected":
		return "_int"
	case "all", "replace":
		return "_bool"
	case "count":
		if op == "collection" {
			return "_bool"
		}
	}
	return "Any"
}

// returned is the type of what a method returns.
func (m methods) returned(method bind.Method) string {
	switch method.Returns {
	case catalog.ReturnsPage:
		return "Page[" + m.of.Name + "]"
	case catalog.ReturnsIterator:
		return "Iterator[" + m.of.Name + "]"
	case catalog.ReturnsList:
		return "_list[" + m.of.Name + "]"
	case catalog.ReturnsEntity, catalog.ReturnsModel:
		return m.of.Name
	case catalog.ReturnsEntityOrNull:
		return "Union[" + m.of.Name + ", None]"
	case catalog.ReturnsNumber:
		return "_int"
	case catalog.ReturnsRows:
		return "_list[_Row]"
	}
	return "Any"
}
