package builtins

import (
	"slices"
	"strings"

	"golang.org/x/text/unicode/norm"
)

// domain gives a domain in lower case and ASCII.
func domain(s string) (string, bool) {
	s = norm.NFKC.String(strings.ToLower(norm.NFKC.String(s)))
	s = strings.NewReplacer("\u3002", ".", "\u00ad", "").Replace(s)
	labels := strings.Split(s, ".")
	for i, l := range labels {
		if strings.IndexFunc(l, func(r rune) bool { return r >= 0x80 }) < 0 {
			continue
		}
		encoded, ok := punycode(l)
		if !ok {
			return "", false
		}
		labels[i] = "xn--" + encoded
	}
	return strings.Join(labels, "."), true
}

// punycode encodes a label (RFC 3492).
func punycode(label string) (string, bool) {
	const base, tMin, tMax, skew, damp, maxLabel = 36, 1, 26, 38, 700, 1000
	runes := []rune(label)
	if len(runes) > maxLabel || slices.Contains(runes, '\ufffd') {
		return "", false
	}
	var out []byte
	for _, r := range runes {
		if r < 0x80 {
			out = append(out, byte(r))
		}
	}
	basic := len(out)
	if basic > 0 {
		out = append(out, '-')
	}
	digit := func(d int) byte {
		if d < 26 {
			return byte('a' + d)
		}
		return byte('0' + d - 26)
	}
	n, delta, bias := rune(0x80), 0, 72
	for done := basic; done < len(runes); {
		next := rune(0x7fffffff)
		for _, r := range runes {
			if r >= n && r < next {
				next = r
			}
		}
		delta += int(next-n) * (done + 1)
		n = next
		for _, r := range runes {
			if r < n {
				delta++
			}
			if r != n {
				continue
			}
			q := delta
			for k := base; ; k += base {
				t := min(max(k-bias, tMin), tMax)
				if q < t {
					break
				}
				out = append(out, digit(t+(q-t)%(base-t)))
				q = (q - t) / (base - t)
			}
			out = append(out, digit(q))
			if done == basic {
				delta /= damp
			} else {
				delta /= 2
			}
			delta += delta / (done + 1)
			k := 0
			for ; delta > (base-tMin)*tMax/2; k += base {
				delta /= base - tMin
			}
			bias = k + (base-tMin+1)*delta/(delta+skew)
			delta = 0
			done++
		}
		delta++
		n++
	}
	return string(out), true
}
