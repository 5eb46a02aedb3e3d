package codemode

import (
	"bytes"
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"
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
			e := &execution{in: executeInput{Code: "1", Args: args}}
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
	var v any
	d := json.NewDecoder(bytes.NewReader(raw))
	d.UseNumber()
	require.NoError(t, d.Decode(&v))
	out, err := json.Marshal(v)
	require.NoError(t, err)
	return string(out)
}
