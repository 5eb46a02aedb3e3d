package journal_test

import (
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"net/url"
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
	mime := base64.StdEncoding.EncodeToString([]byte(text))
	return map[string]string{
		"plain": text, "json": string(quoted), "json in json": string(twice),
		"query": url.QueryEscape(text), "path": url.PathEscape(text), "percent": escaped.String(),
		"hex": hex.EncodeToString([]byte(text)), "HEX": strings.ToUpper(hex.EncodeToString([]byte(text))), "dump": fmt.Sprintf("% x", text),
		"base64": mime, "base64 raw": base64.RawStdEncoding.EncodeToString([]byte(text)),
		"base64 url": base64.URLEncoding.EncodeToString([]byte(text)), "base64 url raw": base64.RawURLEncoding.EncodeToString([]byte(text)),
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

// requireGone requires that a text has no part of a secret's encoding that is long enough to tell it.
func requireGone(t *testing.T, name, out, secret string) {
	t.Helper()
	require.NotContains(t, out, secret, name)
	for form, text := range encodings(secret) {
		require.NotContains(t, out, text, "%s, as %s", name, form)
	}
}

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
		}
	})
}
