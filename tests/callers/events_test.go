package callers

import (
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// A stream of changes ends with its token, and says so. Its token is issued as if 21 s ago, for
// one second: it is good for 10 s more, since clocks may differ by 30 s.
func TestExpiredTokensEndStreams(t *testing.T) {
	t.Parallel()
	address, _ := program(t, "issuer.mjs", "0", clients, `{"ttl":1,"age":21}`)
	id := &issued{t: t, url: address}
	s := serve(t, t.TempDir(), "--server.oauth.issuer", id.url)
	token := id.token("reader", s.url, "member:read")
	open := func() *http.Response {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, strings.TrimSuffix(s.url, "/mcp")+"/api/events?entity=Member", nil)
		require.NoError(t, err)
		r.Header.Set("Authorization", "Bearer "+token)
		client := http.Client{Timeout: time.Minute}
		resp, err := client.Do(r)
		require.NoError(t, err)
		t.Cleanup(func() { _ = resp.Body.Close() })
		return resp
	}
	stream := open()
	require.Equal(t, http.StatusOK, stream.StatusCode)
	said, err := io.ReadAll(stream.Body)
	require.NoError(t, err, "the server ends the stream")
	_, last, found := strings.Cut(string(said), "event: error\n")
	require.True(t, found, "%s", said)
	require.Contains(t, last, `"code":"unauthorized"`)
	require.Contains(t, last, "expired")
	require.Equal(t, http.StatusUnauthorized, open().StatusCode)
}
