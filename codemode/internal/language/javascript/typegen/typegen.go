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

	"github.com/koan-go/koan/codemode/internal/language"
	"github.com/koan-go/koan/codemode/internal/language/outline"
	"github.com/koan-go/koan/codemode/internal/language/shapes"
	"github.com/koan-go/koan/framework/catalog"
)

// TypeScript declares SDK for scripts in JavaScript and TypeScript.
type TypeScript struct{}

var (
	_ language.Types   = TypeScript{}
	_ language.Outline = TypeScript{}
)

// style is how the lines of a description are written.
var style = outline.Style{Function: func(name string) string { return name }, Signature: actionSignature, Comment: "//"}

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
	g.shapes = slices.DeleteFunc(slices.Clone(g.shapes), func(s shapes.Shape) bool { return !slices.Equal(s.Operations, shapes.Methods(r.Operations)) })
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

// Inline implements language.Outline: the declarations with their comments or, if that is too long, without.
func (TypeScript) Inline(v *catalog.View, budget int) (text string, complete bool) {
	text = catalog.Memo(v, inlineKey{budget}, func() string {
		if outline.LeastSize(v) > budget {
			return style.Lines(v, budget)
		}
		all := strings.ReplaceAll(shorter.Replace(namespaceSDK(v, true)), "\n    ", "\n  ")
		if len(all) <= budget {
			return all
		}
		if all = uncommented(all); len(all) <= budget {
			return all
		}
		return style.Lines(v, budget)
	})
	return text, strings.HasPrefix(text, "declare ")
}

// Overview implements language.Outline.
func (TypeScript) Overview(v *catalog.View, budget int) (text string, more []string) {
	return style.Overview(v, budget)
}

// Lines implements language.Outline.
func (TypeScript) Lines(v *catalog.View, budget int) string { return style.Lines(v, budget) }

// ActionLines implements language.Outline.
func (TypeScript) ActionLines(v *catalog.View) string {
	return catalog.Memo(v, actionLinesKey{}, func() string { return style.Actions(v) })
}

type actionLinesKey struct{}

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
