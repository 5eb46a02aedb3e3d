package catalog

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"

	"github.com/koan-go/koan/framework/fault"
)

// Kind says which provider family an operation belongs to.
type Kind string

const (
	KindEntity   Kind = "koan"     // koan::<Entity>.<op>
	KindPlugin   Kind = "plugin"   // plugin::<domain>.<fn>
	KindUpstream Kind = "upstream" // upstream::<server>::<tool>
	KindCode     Kind = "code"     // code::<face>.<op>
	KindAction   Kind = "action"   // action::<name>
)

// routed reports whether REST has routes for operations of the kind.
func (k Kind) routed() bool { return k == KindEntity || k == KindPlugin || k == KindAction }

// maxIDLength bounds an ID in bytes, so that a hostile one costs nothing.
const maxIDLength = 512

// ID names an operation. Every other name it has is derived from this one.
// Owner is the entity, domain, server or face, "" for an action; Op the operation,
// function, tool or action.
type ID struct {
	Kind  Kind
	Owner string
	Op    string
}

// EntityID returns the ID of an entity's operation, "get-by-id" for example.
func EntityID(entity, op string) ID { return ID{KindEntity, entity, op} }

// PluginID returns the ID of a plugin's function.
func PluginID(domain, fn string) ID { return ID{KindPlugin, domain, fn} }

// CodeID returns the ID of a code face's operation.
func CodeID(face, op string) ID { return ID{KindCode, face, op} }

// ActionID returns the ID of an action.
func ActionID(name string) ID { return ID{KindAction, "", name} }

// String returns the canonical form, which ParseID reads back.
func (id ID) String() string {
	switch id.Kind {
	case KindUpstream:
		return string(id.Kind) + "::" + id.Owner + "::" + id.Op
	case KindAction:
		return string(id.Kind) + "::" + id.Op
	case KindEntity, KindPlugin, KindCode:
	}
	return string(id.Kind) + "::" + id.Owner + "." + id.Op
}

// IsZero reports whether the ID is unset.
func (id ID) IsZero() bool { return id == ID{} }

// ParseID reads an ID. It accepts exactly what String returns for valid parts, with a server's
// accents spelt in either way, and ends in invalid_code_mode_id for everything else.
func ParseID(s string) (ID, error) {
	bad := func(why string) (ID, error) {
		return ID{}, fault.Newf(fault.InvalidCodeModeID, "%q is not an operation id: %s", fault.Clip(strings.ToValidUTF8(s, "?"), 64), why)
	}
	if len(s) > maxIDLength {
		return bad("it is too long")
	}
	kind, rest, ok := strings.Cut(s, "::")
	if !ok {
		return bad("it has no `::`")
	}
	var owner, op string
	switch Kind(kind) {
	case KindUpstream:
		owner, op, ok = strings.Cut(rest, "::")
		owner = norm.NFC.String(owner)
		if !ok || owner == "" || UpstreamID(owner) != owner || !validTool(op) {
			return bad("want upstream::<server>::<tool>")
		}
	case KindEntity, KindPlugin, KindCode:
		owner, op, ok = strings.Cut(rest, ".")
		if !ok || !validOwner(owner) || !validOp(op) {
			return bad("want " + kind + "::<owner>.<operation>")
		}
	case KindAction:
		if op = rest; !ValidAction(op) {
			return bad("want action::<name>, the name in lower-case kebab")
		}
	default:
		return bad("want koan, plugin, upstream, code or action before `::`")
	}
	return ID{Kind(kind), owner, op}, nil
}

// Valid reports whether ParseID accepts what String returns.
func (id ID) Valid() bool {
	got, err := ParseID(id.String())
	return err == nil && got == id
}

func validOwner(s string) bool {
	if s == "" {
		return false
	}
	for i := range len(s) {
		c := s[i]
		if !alnum(c) && c != '_' && c != '-' {
			return false
		}
	}
	return true
}

func validOp(s string) bool { return validOwner(s) }

// maxAction bounds the name of an action, which is a tool's name, too.
const maxAction = 48

// ValidAction reports whether a name can be an action's: lower-case kebab that begins with
// a letter, at most 48 characters. It is the tool's name, so it has no "." or "_", which
// the names of all other tools have.
func ValidAction(name string) bool {
	if len(name) > maxAction || name == "" || name[0] < 'a' || name[0] > 'z' || strings.HasSuffix(name, "-") || strings.Contains(name, "--") {
		return false
	}
	for i := range len(name) {
		if c := name[i]; c != '-' && (!alnum(c) || c >= 'A' && c <= 'Z') {
			return false
		}
	}
	return true
}

// validTool accepts the tool names of upstream servers: any printable ASCII without
// spaces, since MCP only recommends a shape for them.
func validTool(s string) bool {
	if s == "" || strings.Contains(s, "::") || strings.HasPrefix(s, ":") {
		return false
	}
	return utf8.ValidString(s) && strings.IndexFunc(s, func(r rune) bool { return !ToolRune(r) }) < 0
}

// ToolRune reports whether an upstream's operation may have a character in its name: those of ASCII that
// can be seen, and letters and digits of all scripts.
func ToolRune(r rune) bool {
	return r > ' ' && r <= '~' || r > '~' && (unicode.IsLetter(r) || unicode.IsMark(r) || unicode.IsDigit(r))
}

func alnum(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9'
}
