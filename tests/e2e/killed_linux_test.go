package e2e

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/koan-go/koan/framework/fault"
)

const sleepOutside = `SDK.Nap.elsewhere({ms: 20000})`

// killOne kills a process that a server started, once it is there: the plugin, or the workers.
func killOne(t *testing.T, server int, which string) {
	t.Helper()
	found := func() []string {
		if which == "plugin" {
			return slices.DeleteFunc(childrenOf(t, server), func(pid string) bool { return !strings.Contains(commandLine(pid), "/"+napDomain) })
		}
		return workersOf(t, server)
	}
	require.Eventually(t, func() bool { return len(found()) > 0 }, 20*time.Second, 100*time.Millisecond)
	time.Sleep(2 * time.Second) // the call, of twenty, is under way
	for _, pid := range found() {
		n, err := strconv.Atoi(pid)
		require.NoError(t, err)
		require.NoError(t, syscall.Kill(n, syscall.SIGKILL))
	}
}

// failureIn is the failure in a result, and whether the run says what it has done outside.
func failureIn(t *testing.T, raw []byte) (f executionFailure, effects int) {
	t.Helper()
	var out struct {
		Error          executionFailure
		OutsideEffects []any
		executionFailure
	}
	require.NoError(t, json.Unmarshal(raw, &out), "%s", raw)
	if out.Error.Code == "" {
		out.Error = out.executionFailure // a problem of REST
	}
	return out.Error, len(out.OutsideEffects)
}

// Whatever is killed during a call that may have had an effect outside, no face says that the run
// may be repeated, and none that the script exceeded a limit.
func TestKilledDuringAnOutsideCall(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, "doze.js"), []byte(`
		export const action = { description: "Sleeps elsewhere." };
		export default () => `+sleepOutside+`;`), 0o600))
	for _, which := range []string{"plugin", "worker"} {
		code := map[string]fault.Code{"plugin": fault.OutcomeUnknown, "worker": fault.ExecutionError}[which]
		check := func(t *testing.T, raw []byte) {
			t.Helper()
			f, _ := failureIn(t, raw)
			require.Equal(t, string(code), f.Code, "%s", raw)
			require.Equal(t, string(fault.Never), f.Retry, "%s", raw)
			require.Contains(t, f.Hint, "outside")
		}
		t.Run(which, func(t *testing.T) {
			t.Parallel()
			p := withNap(t).serve()
			if which == "plugin" {
				_, answer := p.post("tools/call", input{"name": "nap.elsewhere", "arguments": input{"ms": 20000}})
				killOne(t, p.cmd.Process.Pid, which)
				var r toolResult
				require.NoError(t, json.Unmarshal(p.wait(answer).Result, &r))
				check(t, r.Structured)
			}
			_, answer := p.post("tools/call", input{"name": "koan.code.execute", "arguments": input{"code": sleepOutside}})
			killOne(t, p.cmd.Process.Pid, which)
			var r toolResult
			require.NoError(t, json.Unmarshal(p.wait(answer).Result, &r))
			check(t, r.Structured)
			_, effects := failureIn(t, r.Structured)
			require.Equal(t, 1, effects, "%s", r.Structured)
			require.EqualValues(t, 1, p.execute("1").Result, "the next script runs as if nothing had happened")

			w := withNap(t).web("--actions.dir", dir)
			replied := make(chan []byte, 1)
			go func() {
				resp, err := http.Post(strings.TrimSuffix(w.url, "/mcp")+"/api/actions/doze", "application/json", strings.NewReader("{}"))
				if err == nil {
					raw, _ := io.ReadAll(resp.Body)
					_ = resp.Body.Close()
					replied <- raw
				}
				close(replied)
			}()
			killOne(t, w.cmd.Process.Pid, which)
			check(t, <-replied)

			a := withNap(t)
			cmd := a.command(context.Background(), "run", "-")
			cmd.Stdin = strings.NewReader(sleepOutside)
			out, err := cmd.StdoutPipe()
			require.NoError(t, err)
			require.NoError(t, cmd.Start())
			killOne(t, cmd.Process.Pid, which)
			raw, err := io.ReadAll(out)
			require.NoError(t, err)
			require.Error(t, cmd.Wait())
			var line struct {
				Code, Retry string
				Retryable   bool
			}
			require.NoError(t, json.Unmarshal(raw, &line), "%s", raw)
			require.False(t, line.Retryable, "%s", raw)
			require.NotContains(t, string(raw), `"safe"`)
			require.NotContains(t, string(raw), string(fault.MemoryExceeded))
		})
	}
	t.Run("server", func(t *testing.T) {
		t.Parallel()
		a := withNap(t)
		a.env = append(a.env, shortLease)
		p := a.raw()
		running := p.begin(input{"code": sleepOutside})
		time.Sleep(time.Second) // until the call is under way, and the journal has the run
		require.NoError(t, p.cmd.Process.Kill())
		<-p.done
		p = a.raw()
		var cut task
		require.Eventually(t, func() bool {
			m := p.call("tasks/get", input{"taskId": running.TaskID, "_meta": modernMeta(takesTasks)})
			return m.Error == nil && json.Unmarshal(m.Result, &cut) == nil
		}, 20*time.Second, 100*time.Millisecond)
		f, _ := failureIn(t, cut.Result.StructuredContent)
		require.Equal(t, string(fault.Cancelled), f.Code, "%s", cut.Result.StructuredContent)
		require.Equal(t, string(fault.Never), f.Retry, "%s", cut.Result.StructuredContent)
	})
}
