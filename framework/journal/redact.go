package journal

import (
	"regexp"
)

// Redacted stands in the place of a secret.
const Redacted = "[redacted]"

// secrets are shapes that are hardly ever anything else. None of them crosses a
// quote, so that JSON stays JSON.
var secrets = []struct {
	shape *regexp.Regexp
	keep  string // what of the match stays, before Redacted
}{
	{regexp.MustCompile(`(?i)\b(bearer|basic) [A-Za-z0-9._~+/-]{8,}=*`), "$1 "},
	{regexp.MustCompile(`\beyJ[A-Za-z0-9_-]{8,}\.eyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]*`), ""},                                                         // JSON web tokens
	{regexp.MustCompile(`\b(?:sk|pk|rk)[-_](?:live|test|proj|ant)?[-_]?[A-Za-z0-9_-]{16,}`), ""},                                                     // API keys
	{regexp.MustCompile(`\b(?:gh[pousr]_[A-Za-z0-9]{20,}|github_pat_[A-Za-z0-9_]{20,}|xox[abprs]-[A-Za-z0-9-]{10,}|glpat-[\w-]{16,})`), ""},          // forges, chat
	{regexp.MustCompile(`\b(?:AKIA|ASIA)[A-Z0-9]{16}\b`), ""},                                                                                        // cloud keys
	{regexp.MustCompile(`-----BEGIN [A-Z ]*PRIVATE KEY-----[^"]*?(?:-----END [A-Z ]*PRIVATE KEY-----|$)`), ""},                                       // key files
	{regexp.MustCompile(`(?i)(\b(?:password|passwd|secret|api[_-]?key|access[_-]?token)(?:\\?["'])?\s*[=:]\s*(?:\\?["'])?)[^\s"'\\,;&}]{4,}`), "$1"}, // name=value
	{regexp.MustCompile(`(?i)(\b[a-z][a-z0-9+.-]*://[^\s:/@"]+:)[^\s@"/]+@`), "$1"},                                                                  // URLs with a password
}

// cards are payment cards by their issuers' prefixes, 15 or 16 digits long. Other
// numbers, barcodes among them, are left alone.
var cards = regexp.MustCompile(`\b(?:4\d{3}|5[1-5]\d{2}|2[2-7]\d{2}|6011|65\d{2}|3[47]\d{2})[ -]?\d{4}[ -]?\d{4}[ -]?\d{3,4}\b`)

// Redact replaces tokens, keys, passwords in URLs and payment card numbers in
// text. It works on JSON text too: what it puts in needs no escaping.
func Redact(text string) string {
	for _, s := range secrets {
		text = s.shape.ReplaceAllString(text, s.keep+Redacted)
	}
	return cards.ReplaceAllStringFunc(text, func(number string) string {
		if luhn(number) {
			return Redacted
		}
		return number
	})
}

// luhn tells whether a number's digits have a payment card's check digit.
func luhn(number string) bool {
	sum, double := 0, false
	for i := len(number) - 1; i >= 0; i-- {
		if number[i] < '0' || number[i] > '9' {
			continue
		}
		d := int(number[i] - '0')
		if double {
			if d *= 2; d > 9 {
				d -= 9
			}
		}
		sum += d
		double = !double
	}
	return sum%10 == 0
}
