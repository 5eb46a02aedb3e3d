package journal

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// Texts are shortened in many places before they are redacted, some of them in processes that know no
// secrets. So the beginning of a secret counts as one where the text was cut.

const (
	// clipMark stands where a text was cut (fault.Clip), dots where others cut it.
	clipMark, dots = "…", "..."
	// quotes may be behind a quotation that was cut.
	quotes = "\"'`\\"
	// leastClipped is from which length the beginning of a known secret counts before clipMark, and
	// leastCut where a text or a quotation ends, which may be its end.
	leastClipped = 8
	leastCut     = 10
	// surely is from which length a beginning counts in the middle of a word, too.
	surely = 16
	// hashed is how much of a form a hash is of.
	hashed = 4
)

// starts are hashes of the first bytes of forms. Most texts have none of them, which one
// pass over the text finds out.
type starts [1 << 10]uint64

func startHash(s string) uint16 {
	const prime = 2654435761
	word := uint32(s[0]) | uint32(s[1])<<8 | uint32(s[2])<<16 | uint32(s[3])<<24
	return uint16(word * prime >> 16)
}

func (b *starts) add(form string) {
	if len(form) > hashed {
		h := startHash(form)
		b[h>>6] |= 1 << (h & 63)
	}
}

func (b *starts) anyIn(text string) bool {
	for i := range max(len(text)-hashed+1, 0) {
		if h := startHash(text[i:]); b[h>>6]&(1<<(h&63)) != 0 {
			return true
		}
	}
	return false
}

// beginning is a text of which a beginning is searched for.
type beginning struct {
	text   string
	public int  // bytes at its beginning that are no secret
	word   bool // it is not encoded: in the middle of a word it is a part of that
}

// searched are the texts of which a beginning is searched for.
func (f *form) searched() [5]beginning {
	const perDigit = 6 // bits of base64
	inBase64 := (f.public*8 + perDigit - 1) / perDigit
	return [...]beginning{
		{f.text, f.public, true},
		{f.hex, 2 * f.public, false},
		{f.base64[0], inBase64, false},
		{f.base64[1], inBase64, false},
		{f.base64[2], inBase64, false},
	}
}

// publicPart returns how many bytes at the beginning of a value are no secret by themselves: the scheme
// and the host of a URL, unless they have a password between them, with the path's first slash.
func publicPart(value string) int {
	scheme, rest, ok := strings.Cut(value, "://")
	if !ok || strings.Trim(strings.ToLower(scheme), "abcdefghijklmnopqrstuvwxyz0123456789+.-") != "" {
		return 0
	}
	end := strings.IndexAny(rest, "/?#")
	if end < 0 {
		end = len(rest)
	}
	n := len(value) - len(rest)
	if strings.Contains(rest[:end], "@") {
		return n
	}
	if n += end; strings.HasPrefix(value[n:], "/") {
		n++
	}
	return n
}

// findClipped returns where forms begin that the text was cut in.
func (v view) findClipped(forms []form, begin *starts) (found []span) {
	if !begin.anyIn(v.text) {
		return nil
	}
	least := leastCut
	if strings.Contains(v.text, clipMark) || strings.Contains(v.text, dots) {
		least = leastClipped
	}
	for i := range forms {
		for _, b := range forms[i].searched() {
			if len(b.text) <= least {
				continue
			}
			if found = append(found, v.clippedPlaces(b, least)...); len(found) > 0 && v.at == nil {
				return found
			}
		}
	}
	return found
}

// clippedPlaces returns where a form stands of which the text has the beginning alone, of at least so
// many bytes.
func (v view) clippedPlaces(of beginning, least int) (out []span) {
	form := of.text
	for i := 0; ; i++ {
		next := strings.Index(v.text[i:], form[:least])
		if next < 0 {
			return out
		}
		i += next
		n := least
		for n < len(form) && i+n < len(v.text) && v.text[i+n] == form[n] {
			n++
		}
		if n == len(form) || n <= of.public || of.word && n < surely && !beginsWord(v.text, i) || !cutAt(v.text[i+n:], n) {
			continue
		}
		if v.at == nil {
			return []span{{}}
		}
		out = append(out, span{v.at[i].from, v.at[i+n-1].to})
	}
}

// beginsWord reports whether what stands at i is not the middle of a word.
func beginsWord(text string, i int) bool {
	before, _ := utf8.DecodeLastRuneInString(text[:i])
	first, _ := utf8.DecodeRuneInString(text[i:])
	return i == 0 || !isWord(before) || !isWord(first)
}

func isWord(c rune) bool { return unicode.IsLetter(c) || unicode.IsDigit(c) }

// cutAt reports whether a text was cut before the rest that follows, behind n bytes of a secret.
func cutAt(rest string, n int) bool {
	if strings.HasPrefix(rest, clipMark) || strings.HasPrefix(rest, dots) {
		return true
	}
	return n >= leastCut && (rest == "" || strings.IndexByte(quotes, rest[0]) >= 0)
}
