package servers_test

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/mark3labs/mcp-go/client"
	"github.com/mark3labs/mcp-go/client/transport"
	"github.com/mark3labs/mcp-go/mcp"
	"github.com/stretchr/testify/require"

	"github.com/koan-go/koan/framework"
	"github.com/koan-go/koan/framework/koantest"
)

// everything is the command of npm's server-everything (make setup).
func everything(b *testing.B) []string {
	b.Helper()
	modules, err := filepath.Abs("../npm/node_modules")
	require.NoError(b, err)
	return []string{filepath.Join(modules, "node", "bin", "node"), filepath.Join(modules, "@modelcontextprotocol", "server-everything", "dist", "index.js"), "stdio"}
}

// tool is a tool of server-everything, and what it is called with.
type tool struct {
	name  string
	input map[string]any
}

var (
	echo = tool{"echo", map[string]any{"message": "hello"}}
	slow = tool{"trigger-long-running-operation", map[string]any{"duration": 0.1, "steps": 1}} // seconds
)

// direct returns how a tool is called without Koan, by the same client library.
func direct(b *testing.B, of tool) func() {
	b.Helper()
	command := everything(b)
	c := client.NewClient(transport.NewStdio(command[0], nil, command[1:]...))
	require.NoError(b, c.Start(b.Context()))
	b.Cleanup(func() { _ = c.Close() })
	_, err := c.Initialize(b.Context(), mcp.InitializeRequest{})
	require.NoError(b, err)
	var req mcp.CallToolRequest
	req.Params.Name, req.Params.Arguments = of.name, of.input
	return func() {
		got, err := c.CallTool(b.Context(), req)
		require.NoError(b, err)
		require.False(b, got.IsError)
	}
}

func gateway(b *testing.B) *koantest.Kit {
	b.Helper()
	command, err := json.Marshal(everything(b))
	require.NoError(b, err)
	kit := koantest.NewConfined(b, framework.App{Name: "gateway"},
		koantest.Setting{Key: "upstreams.everything.command", Value: string(command)},
		koantest.Setting{Key: "upstreams.everything.effects.*", Value: "read"},
		koantest.Setting{Key: "upstreams.everything.maxParallel", Value: "100"}, koantest.Setting{Key: "codeMode.maxParallelCalls", Value: "100"})
	kit.Run(`SDK.Servers.everything.echo({ message: "hello" })`, koantest.Input{})
	return kit
}

// quantile returns the q-th part of times, in ms.
func quantile(times []time.Duration, q float64) float64 {
	slices.Sort(times)
	return float64(times[int(q*float64(len(times)-1))].Microseconds()) / 1000
}

// BenchmarkUpstream makes calls of a real server by a script, and the same calls directly,
// in turns.
func BenchmarkUpstream(b *testing.B) {
	call, kit := direct(b, echo), gateway(b)
	for _, calls := range []int{1, 10, 100} {
		b.Run(fmt.Sprint(calls), func(b *testing.B) {
			code := fmt.Sprintf(`let last; for (let i = 0; i < %d; i++) last = SDK.Servers.everything.echo({ message: "hello" }); last`, calls)
			var own, raw []time.Duration
			for b.Loop() {
				start := time.Now()
				for range calls {
					call()
				}
				raw = append(raw, time.Since(start))
				start = time.Now()
				got := kit.Run(code, koantest.Input{})
				own = append(own, time.Since(start))
				require.JSONEq(b, `"Echo: hello"`, string(got.Result))
			}
			b.ReportMetric(quantile(own, 0.5), "p50-ms")
			b.ReportMetric(quantile(own, 0.95), "p95-ms")
			b.ReportMetric((quantile(own, 0.5)-1)/quantile(raw, 0.5), "ratio-less-1ms")
		})
	}
	b.Run("100 in parallel", func(b *testing.B) {
		parallel(b, kit, call, "echo({ message: 'hello' })")
	})
	b.Run("100 slow in parallel", func(b *testing.B) {
		parallel(b, kit, direct(b, slow), "trigger_long_running_operation({ duration: 0.1, steps: 1 })")
	})
}

// parallel makes 100 calls at once by a script, and directly, in turns.
func parallel(b *testing.B, kit *koantest.Kit, call func(), scripted string) {
	b.Helper()
	code := "import * as everything from '@codemode/servers/everything';\nconst all = await Promise.all(Array.from({ length: 100 }, () => everything." + scripted + "));\nglobalThis.result = all.length;"
	var own, raw []time.Duration
	for b.Loop() {
		start := time.Now()
		var direct sync.WaitGroup
		for range 100 {
			direct.Go(call)
		}
		direct.Wait()
		raw = append(raw, time.Since(start))
		start = time.Now()
		got := kit.Run(code, koantest.Input{})
		own = append(own, time.Since(start))
		require.JSONEq(b, "100", string(got.Result))
	}
	b.ReportMetric(quantile(own, 0.5), "p50-ms")
	b.ReportMetric(quantile(own, 0.95), "p95-ms")
	b.ReportMetric((quantile(own, 0.5)-1)/quantile(raw, 0.5), "ratio-less-1ms")
}
