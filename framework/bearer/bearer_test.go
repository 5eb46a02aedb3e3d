package bearer

import (
	"crypto/sha256"
	"encoding/hex"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/koan-go/koan/framework/auth"
	"github.com/koan-go/koan/framework/fault"
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
	ask := func(header ...string) (auth.Principal, error) {
		r := httptest.NewRequest(http.MethodPost, "/mcp", nil)
		for _, h := range header {
			r.Header.Add("Authorization", h)
		}
		return tokens.Authenticate(r)
	}
	p, err := ask("Bearer one")
	require.NoError(t, err)
	require.Equal(t, auth.Principal{Subject: "ci", Scopes: []string{"todo.read"}, Sets: []string{"default"}}, p)
	p, err = ask("bearer two")
	require.NoError(t, err)
	require.Equal(t, "ann", p.Subject)
	for challenge, header := range map[string][]string{
		`Bearer realm="koan"`:                          nil,
		`Bearer realm="koan", error="invalid_token"`:   {"Bearer three"},
		`Bearer realm="koan", error="invalid_request"`: {"Basic b25lOnR3bw=="},
	} {
		p, err := ask(header...)
		require.Zero(t, p)
		require.Equal(t, fault.Unauthorized, fault.CodeOf(err))
		var c interface{ Challenge() string }
		require.ErrorAs(t, err, &c)
		require.Equal(t, challenge, c.Challenge())
	}
	_, err = ask("Bearer one", "Bearer two")
	require.Error(t, err)
	_, err = ask("Bearer ")
	require.Error(t, err)
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
