package journal_test

import (
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"net/url"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/koan-go/koan/framework/journal"
)

// encodings are texts that a server may make of one that has a secret in it.
func encodings(text string) map[string]string {
	quoted, _ := json.Marshal(text)
	twice, _ := json.Marshal(string(quoted))
	var escaped strings.Builder
	for _, b := range []byte(text) {
		fmt.Fprintf(&escaped, "%%%02x", b)
	}
	basic, _ := json.Marshal(map[string]string{"authorization": text})
	mime := base64.StdEncoding.EncodeToString([]byte(text))
	return map[string]string{
		"plain": text, "json": string(quoted), "json in json": string(twice),
		"query": url.QueryEscape(text), "path": url.PathEscape(text), "percent": escaped.String(),
		"hex": hex.EncodeToString([]byte(text)), "HEX": strings.ToUpper(hex.EncodeToString([]byte(text))), "dump": fmt.Sprintf("% x", text),
		"base64": mime, "base64 raw": base64.RawStdEncoding.EncodeToString([]byte(text)),
		"base64 url": base64.URLEncoding.EncodeToString([]byte(text)), "base64 url raw": base64.RawURLEncoding.EncodeToString([]byte(text)),
		"base64 of json": base64.StdEncoding.EncodeToString(basic), "hex of json": hex.EncodeToString(quoted), "base64 of a query": base64.URLEncoding.EncodeToString([]byte(url.QueryEscape(text))),
		"base64 in lines": lines(mime, "\r\n"), "base64 in lines of json": lines(mime, `\n`), "base64 in a query": url.QueryEscape(mime), "lines": lines(text, "\n"),
	}
}

func lines(text, end string) string {
	var b strings.Builder
	for i := range len(text) {
		if i%8 == 7 {
			b.WriteString(end)
		}
		b.WriteByte(text[i])
	}
	return b.String()
}

func TestKnownValuesAreRemovedHoweverTheyAreEncoded(t *testing.T) {
	for _, secret := range []string{"hunter22", "s3cr3t/+?&=~ü", `qu"ote\d <x>`, "100%41 sure", "😀 grin", `C:\new\table`, "two\nlines!"} {
		for _, before := range []string{"", "x", "ab", "user:", "Bearer "} {
			for _, after := range []string{"", "z", "yz", "!!!"} {
				for name, text := range encodings(before + secret + after) {
					out := journal.RedactValues(text, []string{secret})
					require.Contains(t, out, journal.Redacted, "%s of %q: %s", name, before+secret+after, text)
					requireGone(t, name, out, secret)
				}
			}
		}
	}
}

// requireGone requires that no decoding of what is left of a text has a secret in it.
func requireGone(t *testing.T, name, out, secret string) {
	t.Helper()
	for _, rest := range strings.Split(out, journal.Redacted) {
		for text := range decodings(rest, 3) {
			require.NotContains(t, text, secret, "%s is left in %q", name, out)
			require.NotContains(t, noBreaks.Replace(text), noBreaks.Replace(secret), "%s is left in %q", name, out)
		}
	}
}

var noBreaks = strings.NewReplacer("\r", "", "\n", "")

// decodings are a text, and what it may have been made of by so many encodings around each other. They are
// of the standard library, which knows nothing of how secrets are searched for.
func decodings(text string, layers int) map[string]bool {
	out := map[string]bool{text: true}
	if layers == 0 || text == "" {
		return out
	}
	more := func(s string) {
		for made := range decodings(s, layers-1) {
			out[made] = true
		}
	}
	if s := percent.ReplaceAllStringFunc(text, func(escape string) string { s, _ := url.PathUnescape(escape); return s }); s != text {
		more(s)
		more(strings.ReplaceAll(s, "+", " "))
	}
	if s := escape.ReplaceAllStringFunc(text, func(escape string) string {
		s := ""
		if json.Unmarshal([]byte(`"`+escape+`"`), &s) != nil {
			return escape
		}
		return s
	}); s != text {
		more(s)
	}
	if digits := regexp.MustCompile(`[\s:]+`).ReplaceAllString(text, ""); len(digits) > 1 {
		for from := range 2 {
			if raw, _ := hex.DecodeString(digits[from:]); len(raw) > 0 { // as far as it goes
				more(string(raw))
			}
		}
	}
	for _, run := range base64Runs.FindAllString(regexp.MustCompile(`\s+`).ReplaceAllString(text, ""), -1) {
		for from := range min(4, len(run)) {
			run := strings.NewReplacer("-", "+", "_", "/").Replace(run[from:])
			if raw, _ := base64.RawStdEncoding.DecodeString(run[:len(run)/4*4+map[int]int{0: 0, 1: 0, 2: 2, 3: 3}[len(run)%4]]); len(raw) > 0 {
				out[string(raw)] = true
			}
		}
	}
	return out
}

var (
	percent    = regexp.MustCompile(`(%[0-9A-Fa-f]{2})+`)
	escape     = regexp.MustCompile(`(\\(u[0-9A-Fa-f]{4}|["\\/bfnrt]))+`)
	base64Runs = regexp.MustCompile(`[A-Za-z0-9+/_-]{4,}`)
)

func TestKnownValuesLeaveOtherTextsAlone(t *testing.T) {
	for _, text := range []string{"", "an ordinary failure at 100% of C:\\new", "aHVudGVyMQ==", "hunter 22", `{"a":"\u00e9\n"}`, "\\", "%", "%4", `\u12`, `\ud83d\u0041`} {
		require.Equal(t, text, journal.RedactValues(text, []string{"hunter22", "", "correct horse"}))
	}
	require.Equal(t, "a [redacted] b [redacted]", journal.RedactValues("a abcdefgh b abcdef", []string{"abcdef", "cdefgh"}), "values that overlap leave no rest")
	require.JSONEq(t, `{"a":["[redacted]",1],"b":"\nx"}`, string(journal.RedactValuesJSON([]byte(`{"a":["aHVudGVyMjI=",1],"b":"\nx"}`), []string{"hunter22", "aHVudGVyMjI="})))
	require.True(t, json.Valid(journal.RedactValuesJSON([]byte(`{"a":"\nabcdefg"}`), []string{"nabcdefg"})))
}

func FuzzKnownValues(f *testing.F) {
	f.Add("hunter22", "user:", "!")
	f.Add("s3cr3t/+?&=", "", "z")
	f.Add("%41\\u0041", "a", "")
	f.Fuzz(func(t *testing.T, secret, before, after string) {
		if len(secret) < journal.LeastValue || strings.ToValidUTF8(before+secret+after, "") != before+secret+after || strings.Trim(secret, "\r\n \t") != secret ||
			strings.Contains(before+secret+after, "redacted") || len(before+secret+after) > 1000 {
			return // the generator gave no secret
		}
		for name, text := range encodings(before + secret + after) {
			out := journal.RedactValues(text, []string{secret})
			require.Contains(t, out, journal.Redacted, "%s: %q", name, text)
			requireGone(t, name, out, secret)
		}
	})
}
