package journal_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/koan-go/koan/framework/journal"
)

// In a string of JSON, what stands behind an escape stands behind what the escape is of: the letter of
// one is no beginning of a word.
func TestJSONIsRedactedBehindEveryEscape(t *testing.T) {
	r, err := journal.NewRedactor(nil)
	require.NoError(t, err)
	require.NoError(t, r.HidePII([]string{"all"}))
	r.Hide([]string{"pin"})
	const known = "known value of a plugin"
	r.Know(func() []string { return []string{known} })
	samples := []string{
		"Bearer abcdefgh12345678", "Authorization: Basic abcd", "basic dXNlcjpwYXNzd29yZA==", "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0NTYifQ.abc",
		"sk-proj-abcdefghij0123456789", "whsec_abcdefghijklmnop", "ghp_abcdefghijklmnopqrstuvwx", "github_pat_abcdefghijklmnopqrst", "xoxb-1234567890", "xapp-1234567890",
		"glpat-abcdefghijklmnop", "AKIAABCDEFGHIJKLMNOP", "AIzaSyA1234567890abcdefghijklmnopqrstuvw", "npm_abcdefghijklmnopqrstuvwxyz0123", "hf_abcdefghijklmnopqrstuvwxyz0123",
		"-----BEGIN PRIVATE KEY-----abc-----END PRIVATE KEY-----", "password=hunter22", "token=abcdefghij0123456789", "ghp_abcd…", "https://ann:hunter…", "https://ann:hunter22@x",
		"4111 1111 1111 1111", "378282246310005", "ann@example.org", "+49 30 1234567", "030 1234567", "DE89370400440532013000", "123-45-6789", "pin: 1234", known,
	}
	for _, sample := range samples {
		for _, escape := range []string{`\b`, `\f`, `\n`, `\r`, `\t`, `\"`, `\\`, `\/`, `\u003c`, `\u000A`, `\u2028`} {
			for _, raw := range []string{`{"log":"token` + escape + sample + `"}`, `["a\nb",{"x":"` + escape + sample + `"}]`} {
				clean, n := r.FailureJSON([]byte(raw))
				require.Equal(t, 1, n, "%s: %s", raw, clean)
				require.Contains(t, string(clean), journal.Redacted, raw)
				require.NotContains(t, string(clean), sample)
			}
		}
	}
	own, err := journal.NewRedactor([]string{`\bEMP-\d{4}\b`, `^only \d+$`})
	require.NoError(t, err)
	clean, n := own.JSON([]byte(`{"a":"only 12","e":"x\nEMP-1234","b":"not only 12"}`))
	require.Equal(t, 2, n)
	require.Equal(t, `{"a":"[redacted]","e":"x\n[redacted]","b":"not only 12"}`, string(clean), "a pattern's ends are those of the string")
}
