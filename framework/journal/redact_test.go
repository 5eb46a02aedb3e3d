package journal_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"log/slog"
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
		"postgres://app:s3cret@db/x":                                              "postgres://app:[redacted]@db/x",
		"card 4111 1111 1111 1111.":                                               "card [redacted].",
		"a fraction 0.4111111111111111":                                           "a fraction 0.4111111111111111",
		"an end. 4111111111111111":                                                "an end. [redacted]",
		"card 378282246310005":                                                    "card [redacted]",
		"card 3782 822463 10005":                                                  "card [redacted]",
		"card 3530-1113-3330-0000":                                                "card [redacted]",
		"diner 3056 930902 5904":                                                  "diner [redacted]",
		"DB_PASSWORD=hunter22":                                                    "DB_PASSWORD=[redacted]",
		`clientSecret: "correct horse"`:                                           `clientSecret: "[redacted]"`,
		"AWS_SECRET_ACCESS_KEY=wJalrXUtnFEMI":                                     "AWS_SECRET_ACCESS_KEY=[redacted]",
		"?user=ann&token=abcdefghij0123456789":                                    "?user=ann&token=[redacted]",
		`{"refresh_token":"abcd1234"}`:                                            `{"refresh_token":"[redacted]"}`,
		"Authorization: Basic dXNlcjpwYXNz":                                       "Authorization: Basic [redacted]",
		"basic dXNlcjpwYXNzd29yZA==":                                              "basic [redacted]",
		"AIzaSyA1234567890abcdefghijklmnopqrstuvw":                                "[redacted]",
		"a basic ingredient list":                                                 "a basic ingredient list",
		"const token = SDK.Entities.Token.getById(id)":                            "const token = SDK.Entities.Token.getById(id)",
		"nextPageToken: none":                                                     "nextPageToken: none",
		"no card 4111111111111112":                                                "no card 4111111111111112",
		"barcode 2000000000039":                                                   "barcode 2000000000039",
		"id 01a1f9af-86a5-7c6b-96f4-1eb5600f6428":                                 "id 01a1f9af-86a5-7c6b-96f4-1eb5600f6428",
		"a secret garden, a password":                                             "a secret garden, a password",
		"sha256:a6291cfd1f23e87ad0ce62e21844ac31ca818f1c458ecb27d8a83850e4e9aa42": "sha256:a6291cfd1f23e87ad0ce62e21844ac31ca818f1c458ecb27d8a83850e4e9aa42",
	}
	var general *journal.Redactor
	for in, want := range cases {
		got, n := general.Text(in)
		require.Equal(t, want, got)
		require.Equal(t, want != in, n == 1, in)
		again, n := general.Text(got)
		require.Equal(t, want, again)
		require.Zero(t, n, in)
	}
}

func TestRedactKnownSecrets(t *testing.T) {
	r, err := journal.NewRedactor([]string{`\bEMP-\d{4}\b`, `ssn (\d{3})-(\d{2})`, `(x)|(y)`})
	require.NoError(t, err)
	r.Hide([]string{"pin", "doorCode"})
	cases := map[string]string{
		"EMP-1234, EMP-12345":                  "[redacted], EMP-12345",
		"ssn 123-45.":                          "ssn [redacted]-[redacted].",
		"upsert({pin: 1234, name: 'Ann'})":     "upsert({pin: [redacted], name: 'Ann'})",
		"upsert({ 'doorCode' : 'open it' })":   "upsert({ 'doorCode' : '[redacted]' })",
		`{"doorcode":"a b","spin":"kept"}`:     `{"doorcode":"[redacted]","spin":"kept"}`,
		`"{\"pin\":\"a b\",\"name\":\"Ann\"}"`: `"{\"pin\":\"[redacted]\",\"name\":\"Ann\"}"`,
	}
	for in, want := range cases {
		got, n := r.Text(in)
		require.Equal(t, want, got)
		require.Positive(t, n)
	}
	_, err = journal.NewRedactor([]string{"(", "a*", "fine"})
	require.ErrorContains(t, err, `"(" is not a regular expression`)
	require.ErrorContains(t, err, `"a*" matches the empty string`)
}

func TestRedactJSON(t *testing.T) {
	var general *journal.Redactor
	cases := map[string]string{
		`{"a":[1,"Bearer abcdefgh12345678"],"card":4111111111111111}`: `{"a":[1,"Bearer [redacted]"],"card":"[redacted]"}`,
		`{"password":123456,"passwordAge":3,"n":-1.5e3}`:              `{"password":"[redacted]","passwordAge":3,"n":-1.5e3}`,
		`{"password":{"x":"kept"},"secret":[1234,"kept"]}`:            `{"password":{"x":"kept"},"secret":[1234,"kept"]}`,
		`{"dbPassword":"ab cd","x":{"clientSecret":"abcd"}}`:          `{"dbPassword":"[redacted]","x":{"clientSecret":"[redacted]"}}`,
		`"say \"password=hunter22\""`:                                 `"say \"password=[redacted]\""`,
		`{"barcode":"2000000000039"}`:                                 `{"barcode":"2000000000039"}`,
	}
	for in, want := range cases {
		got, _ := general.JSON([]byte(in))
		require.Equal(t, want, string(got))
	}
}

// What is said about a failure may quote the value of a sensitive field; its own members
// are no such values, whatever fields are called.
func TestRedactMessages(t *testing.T) {
	r, err := journal.NewRedactor(nil)
	require.NoError(t, err)
	r.Hide([]string{"pin", "code"})
	got, n := r.FailureJSON([]byte(`{"code":"javascript_error","causes":["at pin: \"1234\"","code=5678 and Bearer abcdefgh12345678"],"apiKey":"abcd"}`))
	require.Equal(t, `{"code":"javascript_error","causes":["at pin: \"[redacted]\"","code=[redacted] and Bearer [redacted]"],"apiKey":"[redacted]"}`, string(got))
	require.Equal(t, 4, n)
	var general *journal.Redactor
	got, n = general.FailureJSON([]byte(`{"code":"x"}`))
	require.Equal(t, `{"code":"x"}`, string(got))
	require.Zero(t, n)
}

func TestRedactLogs(t *testing.T) {
	var b bytes.Buffer
	r, err := journal.NewRedactor(nil)
	require.NoError(t, err)
	log := slog.New(r.Handler(slog.NewTextHandler(&b, nil))).With("url", "postgres://app:s3cret@db/x").WithGroup("g")
	log.Warn("token Bearer abcdefgh12345678", "n", 1, "error", errors.New("password=hunter22"), slog.Group("in", "key", "AKIAABCDEFGHIJKLMNOP"))
	require.NotRegexp(t, "s3cret|abcdefgh|hunter22|AKIA", b.String())
	require.Contains(t, b.String(), "g.n=1")
}

func FuzzRedactKeepsJSON(f *testing.F) {
	for _, s := range []string{
		`{"a":"Bearer abcdefgh12345678"}`, `{"password":12345}`, `["-----BEGIN PRIVATE KEY-----\nabc"]`, `[4111111111111111,"4111 1111 1111 1111"]`,
		`"https://a:b@c/d"`, `{"x":"api_key: 'x\"y\\z'"}`, `{"password":[1234,5678],"secret":null}`,
	} {
		f.Add(s)
	}
	r, err := journal.NewRedactor([]string{"b(.)d", "[0-9]{3}"})
	require.NoError(f, err)
	r.Hide([]string{"pin"})
	f.Fuzz(func(t *testing.T, s string) {
		_, _ = r.Text(s)
		text, err := json.Marshal(map[string]string{"text": s})
		require.NoError(t, err)
		out, _ := r.JSON(text)
		require.True(t, json.Valid(out), "%s", out)
		if json.Valid([]byte(s)) {
			out, _ := r.JSON([]byte(s))
			require.True(t, json.Valid(out), "%s from %s", out, s)
		}
	})
}
