package journal

import (
	"bytes"
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
)

// Redacted replaces a secret.
const Redacted = "[redacted]"

// secret is a pattern that hardly ever matches anything but a secret. None matches across
// a quote.
type secret struct {
	// marks are substrings, in lower case, of which a text has one if the pattern matches
	// at all: to search for them is a hundred times faster than the pattern. Without
	// marks the pattern is always tried.
	marks []string
	shape *regexp.Regexp
	keep  string // what of the match stays, before Redacted
	end   string // and behind it
}

// secrets is made when it is first needed: most processes of an app, workers among them, redact nothing.
var secrets = sync.OnceValue(func() []secret {
	return []secret{
		{[]string{"bearer "}, regexp.MustCompile(`(?i)\b(bearer) [A-Za-z0-9._~+/-]{8,}=*`), "$1 ", ""},
		{[]string{"authorization"}, regexp.MustCompile(`(?i)\b(authorization(?:\\?["'])?\s*[=:]\s*(?:\\?["'])?(?:basic|token) +)[A-Za-z0-9._~+/-]{4,}=*`), "$1", ""},
		{[]string{"basic "}, regexp.MustCompile(`(?i)\b(basic) (?:[a-z]{7,}[0-9=]|[a-z]*[0-9][a-z0-9+/]{7,})[a-z0-9+/]*=*`), "$1 ", ""},                                                                                                                          // and no basic ingredients
		{[]string{"eyj"}, regexp.MustCompile(`\beyJ[A-Za-z0-9_-]{8,}\.eyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]*`), "", ""},                                                                                                                                            // JSON web tokens
		{[]string{"sk-", "sk_", "pk-", "pk_", "rk-", "rk_", "whsec_"}, regexp.MustCompile(`\b(?:(?:sk|pk|rk)[-_](?:live|test|proj|ant)?[-_]?[A-Za-z0-9_-]{16,}|whsec_[A-Za-z0-9+/]{16,})`), "", ""},                                                              // API keys
		{[]string{"ghp_", "gho_", "ghu_", "ghs_", "ghr_", "github_pat_", "xox", "xapp-", "glpat-"}, regexp.MustCompile(`\b(?:gh[pousr]_[A-Za-z0-9]{20,}|github_pat_[A-Za-z0-9_]{20,}|(?:xox[abeprs]|xapp)-[A-Za-z0-9-]{10,}|glpat-[A-Za-z0-9_-]{16,})`), "", ""}, // forges, chat
		{[]string{"akia", "asia", "aiza"}, regexp.MustCompile(`\b(?:(?:AKIA|ASIA)[A-Z0-9]{16}\b|AIza[A-Za-z0-9_-]{35,})`), "", ""},                                                                                                                               // clouds
		{[]string{"npm_", "hf_"}, regexp.MustCompile(`\b(?:npm|hf)_[A-Za-z0-9]{30,}`), "", ""},                                                                                                                                                                   // registries
		{[]string{"private key-----"}, regexp.MustCompile(`-----BEGIN [A-Z ]*PRIVATE KEY-----[^"]*?(?:-----END [A-Z ]*PRIVATE KEY-----|$|…)`), "", ""},                                                                                                           // key files
		{names, regexp.MustCompile(`(?i)(\b[a-z0-9_-]*(?:` + strings.Join(names, "|") + `)(?:\\?["'` + "`" + `])?\s*[=:]\s*)(?:(\\?["'` + "`" + `])[^"'` + "`" + `\\]{4,}|[^\s"'` + "`" + `\\,;&}]{4,})`), "$1$2", ""},                                           // name=value, also DB_PASSWORD and clientSecret
		// Other tokens only if they look like one, and not like a variable of a script.
		{[]string{"token"}, regexp.MustCompile(`(?i)(\b[a-z0-9_-]*token(?:(?:\\?["'` + "`" + `])?\s*[=:]\s*\\?["'` + "`" + `]|=))[a-z0-9._~+/-]{16,}=*`), "$1", ""},
		// What is cut before it is redacted has the beginning alone.
		{[]string{clipMark}, regexp.MustCompile(`\b(?:gh[pousr]_|github_pat_|glpat-|xox[abeprs]-|xapp-|(?:sk|pk|rk)[-_]|whsec_|AKIA|ASIA|AIza|npm_|hf_|eyJ)[A-Za-z0-9_.+/-]{4,}…`), "", clipMark},
		{[]string{clipMark}, regexp.MustCompile(`(?i)(\b[a-z][a-z0-9+.-]*://[^\s:/@"]+:)[^\s@"/…]*[^\s@"/0-9…][^\s@"/…]*…`), "$1", clipMark},
		{[]string{"://"}, regexp.MustCompile(`(?i)(\b[a-z][a-z0-9+.-]*://[^\s:/@"]+:)[^\s@"/]+@`), "$1", "@"}, // URLs with a password
	}
})

// names are names of secrets, also at the end of longer names.
var names = []string{
	"password", "passwd", "passphrase", "secret", "secret_key", "secretkey", "secret_access_key", "secretaccesskey", "private_key", "privatekey", "api_key", "api-key", "apikey",
	"access_token", "access-token", "accesstoken", "refresh_token", "refreshtoken",
}

// pattern compiles an expression when it is first needed.
func pattern(expr string) func() *regexp.Regexp {
	return sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(expr) })
}

// cards are payment cards by their issuers' prefixes, 14 to 19 digits long. Other
// numbers, barcodes among them, are left alone.
var cards = pattern(`\b(?:(?:4\d{3}|5[1-5]\d{2}|2[2-7]\d{2}|6011|64[4-9]\d|65\d{2}|35[2-8]\d)(?:[ -]?\d{4}){3}(?:[ -]?\d{3})?|3[47]\d{2}[ -]?\d{6}[ -]?\d{5}|3[47]\d{2}(?:[ -]?\d{4}){2}[ -]?\d{3}|3(?:0[0-5]|[68]\d)\d[ -]\d{6}[ -]\d{4})\b`)

// leastDigits is how many digits a payment card has at least.
const leastDigits = 14

// Redactor removes secrets from texts: tokens, keys, passwords, payment cards, matches of
// the app's own patterns, the values of fields that its schema calls sensitive, and known values
// however they are encoded. A nil one knows the general patterns only. It is safe for concurrent use.
type Redactor struct {
	own    []*regexp.Regexp
	pii    []personal
	fields atomic.Pointer[secret]
	known  func() []string // nil: no values are known
	forms  atomic.Pointer[knownForms]
}

// NewRedactor makes a redactor with more patterns, in the syntax of package regexp: what
// matches is removed, or only its groups if the pattern has groups. The error names every
// pattern that is not valid, or that matches the empty string.
func NewRedactor(patterns []string) (*Redactor, error) {
	r := &Redactor{}
	var wrong []string
	for _, p := range patterns {
		shape, err := regexp.Compile(p)
		switch {
		case err != nil:
			wrong = append(wrong, fmt.Sprintf("%q is not a regular expression: %v", p, err))
		case shape.MatchString(""):
			wrong = append(wrong, fmt.Sprintf("%q matches the empty string", p))
		default:
			r.own = append(r.own, shape)
		}
	}
	if len(wrong) > 0 {
		return nil, fmt.Errorf("%s", strings.Join(wrong, "; "))
	}
	return r, nil
}

// Hide makes the redactor remove values that follow the names of sensitive fields:
// pin: "1234", pin=1234.
func (r *Redactor) Hide(fields []string) {
	if len(fields) == 0 {
		r.fields.Store(nil)
		return
	}
	fields = slices.Compact(slices.Sorted(slices.Values(fields)))
	s := &secret{}
	quoted := make([]string, len(fields))
	for i, f := range fields {
		s.marks = append(s.marks, strings.ToLower(f))
		quoted[i] = regexp.QuoteMeta(f)
	}
	s.shape = regexp.MustCompile(`(?i)(\b(?:` + strings.Join(quoted, "|") + "\\b)(?:\\\\?[\"'`])?\\s*[=:]\\s*)(?:(\\\\?[\"'`])[^\"'`\\\\]+|[^\\s\"'`\\\\,;&(){}\\[\\]]+)")
	s.keep = "$1$2"
	r.fields.Store(s)
}

// Know makes the redactor remove the values that known returns, which it calls for each text. It must
// be called before the redactor is used.
func (r *Redactor) Know(known func() []string) { r.known = known }

// knownForms returns the forms of the known values, which are made anew where the values have changed.
func (r *Redactor) knownForms() *knownForms {
	values := r.known()
	last := r.forms.Load()
	if last == nil || !slices.Equal(last.values, values) {
		last = newKnownForms(values)
		r.forms.Store(last)
	}
	return last
}

// Text returns a text without its secrets, and how many there were.
func (r *Redactor) Text(text string) (string, int) {
	if len(text) < 2 {
		return text, 0
	}
	values := 0
	if r != nil && r.known != nil { // before patterns take parts of them
		text, values = redactKnown(text, r.knownForms())
	}
	text, n := r.shapes(text)
	n += values
	if r == nil {
		return text, n
	}
	if s := r.fields.Load(); s != nil {
		var more int
		text, more = s.redact(text, strings.ToLower(text))
		n += more
	}
	return text, n
}

// shapes removes secrets that are recognised by their pattern.
func (r *Redactor) shapes(text string) (string, int) {
	n := 0
	lower := strings.ToLower(text)
	for i, all := 0, secrets(); i < len(all); i++ {
		var found int
		text, found = all[i].redact(text, lower)
		n += found
	}
	if digits(text) >= leastDigits {
		var found int
		text, found = redactCards(text)
		n += found
	}
	if r == nil {
		return text, n
	}
	for i := range r.pii {
		var found int
		text, found = r.pii[i].redact(text)
		n += found
	}
	for _, shape := range r.own {
		var found int
		text, found = redactMatches(shape, text)
		n += found
	}
	return text, n
}

// redact removes a secret from a text; lower is the text in lower case.
func (s *secret) redact(text, lower string) (string, int) {
	if !slices.ContainsFunc(s.marks, func(m string) bool { return strings.Contains(lower, m) }) {
		return text, 0
	}
	n := 0
	for _, found := range s.shape.FindAllString(text, -1) {
		if !strings.HasSuffix(found, Redacted+s.end) { // else somebody was here before
			n++
		}
	}
	if n == 0 {
		return text, 0
	}
	return s.shape.ReplaceAllString(text, s.keep+Redacted+s.end), n
}

// redactMatches removes what an app's own pattern matches, or its groups.
func redactMatches(shape *regexp.Regexp, text string) (string, int) {
	found := shape.FindAllStringSubmatchIndex(text, -1)
	if found == nil {
		return text, 0
	}
	var b strings.Builder
	last, n := 0, 0
	for _, m := range found {
		spans := m[:2]
		if len(m) > 2 {
			spans = m[2:]
		}
		for i := 0; i < len(spans); i += 2 {
			if spans[i] < last || spans[i] == spans[i+1] { // a group within another, or of a part that is not there
				continue
			}
			b.WriteString(text[last:spans[i]])
			b.WriteString(Redacted)
			last = spans[i+1]
			n++
		}
	}
	b.WriteString(text[last:])
	return b.String(), n
}

// JSON returns JSON text without the secrets in its strings and numbers, and how many
// there were. The result is valid JSON. Values of sensitive fields are not searched for:
// results do not have them.
func (r *Redactor) JSON(raw []byte) ([]byte, int) { return redactValues(raw, r.alike(raw), r.shapes) }

// FailureJSON is JSON for failures, whose texts may quote what a caller sent: values of
// sensitive fields and known values are searched for too.
func (r *Redactor) FailureJSON(raw []byte) ([]byte, int) {
	return redactValues(raw, r.alike(raw), r.Text)
}

// alike reports whether whatever is found in a string of JSON text is found in the whole text too. Else
// it may be behind an escape, whose letter would make the beginning of a word its middle, or where a
// pattern of the app's own asks for the ends of a text.
func (r *Redactor) alike(raw []byte) bool {
	return bytes.IndexByte(raw, '\\') < 0 && (r == nil || len(r.own) == 0)
}

// redactValues removes what shapes finds from the strings and numbers of JSON text, and
// values of members that are secret by their names. alike says that shapes finds it in the whole text
// as well, which is faster where there is nothing.
func redactValues(raw []byte, alike bool, shapes func(string) (string, int)) ([]byte, int) {
	if alike {
		if _, n := shapes(string(raw)); n == 0 {
			return raw, 0
		}
	}
	var out bytes.Buffer
	n, key := 0, ""
	for i := 0; i < len(raw); {
		end := scalar(raw, i)
		if end == i {
			if c := raw[i]; c == ',' || c == '{' || c == '[' || c == '}' || c == ']' {
				key = ""
			}
			out.WriteByte(raw[i])
			i++
			continue
		}
		value, found := value(raw[i:end], key, shapes)
		out.Write(value)
		n += found
		key = ""
		if rest := bytes.TrimLeft(raw[end:], " \t\r\n"); len(rest) > 0 && rest[0] == ':' {
			_ = json.Unmarshal(raw[i:end], &key)
		}
		i = end
	}
	return out.Bytes(), n
}

// scalar returns the end of the string or number that begins at i, or i.
func scalar(raw []byte, i int) int {
	if raw[i] == '"' {
		for j := i + 1; j < len(raw); j++ {
			switch raw[j] {
			case '\\':
				j++
			case '"':
				return j + 1
			}
		}
		return len(raw)
	}
	j := i
	for j < len(raw) && (raw[j] >= '0' && raw[j] <= '9' || j > i && strings.IndexByte("+-.eE", raw[j]) >= 0 || raw[j] == '-') {
		j++
	}
	return j
}

// value returns a string or number without its secrets; key is what it is the value
// of.
func value(raw []byte, key string, shapes func(string) (string, int)) ([]byte, int) {
	text := string(raw)
	if raw[0] == '"' && json.Unmarshal(raw, &text) != nil {
		return raw, 0
	}
	if key != "" && len(text) >= 4 && slices.ContainsFunc(names, func(name string) bool { return strings.HasSuffix(strings.ToLower(key), name) }) {
		return []byte(`"` + Redacted + `"`), 1
	}
	clean, n := shapes(text)
	if n == 0 {
		return raw, 0
	}
	out, err := json.Marshal(clean)
	if err != nil {
		return raw, 0
	}
	return out, n
}

// redactCards removes numbers of payment cards. The digits of a fraction are none.
func redactCards(text string) (string, int) {
	var b strings.Builder
	n, end := 0, 0
	for _, at := range cards().FindAllStringIndex(text, -1) {
		fraction := at[0] >= 2 && text[at[0]-1] == '.' && text[at[0]-2] >= '0' && text[at[0]-2] <= '9'
		if fraction || !luhn(text[at[0]:at[1]]) {
			continue
		}
		b.WriteString(text[end:at[0]] + Redacted)
		n, end = n+1, at[1]
	}
	return b.String() + text[end:], n
}

// digits counts the digits of a text, up to the least of a payment card.
func digits(text string) int {
	n := 0
	for i := 0; i < len(text) && n < leastDigits; i++ {
		if text[i] >= '0' && text[i] <= '9' {
			n++
		}
	}
	return n
}

// luhn reports whether a number's digits have a payment card's check digit.
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
