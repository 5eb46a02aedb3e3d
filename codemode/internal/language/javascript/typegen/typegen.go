// Package typegen writes the TypeScript declarations of SDK from the Resources
// and Operations of a View (CONTRACT section 3): for all of it, for one entity,
// and within a budget for a tool's description.
//
// What belongs here: text, made deterministically from a View. Not here:
// knowledge of a provider, or of how a call is made.
package typegen

import (
	"crypto/sha256"
	"encoding/base64"
	"slices"
	"strings"

	"github.com/koan-go/koan/codemode/internal/bind"
	"github.com/koan-go/koan/codemode/internal/language"
	"github.com/koan-go/koan/codemode/internal/wire"
	"github.com/koan-go/koan/framework/catalog"
)

// TypeScript declares SDK for scripts in JavaScript and TypeScript.
type TypeScript struct{}

var _ language.Types = TypeScript{}

type allKey struct{}

type inlineKey struct{ budget int }

// Declarations implements language.Types. Its first line has the digest of the rest.
func (TypeScript) Declarations(v *catalog.View) string {
	return catalog.Memo(v, allKey{}, func() string { return withDigest(header + globals + "\n" + namespaceSDK(v, false)) })
}

// Prelude returns the declarations that those of entities and functions use: the globals,
// the core of SDK, and the types of filters and methods.
func Prelude(v *catalog.View) string {
	return header + globals + "\ndeclare namespace SDK {\n" + core + newGenerator(v).generics() + "}\n"
}

// withDigest adds a first line with the digest of the text, in the format of subresource
// integrity, so that a copy can be checked for completeness and compared with others.
func withDigest(text string) string {
	sum := sha256.Sum256([]byte(text))
	return "// integrity of what follows this line: sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "\n" + text
}

func namespaceSDK(v *catalog.View, compact bool) string {
	copied := *newGenerator(v)
	g := &copied
	g.compact, g.plain = compact, compact
	var b strings.Builder
	b.WriteString("declare namespace SDK {\n")
	b.WriteString(core)
	b.WriteString(g.generics())
	b.WriteString("\n  namespace Entities {\n")
	for _, r := range v.Resources() {
		b.WriteString(g.entity(r, func(string) bool { return true }))
	}
	b.WriteString("  }\n")
	b.WriteString(domainTypes{g}.domains())
	b.WriteString(domainTypes{g}.servers())
	b.WriteString("}\n")
	return b.String()
}

// Entity implements language.Types: the targets of the entity's edges are declared without edges of their own.
func (TypeScript) Entity(v *catalog.View, name string) (text string, ok bool) {
	r := v.Resource(name)
	if r == nil {
		return "", false
	}
	g := *newGenerator(v)
	g.alone = true
	g.shapes = slices.DeleteFunc(slices.Clone(g.shapes), func(s shape) bool { return !slices.Equal(s.ops, methodOps(r.Operations)) })
	var b strings.Builder
	b.WriteString(header)
	b.WriteString("declare namespace SDK {\n")
	b.WriteString(g.generics())
	b.WriteString("\n  namespace Entities {\n")
	near := map[string]bool{name: true}
	for _, e := range r.Edges {
		near[e.Target] = near[e.Target] || !e.WriteOnly
	}
	for _, other := range v.Resources() {
		switch {
		case other.Name == name:
			b.WriteString(g.entity(r, func(target string) bool { return near[target] }))
		case near[other.Name]:
			b.WriteString(g.fields(other, other.Name, func(string) bool { return false }))
		}
	}
	b.WriteString("  }\n}\n")
	return withDigest(b.String()), true
}

// Inline implements language.Types: the declarations with their comments or, if that is too long, without, else
// what Lines returns.
func (TypeScript) Inline(v *catalog.View, budget int) (text string, complete bool) {
	text = catalog.Memo(v, inlineKey{budget}, func() string {
		if leastSize(v) > budget {
			return fieldLines(v, budget)
		}
		all := strings.ReplaceAll(shorter.Replace(namespaceSDK(v, true)), "\n    ", "\n  ")
		if len(all) <= budget {
			return all
		}
		if all = uncommented(all); len(all) <= budget {
			return all
		}
		return fieldLines(v, budget)
	})
	return text, strings.HasPrefix(text, "declare ")
}

// leastDeclaration is less than what the declaration of one function takes, in bytes.
const leastDeclaration = 20

// leastSize is less than what the declarations of a view take, in bytes, so that those of a large app
// are not made to be thrown away.
func leastSize(v *catalog.View) (n int) {
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

// Overview implements language.Types.
func (TypeScript) Overview(v *catalog.View, budget int) (text string, more []string) {
	if text = lines(v, budget); text != "" {
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

// maxInlineLines is how many entities get a line of their own.
const maxInlineLines = 40

// lines are the lines of entities and domains, "" if they are too many or too long.
func lines(v *catalog.View, budget int) string {
	if len(v.Resources()) > maxInlineLines {
		return ""
	}
	if text := summary(v, func(*catalog.Field) string { return "" }); len(text) <= budget {
		return text
	}
	return ""
}

// Lines implements language.Types.
func (TypeScript) Lines(v *catalog.View, budget int) string { return fieldLines(v, budget) }

// fieldLines are the lines with what fields hold or, if that is too long, without.
func fieldLines(v *catalog.View, budget int) string {
	if len(v.Resources()) <= maxInlineLines {
		if text := summary(v, contents); len(text) <= budget {
			return text
		}
	}
	return lines(v, budget)
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

// uncommented removes the comments that lines begin with.
func uncommented(text string) string {
	var b strings.Builder
	for line := range strings.Lines(text) {
		rest := strings.TrimLeft(line, " ")
		if !strings.HasPrefix(rest, "/** ") {
			b.WriteString(line)
			continue
		}
		_, after, _ := strings.Cut(rest, "*/")
		if after = strings.TrimLeft(after, " "); after != "\n" {
			b.WriteString(line[:len(line)-len(rest)] + after)
		}
	}
	return b.String()
}

// summary returns a line for each entity and domain. After each field stands what of returns.
func summary(v *catalog.View, of func(*catalog.Field) string) string {
	var b strings.Builder
	for _, r := range v.Resources() {
		b.WriteString("SDK.Entities." + r.Name)
		if r.ReadOnly {
			b.WriteString(" (read-only)")
		}
		b.WriteString(": ")
		sep := r.Key.Name
		for _, f := range r.Fields {
			if readable(&f) {
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
		b.WriteString("SDK." + d.Name + ": " + functionNames(d) + "\n")
	}
	for _, d := range bind.Bind(v).Upstreams {
		b.WriteString(catalog.SDKServer(d.Name) + ": " + functionNames(d) + "\n")
	}
	return b.String()
}

// connecting says of a server whose tools were never listed what can be done meanwhile.
const connecting = "still connecting: a search waits for its tools and returns their declarations, and calls by their names wait, too"

// functionNames are those of a domain in one line.
func functionNames(d wire.Domain) string {
	if d.Any != "" {
		return "(" + connecting + ")"
	}
	names := make([]string, len(d.Functions))
	for i, f := range d.Functions {
		names[i] = f.Name
	}
	for _, g := range d.Groups {
		names = append(names, g.Name)
	}
	return strings.Join(names, ", ")
}
