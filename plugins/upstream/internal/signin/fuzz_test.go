package signin

import (
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestChallenges(t *testing.T) {
	t.Parallel()
	for line, want := range map[string]Challenge{
		`Bearer`: {Bearer: true},
		`Bearer realm="x", error="insufficient_scope", scope="a  b a", resource_metadata="https://x/y"`: {Bearer: true, Metadata: "https://x/y", Scopes: []string{"a", "b"}, Error: InsufficientScope},
		`bearer scope=a`: {Bearer: true, Scopes: []string{"a"}},
		`Basic realm="a, Bearer b", Bearer scope="c"`: {Bearer: true, Scopes: []string{"c"}},
		`Bearer scope="a; rm b` + "\x7f" + `"`:        {Bearer: true, Scopes: []string{"a;", "rm"}},
		`Basic realm="x"`:                             {},
		`Bearer scope="a`:                             {},
		``:                                            {},
	} {
		require.Equal(t, want, ParseChallenge(http.Header{"Www-Authenticate": {line}}), line)
	}
	both := http.Header{"Www-Authenticate": {`Bearer scope="broken`, `Bearer scope="a"`, `Bearer scope="b"`}}
	require.Equal(t, []string{"a"}, ParseChallenge(both).Scopes)
}

func FuzzParseChallenge(f *testing.F) {
	f.Add(`Bearer realm="x", error="insufficient_scope", scope="a b", resource_metadata="https://x/y"`)
	f.Add(`Negotiate abc==, Bearer scope=a`)
	f.Add(`Basic realm="\"", Bearer`)
	f.Fuzz(func(t *testing.T, line string) {
		c := ParseChallenge(http.Header{"Www-Authenticate": {line}})
		if len(c.Scopes) > maxScopes {
			t.Fatal("too many scopes")
		}
		for _, s := range c.Scopes {
			if !ValidScope(s) {
				t.Fatalf("%q is no scope", s)
			}
		}
	})
}

// FuzzRedirect: no address without the state gives a code, and none with it and another
// issuer.
func FuzzRedirect(f *testing.F) {
	f.Add("http://127.0.0.1:1/callback?code=c&state=right&iss=https://id.example.org")
	f.Add("/callback?code=c&state=wrong&state=right")
	f.Add("?error=a&error_description=%00&state=right")
	e := &expected{state: "right", issuer: "https://id.example.org", always: true}
	f.Fuzz(func(t *testing.T, address string) {
		q := pastedQuery(address)
		a, ok := e.read(q)
		if !ok && (a.code != "" || a.err != nil) {
			t.Fatal("an ignored redirect says something")
		}
		if a.code != "" && (a.err != nil || len(q["state"]) != 1 || q.Get("state") != e.state || q.Get("iss") != e.issuer) {
			t.Fatalf("%q gave a code", address)
		}
	})
}

func FuzzSignInFile(f *testing.F) {
	f.Add([]byte(`{"format":1,"user":"ann","sealed":"AAAA"}`))
	f.Add([]byte(`[]`))
	f.Fuzz(func(t *testing.T, raw []byte) {
		if file, err := decodeFile(raw); err == nil && file.Format != fileFormat {
			t.Fatal("another format was read")
		}
	})
}
