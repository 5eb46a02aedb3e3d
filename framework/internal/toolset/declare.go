package toolset

import (
	"strings"

	"github.com/koan-go/koan/framework/catalog"
)

// detail is how much a declaration says about each field.
type detail int

const (
	types   detail = iota // its type only
	limited               // what it is for, and which values it takes
	whole                 // also its default and an example
)

// declaration returns an entity as a TypeScript interface, one line per field. A field
// with ? may be left out when an entity is created.
func declaration(r *catalog.Resource, d detail) string {
	var b strings.Builder
	line := func(name, kind, about string, notes ...string) {
		b.WriteString(name + ": " + kind)
		if text := commented(about, notes, d); d > types && text != "" {
			b.WriteString(" // " + text)
		}
		b.WriteByte('\n')
	}
	b.WriteString("interface " + r.Name + " {\n")
	if d == whole || r.Key.Required {
		line(member(&r.Key, r.Key.Required), fieldType(&r.Key), "")
	}
	for i := range r.Fields {
		f := &r.Fields[i]
		name := member(f, f.Required)
		if f.ReadOnly && !r.ReadOnly {
			name = "readonly " + member(f, true)
		}
		line(name, fieldType(f), f.Description, notes(f, r.ReadOnly, d)...)
	}
	for _, e := range r.Edges {
		kind := e.Target
		switch {
		case e.Many:
			kind += "[]"
		case !e.Required:
			kind += " | null"
		}
		var limits []string
		if e.WriteOnly {
			limits = append(limits, "never read")
		}
		if !r.ReadOnly {
			limits = append(limits, e.Limits()...)
		}
		line(e.Name+"?", kind, e.Description, limits...)
	}
	return b.String() + "}"
}

// member returns a field's name, with ? if it may be left out.
func member(f *catalog.Field, needed bool) string {
	if needed {
		return f.Name
	}
	return f.Name + "?"
}

func fieldType(f *catalog.Field) string {
	kind, ok := f.TypeScript()
	if !ok {
		kind = documentType(f)
	}
	if f.Nullable && kind != "unknown" {
		kind += " | null"
	}
	return kind
}

// documentType returns the type of a JSON field, as far as one line can say it.
func documentType(f *catalog.Field) string {
	scalar := func(s object) string {
		switch s["type"] {
		case "string", "boolean":
			return s["type"].(string)
		case "integer", "number":
			return "number"
		}
		return ""
	}
	c := newConverter(f.Schema, true)
	s := c.convert(c.doc, 0)
	if items, ok := s["items"].(object); ok && s["type"] == "array" {
		switch kind := scalar(items); {
		case kind != "":
			return kind + "[]"
		case items["type"] == "object":
			return "object[]"
		}
	}
	if s["type"] == "object" {
		return "object"
	}
	if kind := scalar(s); kind != "" {
		return kind
	}
	return "unknown"
}

// notes returns what the type of a field does not say.
func notes(f *catalog.Field, readOnly bool, d detail) []string {
	var out []string
	if format := f.Format(); format != "" {
		out = append(out, format)
	}
	if f.WriteOnly || f.Sensitive {
		out = append(out, "never read")
	}
	if readOnly || f.ReadOnly {
		return out
	}
	if f.Immutable {
		out = append(out, "only at creation")
	}
	out = append(out, f.Limits()...)
	if d == whole {
		out = append(out, f.Usual()...)
	}
	return out
}

// commented returns the comment of a field.
func commented(about string, notes []string, d detail) string {
	about = oneLine(strings.TrimRight(about, " ."))
	if d < whole {
		about = bounded(about, maxBrief)
	}
	if len(notes) == 0 {
		return about
	}
	return strings.TrimLeft(about+"; ", "; ") + oneLine(strings.Join(notes, ", "))
}

// Bounds of a comment in characters: in full, and in a list of tools.
const (
	maxNote  = 240
	maxBrief = 80
)

// oneLine returns a text that ends neither the line nor the comment.
func oneLine(text string) string {
	text = strings.Join(strings.Fields(text), " ") // U+2028 included
	return bounded(strings.ReplaceAll(text, "*/", "*\\/"), maxNote)
}
