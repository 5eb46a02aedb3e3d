package servers_test

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/tiktoken-go/tokenizer"

	"github.com/koan-go/koan/framework/auth"
	"github.com/koan-go/koan/framework/exposure"
	"github.com/koan-go/koan/framework/koantest"
	"github.com/koan-go/koan/tests/servers"
)

// thousand are servers with 1,000 tools: all that there are, and some of them twice.
func thousand(t testing.TB) []servers.Server {
	t.Helper()
	out := servers.All(t)
	tools := 0
	for _, s := range out {
		tools += len(s.Tools)
	}
	for _, s := range servers.All(t) {
		if tools >= 1000 {
			return out
		}
		s.ID += "-again"
		out, tools = append(out, s), tools+len(s.Tools)
	}
	require.Fail(t, "there are too few tools")
	return nil
}

// However many tools there are, a client's model reads few tokens before its first call.
func TestDefinitionsOfThousandTools(t *testing.T) {
	v := upstreams(t, thousand(t))
	require.GreaterOrEqual(t, len(v.Script()), 1000)
	codec, err := tokenizer.Get(tokenizer.O200kBase)
	require.NoError(t, err)
	listed := v.Snapshot().View(auth.Local(), exposure.Code, false)
	n, err := codec.Count(string(koantest.Tools(listed, "auto")))
	require.NoError(t, err)
	require.Less(t, n, 1500)
	require.Greater(t, n, 200, "the tools of code mode are listed")
}

func BenchmarkThousandToolsSearch(b *testing.B) {
	v := upstreams(b, thousand(b))
	v.Search("anything", 10) // makes the index
	n := 0
	for b.Loop() {
		require.NotEmpty(b, v.Search(requests.Tuned[n%len(requests.Tuned)].Says, 10))
		n++
	}
	b.ReportMetric(float64(b.Elapsed().Microseconds())/1000/float64(n), "ms")
}

// BenchmarkThousandToolsStart starts the binary (make build) as a client does, when the lists of
// its servers are on the disk, up to its answer to tools/list.
func BenchmarkThousandToolsStart(b *testing.B) {
	binary, err := filepath.Abs("../../bin/koan")
	require.NoError(b, err)
	which := thousand(b)
	config := map[string]any{}
	home := b.TempDir()
	for i, setting := range servers.Listen(b, which) {
		config[which[i].ID] = map[string]any{"type": "http", "url": setting.Value}
	}
	text, err := json.Marshal(map[string]any{"mcpServers": config})
	require.NoError(b, err)
	file := filepath.Join(home, "mcp.json")
	require.NoError(b, os.WriteFile(file, text, 0o600))
	start := func(wait func()) time.Duration {
		cmd := exec.Command(binary, "gateway", "--mcp-config", file, "--log.level", "error")
		cmd.Env = append(os.Environ(), "HOME="+home, "XDG_CACHE_HOME="+home+"/cache", "XDG_DATA_HOME="+home+"/data", "XDG_STATE_HOME="+home+"/state")
		in, err := cmd.StdinPipe()
		require.NoError(b, err)
		out, err := cmd.StdoutPipe()
		require.NoError(b, err)
		begun := time.Now()
		require.NoError(b, cmd.Start())
		answers := bufio.NewReaderSize(out, 1<<20)
		fmt.Fprintln(in, `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"bench","version":"1"}}}`)
		_, err = answers.ReadString('\n')
		require.NoError(b, err)
		fmt.Fprintln(in, `{"jsonrpc":"2.0","method":"notifications/initialized"}`)
		fmt.Fprintln(in, `{"jsonrpc":"2.0","id":2,"method":"tools/list"}`)
		_, err = answers.ReadString('\n')
		require.NoError(b, err)
		took := time.Since(begun)
		wait()
		require.NoError(b, in.Close())
		require.NoError(b, cmd.Wait())
		return took
	}
	start(func() { // lists the servers
		require.Eventually(b, func() bool {
			kept, _ := filepath.Glob(home + "/cache/koan/*/upstreams/*")
			return len(kept) >= len(which)
		}, time.Minute, 50*time.Millisecond)
	})
	var all []time.Duration
	for b.Loop() {
		all = append(all, start(func() {}))
	}
	b.ReportMetric(quantile(all, 0.5), "p50-ms")
}
