package journal

import "strings"

// Texts are shortened in many places before they are redacted, some of them in processes that know no
// secrets. So the beginning of a secret counts as one where the text was cut.

const (
	// clipMark stands where a text was cut (fault.Clip), dots where others cut it.
	clipMark, dots = "…", "..."
	// quotes may be behind a quotation that was cut.
	quotes = "\"'`\\"
	// leastClipped is from which length the beginning of a known secret counts before clipMark, and
	// leastCut where a text or a quotation ends, which may be its end.
	leastClipped = 4
	leastCut     = 10
)

// starts are hashes of the first leastClipped bytes of forms. Most texts have none of them, which one
// pass over the text finds out.
type starts [1 << 10]uint64

func startHash(s string) uint16 {
	const prime = 2654435761
	word := uint32(s[0]) | uint32(s[1])<<8 | uint32(s[2])<<16 | uint32(s[3])<<24
	return uint16(word * prime >> 16)
}

func (b *starts) add(form string) {
	if len(form) > leastClipped {
		h := startHash(form)
		b[h>>6] |= 1 << (h & 63)
	}
}

func (b *starts) anyIn(text string) bool {
	for i := range max(len(text)-leastClipped+1, 0) {
		if h := startHash(text[i:]); b[h>>6]&(1<<(h&63)) != 0 {
			return true
		}
	}
	return false
}

// searched are the texts of which a beginning is searched for.
func (f *form) searched() [5]string {
	return [...]string{f.text, f.hex, f.base64[0], f.base64[1], f.base64[2]}
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
		for _, text := range forms[i].searched() {
			if len(text) <= least {
				continue
			}
			if found = append(found, v.clippedPlaces(text, least)...); len(found) > 0 && v.at == nil {
				return found
			}
		}
	}
	return found
}

// clippedPlaces returns where a form stands of which the text has the beginning alone, of at least so
// many bytes.
func (v view) clippedPlaces(form string, least int) (out []span) {
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
		if n == len(form) || !cutAt(v.text[i+n:], n) {
			continue
		}
		if v.at == nil {
			return []span{{}}
		}
		out = append(out, span{v.at[i].from, v.at[i+n-1].to})
	}
}

// cutAt reports whether a text was cut before the rest that follows, behind n bytes of a secret.
func cutAt(rest string, n int) bool {
	if strings.HasPrefix(rest, clipMark) || strings.HasPrefix(rest, dots) {
		return true
	}
	return n >= leastCut && (rest == "" || strings.IndexByte(quotes, rest[0]) >= 0)
}
