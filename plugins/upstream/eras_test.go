package upstream_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"

	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"
	"github.com/stretchr/testify/require"

	"github.com/koan-go/koan/framework"
	"github.com/koan-go/koan/framework/koantest"
	"github.com/koan-go/koan/tests/fixture"
)

// One app calls the tools of another over Streamable HTTP, in the protocol of 2026-07-28.
func TestAppCallsAnotherApp(t *testing.T) {
	t.Parallel()
	handler, err := koantest.New(t, fixture.App(), koantest.Setting{Key: "exposure", Value: "tools"}, koantest.Setting{Key: "tools.style", Value: "perEntity"}).Instance().HTTPHandler(framework.HTTPOptions{})
	require.NoError(t, err)
	modern := atomic.Bool{}
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Mcp-Method") == "tools/call" && r.Header.Get("Mcp-Protocol-Version") == "2026-07-28" {
			modern.Store(true)
		}
		handler.ServeHTTP(w, r)
	}))
	t.Cleanup(s.Close)
	kit := koantest.New(t, framework.App{Name: "caller"}, koantest.Setting{Key: "upstreams.todos.url", Value: s.URL + "/mcp"})
	var got struct{ Title string }
	kit.Run(`SDK.Servers.todos.todo_upsert({ model: { title: "from afar" } })`, koantest.Input{}).ResultInto(&got)
	require.Equal(t, "from afar", got.Title)
	require.True(t, modern.Load())
}

func TestServerOverSSE(t *testing.T) {
	t.Parallel()
	m := server.NewMCPServer("old", "1")
	m.AddTool(mcp.NewTool("work"), server.ToolHandlerFunc(func(_ context.Context, _ mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		return mcp.NewToolResultText("done"), nil
	}))
	s := httptest.NewServer(server.NewSSEServer(m))
	t.Cleanup(s.Close)
	kit := koantest.New(t, framework.App{Name: "caller"}, koantest.Setting{Key: "upstreams.x.url", Value: s.URL + "/sse"}, koantest.Setting{Key: "upstreams.x.transport", Value: "sse"})
	require.JSONEq(t, `"done"`, string(kit.Run(`SDK.Servers.x.work({})`, koantest.Input{}).Result))
}
