package barcode

import (
	"net/url"
	"strings"
)

// validGTIN reports whether the last digit of a number is its check digit. It takes
// digits only.
func validGTIN(s string) bool {
	sum := 0
	for i := range len(s) {
		if s[i] < '0' || s[i] > '9' {
			return false
		}
		weight := 1
		if (len(s)-1-i)%2 == 1 {
			weight = 3
		}
		sum += weight * int(s[i]-'0')
	}
	return sum%10 == 0
}

// shortGTIN writes a GTIN as it is printed on a package: with 8 or 13 digits, or
// with 14 where the first is not 0.
func shortGTIN(s string) string {
	s = strings.Repeat("0", max(14-len(s), 0)) + s
	switch {
	case strings.HasPrefix(s, "000000"):
		return s[6:]
	case s[0] == '0':
		return s[1:]
	}
	return s
}

// linkGTIN returns the GTIN of a GS1 Digital Link: the path segment after "01", or
// after "gtin". There is none in other texts.
func linkGTIN(text string) (string, bool) {
	if !hasPrefixFold(text, "https://") && !hasPrefixFold(text, "http://") {
		return "", false
	}
	u, err := url.Parse(text)
	if err != nil || u.Host == "" {
		return "", false
	}
	segments := strings.Split(u.Path, "/")
	for i, s := range segments[:len(segments)-1] {
		gtin := segments[i+1]
		if s != "01" && s != "gtin" {
			continue
		}
		switch len(gtin) {
		case 8, 12, 13, 14:
			if validGTIN(gtin) {
				return shortGTIN(gtin), true
			}
		}
	}
	return "", false
}

func hasPrefixFold(s, prefix string) bool {
	return len(s) >= len(prefix) && strings.EqualFold(s[:len(prefix)], prefix)
}

// elementGTIN returns the GTIN of a GS1 element string, such as GS1-128 and GS1 QR
// codes hold: text begins with FNC1. Of its elements, 01 comes first in practice,
// or after others of fixed length.
func elementGTIN(text string) (string, bool) {
	rest, ok := strings.CutPrefix(text, groupSeparator)
	if !ok {
		return "", false
	}
	for len(rest) >= 2 {
		if rest[:2] == "01" {
			if len(rest) >= 16 && validGTIN(rest[2:16]) {
				return shortGTIN(rest[2:16]), true
			}
			return "", false
		}
		if n := elementLengths[rest[:2]]; n > 0 && len(rest) >= n {
			rest = strings.TrimPrefix(rest[n:], groupSeparator)
			continue
		}
		_, after, ok := strings.Cut(rest, groupSeparator) // of variable length
		if !ok {
			return "", false
		}
		rest = after
	}
	return "", false
}

// elementLengths are the lengths of elements that need no separator, identifiers
// included, by their first two digits.
var elementLengths = map[string]int{
	"00": 20, "01": 16, "02": 16, "03": 16, "04": 18, "11": 8, "12": 8, "13": 8, "14": 8, "15": 8, "16": 8, "17": 8, "18": 8, "19": 8,
	"20": 4, "31": 10, "32": 10, "33": 10, "34": 10, "35": 10, "36": 10, "41": 16,
}
