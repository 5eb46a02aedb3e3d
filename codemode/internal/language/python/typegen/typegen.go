// Package typegen writes SDK as Python's type checkers read it: one stub file of a View (CONTRACT section 3a).
//
// What belongs here: text, made deterministically from a View. Not here: knowledge of a provider, or of how a
// call is made.
package typegen

import (
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/koan-go/koan/codemode/internal/bind"
	"github.com/koan-go/koan/codemode/internal/language/outline"
	"github.com/koan-go/koan/codemode/internal/language/shapes"
	"github.com/koan-go/koan/codemode/internal/wire"
	"github.com/koan-go/koan/framework/catalog"
)

// Stub returns the stub of the module koan, from which scripts can import SDK, which is there without that too.
func Stub(v *catalog.View) string {
	return catalog.Memo(v, stubKey{}, func() string {
		return newGenerator(v).stub()
	})
}

type stubKey struct{}

// declared are the names that the prelude declares or imports.
var declared = strings.Fields("Any Generic Iterable Iterator KeysView ItemsView ValuesView Literal Mapping Sequence TypedDict TypeVar Union Page Run Out KoanError SDK")

// generator makes the stub of one View.
type generator struct {
	view   *catalog.View
	taken  map[string]bool // names at the top of the module
	types  strings.Builder // those of inputs and outputs of functions
	brief  bool            // one spelling of each name, that of Python
	folder bool            // one of several files: the errors are in another

	inline   bool // for a description: functions take keywords alone
	comments bool // which a description has as long as there is room for them
	shapes   []shapes.Shape
	options  map[string][]string // op -> those of its methods, over all entities
}

func newGenerator(v *catalog.View) *generator {
	g := &generator{view: v, taken: map[string]bool{}}
	for _, name := range declared {
		g.taken[name] = true
	}
	for _, r := range v.Resources() {
		g.taken[r.Name] = true
	}
	return g
}

// spellings are those in which a name is written.
func (g *generator) spellings(name string) []string {
	if g.brief {
		return []string{snake(name)}
	}
	return spellings(name)
}

func (g *generator) stub() string {
	var entities, members strings.Builder
	for _, r := range g.view.Resources() {
		g.entity(&entities, r)
	}
	members.WriteString("class _Entities:\n")
	for _, r := range g.view.Resources() {
		if isIdentifier(r.Name) {
			members.WriteString("    " + r.Name + ": _" + r.Name + "Methods\n")
		}
	}
	members.WriteString("    def __contains__(self, name: _str) -> _bool: ...\n\n")
	b := bind.Bind(g.view)
	var sdk strings.Builder
	for _, d := range b.Domains {
		if isIdentifier(d.Name) {
			sdk.WriteString("    " + d.Name + ": " + g.domain(&members, d) + "\n")
		}
	}
	members.WriteString("class _Servers:\n    def __getattr__(self, name: _str) -> Any: ...\n")
	for _, d := range b.Upstreams {
		if d.Name = attribute(d.Name); isIdentifier(d.Name) {
			sibling := g.domain(&entities, d)
			members.WriteString("    " + d.Name + ": " + sibling + "\n")
		}
	}
	return g.head() + entities.String() + g.types.String() + members.String() + "\n" + sdkClass + sdk.String() + "\nSDK: _SDK\n"
}

// head is what the stub begins with.
func (g *generator) head() string {
	if g.folder {
		return preludeHead + "from .errors import KoanError as KoanError\n\n" + preludeRows
	}
	return prelude
}

// unique returns a name that nothing at the top of the module has.
func (g *generator) unique(name string) string {
	out := name
	for n := 2; g.taken[out]; n++ {
		out = name + strconv.Itoa(n)
	}
	g.taken[out] = true
	return out
}

// domain writes the functions of a plugin, of the actions or of a server, and returns the name of their class.
func (g *generator) domain(b *strings.Builder, d wire.Domain) string {
	class := g.unique("_" + d.Name + "Functions")
	var body strings.Builder
	written := map[string]bool{}
	for _, f := range d.Functions {
		g.function(&body, d.Name, f, written)
	}
	if d.Any != "" {
		body.WriteString("    def __getattr__(self, name: _str) -> Any: ...\n")
	}
	for _, group := range d.Groups {
		if isIdentifier(strings.TrimPrefix(group.Name, "$")) {
			body.WriteString("    " + strings.TrimPrefix(group.Name, "$") + ": Any\n")
		}
	}
	if body.Len() == 0 {
		body.WriteString("    pass\n")
	}
	b.WriteString("class " + class + ":\n" + body.String() + "\n")
	return class
}

// function writes a function in both spellings.
func (g *generator) function(b *strings.Builder, domain string, f wire.Function, written map[string]bool) {
	id, err := catalog.ParseID(f.ID)
	if err != nil {
		return
	}
	op := g.view.At(catalog.SurfaceScript).Operation(id)
	if op == nil {
		return
	}
	if g.inline {
		g.inlineFunction(b, domain, f, op)
		return
	}
	name := domain + pascal(f.Name)
	in := g.inputs(name+"Input", op.Input).input()
	out := g.outputs(name+"Output", op.Output).output()
	for _, spelling := range g.spellings(f.Name) {
		if written[spelling] || !isIdentifier(spelling) {
			continue
		}
		written[spelling] = true
		first := "_given: " + in.whole + " = ..., /"
		if len(f.Leading) > 0 {
			first = "*_leading: Any"
		}
		b.WriteString("    def " + spelling + "(self, " + first + in.parameters(len(f.Leading) > 0) + ") -> " + out + ":" + body(op.Summary, "        "))
	}
}

// body is the body of a function or a class in a stub: what is said about it.
func body(text, indent string) string {
	text = outline.Plain(strings.NewReplacer(`\`, " ", `"`, "'").Replace(text))
	if text == "" {
		return " ...\n"
	}
	return "\n" + indent + `"""` + text + `"""` + "\n"
}

// spellings are a name's own and, if it is another, the one in snake_case.
func spellings(name string) []string {
	if s := snake(name); s != name {
		return []string{name, s}
	}
	return []string{name}
}

var (
	identifier = regexp.MustCompile(`^[\p{L}_][\p{L}\p{M}\p{Nd}_]*$`)
	outside    = regexp.MustCompile(`[^\p{L}\p{M}\p{Nd}]+`)
	keywords   = strings.Fields("False None True and as assert async await break class continue def del elif else except finally for from global if import in is lambda nonlocal not or pass raise return try while with yield")
)

// isIdentifier reports whether Python takes a name for one.
func isIdentifier(name string) bool {
	return identifier.MatchString(name) && !slices.Contains(keywords, name)
}

// attribute returns the name by which a script reaches a server whose own name may be none of Python's: that of its module.
func attribute(name string) string {
	if isIdentifier(name) {
		return name
	}
	return strings.Trim(outside.ReplaceAllString(strings.ToLower(name), "_"), "_")
}

// pascal returns the part of a type's name that a name is, without what no name of Python has.
func pascal(name string) string {
	if name = outside.ReplaceAllString(name, "_"); name == "" {
		return ""
	}
	first, size := utf8.DecodeRuneInString(name)
	return string(unicode.ToUpper(first)) + name[size:]
}

// snake returns the snake_case spelling of a name as the runtime does (koan_runtime.names): a word begins at a capital
// behind a small letter or a digit, and at the last capital of several.
func snake(name string) string {
	var b strings.Builder
	runes := []rune(name)
	upper := func(i int) bool { return i < len(runes) && 'A' <= runes[i] && runes[i] <= 'Z' }
	lower := func(i int) bool { return i < len(runes) && 'a' <= runes[i] && runes[i] <= 'z' }
	for i, r := range runes {
		if i > 0 && upper(i) && (lower(i-1) || '0' <= runes[i-1] && runes[i-1] <= '9' || upper(i-1) && lower(i+1)) {
			b.WriteByte('_')
		}
		b.WriteRune(unicode.ToLower(r))
	}
	return b.String()
}
