package codemode

import (
	"bytes"
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/koan-go/koan/framework/exact"
)

// FuzzFingerprint: args that are the same JSON have the same fingerprint however
// they are written, and any that are other JSON have another.
func FuzzFingerprint(f *testing.F) {
	for _, seed := range []string{`{"a":1,"b":[2,null]}`, `[]`, `"x"`, `1e400`, `{"a":{"b":{"c":"\u0000"}}}`, `null`, `0`, `{"b":1,"a":2}`, `{"a":1,"a":2}`} {
		f.Add([]byte(seed), []byte(`{"a":1}`))
	}
	f.Fuzz(func(t *testing.T, one, two []byte) {
		if !json.Valid(one) || !json.Valid(two) {
			return
		}
		print := func(args []byte) string {
			e := &scriptRequest{in: executeInput{Code: "1", Args: args}}
			out, err := e.fingerprint()
			require.NoError(t, err)
			return out
		}
		var spaced bytes.Buffer
		require.NoError(t, json.Indent(&spaced, one, " ", "\t"))
		require.Equal(t, print(one), print(spaced.Bytes()))
		require.Equal(t, canonical(t, one) == canonical(t, two), print(one) == print(two))
		require.NotEqual(t, print(one), print(nil), "no args are not null")
	})
}

func canonical(t *testing.T, raw []byte) string {
	t.Helper()
	out, err := exact.Canonical(raw)
	require.NoError(t, err)
	return string(out)
}

// The same args are the same script under a key, however a client writes them.
func TestFingerprintComparesArgsAsJSON(t *testing.T) {
	print := func(args string) string {
		out, err := (&scriptRequest{in: executeInput{Code: "1", Args: json.RawMessage(args)}}).fingerprint()
		require.NoError(t, err)
		return out
	}
	first := print(`{"a":1,"b":{"c":[100,0.5]},"t":"é"}`)
	for _, args := range []string{
		`{"a":1.0,"b":{"c":[100,0.5]},"t":"é"}`, `{"b":{"c":[1e2,5E-1]},"t":"\u00e9","a":1}`, "{ \"a\" : 1 ,\n\"t\":\"é\",\"b\":{\"c\":[100.00,0.50]}}",
	} {
		require.Equal(t, first, print(args), args)
	}
	for _, args := range []string{`{"a":"1","b":{"c":[100,0.5]},"t":"é"}`, `{"a":1,"b":{"c":[0.5,100]},"t":"é"}`, `{"a":1.0000001,"b":{"c":[100,0.5]},"t":"é"}`, `{}`} {
		require.NotEqual(t, first, print(args), args)
	}
	require.NotEqual(t, print(`9007199254740993`), print(`9007199254740992`))
}
