package pattern

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// Error says why a pattern cannot be had here. It is a SyntaxError to a script.
type Error struct {
	Message string
	Hint    string // the way that works instead, "" where there is none
}

// Error returns the message and the hint.
func (e *Error) Error() string {
	if e.Hint == "" {
		return e.Message
	}
	return e.Message + ". " + e.Hint
}

// setMark begins every pattern that was written with the flag v, so that it
// differs from the same pattern with the flag u. It matches nothing.
const setMark = "(?:)"

// Rewrite gives a pattern and flags that the engine gets right, and that mean the
// same as those of the script; unchanged for most. Positions in the pattern are
// lost; what is changed is escaped as Shown does. The error is an *Error.
func Rewrite(source, flags string) (string, string, error) {
	if strings.ContainsRune(flags, 'd') {
		return "", "", &Error{
			"the regular expression flag d (match indices) is not available",
			"match.index and the lengths of the groups give the same.",
		}
	}
	sets := strings.ContainsRune(flags, 'v')
	if !sets && (!strings.ContainsRune(flags, 'u') || !strings.Contains(source, `\p`) && !strings.Contains(source, `\P`)) {
		return source, flags, nil
	}
	if sets && (strings.ContainsRune(flags, 'u') || strings.Count(flags, "v") > 1) {
		return "", "", &Error{Message: "the regular expression flags " + strconv.Quote(flags) + " cannot stand together"}
	}
	r := &rewriter{source: source, sets: sets, fold: sets && strings.ContainsRune(flags, 'i')}
	if sets {
		flags = strings.Replace(flags, "v", "u", 1)
		r.out.WriteString(setMark)
	}
	if err := r.pattern(); err != nil {
		return "", "", err
	}
	return Shown(r.out.String()), flags, nil
}

// Sets tells whether Rewrite made a pattern of one with the flag v.
func Sets(rewritten string) bool { return strings.HasPrefix(rewritten, setMark) }

type rewriter struct {
	source string
	at     int
	out    strings.Builder
	sets   bool // the flag v
	fold   bool // the flags v and i
}

func (r *rewriter) pattern() error {
	for r.at < len(r.source) {
		var err error
		switch c := r.source[r.at]; {
		case c == '\\':
			err = r.escape()
		case c == '[' && r.sets:
			err = r.setClass()
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

// copyEscape copies a backslash and the character behind it.
func (r *rewriter) copyEscape() {
	_, size := utf8.DecodeRuneInString(r.source[r.at+1:])
	end := min(r.at+1+size, len(r.source))
	r.out.WriteString(r.source[r.at:end])
	r.at = end
}

// property reads a property escape.
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
	if r.fold {
		s = s.folded()
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
	hint := `General categories (\p{L}, \p{Lu}, \p{Nd}, \p{P}), scripts (\p{Script=Greek}) and properties such as \p{Alphabetic} and \p{Emoji} can be used.`
	switch {
	case slices.Contains(stringProperties, name):
		hint = `Properties of strings are not available; \p{Extended_Pictographic} finds the emoji by code point.`
	case strings.HasPrefix(name, "Script_Extensions=") || strings.HasPrefix(name, "scx="):
		_, value, _ := strings.Cut(name, "=")
		hint = `Script_Extensions is not available; write \p{Script=` + value + `}.`
	default:
		if _, ok := script(name); ok {
			hint = `A script is written \p{Script=` + name + `}.`
		}
	}
	return &Error{"invalid regular expression: there is no Unicode property \\p{" + shown + "}", hint}
}

// class rewrites a character class of the flag u: the spans of its property
// escapes become its own.
func (r *rewriter) class() error {
	r.out.WriteByte('[')
	r.at++
	if strings.HasPrefix(r.source[r.at:], "^") {
		r.out.WriteByte('^')
		r.at++
	}
	after := false // a property escape stands directly before
	for r.at < len(r.source) {
		switch c := r.source[r.at]; {
		case c == ']':
			r.out.WriteByte(c)
			r.at++
			return nil
		case c == '-' && (after || r.rangeTo()):
			if !strings.HasPrefix(r.source[r.at+1:], "]") {
				return &Error{"invalid regular expression: a property escape is no end of a range", `Write the hyphen first or last in the class, or as \-.`}
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

// Shown gives a source as an engine shows it: with what cannot stand between two
// slashes escaped.
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
