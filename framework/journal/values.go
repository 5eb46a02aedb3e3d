package journal

import (
	"bytes"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"unicode/utf16"
)

// LeastValue is the length from which a known secret is searched for in the middle of texts: a shorter
// one occurs in unrelated words.
const LeastValue = 6

// escapes are what escapes begin with: those of JSON, and of URLs.
const escapes = `\%`

// maxLayers is how many encodings around each other are undone, as of JSON in a string of JSON.
const maxLayers = 3

// RedactValues removes secrets whose values are known from a text, also where they stand in base64
// (of either alphabet, and in the middle of what is encoded), in hexadecimal, escaped for a URL or for
// JSON, or broken into lines.
func RedactValues(text string, values []string) string {
	clean, _ := redactKnown(text, newKnownForms(values))
	return clean
}

// redactKnown removes values of which the forms are known, and returns in how many places it has found
// something.
func redactKnown(text string, known *knownForms) (string, int) {
	fits := slices.ContainsFunc(known.forms, func(f form) bool { return f.least() <= len(text) })
	if !fits && !known.starts.anyIn(text) { // names and ids, mostly
		return text, 0
	}
	if len(search(view{text: text}, known)) == 0 { // most texts have none, and places cost more than finding that out
		return text, 0
	}
	return without(text, search(wholeView(text), known))
}

// search returns where forms stand in a text, however they are encoded. In a view without places it
// stops at the first one.
func search(text view, known *knownForms) (found []span) {
	views, seen := []view{text}, map[string]bool{text.text: true}
	for range maxLayers + 1 {
		var next []view
		for _, v := range views {
			if found = append(found, v.find(known.forms)...); len(found) > 0 && v.at == nil {
				return found
			}
			if found = append(found, v.findClipped(known.forms, &known.starts)...); len(found) > 0 && v.at == nil {
				return found
			}
			for _, escape := range []byte(escapes) {
				if inner := v.unescaped(escape); !seen[inner.text] {
					seen[inner.text] = true
					next = append(next, inner)
				}
			}
		}
		views = next
	}
	return found
}

// RedactValuesJSON is RedactValues for JSON text: the result is valid JSON.
func RedactValuesJSON(raw []byte, values []string) []byte {
	known := newKnownForms(values)
	out, _ := redactValues(raw, !bytes.ContainsAny(raw, escapes), func(text string) (string, int) { return redactKnown(text, known) })
	return out
}

// span is a part of a text.
type span struct{ from, to int }

// without returns a text with Redacted in place of spans, which may overlap, and how often.
func without(text string, spans []span) (string, int) {
	slices.SortFunc(spans, func(a, b span) int { return a.from - b.from })
	var b strings.Builder
	last, n := 0, 0
	for i := 0; i < len(spans); n++ {
		s := spans[i]
		for i++; i < len(spans) && spans[i].from <= s.to; i++ {
			s.to = max(s.to, spans[i].to)
		}
		b.WriteString(text[last:s.from] + Redacted)
		last = s.to
	}
	return b.String() + text[last:], n
}

// view is a text with some of its encoding undone. Byte i stands for at[i] of the original; without at
// that is not known.
type view struct {
	text string
	at   []span
}

func wholeView(text string) view {
	at := make([]span, len(text))
	for i := range at {
		at[i] = span{i, i + 1}
	}
	return view{text, at}
}

// viewer collects the bytes of a view that is made of another one.
type viewer struct {
	of   view
	text []byte
	at   []span
}

// put appends bytes that stand for those from i to j.
func (w *viewer) put(s string, i, j int) {
	for k := range len(s) {
		w.text = append(w.text, s[k])
		if w.of.at != nil {
			w.at = append(w.at, span{w.of.at[i].from, w.of.at[j-1].to})
		}
	}
}

func (w *viewer) view() view { return view{string(w.text), w.at} }

// keep returns the view of the bytes that are mapped to others, without those mapped to 0.
func (v view) keep(mapped func(c byte) byte) view {
	w := &viewer{of: v}
	for i := range len(v.text) {
		if c := mapped(v.text[i]); c != 0 {
			w.text = append(w.text, c)
			if v.at != nil {
				w.at = append(w.at, v.at[i])
			}
		}
	}
	return w.view()
}

// unescaped returns the view with the escapes that begin so undone once.
func (v view) unescaped(escape byte) view {
	if strings.IndexByte(v.text, escape) < 0 {
		return v
	}
	w := &viewer{of: v}
	for i := 0; i < len(v.text); {
		s, n := v.text[i:i+1], 1
		switch {
		case v.text[i] != escape:
		case escape == '%':
			s, n = unescapeHex(v.text[i:], 1)
		default:
			s, n = unescapeJSON(v.text[i:])
		}
		w.put(s, i, i+n)
		i += n
	}
	return w.view()
}

// unescapeHex reads two digits behind so many bytes of an escape: it returns what the beginning of a text
// stands for, and how many bytes that is.
func unescapeHex(text string, before int) (string, int) {
	if end := before + 2; len(text) >= end {
		if b, err := hex.DecodeString(text[before:end]); err == nil {
			return string(b), end
		}
	}
	return text[:1], 1
}

// unescapeJSON is unescapeHex for JSON, and for \xXX of other languages.
func unescapeJSON(text string) (string, int) {
	if len(text) == 1 {
		return text, 1
	}
	switch c := text[1]; c {
	case '"', '\\', '/', '\'':
		return string(c), 2
	case 'u':
		if r, n := escapedRune(text); n > 0 {
			return string(r), n
		}
	case 'x':
		return unescapeHex(text, 2)
	default:
		if i := strings.IndexByte("bfnrt", c); i >= 0 {
			return "\b\f\n\r\t"[i : i+1], 2
		}
	}
	return text[:1], 1
}

// escapedRune reads \u with its four digits, and two of them for a rune of two surrogates.
func escapedRune(text string) (rune, int) {
	unit := func(text string) (rune, bool) {
		if len(text) < 6 || text[:2] != `\u` {
			return 0, false
		}
		u, err := strconv.ParseUint(text[2:6], 16, 16)
		return rune(u), err == nil
	}
	r, ok := unit(text)
	if !ok {
		return 0, 0
	}
	if utf16.IsSurrogate(r) {
		if second, ok := unit(text[6:]); ok && utf16.IsSurrogate(second) {
			return utf16.DecodeRune(r, second), 12
		}
	}
	return r, 6
}

// Texts broken into lines are searched without the breaks.
func unbroken(c byte) byte {
	if c == '\n' || c == '\r' {
		return 0
	}
	return c
}

// dropBreaks is unbroken for strings.Map.
func dropBreaks(r rune) rune {
	if r == '\n' || r == '\r' {
		return -1
	}
	return r
}

// hexDigits leaves out what separates the bytes of a dump too.
func hexDigits(c byte) byte {
	switch {
	case c == ' ' || c == ':' || c == '\t':
		return 0
	case c >= 'A' && c <= 'F':
		return c - 'A' + 'a'
	}
	return unbroken(c)
}

// base64Standard maps both alphabets to the standard one.
func base64Standard(c byte) byte {
	switch c {
	case '-':
		return '+'
	case '_':
		return '/'
	case ' ', '\t': // the indentation of lines
		return 0
	}
	return unbroken(c)
}

// form is how a value may stand in a text whose escapes are undone.
type form struct {
	text, unbroken string
	public         int // bytes at the beginning of text that are no secret by themselves
	hex            string
	base64         [3]string // behind so many other bytes; "" is too short to be searched for
}

// least returns the length of the shortest text that has the form.
func (f *form) least() int {
	n := min(len(f.text), len(f.unbroken), len(f.hex))
	for _, core := range f.base64 {
		if core != "" {
			n = min(n, len(core))
		}
	}
	return n
}

// knownForms are the forms of values.
type knownForms struct {
	values []string
	forms  []form
	starts starts
}

func newKnownForms(values []string) *knownForms {
	k := &knownForms{values: slices.Clone(values), forms: formsOf(values)}
	for i := range k.forms {
		for _, b := range k.forms[i].searched() {
			k.starts.add(b.text)
		}
	}
	return k
}

// formsOf returns the forms of values: each as it is, with + for a space as in a query, and escaped for
// JSON or a URL, since what escapes them may be encoded again.
func formsOf(values []string) []form {
	var out []form
	for _, value := range values {
		if value == "" {
			continue
		}
		public, seen := value[:publicPart(value)], map[string]bool{}
		for _, written := range writings {
			text := written(value)
			if seen[text] {
				continue
			}
			seen[text] = true
			f := form{text: text, public: len(written(public)), unbroken: strings.Map(dropBreaks, text), hex: hex.EncodeToString([]byte(text))}
			for before := range f.base64 {
				if core := base64Core(text, before); len(core) >= LeastValue {
					f.base64[before] = core
				}
			}
			out = append(out, f)
		}
	}
	return out
}

// writings are the ways in which a value may be written, byte for byte or rune for rune.
var writings = []func(value string) string{
	func(value string) string { return value },
	func(value string) string { return strings.ReplaceAll(value, " ", "+") },
	func(value string) string { return inJSON(value, true) },
	func(value string) string { return inJSON(value, false) },
	url.QueryEscape, url.PathEscape,
}

// inJSON returns a value as it stands between the quotes of a string of JSON.
func inJSON(value string, escapeHTML bool) string {
	var b strings.Builder
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(escapeHTML)
	if e.Encode(value) != nil {
		return value // a string is always JSON
	}
	return strings.TrimSuffix(b.String()[1:], "\"\n")
}

// find returns where forms stand in the text.
func (v view) find(forms []form) []span {
	plain, hexed, base := v.keep(unbroken), v.keep(hexDigits), v.keep(base64Standard)
	var out []span
	for _, f := range forms {
		out = append(out, v.places(f.text, 0, 0)...) // as it is, should it have breaks of its own
		out = append(out, plain.places(f.unbroken, 0, 0)...)
		out = append(out, hexed.places(f.hex, 0, 0)...)
		for before, core := range f.base64 {
			out = append(out, base.places(core, min(before, 1), min((before+len(f.text))%3, 1))...)
		}
	}
	return out
}

// base64Core returns the characters that a value has in base64 behind so many other bytes, without
// those at its ends that depend on what stands beside it.
func base64Core(value string, before int) string {
	const perByte, perDigit = 8, 6
	all := base64.RawStdEncoding.EncodeToString([]byte(strings.Repeat("\x00", before) + value))
	from := (before*perByte + perDigit - 1) / perDigit
	to := (before + len(value)) * perByte / perDigit
	return all[from:max(from, to)]
}

// places returns where a form stands, in the original, with so many characters before and behind it,
// which have some of its bits. Those that overlap are all among them.
func (v view) places(form string, before, behind int) []span {
	if form == "" {
		return nil
	}
	var out []span
	for i := 0; ; i++ {
		next := strings.Index(v.text[i:], form)
		if next < 0 {
			return out
		}
		i += next
		if v.at == nil {
			return []span{{}}
		}
		out = append(out, span{v.at[max(i-before, 0)].from, v.at[min(i+len(form)-1+behind, len(v.at)-1)].to})
	}
}
