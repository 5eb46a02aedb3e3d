package journal

import (
	"fmt"
	"math/big"
	"regexp"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// personal is a kind of personal data that a redactor removes where the app is configured to. Unlike
// secrets they are what most apps are about, so none is removed by itself.
type personal struct {
	name  string
	marks string // a text has one of these characters if it has one of the kind
	shape func() *regexp.Regexp
	valid func(found string) bool
}

// allPII stands for all kinds.
const allPII = "all"

var personalKinds = []personal{
	{"email", "@", pattern(`[\pL\pN._%+'-]+@[\pL\pN](?:[\pL\pN-]*[\pL\pN])?(?:\.[\pL\pN](?:[\pL\pN-]*[\pL\pN])?)*\.\pL{2,24}`), func(string) bool { return true }},
	{"phone", "+-/.() ", pattern(`(?:\+|\b00)[1-9]\d{0,2}(?:[ .-]?\(\d{1,4}\))?(?:[ ./-]?\d+){1,7}` + // with the country
		`|\(\d{2,5}\)[ -]?\d{2,4}(?:[ -]?\d{2,4}){1,3}` + // (030) 123 45 67
		`|\b\d{3}[-.]\d{3}[-.]\d{4}\b` + // 555-123-4567
		`|\b0[1-9]\d{0,3}[ /-]\d{2,8}(?:[ -]\d{2,4}){0,3}`), isPhone}, // 030 1234567, 044 668 18 00
	{"iban", "0123456789", pattern(`\b[A-Z]{2}\d{2}(?:[A-Z0-9]{11,30}|(?: [A-Z0-9]{4}){2,7}(?: [A-Z0-9]{1,4})?)\b`), isIBAN},
	{"ssn", "-", pattern(`\b\d{3}-\d{2}-\d{4}\b`), isSSN},
}

// PIIKinds are the names of the kinds, and of all together.
func PIIKinds() []string {
	out := []string{allPII}
	for _, k := range personalKinds {
		out = append(out, k.name)
	}
	return out
}

// HidePII makes the redactor remove kinds of personal data, too. It must be called before the redactor
// is used. The error names a kind that there is not.
func (r *Redactor) HidePII(names []string) error {
	kinds := PIIKinds()
	for _, name := range names {
		if !slices.Contains(kinds, name) {
			return fmt.Errorf("%q is none of %s", name, strings.Join(kinds, ", "))
		}
	}
	for _, k := range personalKinds {
		if slices.Contains(names, k.name) || slices.Contains(names, allPII) {
			r.pii = append(r.pii, k)
		}
	}
	return nil
}

// redact removes what is of the kind from a text.
func (k *personal) redact(text string) (string, int) {
	if !strings.ContainsAny(text, k.marks) {
		return text, 0
	}
	var found []span
	for _, m := range k.shape().FindAllStringIndex(text, -1) {
		if k.valid(text[m[0]:m[1]]) && standsAlone(text, m[0], m[1]) {
			found = append(found, span{m[0], m[1]})
		}
	}
	if found == nil {
		return text, 0
	}
	return without(text, found)
}

// standsAlone reports whether a part of a text is no part of a longer number, id or name.
func standsAlone(text string, from, to int) bool {
	joins := func(c rune) bool {
		return unicode.IsLetter(c) || unicode.IsDigit(c) || strings.ContainsRune("_-.+:/", c)
	}
	before, _ := utf8.DecodeLastRuneInString(text[:from])
	if from > 0 && joins(before) && before != ':' && before != '/' { // as in tel:+49..., Tel./Fax
		return false
	}
	behind, n := utf8.DecodeRuneInString(text[to:])
	if to == len(text) || !joins(behind) {
		return true
	}
	if strings.ContainsRune(".-:/", behind) { // the end of a sentence
		next, _ := utf8.DecodeRuneInString(text[to+n:])
		return to+n == len(text) || !unicode.IsLetter(next) && !unicode.IsDigit(next)
	}
	return false
}

// dates are what national numbers with separators could be, too.
var dates = pattern(`^(?:\d{1,2}[-./ ]\d{1,2}[-./ ]\d{2,4}|\d{4}[-./ ]\d{1,2}[-./ ]\d{1,2})(?:\D|$)`)

// isPhone reports whether what looks like a phone number has as many digits as one, and is no date.
func isPhone(found string) bool {
	const least, most = 9, 15
	n := 0
	for _, c := range found {
		if unicode.IsDigit(c) {
			n++
		}
	}
	return n >= least && n <= most && !dates().MatchString(found)
}

// isIBAN reports whether an account number has the check digits of one (ISO 13616).
func isIBAN(found string) bool {
	account := strings.ReplaceAll(found, " ", "")
	const least, most, modulus, country = 15, 34, 97, 4
	if len(account) < least || len(account) > most {
		return false
	}
	var digits strings.Builder
	for _, c := range account[country:] + account[:country] {
		if c >= 'A' {
			fmt.Fprint(&digits, c-'A'+10)
		} else {
			digits.WriteRune(c)
		}
	}
	n, ok := new(big.Int).SetString(digits.String(), 10)
	return ok && n.Mod(n, big.NewInt(modulus)).Int64() == 1
}

// isSSN reports whether a number can be one of the Social Security of the United States.
func isSSN(found string) bool {
	area, group, serial := found[:3], found[4:6], found[7:]
	return area != "000" && area != "666" && area[0] != '9' && group != "00" && serial != "0000"
}
