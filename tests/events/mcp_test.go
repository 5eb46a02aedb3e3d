package events

import (
	"bufio"
	"encoding/json"
	"net/http"
	"os/exec"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/koan-go/koan/tests/needs"
	"github.com/koan-go/koan/tests/pgtest"
)

// Clients of MCP in both eras that subscribe to the entities of one kind are notified of what
// another server commits, and of nothing else.
func TestSubscribersOfRows(t *testing.T) {
	if pgtest.ForEach(t, TestSubscribersOfRows) {
		return
	}
	needs.Node(t)
	t.Parallel()
	at := place(t)
	one, two := process(t, "fixture", at), process(t, "fixture", at)

	cmd := exec.CommandContext(t.Context(), "node", "../npm/subscribe.mjs", two.url+"/mcp", "koan://entities/Todo")
	in, err := cmd.StdinPipe()
	require.NoError(t, err)
	out, err := cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	t.Cleanup(func() { _ = in.Close(); _ = cmd.Wait() })
	client := bufio.NewReader(out)
	items := func() int {
		t.Helper()
		line, err := client.ReadString('\n')
		require.NoError(t, err)
		var got struct {
			URI   string
			Items int
		}
		require.NoError(t, json.Unmarshal([]byte(line), &got), line)
		require.Equal(t, "koan://entities/Todo", got.URI)
		return got.Items
	}
	require.Equal(t, 1, items())

	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, two.url+"/mcp", strings.NewReader(
		`{"jsonrpc":"2.0","id":1,"method":"subscriptions/listen","params":{"notifications":{"resourceSubscriptions":["koan://entities/Todo","koan://entities/Nothing"]},"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}}}`))
	require.NoError(t, err)
	for name, value := range map[string]string{"Content-Type": "application/json", "Accept": "application/json, text/event-stream", "Mcp-Protocol-Version": "2026-07-28", "Mcp-Method": "subscriptions/listen"} {
		r.Header.Set(name, value)
	}
	resp, err := http.DefaultTransport.RoundTrip(r)
	require.NoError(t, err)
	defer resp.Body.Close()
	require.Equal(t, http.StatusOK, resp.StatusCode)
	stream := bufio.NewReader(resp.Body)
	notified := func() string {
		t.Helper()
		for {
			line, err := stream.ReadString('\n')
			require.NoError(t, err)
			if data, ok := strings.CutPrefix(line, "data: "); ok && strings.Contains(data, "notifications/") {
				return data
			}
		}
	}
	granted := notified()
	require.Contains(t, granted, "koan://entities/Todo")
	require.NotContains(t, granted, "Nothing")

	one.do(http.StatusCreated, "POST", "/api/label", `{"name":"none of their business"}`)
	one.do(http.StatusCreated, "POST", "/api/todo?set=archive", `{"title":"nor is another set"}`)
	one.do(http.StatusCreated, "POST", "/api/todo", `{"title":"x"}`)
	require.Equal(t, 2, items())
	require.Contains(t, notified(), `"uri":"koan://entities/Todo"`)
	one.do(http.StatusCreated, "POST", "/api/todo", `{"title":"y"}`)
	require.Equal(t, 3, items())
	require.Contains(t, notified(), `"uri":"koan://entities/Todo"`)
}
