package bearer

import (
	"crypto/sha256"
	"encoding/hex"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/koan-go/koan/framework/auth"
)

func digest(token string) string {
	d := sha256.Sum256([]byte(token))
	return hex.EncodeToString(d[:])
}

func TestTokens(t *testing.T) {
	path := filepath.Join(t.TempDir(), "tokens.yaml")
	require.NoError(t, os.WriteFile(path, []byte("tokens:\n  - {subject: ci, sha256: "+digest("one")+", scopes: [todo.read], sets: [default]}\n  - {subject: ann, sha256: "+digest("two")+", scopes: ['*'], sets: ['*']}\n"), 0o600))
	tokens, err := Load(path)
	require.NoError(t, err)
	p, ok := tokens.Principal("one")
	require.True(t, ok)
	require.Equal(t, auth.Principal{Subject: "ci", Scopes: []string{"todo.read"}, Sets: []string{"default"}}, p)
	p, ok = tokens.Principal("two")
	require.True(t, ok)
	require.Equal(t, "ann", p.Subject)
	p, ok = tokens.Principal("three")
	require.False(t, ok)
	require.Zero(t, p)
	require.True(t, tokens.Has("ann"))
	require.False(t, tokens.Has("an"))
}

func TestBrokenFiles(t *testing.T) {
	for name, text := range map[string]string{
		"empty": "", "none": "tokens: []\n", "no subject": "tokens: [{sha256: " + digest("x") + "}]", "short": "tokens: [{subject: a, sha256: abc}]",
		"twice":         "tokens: [{subject: a, sha256: " + digest("x") + "}, {subject: b, sha256: " + digest("x") + "}]",
		"another field": "tokens: [{subject: a, token: secret}]", "a bare token": "tokens: secret", "a list": "[secret]", "no yaml": "tokens: [",
	} {
		t.Run(name, func(t *testing.T) {
			_, err := parse([]byte(text))
			require.Error(t, err)
			require.NotContains(t, err.Error(), "secret")
			require.NotContains(t, err.Error(), "struct")
		})
	}
	_, err := Load(filepath.Join(t.TempDir(), "none.yaml"))
	require.Error(t, err)
}

func FuzzTokens(f *testing.F) {
	f.Add("tokens: [{subject: a, sha256: " + digest("x") + ", scopes: ['*']}]")
	f.Add("tokens:\n- &a {subject: *a}")
	f.Fuzz(func(t *testing.T, text string) {
		tokens, err := parse([]byte(text))
		if err == nil && len(tokens.entries) == 0 {
			t.Fatal("nobody could ever call")
		}
	})
}
