package plugins_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/koan-go/koan/framework"
	"github.com/koan-go/koan/framework/koantest"
	"github.com/koan-go/koan/plugins/kit"
	"github.com/koan-go/koan/tests/fixture"
)

type counted struct {
	Most int `json:"most"` // calls that ran at the same time until now
}

// slow is a plugin whose function returns when a file lies beside it.
func slow() kit.Plugin {
	var running, most atomic.Int64
	wait := func(ctx context.Context, _ kit.Call, _ struct{}) (counted, error) {
		defer running.Add(-1)
		for now := running.Add(1); ; {
			if seen := most.Load(); seen >= now || most.CompareAndSwap(seen, now) {
				break
			}
		}
		for {
			if _, err := os.Stat(os.Args[0] + ".go"); err == nil {
				return counted{int(most.Load())}, nil
			}
			select {
			case <-time.After(20 * time.Millisecond):
			case <-ctx.Done():
				return counted{}, ctx.Err()
			}
		}
	}
	return kit.Plugin{
		Domain: "slow", Version: "1.0.0", Description: "Takes its time.",
		Functions: []kit.Function{kit.Func("wait", "Wait for a file.", wait, kit.ReadOnly())},
	}
}

// A plugin whose calls take long keeps nobody else of its caller waiting: neither by calls of
// REST nor by those of scripts.
func TestSlowPluginDelaysNobodyElse(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	self, err := os.Executable()
	require.NoError(t, err)
	require.NoError(t, os.Symlink(self, filepath.Join(dir, "slow")))
	const queueMax = 8
	k := koantest.New(t, fixture.App(), set("plugins.dir", dir), set("plugins.slow.maxParallel", "3"), set("server.queueMax", fmt.Sprint(queueMax)), set("sandbox.timeoutMs", "120000"))
	h, err := k.Instance().HTTPHandler(framework.HTTPOptions{})
	require.NoError(t, err)
	server := httptest.NewServer(h)
	defer server.Close()
	send := func(method, path, body string) (int, string) {
		req, err := http.NewRequestWithContext(t.Context(), method, server.URL+path, strings.NewReader(body))
		require.NoError(t, err)
		req.Header.Set("Content-Type", "application/json")
		answer, err := server.Client().Do(req)
		if err != nil {
			return 0, err.Error()
		}
		defer answer.Body.Close()
		text, _ := io.ReadAll(answer.Body)
		return answer.StatusCode, string(text)
	}
	var all sync.WaitGroup
	var answered atomic.Int64
	defer all.Wait()
	release := func() { _ = os.WriteFile(filepath.Join(dir, "slow.go"), nil, 0o600) }
	defer release()
	call := func(path, body string) {
		for range queueMax {
			all.Go(func() {
				for {
					status, text := send(http.MethodPost, path, body)
					switch {
					case status == http.StatusServiceUnavailable: // the others are on their way to the plugin
						time.Sleep(10 * time.Millisecond)
						continue
					case status != http.StatusOK || !strings.Contains(text, `"most":3`):
						t.Errorf("%d %s", status, text)
					}
					answered.Add(1)
					return
				}
			})
		}
		served := func() bool {
			status, _ := send(http.MethodGet, "/api/todo", "")
			return status == http.StatusOK
		}
		require.Eventually(t, served, 20*time.Second, 50*time.Millisecond)
	}
	call("/api/plugins/slow/wait", "{}")
	call("/tools/koan.code.execute", `{"code": "SDK.Out.answer(SDK.Slow.wait({}))"}`)
	waiting := func() int {
		_, text := send(http.MethodGet, "/status", "")
		return strings.Count(text, `"running":0`)
	}
	require.Eventually(t, func() bool { return waiting() > 0 }, 20*time.Second, 50*time.Millisecond, "nothing of them is in flight")
	require.Zero(t, answered.Load(), "all of them wait")
	release()
}
