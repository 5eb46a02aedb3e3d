// Package outline writes the lines of a description that say what a View has, and leave out how it is declared: names of
// entities, of their fields and of functions, and the actions that no list of tools has.
//
// What belongs here: lines that are the same in every language except for the spelling of names. Not here: declarations of
// types, which each language has of its own.
package outline

import (
	"strings"

	"github.com/koan-go/koan/codemode/internal/bind"
	"github.com/koan-go/koan/codemode/internal/language"
	"github.com/koan-go/koan/codemode/internal/wire"
	"github.com/koan-go/koan/framework/catalog"
)

// Style is how a language writes the lines.
type Style struct {
	// Function spells the name of a function.
	Function func(name string) string
	// Signature returns the name of an action with its input and output in short.
	Signature func(name string, op *catalog.Operation) string
	// Comment begins a remark behind a line.
	Comment string
}

// Overview returns a line for each entity and domain or, if that is too long, their names (language.Outline).
func (s Style) Overview(v *catalog.View, budget int) (text string, more []string) {
	if text = s.names(v, budget); text != "" {
		return text, nil
	}
	var domains, entities []string
	for _, d := range bind.Bind(v).Domains {
		domains = append(domains, d.Name)
	}
	for _, d := range bind.Bind(v).Upstreams {
		domains = append(domains, strings.TrimPrefix(catalog.SDKServer(d.Name), "SDK."))
	}
	for _, r := range v.Resources() {
		entities = append(entities, r.Name)
	}
	first, _ := language.NameLine("SDK", domains, budget/4)
	second, more := language.NameLine("SDK.Entities", entities, budget-len(first))
	return first + second, more
}

// maxLines is how many entities get a line of their own.
const maxLines = 40

// Lines returns a line for each entity and domain with what fields hold or, if that is too long, without
// (language.Outline).
func (s Style) Lines(v *catalog.View, budget int) string {
	if len(v.Resources()) <= maxLines {
		if text := s.lines(v, contents); len(text) <= budget {
			return text
		}
	}
	return s.names(v, budget)
}

// names are the lines of entities and domains without what fields hold, "" if they are too many or too long.
func (s Style) names(v *catalog.View, budget int) string {
	if len(v.Resources()) > maxLines {
		return ""
	}
	if text := s.lines(v, func(*catalog.Field) string { return "" }); len(text) <= budget {
		return text
	}
	return ""
}

// lines returns a line for each entity and domain. After each field stands what of returns.
func (s Style) lines(v *catalog.View, of func(*catalog.Field) string) string {
	var b strings.Builder
	for _, r := range v.Resources() {
		b.WriteString("SDK.Entities." + r.Name)
		if r.ReadOnly {
			b.WriteString(" (read-only)")
		}
		b.WriteString(": ")
		sep := r.Key.Name
		for _, f := range r.Fields {
			if f.Readable() {
				b.WriteString(sep)
				sep = ", " + f.Name + of(&f)
			}
		}
		b.WriteString(sep)
		sep = "; with "
		for _, e := range r.Edges {
			if !e.WriteOnly {
				b.WriteString(sep + e.Name)
				sep = ", "
			}
		}
		b.WriteByte('\n')
	}
	for _, d := range bind.Bind(v).Domains {
		b.WriteString("SDK." + d.Name + ": " + s.functions(d) + "\n")
	}
	for _, d := range bind.Bind(v).Upstreams {
		b.WriteString(catalog.SDKServer(d.Name) + ": " + s.functions(d) + "\n")
	}
	return b.String()
}

// Connecting says of a server whose tools were never listed what can be done meanwhile.
const Connecting = "still connecting: a search waits for its tools and returns their declarations, and calls by their names wait as well"

// functions are the names of those of a domain.
func (s Style) functions(d wire.Domain) string {
	if d.Any != "" {
		return "(" + Connecting + ")"
	}
	names := make([]string, len(d.Functions))
	for i, f := range d.Functions {
		names[i] = s.Function(f.Name)
	}
	for _, g := range d.Groups {
		names = append(names, s.Function(g.Name))
	}
	return strings.Join(names, ", ")
}

// How much a line says of one field, in bytes: every conversation pays for it.
const (
	maxValues = 48
	maxUnit   = 26
)

// contents returns what a field holds, as far as its name cannot say it: the values of an enum, the
// unit of a number, and which texts there may be, where its description begins with them. "" if
// that is too long.
func contents(f *catalog.Field) string {
	if f.Type == catalog.TypeEnum {
		return atMost(maxValues, "="+strings.Join(f.Enum, "|"))
	}
	begin, _, _ := strings.Cut(f.Description, ";")
	begin, _, _ = strings.Cut(begin, ". ")
	begin = strings.TrimSuffix(begin, ".")
	switch f.Type {
	case catalog.TypeInt, catalog.TypeFloat, catalog.TypeDecimal:
		if begin == "" || f.ReadOnly {
			return ""
		}
	case catalog.TypeString, catalog.TypeJSON:
		if !strings.Contains(begin, ": ") || !strings.Contains(begin, ", ") { // it lists none
			return ""
		}
	default:
		return ""
	}
	return atMost(maxUnit, " ("+begin+")")
}

func atMost(bytes int, text string) string {
	if len(text) > bytes {
		return ""
	}
	return text
}

// leastDeclaration is less than what the declaration of one function takes, in bytes.
const leastDeclaration = 20

// LeastSize returns less than what the declarations of a View take in any language, in bytes, so that those of a large
// app are not made to be thrown away.
func LeastSize(v *catalog.View) (n int) {
	for _, op := range v.Script() {
		if op.Resource == "" {
			n += leastDeclaration
		}
	}
	for _, r := range v.Resources() {
		n += leastDeclaration + len(r.Name)
		for i := range r.Fields {
			if r.Fields[i].Readable() {
				n += len(r.Fields[i].Name)
			}
		}
	}
	return n
}
