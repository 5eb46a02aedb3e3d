package pattern

import (
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"
)

// Error is the reason why a pattern cannot be used. Scripts see it as a SyntaxError.
type Error struct {
	Message string
	Hint    string // an alternative, "" if there is none
}

// Error returns the message and the hint.
func (e *Error) Error() string {
	if e.Hint == "" {
		return e.Message
	}
	return e.Message + ". " + e.Hint
}

// unavailable are the flags that the engine does not support.
var unavailable = map[rune]*Error{
	'd': {"the regular expression flag d (match indices) is not available", "Compute positions from match.index and the lengths of the groups."},
	'v': {"the regular expression flag v (set notation) is not available", `Use the flag u; write [\p{L}--[a-z]] as (?![a-z])\p{L}.`},
}

// Rewrite returns a pattern with the same meaning that the engine compiles correctly; most are
// unchanged. A changed pattern is escaped like Shown does, and has other positions. The error is
// an *Error.
func Rewrite(source, flags string) (string, error) {
	for _, f := range flags {
		if e := unavailable[f]; e != nil {
			return "", e
		}
	}
	if !strings.ContainsRune(flags, 'u') || !strings.Contains(source, `\p`) && !strings.Contains(source, `\P`) {
		return source, nil
	}
	r := &rewriter{source: source}
	if err := r.pattern(); err != nil {
		return "", err
	}
	return Shown(r.out.String()), nil
}

type rewriter struct {
	source string
	at     int
	out    strings.Builder
}

func (r *rewriter) pattern() error {
	for r.at < len(r.source) {
		var err error
		switch c := r.source[r.at]; {
		case c == '\\':
			err = r.escape()
		case c == '[':
			err = r.class()
		default:
			r.out.WriteByte(c)
			r.at++
		}
		if err != nil {
			return err
		}
		if r.out.Len() > maxRewritten {
			return invalid("it is larger than %d bytes with its Unicode properties written out", maxRewritten)
		}
	}
	return nil
}

// maxRewritten bounds a rewritten pattern, in bytes. \p{L} is about 8 KB.
const maxRewritten = 512 << 10

// propertyAhead reports whether a property escape begins here.
func (r *rewriter) propertyAhead() bool {
	rest := r.source[r.at:]
	return strings.HasPrefix(rest, `\p`) || strings.HasPrefix(rest, `\P`)
}

func (r *rewriter) escape() error {
	if !r.propertyAhead() {
		r.copyEscape()
		return nil
	}
	s, err := r.property()
	if err == nil {
		r.out.WriteString(s.class())
	}
	return err
}

// copyEscape copies a backslash and the character after it.
func (r *rewriter) copyEscape() {
	_, size := utf8.DecodeRuneInString(r.source[r.at+1:])
	end := min(r.at+1+size, len(r.source))
	r.out.WriteString(r.source[r.at:end])
	r.at = end
}

// property parses a property escape.
func (r *rewriter) property() (set, error) {
	negated := r.source[r.at+1] == 'P'
	rest := r.source[r.at+2:]
	end := strings.IndexByte(rest, '}')
	if !strings.HasPrefix(rest, "{") || end < 0 {
		return nil, &Error{
			"invalid regular expression: " + r.source[r.at:r.at+2] + " without the name of a property",
			`Write \p{L} for a letter, \p{N} for a digit.`,
		}
	}
	name := rest[1:end]
	r.at += 2 + end + 1
	s, ok := property(name)
	if !ok {
		return nil, unknown(name)
	}
	if negated {
		s = s.complement()
	}
	return s, nil
}

func unknown(name string) error {
	shown := strings.ToValidUTF8(name, "?")
	if len(shown) > 60 {
		shown = shown[:60] + "…"
	}
	hint := `General categories (\p{L}, \p{Lu}, \p{Nd}, \p{P}), scripts (\p{Script=Greek}) and properties such as \p{Alphabetic} can be used.`
	switch {
	case strings.Contains(name, "Emoji") || name == "Extended_Pictographic":
		hint = `Properties of emoji are not available; [\u{2600}-\u{27bf}\u{1f300}-\u{1faff}] finds most of them.`
	case strings.HasPrefix(name, "Script_Extensions=") || strings.HasPrefix(name, "scx="):
		_, value, _ := strings.Cut(name, "=")
		hint = `Script_Extensions is not available; write \p{Script=` + value + `}.`
	default:
		if _, ok := script(name); ok {
			hint = `A script is written \p{Script=` + name + `}.`
		}
	}
	return &Error{"invalid regular expression: the Unicode property \\p{" + shown + "} is not available", hint}
}

// class rewrites a character class: its property escapes are replaced by their ranges.
func (r *rewriter) class() error {
	r.out.WriteByte('[')
	r.at++
	if strings.HasPrefix(r.source[r.at:], "^") {
		r.out.WriteByte('^')
		r.at++
	}
	after := false // the previous element was a property escape
	for r.at < len(r.source) {
		switch c := r.source[r.at]; {
		case c == ']':
			r.out.WriteByte(c)
			r.at++
			return nil
		case c == '-' && (after || r.rangeTo()):
			if !strings.HasPrefix(r.source[r.at+1:], "]") {
				return &Error{"invalid regular expression: a property escape cannot end a range", `Write the hyphen first or last in the class, or as \-.`}
			}
			r.out.WriteString(`\-`)
			r.at++
			after = false
		case c == '\\' && r.propertyAhead():
			s, err := r.property()
			if err != nil {
				return err
			}
			s.write(&r.out)
			after = true
		case c == '\\':
			r.copyEscape()
			after = false
		default:
			r.out.WriteByte(c)
			r.at++
			after = false
		}
	}
	return &Error{Message: "invalid regular expression: the character class is not closed"}
}

// rangeTo reports whether the hyphen here is followed by a property escape, and is
// not the first of its class.
func (r *rewriter) rangeTo() bool {
	rest := r.source[r.at+1:]
	if !strings.HasPrefix(rest, `\p`) && !strings.HasPrefix(rest, `\P`) {
		return false
	}
	before := r.source[:r.at]
	return !strings.HasSuffix(before, "[") && !strings.HasSuffix(before, "[^")
}

func invalid(format string, args ...any) error {
	return &Error{Message: "invalid regular expression: " + fmt.Sprintf(format, args...)}
}

// Shown returns a pattern as RegExp.prototype.source shows it: with characters escaped that cannot
// occur between two slashes.
func Shown(source string) string {
	if !strings.ContainsAny(source, "/\n\r\u2028\u2029") {
		return source
	}
	var b strings.Builder
	for i := 0; i < len(source); {
		c, size := utf8.DecodeRuneInString(source[i:])
		switch c {
		case '\\':
			_, next := utf8.DecodeRuneInString(source[i+1:])
			size += next
			b.WriteString(source[i : i+size])
		case '/':
			b.WriteString(`\/`)
		case '\n':
			b.WriteString(`\n`)
		case '\r':
			b.WriteString(`\r`)
		case '\u2028', '\u2029':
			b.WriteString(`\u` + strconv.FormatInt(int64(c), 16))
		default:
			b.WriteString(source[i : i+size])
		}
		i += size
	}
	return b.String()
}
