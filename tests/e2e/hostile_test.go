package e2e

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// hostileCPU is the CPU limit of the hostile scripts' server, in milliseconds;
// hostileWall the wall limit.
const (
	hostileCPU  = "500"
	hostileWall = 2 * time.Second
)

// TestHostileScripts runs every script of the corpus through a whole server.
// Whatever the outcome: the server survives, the answer comes within the deadline
// plus 250 ms, the next script runs as if nothing had happened, and no process is
// left over.
func TestHostileScripts(t *testing.T) {
	files, err := filepath.Glob("../../codemode/internal/sandbox/testdata/hostile/*.js")
	require.NoError(t, err)
	require.GreaterOrEqual(t, len(files), 44)
	p := newApp(t).serve("--sandbox.cpuMs", hostileCPU, "--sandbox.timeoutMs", "2000")
	p.execute("1")                        // the first worker is warm
	t.Run("scripts", func(t *testing.T) { // two at once take each other none of its time
		for _, file := range files {
			t.Run(strings.TrimSuffix(filepath.Base(file), ".js"), func(t *testing.T) {
				t.Parallel()
				hostile(t, p, file)
			})
		}
	})
	children := processesUnder(t, p.cmd.Process.Pid)
	p.close()
	for _, pid := range children {
		_, err := os.Stat(filepath.Join("/proc", pid))
		require.ErrorIs(t, err, os.ErrNotExist, "process %s is left over", pid)
	}
}

// hostile runs a script of the corpus and, after it, a harmless one.
func hostile(t *testing.T, p *peer, file string) {
	t.Helper()
	raw, err := os.ReadFile(file)
	require.NoError(t, err)
	_, expect, ok := strings.Cut(strings.SplitN(string(raw), "\n", 3)[1], "// expect: ")
	require.True(t, ok)
	begun := time.Now()
	r := p.tool("koan.code.execute", input{"code": string(raw)})
	took := time.Since(begun)
	outcome := "ok"
	if r.IsError {
		var body struct{ Error struct{ Code string } }
		require.NoError(t, json.Unmarshal(r.Structured, &body))
		outcome = body.Error.Code
	}
	require.Contains(t, strings.Split(expect, " | "), outcome, string(r.Structured))
	require.Less(t, took, hostileWall+250*time.Millisecond)
	var meta struct {
		Metrics struct{ PeakMemoryBytes int64 }
	}
	require.NoError(t, json.Unmarshal(r.Meta["dev.koan/run"], &meta))
	require.Less(t, meta.Metrics.PeakMemoryBytes, int64(2*64<<20), "resident memory under twice the cap")
	require.EqualValues(t, 1, p.execute("SDK.Entities.Todo.count()").Result, "the next script runs as if nothing had happened")
}

// processesUnder lists the direct children of a process.
func processesUnder(t *testing.T, pid int) []string {
	t.Helper()
	stats, err := filepath.Glob("/proc/[0-9]*/stat")
	require.NoError(t, err)
	var out []string
	for _, stat := range stats {
		raw, err := os.ReadFile(stat)
		if err != nil {
			continue // it ended in between
		}
		text := string(raw)
		fields := strings.Fields(text[strings.LastIndex(text, ")")+1:])
		if len(fields) > 1 && fields[1] == strconv.Itoa(pid) {
			out = append(out, filepath.Base(filepath.Dir(stat)))
		}
	}
	return out
}
