package upstream_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"

	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"
	"github.com/stretchr/testify/require"

	"github.com/koan-go/koan/framework"
	"github.com/koan-go/koan/framework/koantest"
)

// Changes that a server over HTTP announces are there for the next run, in both eras of the
// protocol: over a stream that subscriptions/listen opens, and before 2026-07-28 over the
// stream that a second session listens to.
func TestListsChangeOverHTTP(t *testing.T) {
	t.Parallel()
	for name, modern := range map[string]bool{"2026-07-28": true, "before": false} {
		t.Run(name, func(t *testing.T) {
			m := server.NewMCPServer("changing", "1", server.WithToolCapabilities(true), server.WithPromptCapabilities(true))
			answer := func(context.Context, mcp.CallToolRequest) (*mcp.CallToolResult, error) {
				return mcp.NewToolResultText("done"), nil
			}
			prompt := func(context.Context, mcp.GetPromptRequest) (*mcp.GetPromptResult, error) {
				return mcp.NewGetPromptResult("", []mcp.PromptMessage{mcp.NewPromptMessage(mcp.RoleUser, mcp.NewTextContent("said"))}), nil
			}
			m.AddTool(mcp.NewTool("work"), answer)
			m.AddPrompt(mcp.NewPrompt("first"), prompt)
			handler := server.NewStreamableHTTPServer(m, server.WithStateful(true))
			var listened, streamed atomic.Bool
			s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				body, err := io.ReadAll(r.Body)
				if err != nil {
					return
				}
				var said message
				_ = json.Unmarshal(body, &said)
				switch {
				case r.Method == http.MethodGet:
					streamed.Store(true)
				case said.Method == "subscriptions/listen":
					listened.Store(true)
				case said.Method == "server/discover" && !modern:
					w.Header().Set("Content-Type", "application/json")
					fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"error":{"code":-32601,"message":"no such method"}}`, said.ID)
					return
				}
				r.Body = io.NopCloser(bytes.NewReader(body))
				handler.ServeHTTP(w, r)
			}))
			kit := koantest.New(t, framework.App{Name: "caller"}, koantest.Setting{Key: "upstreams.x.url", Value: s.URL})
			t.Cleanup(func() {
				s.CloseClientConnections() // streams end with the test only
				s.Close()
			})
			kit.Run(`SDK.Servers.x.work({})`, koantest.Input{})
			require.Eventually(t, func() bool { return listened.Load() == modern && streamed.Load() != modern }, timeout, tick)

			m.AddTool(mcp.NewTool("later"), answer)
			m.AddPrompt(mcp.NewPrompt("second"), prompt)
			require.Eventually(t, func() bool {
				return kit.Try(`[SDK.Servers.x.later({}), SDK.Servers.x.$prompts.get("second").messages.length]`, koantest.Input{}).Success
			}, timeout, tick)
			m.DeleteTools("later")
			require.Eventually(t, func() bool {
				return string(kit.Run(`typeof SDK.Servers.x.later`, koantest.Input{}).Result) == `"undefined"`
			}, timeout, tick)
		})
	}
}

// What changes after the tools were listed, and before the server says when they change, is there, too.
func TestListsThatChangeBeforeTheSubscription(t *testing.T) {
	t.Parallel()
	for name, modern := range map[string]bool{"2026-07-28": true, "before": false} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m := server.NewMCPServer("changing", "1", server.WithToolCapabilities(true))
			answer := func(context.Context, mcp.CallToolRequest) (*mcp.CallToolResult, error) {
				return mcp.NewToolResultText("done"), nil
			}
			m.AddTool(mcp.NewTool("work"), answer)
			handler := server.NewStreamableHTTPServer(m, server.WithStateful(true))
			listed, added := make(chan struct{}), make(chan struct{})
			s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				body, err := io.ReadAll(r.Body)
				if err != nil {
					return
				}
				var said message
				_ = json.Unmarshal(body, &said)
				r.Body = io.NopCloser(bytes.NewReader(body))
				switch {
				case r.Method == http.MethodGet, said.Method == "subscriptions/listen":
					<-listed
					m.AddTool(mcp.NewTool("later"), answer)
					close(added)
				case said.Method == "server/discover" && !modern:
					w.Header().Set("Content-Type", "application/json")
					fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"error":{"code":-32601,"message":"no such method"}}`, said.ID)
					return
				case said.Method == "tools/list":
					handler.ServeHTTP(w, r)
					select {
					case <-listed:
					default:
						close(listed)
					}
					return
				}
				handler.ServeHTTP(w, r)
			}))
			kit := koantest.New(t, framework.App{Name: "caller"}, koantest.Setting{Key: "upstreams.x.url", Value: s.URL})
			t.Cleanup(func() {
				s.CloseClientConnections()
				s.Close()
			})
			kit.Run(`SDK.Servers.x.work({})`, koantest.Input{})
			<-added
			require.Eventually(t, func() bool { return kit.Try(`SDK.Servers.x.later({})`, koantest.Input{}).Success }, timeout, tick)
		})
	}
}

// A change that a server has announced is listed before the next run that names the server, however
// slow it is to list its tools.
func TestAnnouncedChangesAreThereForTheNextRun(t *testing.T) {
	t.Parallel()
	for name, code := range map[string]string{
		"by its name":    `SDK.Servers.x.later({})`,
		"from a module":  `import { later } from "@codemode/servers/x"; globalThis.result = await later({})`,
		"by an argument": `SDK.Servers[SDK.args].later({})`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			kit := strange(t, "changes its list, and is slow to say how", nil)
			require.JSONEq(t, `"done"`, string(kit.Run(code, koantest.Input{Args: "x"}).Result))
		})
	}
}

// A server that announces a change and does not list it keeps no run from its work.
func TestAnnouncedChangesThatAreNotListedHoldNobodyUp(t *testing.T) {
	t.Parallel()
	kit := strange(t, "changes its list, and does not say how", map[string]string{"startMs": "2000"})
	for range 3 {
		require.JSONEq(t, `"done"`, string(kit.Run(callsWork, koantest.Input{}).Result))
	}
}
