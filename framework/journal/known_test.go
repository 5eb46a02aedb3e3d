package journal_test

import (
	"bytes"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"log/slog"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/koan-go/koan/framework/fault"
	"github.com/koan-go/koan/framework/journal"
)

// Known values are in nothing that a redactor lets through: texts of the journal, faults with their
// details, and lines of the log.
func TestKnownValuesAreInNothing(t *testing.T) {
	const secret = `s3cr3t "of" a=plugin`
	known := []string{"another one"}
	r, err := journal.NewRedactor(nil)
	require.NoError(t, err)
	r.Know(func() []string { return known })
	known = append(known, secret) // as it is when something is redacted
	var log bytes.Buffer
	logger := slog.New(r.Handler(slog.NewJSONHandler(&log, nil)))
	for name, text := range encodings("user:" + secret + "!") {
		clean, n := r.Text(text)
		require.Positive(t, n, name)
		requireGone(t, name, clean, secret)

		f, n := r.Fault(fault.New(fault.ExecutionError, text).WithHint("%s", text).WithDetails(map[string]any{"text": text}))
		require.Positive(t, n, name)
		raw, err := json.Marshal(f)
		require.NoError(t, err)
		requireGone(t, name, string(raw), secret)

		log.Reset()
		logger.With("text", text).Error(text, "error", f.Because(nil), "bytes", fault.New(fault.Internal, text))
		requireGone(t, name, log.String(), secret)
	}
	require.NotEmpty(t, log.String())
	raw, n := r.FailureJSON([]byte(`{"a":"` + base64.StdEncoding.EncodeToString([]byte(secret)) + `","b":"` + hex.EncodeToString([]byte(secret)) + `","c":1}`))
	require.Positive(t, n)
	require.JSONEq(t, `{"a":"[redacted]=","b":"[redacted]","c":1}`, string(raw))
	clean, n := r.Text("nothing of it: s3cr3t of a plugin")
	require.Zero(t, n)
	require.Equal(t, "nothing of it: s3cr3t of a plugin", clean)
}

func TestEndingOfARun(t *testing.T) {
	for name, c := range map[string]struct {
		ending  journal.Ending
		outside bool // what the app can do
		code    fault.Code
		retry   fault.Retry
	}{
		"unavailable, nothing done outside":    {journal.Ending{Outcome: "service_unavailable"}, true, fault.ServiceUnavailable, fault.Safe},
		"unavailable after an effect":          {journal.Ending{Outcome: "service_unavailable", OutsideCount: 1}, true, fault.ServiceUnavailable, fault.Never},
		"a limit after an effect":              {journal.Ending{Outcome: "memory_exceeded", OutsideCount: 1}, true, fault.MemoryExceeded, fault.Fix},
		"cut off, in an app without effects":   {journal.Ending{Outcome: journal.CutOff}, false, fault.Cancelled, fault.Safe},
		"cut off, perhaps after an effect":     {journal.Ending{Outcome: journal.CutOff}, true, fault.Cancelled, fault.Never},
		"cut off dry run":                      {journal.Ending{Outcome: journal.CutOff, DryRun: true}, true, fault.Cancelled, fault.Safe},
		"cut off after the commit of one call": {journal.Ending{Outcome: journal.CutOff, Committed: true}, false, fault.Cancelled, fault.Never},
	} {
		f := c.ending.Fault(c.outside)
		require.Equal(t, []any{c.code, c.retry}, []any{f.Code, f.Retry}, name)
		require.NotEmpty(t, f.Hint, name)
	}
	require.Nil(t, journal.Ending{Outcome: journal.OK}.Fault(true))
}

// A text that was cut before it was redacted has no part of a secret, wherever it was cut, and however
// it was encoded.
func TestClippedSecretsAreInNothing(t *testing.T) {
	const secret = "q7Zk-2mXw9Lp/4tRb+8sNv" // of no known shape
	r, err := journal.NewRedactor(nil)
	require.NoError(t, err)
	r.Know(func() []string { return []string{secret} })
	all := encodings(secret)
	for _, name := range []string{"plain", "json", "query", "path", "hex", "base64 raw", "base64 url raw"} {
		encoded := all[name]
		for n := 4; n < len(encoded); n++ {
			for form, text := range map[string]string{
				"clipped": "the answer " + fault.Clip(encoded, n) + " is wrong", "quoted": strconv.Quote(fault.Clip(encoded, n)), "dots": encoded[:n] + "...",
				"the end": "the answer " + encoded[:n], "quoted end": "'" + encoded[:n] + "'",
			} {
				clean, _ := r.Text(text)
				for at := 0; at+11 <= n; at++ { // less of it says nothing
					require.NotContains(t, clean, encoded[at:at+11], "%s, %s, %d: %s", name, form, n, text)
				}
				if first := strings.Trim(encoded, `"`)[:4]; n >= 9 && strings.Contains(text, "…") { // with a quote
					require.NotContains(t, clean, first, "%s, %s, %d: %s", name, form, n, text)
				}
			}
		}
	}
	for _, text := range []string{
		"ghp_abcdEFGH1234…", "key sk-proj-abcdef…", "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiJhbm4…", "postgres://bob:hunter2long…", "-----BEGIN RSA PRIVATE KEY-----\nMIIabc…\" and more",
	} {
		clean, n := r.Text(text)
		require.Equal(t, 1, n, text)
		require.Contains(t, clean, journal.Redacted)
	}
	for _, text := range []string{
		"q7Zk-2m… and q7Zk of it", "aq7Zk-2mXw9…", "aq7Zk-2mXw9L", "wait…", "http://localhost:8080…", "a task-list…", "the skate…", "q7Zk-2mXw and more", "eyJ…",
	} {
		clean, n := r.Text(text)
		require.Zero(t, n, "%s: %s", text, clean)
	}
}

// What is the beginning of a value that is a word or a URL is no secret in other texts.
func TestBeginningsOfKnownValuesLeaveOtherTextsAlone(t *testing.T) {
	for value, texts := range map[string]struct{ kept, cut []string }{
		"production": {
			[]string{"in prod…", "in prod...", "the prod", `"product…"`, "reproducti…", "reproducti...", "preproductio"},
			[]string{"in producti…", "MODE=productio..."},
		},
		"https://api.example.com/v1/x": {
			[]string{`Get "https://api.example.com": dial tcp`, `Get "https://api.example.com/": dial tcp`, "https://api.exam…", "https://…", `{"url":"https:\/\/api.example.com"}`, "https%3A%2F%2Fapi.example.com…"},
			[]string{"https://api.example.com/v1…", `"https://api.example.com/v"`, "https%3A%2F%2Fapi.example.com%2Fv1…"},
		},
		"https://ann:hunter22@api.example.com/v1": {
			[]string{"https://…"},
			[]string{"https://ann:hun…", `"https://ann:hunter2"`, "https://ann:hunter22@api.example.com…"},
		},
	} {
		for _, text := range texts.kept {
			require.Equal(t, text, journal.RedactValues(text, []string{value}))
		}
		for _, text := range texts.cut {
			require.Contains(t, journal.RedactValues(text, []string{value}), journal.Redacted, text)
		}
	}
}
