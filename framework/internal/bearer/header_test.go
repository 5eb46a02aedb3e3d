package bearer

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/koan-go/koan/framework/fault"
)

func with(header ...string) *http.Request {
	r := httptest.NewRequest(http.MethodPost, "/mcp", nil)
	r.Header["Authorization"] = header
	return r
}

func TestTokenOfARequest(t *testing.T) {
	for _, header := range []string{"Bearer abc", "bearer abc", "BEARER  abc ", "Bearer abc\t"} {
		token, err := Token(with(header))
		require.NoError(t, err, header)
		require.Equal(t, "abc", token)
	}
	const none, broken = `Bearer realm="koan"`, `Bearer realm="koan", error="invalid_request"`
	for name, c := range map[string]struct {
		challenge string
		header    []string
	}{
		"no header": {none, nil}, "another scheme": {broken, []string{"Basic b25lOnR3bw=="}}, "no token": {broken, []string{"Bearer "}},
		"no scheme": {broken, []string{"abc"}}, "two headers": {broken, []string{"Bearer a", "Bearer b"}}, "two tokens": {broken, []string{"Bearer a b"}},
		"control characters": {broken, []string{"Bearer a\x00b"}}, "no ASCII": {broken, []string{"Bearer ä"}}, "empty": {broken, []string{""}},
	} {
		t.Run(name, func(t *testing.T) {
			token, err := Token(with(c.header...))
			require.Empty(t, token)
			require.Equal(t, fault.Unauthorized, fault.CodeOf(err))
			var refused Refused
			require.ErrorAs(t, err, &refused)
			require.Equal(t, c.challenge, refused.Challenge())
		})
	}
}

func TestChallenge(t *testing.T) {
	c := Challenge{Error: InsufficientScope, Description: "a \"b\"\r\nX: y\\", Scopes: []string{"todo.read", "todo.write"}, Metadata: "https://a.example/x"}
	require.Equal(t, `Bearer realm="koan", error="insufficient_scope", error_description="a 'b'''X: y'", scope="todo.read todo.write", resource_metadata="https://a.example/x"`, c.String())
}

func FuzzToken(f *testing.F) {
	for _, seed := range []string{"Bearer abc", "bearer  a.b.c", "Basic x", "Bearer", "Bearer \x00", " Bearer x", "Bearer a,b", ""} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, header string) {
		token, err := Token(with(header))
		if (err == nil) == (token == "") {
			t.Fatalf("%q: token %q, error %v", header, token, err)
		}
		if strings.ContainsAny(token, " \t\r\n\x00") || !strings.Contains(header, token) {
			t.Fatalf("%q gave %q", header, token)
		}
	})
}
