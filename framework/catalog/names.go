package catalog

import (
	"slices"
	"strconv"
	"strings"
	"unicode"

	"golang.org/x/text/unicode/norm"
)

// maxToolName is the longest tool name clients accept (CONTRACT section 1).
const maxToolName = 64

// ToolName derives the dotted MCP tool name from an operation, before collisions
// are resolved (Snapshot.ToolName is what surfaces use).
func ToolName(op *Operation) string {
	id := op.ID
	var name string
	switch id.Kind {
	case KindCode:
		switch id.Owner {
		case "koan":
			name = "koan.code." + id.Op
		case "gateway":
			name = "code_" + id.Op
		default:
			name = id.Owner + "." + id.Op
		}
	case KindAction:
		name = id.Op
	case KindEntity, KindPlugin:
		name = Kebab(id.Owner) + "." + Kebab(id.Op)
	default:
		name = id.Owner + "." + id.Op
	}
	if op.ToolPrefix != "" {
		name = op.ToolPrefix + "." + name
	}
	return name
}

// ServerID names the server that an operation's calls are recorded under, and
// that scripts import: "koan" for entities and actions, else the plugin's domain or the
// upstream's name.
func ServerID(id ID) string {
	switch id.Kind {
	case KindEntity, KindCode, KindAction:
		return "koan"
	case KindPlugin, KindUpstream:
	}
	return strings.ToLower(id.Owner)
}

// UpstreamID makes the id of an upstream server out of the name that somebody gave it: letters and digits
// of all scripts, $, - and _ are kept, so that a name that is an identifier is the id, and all else is a dash. A
// letter with an accent is one character, however the name spells it.
func UpstreamID(name string) string {
	return strings.Map(func(r rune) rune {
		if r == '_' || r == '-' || r == '$' || unicode.IsLetter(r) || unicode.IsMark(r) || unicode.IsDigit(r) {
			return r
		}
		return '-'
	}, norm.NFC.String(name))
}

// SDKPath returns the parts of an operation's name below SDK in a script:
// ["Entities","Todo","getById"] or ["Vision","detect"]. It is nil for an operation that
// scripts cannot call.
func SDKPath(id ID) []string {
	switch id.Kind {
	case KindEntity:
		return []string{"Entities", id.Owner, Camel(id.Op)}
	case KindPlugin:
		return []string{Pascal(id.Owner), member(id.Op)}
	case KindUpstream:
		return []string{"Servers", id.Owner, Identifier(id.Op)}
	case KindAction:
		return []string{"Actions", member(id.Op)}
	case KindCode:
	}
	return nil
}

// SDKServer is how a script names an upstream server: SDK.Servers.github, or
// SDK.Servers["my-server"].
func SDKServer(id string) string {
	if Identifier(id) == id {
		return "SDK.Servers." + id
	}
	return `SDK.Servers["` + id + `"]`
}

// called are members that JavaScript calls by itself where it awaits or encodes an object, or makes a
// text of it: a tool of that name would be called by accident.
const called = "then toJSON toString valueOf"

// strict are words that are reserved in modules beside the list of codemode-run-spec section 6.1.
const strict = "catch enum implements interface package private protected public"

// member returns the name of a function in the SDK: in camelCase, with an underscore behind what
// JavaScript calls by itself. Any other word can be a member.
func member(op string) string {
	name := Camel(op)
	if slices.Contains(strings.Fields(called), name) {
		name += "_"
	}
	return name
}

// reserved are JavaScript's reserved words (codemode-run-spec section 6.1), and what is called by itself.
var reserved = func() map[string]bool {
	m := map[string]bool{}
	for _, w := range strings.Fields("break case class const continue debugger default delete do else export extends false finally for function if import in instanceof new null return super switch this throw true try typeof var void while with yield let static await " + strict + " " + called) {
		m[w] = true
	}
	return m
}()

// Identifier makes a JavaScript identifier out of a tool's name by the rules of
// codemode-run-spec section 6.1, before collisions are resolved.
func Identifier(tool string) string {
	var b strings.Builder
	for _, r := range tool {
		if r == '_' || r == '$' || unicode.IsLetter(r) || b.Len() > 0 && (unicode.IsDigit(r) || unicode.IsMark(r)) {
			b.WriteRune(r)
			continue
		}
		if b.Len() == 0 && unicode.IsDigit(r) {
			b.WriteByte('_')
			b.WriteRune(r)
			continue
		}
		b.WriteByte('_')
	}
	name := b.String()
	if name == "" {
		return "_"
	}
	if reserved[name] {
		return name + "_"
	}
	return name
}

// MetaExport is the export of a server's module that describes it; no tool has its name.
const MetaExport = "__meta__"

// Exports returns the identifiers of a server's tools in scripts, in the order of their names.
// A name that is an identifier is kept; others are made into one, and numbered if it is taken.
func Exports(names []string) []string {
	out := make([]string, len(names))
	taken := map[string]bool{MetaExport: true}
	taken[AnyTool] = true
	for _, f := range ServerFunctions { // beside the tools, where a server has them
		taken[f.Group] = true
	}
	order := make([]int, len(names))
	for i, name := range names {
		order[i] = i
		if Identifier(name) == name && !taken[name] {
			out[i], taken[name] = name, true
		}
	}
	slices.SortStableFunc(order, func(a, b int) int { return strings.Compare(names[a], names[b]) })
	for _, i := range order {
		if out[i] == "" {
			out[i] = Numbered(Identifier(names[i]), "__", taken)
		}
	}
	return out
}

// Numbered returns a name, with the first number from 2 that makes it one that is not taken, and
// marks it as taken. dash stands before the number.
func Numbered(name, dash string, taken map[string]bool) string {
	out := name
	for n := 2; taken[out]; n++ {
		out = name + dash + strconv.Itoa(n)
	}
	taken[out] = true
	return out
}

// words splits a name in any of the usual spellings: at case changes, dashes,
// underscores, dots and spaces. Runs of capitals count as one word, with the s of a plural: URLs.
func words(s string) []string {
	var out []string
	var cur []rune
	flush := func() {
		if len(cur) > 0 {
			out = append(out, strings.ToLower(string(cur)))
			cur = nil
		}
	}
	rs := []rune(s)
	for i, r := range rs {
		switch {
		case r == '-' || r == '_' || r == '.' || unicode.IsSpace(r):
			flush()
			continue
		case unicode.IsUpper(r):
			before := i > 0 && (unicode.IsLower(rs[i-1]) || unicode.IsDigit(rs[i-1]))
			after := i > 0 && unicode.IsUpper(rs[i-1]) && i+1 < len(rs) && unicode.IsLower(rs[i+1]) && !endsPlural(rs[i+1:])
			if before || after {
				flush()
			}
		}
		cur = append(cur, r)
	}
	flush()
	return out
}

// endsPlural reports whether what follows a run of capitals is the s of its plural.
func endsPlural(rest []rune) bool {
	return rest[0] == 's' && (len(rest) == 1 || !unicode.IsLower(rest[1]))
}

// Kebab spells a name as kebab-case: "PantryItem" is "pantry-item".
func Kebab(s string) string { return strings.Join(words(s), "-") }

// Pascal spells a name as PascalCase: "pantry-item" is "PantryItem".
func Pascal(s string) string {
	var b strings.Builder
	for _, w := range words(s) {
		r := []rune(w)
		b.WriteRune(unicode.ToUpper(r[0]))
		b.WriteString(string(r[1:]))
	}
	return b.String()
}

// Camel spells a name as camelCase: "get-by-id" is "getById".
func Camel(s string) string {
	p := []rune(Pascal(s))
	if len(p) == 0 {
		return ""
	}
	p[0] = unicode.ToLower(p[0])
	return string(p)
}

// Generic returns the ID of the tool for an operation of all entities, "collection"
// for example, which takes the entity as an argument (package toolset). Except for
// DescribeOp, the catalog has no operation with this ID.
func Generic(op string) ID { return ID{KindCode, genericOwner, op} }

// genericOwner is the owner in the ID of tools for all entities.
const genericOwner = "entities"

// DescribeOp is the operation that describes entities, or tools.
const DescribeOp = "describe"

// ToolsID returns the ID of a tool through which tools that a list leaves out are
// reached: "describe" or "call".
func ToolsID(op string) ID { return ID{KindCode, "tools", op} }

// unique returns name, or name with the first suffix -2, -3, ... that is free, within
// maxToolName, and marks it as taken. Names that differ only in "." and "_" are the same:
// both spellings can be called. Callers must use a fixed order, so that the result is
// deterministic.
func unique(taken map[string]bool, name string) string {
	fit := func(base, suffix string) string {
		if over := len(base) + len(suffix) - maxToolName; over > 0 {
			base = strings.TrimRight(base[:len(base)-over], ".-_")
		}
		return base + suffix
	}
	out := fit(name, "")
	for n := 2; taken[Underscored(out)]; n++ {
		out = fit(name, "-"+strconv.Itoa(n))
	}
	taken[Underscored(out)] = true
	return out
}
