package mcpserver_test

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/mark3labs/mcp-go/client"
	"github.com/mark3labs/mcp-go/client/transport"
	"github.com/mark3labs/mcp-go/mcp"
	"github.com/stretchr/testify/require"

	"github.com/koan-go/koan/framework/auth"
	"github.com/koan-go/koan/framework/fault"
	"github.com/koan-go/koan/framework/internal/mcpserver"
)

// serveEnv makes the test's own binary a server over its real stdio.
const serveEnv = "KOAN_TEST_SERVE_STDIO"

func TestMain(m *testing.M) {
	if os.Getenv(serveEnv) == "" {
		os.Exit(m.Run())
	}
	s, err := mcpserver.New(options(serving{}, newGarden()))
	if err == nil {
		err = s.ServeStdio(context.Background(), os.Stdin, os.Stdout)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(0)
}

// serving stands in for a test where there is none.
type serving struct{ testing.TB }

func (serving) Helper() {}
func (serving) Errorf(format string, args ...any) {
	fmt.Fprintf(os.Stderr, format+"\n", args...)
}
func (serving) FailNow() { os.Exit(1) }

// eras are the ways to connect that the library's client has.
var eras = map[string]client.ClientOption{
	"2026-07-28": client.WithProtocolVersion(mcp.ProtocolVersion20260728),
	"2025-11-25": client.WithProtocolVersion(mcp.ProtocolVersion20251125),
	"2024-11-05": client.WithProtocolVersion(mcp.ProtocolVersion20241105),
}

func TestMCPGoClient(t *testing.T) {
	exe, err := os.Executable()
	require.NoError(t, err)
	s, err := mcpserver.New(options(t, newGarden()))
	require.NoError(t, err)
	for way, connect := range map[string]func() transport.Interface{
		"stdio": func() transport.Interface {
			return transport.NewStdioWithOptions(exe, []string{serveEnv + "=1"}, nil)
		},
		"in process": func() transport.Interface {
			c := s.Connect(t.Context(), auth.Local())
			return transport.NewIO(c, c, io.NopCloser(strings.NewReader("")))
		},
	} {
		t.Run(way, func(t *testing.T) { theLibrarysClient(t, connect) })
	}
}

func theLibrarysClient(t *testing.T, connect func() transport.Interface) {
	t.Helper()
	for era, option := range eras {
		t.Run(era, func(t *testing.T) {
			ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
			defer cancel()
			c := client.NewClient(connect(), option)
			require.NoError(t, c.Start(ctx))
			defer func() { _ = c.Close() }()
			var hello mcp.InitializeRequest
			hello.Params.ProtocolVersion = era
			hello.Params.ClientInfo = mcp.Implementation{Name: "test", Version: "1"}
			hello.Params.Capabilities.Experimental = map[string]any{"koan": map[string]any{"codeMode": false}}
			_, err := c.Initialize(ctx, hello)
			require.NoError(t, err)

			var mu sync.Mutex
			var steps []float64
			c.OnNotification(func(n mcp.JSONRPCNotification) {
				mu.Lock()
				defer mu.Unlock()
				if p, ok := n.Params.AdditionalFields["progress"].(float64); ok {
					steps = append(steps, p)
				}
			})
			list, err := c.ListTools(ctx, mcp.ListToolsRequest{})
			require.NoError(t, err)
			listed := []string{}
			for _, tool := range list.Tools {
				listed = append(listed, tool.Name)
			}
			require.Equal(t, join(always, plants, labTools), listed, "the client said no to code mode")

			var call mcp.CallToolRequest
			call.Params.Name, call.Params.Arguments = "plant.get-by-id", map[string]any{"id": "p1"}
			got, err := c.CallTool(ctx, call)
			require.NoError(t, err)
			require.False(t, got.IsError)
			call.Params.Arguments = map[string]any{"id": "p9"}
			got, err = c.CallTool(ctx, call)
			require.NoError(t, err)
			require.True(t, got.IsError)

			call.Params.Name, call.Params.Arguments = "lab.steps", nil
			call.Params.Meta = &mcp.Meta{ProgressToken: "p"}
			_, err = c.CallTool(ctx, call)
			require.NoError(t, err)
			mu.Lock()
			require.NotEmpty(t, steps)
			require.IsIncreasing(t, steps)
			mu.Unlock()

			read := mcp.ReadResourceRequest{}
			read.Params.URI = "koan://sdk/koan.d.ts"
			doc, err := c.ReadResource(ctx, read)
			require.NoError(t, err)
			require.Len(t, doc.Contents, 1)
		})
	}
}

// TestInProcessConnection has the rights of its caller, and leaves nothing behind.
func TestInProcessConnection(t *testing.T) {
	g := newGarden()
	s, err := mcpserver.New(options(t, g))
	require.NoError(t, err)
	guest, local := s.Connect(t.Context(), auth.Principal{Subject: "guest"}), s.Connect(t.Context(), auth.Local())
	ask := func(c io.ReadWriter, line string) reply {
		_, err := io.WriteString(c, line+"\n")
		require.NoError(t, err)
		answer, err := bufio.NewReader(c).ReadBytes('\n')
		require.NoError(t, err)
		return decode(t, answer)
	}
	require.EqualValues(t, fault.ToolNotFound, ask(guest, callLine("1", "plant.get-by-id", `{"id":"p1"}`)).Error.Data.Code, "it may name no set")
	require.False(t, ask(local, callLine("1", "plant.get-by-id", `{"id":"p1"}`)).tool(t).IsError)
	_, err = io.WriteString(local, callLine("2", "lab.slow", `{}`)+"\n")
	require.NoError(t, err)
	<-g.started
	require.NoError(t, local.Close())
	require.Error(t, <-g.stopped, "what ran is cancelled before Close returns")
	_, err = local.Write([]byte("{}\n"))
	require.Error(t, err)
	_, err = local.Read(make([]byte, 1))
	require.ErrorIs(t, err, io.EOF)
	require.NoError(t, local.Close(), "twice")

	ctx, cancel := context.WithCancel(t.Context())
	brief := s.Connect(ctx, auth.Local())
	cancel()
	rest, err := io.ReadAll(brief)
	require.NoError(t, err)
	require.Empty(t, rest)
	require.Equal(t, fault.ToolNotFound, ask(guest, callLine("3", "koan.code.execute", `{"code":"{}"}`)).tool(t).failure(t).Error.Code, "others go on")
	require.NoError(t, guest.Close())
}
