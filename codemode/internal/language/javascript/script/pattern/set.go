package pattern

import (
	"cmp"
	"slices"
	"strconv"
	"strings"
	"unicode"
)

// span is a range of code points, including both ends.
type span struct{ lo, hi rune }

// set is a list of spans. normal sorts and merges them.
type set []span

var everything = set{{0, unicode.MaxRune}}

func (s set) normal() set {
	if len(s) == 0 {
		return nil
	}
	s = slices.Clone(s)
	slices.SortFunc(s, func(a, b span) int { return cmp.Compare(a.lo, b.lo) })
	out := s[:1]
	for _, x := range s[1:] {
		if last := &out[len(out)-1]; x.lo <= last.hi+1 {
			last.hi = max(last.hi, x.hi)
		} else {
			out = append(out, x)
		}
	}
	return out
}

// complement returns the complement of a normal set.
func (s set) complement() set {
	var out set
	next := rune(0)
	for _, x := range s {
		if x.lo > next {
			out = append(out, span{next, x.lo - 1})
		}
		next = x.hi + 1
	}
	if next <= unicode.MaxRune {
		out = append(out, span{next, unicode.MaxRune})
	}
	return out
}

func union(a, b set) set { return slices.Concat(a, b).normal() }

// minus returns the difference of normal sets.
func minus(a, b set) set { return both(a, b.complement()) }

// both returns the intersection of normal sets.
func both(a, b set) set {
	var out set
	for i, j := 0, 0; i < len(a) && j < len(b); {
		if lo, hi := max(a[i].lo, b[j].lo), min(a[i].hi, b[j].hi); lo <= hi {
			out = append(out, span{lo, hi})
		}
		if a[i].hi < b[j].hi {
			i++
		} else {
			j++
		}
	}
	return out
}

// of returns the union of Go's tables as a normal set.
func of(tables ...*unicode.RangeTable) set {
	var out set
	add := func(lo, hi, stride rune) {
		if stride == 1 {
			out = append(out, span{lo, hi})
			return
		}
		for r := lo; r <= hi; r += stride {
			out = append(out, span{r, r})
		}
	}
	for _, t := range tables {
		for _, r := range t.R16 {
			add(rune(r.Lo), rune(r.Hi), rune(r.Stride))
		}
		for _, r := range t.R32 {
			add(rune(r.Lo), rune(r.Hi), rune(r.Stride))
		}
	}
	return out.normal()
}

// write writes the set as the content of a character class.
func (s set) write(b *strings.Builder) {
	for _, x := range s {
		writeRune(b, x.lo)
		if x.hi > x.lo {
			if x.hi > x.lo+1 {
				b.WriteByte('-')
			}
			writeRune(b, x.hi)
		}
	}
}

// class returns the set as a character class.
func (s set) class() string {
	if len(s) == 0 {
		return "(?!)"
	}
	var b strings.Builder
	b.WriteByte('[')
	s.write(&b)
	b.WriteByte(']')
	return b.String()
}

// writeRune writes a code point so that it is literal anywhere in a pattern with the flag u.
func writeRune(b *strings.Builder, r rune) {
	if r >= '0' && r <= '9' || r >= 'A' && r <= 'Z' || r >= 'a' && r <= 'z' {
		b.WriteRune(r)
		return
	}
	b.WriteString(`\u{`)
	b.WriteString(strconv.FormatInt(int64(r), 16))
	b.WriteByte('}')
}
