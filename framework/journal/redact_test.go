package journal_test

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/koan-go/koan/framework/journal"
)

func TestRedact(t *testing.T) {
	cases := map[string]string{
		"Authorization: Bearer abcdefgh12345678":                                  "Authorization: Bearer [redacted]",
		"token eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0NTYifQ.abc":                   "token [redacted]",
		"key sk-proj-abcdefghij0123456789 used":                                   "key [redacted] used",
		"ghp_abcdefghijklmnopqrst0123":                                            "[redacted]",
		"AKIAABCDEFGHIJKLMNOP":                                                    "[redacted]",
		"password=hunter22 next":                                                  "password=[redacted] next",
		"postgres://app:s3cret@db/x":                                              "postgres://app:[redacted]db/x",
		"card 4111 1111 1111 1111.":                                               "card [redacted].",
		"card 378282246310005":                                                    "card [redacted]",
		"no card 4111111111111112":                                                "no card 4111111111111112",
		"barcode 2000000000039":                                                   "barcode 2000000000039",
		"id 01a1f9af-86a5-7c6b-96f4-1eb5600f6428":                                 "id 01a1f9af-86a5-7c6b-96f4-1eb5600f6428",
		"a secret garden, a password":                                             "a secret garden, a password",
		"sha256:a6291cfd1f23e87ad0ce62e21844ac31ca818f1c458ecb27d8a83850e4e9aa42": "sha256:a6291cfd1f23e87ad0ce62e21844ac31ca818f1c458ecb27d8a83850e4e9aa42",
	}
	for in, want := range cases {
		require.Equal(t, want, journal.Redact(in))
	}
}

func FuzzRedactKeepsJSON(f *testing.F) {
	for _, s := range []string{"Bearer abcdefgh12345678", "password=\"abcd1234\"", "-----BEGIN PRIVATE KEY-----\nabc", "4111 1111 1111 1111", "https://a:b@c/d", `api_key: 'x"y\z'`} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		raw, err := json.Marshal(map[string]string{"text": s})
		require.NoError(t, err)
		require.True(t, json.Valid([]byte(journal.Redact(string(raw)))), "%s", raw)
	})
}
