package codemode_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/koan-go/koan/codemode/worker"
)

// A script that is stopped for another attempt leaves its worker sound: the next
// attempt has the same one, which has compiled the script already.
func TestNextAttemptHasTheSameWorker(t *testing.T) {
	h := newHouse(t, map[string]any{"confined": true})
	require.NoError(t, h.run("1").err)
	require.Eventually(t, func() bool { return len(processes(t)) == 3 }, 10*time.Second, 10*time.Millisecond, "the caller's, and two for other callers")
	for name, c := range map[string]struct{ imports, call string }{
		"call":           {"", `SDK.Entities.Note.upsert({ id: "n", text: "x" })`},
		"call in flight": {`import * as koan from "@codemode/servers/koan";`, `await koan.note_upsert({ model: { id: "n", text: "x" } })`},
	} {
		t.Run(name, func(t *testing.T) {
			raced := false
			h.library.calls = func(op string) {
				if op != "upsert" || raced {
					return
				}
				raced = true
				h.shelf.mu.Lock()
				h.shelf.version["default"]++
				h.shelf.mu.Unlock()
			}
			before := processes(t)
			r := h.run(c.imports + `SDK.Entities.Note.collection(); try { ` + c.call + ` } finally { console.log("done") }`)
			require.NoError(t, r.err)
			require.Equal(t, 2, r.outcome.Attempts)
			require.Len(t, r.Logs, 1, "of the attempt that was stopped nothing more ran")
			require.Equal(t, before, processes(t), "no worker was ended, and none started")
		})
	}
}

// processes lists the workers among this process's children.
func processes(t *testing.T) []string {
	tasks, err := filepath.Glob("/proc/self/task/*/children")
	require.NoError(t, err)
	var out []string
	for _, task := range tasks {
		b, err := os.ReadFile(task)
		if err != nil {
			continue // the thread has ended
		}
		for _, pid := range strings.Fields(string(b)) {
			if line, _ := os.ReadFile("/proc/" + pid + "/cmdline"); strings.Contains(string(line), worker.Marker) {
				out = append(out, pid)
			}
		}
	}
	require.NotEmpty(t, out)
	slices.Sort(out)
	return out
}
