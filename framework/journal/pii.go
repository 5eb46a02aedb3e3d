package journal

import (
	"fmt"
	"math/big"
	"regexp"
	"slices"
	"strconv"
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
	// parted are the characters at which a match may end earlier: what follows was no part of it.
	parted string
	alone  func(text string, from, to int) bool // it is no part of something else
}

// allPII stands for all kinds.
const allPII = "all"

var personalKinds = []personal{
	{"email", "@", pattern(`[\pL\pN._%+'-]+@[\pL\pN](?:[\pL\pN-]*[\pL\pN])?(?:\.[\pL\pN](?:[\pL\pN-]*[\pL\pN])?)*\.\pL{2,24}`), func(string) bool { return true }, "", isAddress},
	{"phone", "+-/.() ", pattern(`\+[1-9]\d{0,2}(?:[ .-]?\(\d{1,4}\))?(?:[ ./-]?\d+){1,7}` + // with the country
		`|\b00[1-9]\d{0,2}(?:[ .-]?\(\d{1,4}\)|[ ./-]\d+)(?:[ ./-]?\d+){0,6}` + // the same, and no barcode
		`|\(\d{2,5}\)[ -]?\d{2,4}(?:[ -]?\d{2,4}){1,3}` + // (030) 123 45 67
		`|\b\d{3}[-.]\d{3}[-.]\d{4}\b` + // 555-123-4567
		`|\b0[1-9](?:\.\d{2}){4}\b` + // 06.12.34.56.78
		`|\b0[1-9]\d{0,3}[ /-]\d{2,8}(?:[ -]\d{2,4}){0,3}`), isPhone, " -./(", standsAlone}, // 030 1234567, 044 668 18 00
	{"iban", "0123456789", pattern(`\b[A-Z]{2}\d{2}(?:[A-Z0-9]{11,30}|(?: [A-Z0-9]{4}){2,7}(?: [A-Z0-9]{1,4})?)\b`), isIBAN, " ", standsAlone},
	{"ssn", "-", pattern(`\b\d{3}-\d{2}-\d{4}\b`), isSSN, "", standsAlone},
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
			return fmt.Errorf("%q is not one of %s", name, strings.Join(kinds, ", "))
		}
	}
	for _, k := range personalKinds {
		if slices.Contains(names, k.name) || slices.Contains(names, allPII) {
			at := len(r.pii)
			if k.name == "iban" { // first, since groups of an account's digits look like phone numbers
				at = 0
			}
			r.pii = slices.Insert(r.pii, at, k)
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
		if to := k.end(text, m[0], m[1]); to > m[0] {
			found = append(found, span{m[0], to})
		}
	}
	if found == nil {
		return text, 0
	}
	return without(text, found)
}

// end returns where what is of the kind ends in a match, which may go on with other numbers or words;
// from where nothing is of it.
func (k *personal) end(text string, from, to int) int {
	for to > from {
		if k.valid(text[from:to]) && k.alone(text, from, to) {
			return to
		}
		last := strings.LastIndexAny(text[from:to], k.parted)
		if last < 0 {
			return from
		}
		to = from + last
	}
	return from
}

// isAddress reports whether what looks like an address for mail is neither of a repository, as in
// git@host:path, nor who signs in to a host, as in ssh://user@host.
func isAddress(text string, from, to int) bool {
	if next, _ := utf8.DecodeRuneInString(text[to:]); to < len(text) && (unicode.IsLetter(next) || unicode.IsDigit(next) || next == '_') {
		return false
	}
	if strings.HasPrefix(text[from:to], "git@") && strings.HasPrefix(text[to:], ":") {
		return false
	}
	word := text[strings.LastIndexAny(text[:from], " \t\r\n\"'`<>()[]{},;")+1 : from]
	_, authority, isURL := strings.Cut(word, "://")
	return !isURL || strings.ContainsAny(authority, "/?#")
}

// standsAlone reports whether a part of a text is no part of a longer number, id or name.
func standsAlone(text string, from, to int) bool {
	joins := func(c rune) bool {
		return unicode.IsLetter(c) || unicode.IsDigit(c) || strings.ContainsRune("_-.+:/", c)
	}
	before, size := utf8.DecodeLastRuneInString(text[:from])
	abroad := text[from] == '+' // which no other number begins with behind a word
	if abroad && before == '.' {
		before, _ = utf8.DecodeLastRuneInString(text[:from-size])
		if !unicode.IsLetter(before) {
			return false
		}
	} else if from > 0 && joins(before) && before != ':' && before != '/' { // as in tel:+49..., Tel./Fax
		return false
	}
	behind, n := utf8.DecodeRuneInString(text[to:])
	if to == len(text) || !joins(behind) || abroad && behind == '/' {
		return true
	}
	if strings.ContainsRune(".-:/", behind) { // the end of a sentence
		next, _ := utf8.DecodeRuneInString(text[to+n:])
		return to+n == len(text) || !unicode.IsLetter(next) && !unicode.IsDigit(next)
	}
	return false
}

// dates are what national numbers with separators could be, too, also with a time behind them.
var dates = pattern(`^(?:\d{1,2}[-./ ]\d{1,2}[-./ ](?:\d{2}|\d{4}(?: \d{1,2}(?:[ -]\d{2})*)?)|\d{4}[-./ ]\d{1,2}[-./ ]\d{1,2}(?: \d{1,2}(?:[ -]\d{2})*)?)$`)

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

// accountLengths are how many characters the accounts of countries have.
const accountLengths = "AD24AE23AL28AT20AZ28BA20BE16BG22BH22BR29CH21CR22CY28CZ24DE22DK18DO28EE20EG29ES24FI18FO18FR27GB22GE22GI23GL18GR27GT28HR21HU28IE22IL23IQ23IS26IT27" +
	"JO30KW30KZ20LB28LI21LT20LU20LV21MC27MD24ME22MK19MR27MT31MU30NL18NO15PK24PL28PS29PT25QA29RO24RS22SA24SE24SI19SK24SM27TN24TR26UA29VA22VG24XK20"

// isIBAN reports whether an account number has the check digits of one (ISO 13616).
func isIBAN(found string) bool {
	account := strings.ReplaceAll(found, " ", "")
	const least, most, modulus, country = 15, 34, 97, 4
	if len(account) < least || len(account) > most {
		return false
	}
	if i := strings.Index(accountLengths, account[:2]); i >= 0 && i%country == 0 && accountLengths[i+2:i+country] != strconv.Itoa(len(account)) {
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
