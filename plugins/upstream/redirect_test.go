package upstream

import (
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"
)

// A redirect stays on the configured server, with its scheme.
func TestRedirectsStay(t *testing.T) {
	for from, c := range map[string]struct{ to, want string }{
		"https://a.example/sse":      {"http://a.example/sse/", "https://a.example/sse/"},
		"https://a.example:8443/sse": {"http://a.example:8443/sse/", "https://a.example:8443/sse/"},
		"https://a.example/mcp":      {"http://a.example:80/mcp/", "https://a.example/mcp/"},
		"https://a.example/x":        {"http://b.example/x/", ""},
		"https://a.example/y":        {"http://a.example:8000/y/", ""},
		"https://a.example/z":        {"https://a.example.evil/z/", ""},
		"http://a.example/sse":       {"https://a.example/sse", ""},
		"http://a.example/mcp":       {"http://a.example/mcp/", "http://a.example/mcp/"},
	} {
		first, err := http.NewRequest(http.MethodPost, from, nil)
		require.NoError(t, err)
		to, err := http.NewRequest(http.MethodPost, c.to, nil)
		require.NoError(t, err)
		if err = checkRedirect(to, []*http.Request{first}); c.want == "" {
			require.ErrorContains(t, err, "it redirects to another server")
			continue
		}
		require.NoError(t, err)
		require.Equal(t, c.want, to.URL.String())
	}
}
