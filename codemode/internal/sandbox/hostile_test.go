package sandbox

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/koan-go/koan/codemode/internal/wire"
)

// TestHostile runs the corpus. The second line of a script lists the accepted outcomes. For
// each script the host survives, the answer comes within the deadline plus 250 ms, the worker
// stays below twice its memory limit, the next script runs, and no process is left over.
func TestHostile(t *testing.T) {
	files, err := filepath.Glob("testdata/hostile/*.js")
	require.NoError(t, err)
	require.NotEmpty(t, files)
	s, err := New(Options{})
	require.NoError(t, err)
	defer s.Close()
	const cpu = 500
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".js"), func(t *testing.T) {
			code, err := os.ReadFile(file)
			require.NoError(t, err)
			expected := expectations(t, string(code))
			require.NoError(t, s.Warm(t.Context()))
			j := job(string(code))
			j.Limits.CPUMs = cpu
			ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
			defer cancel()
			began := time.Now()
			r, err := s.Execute(ctx, j, newHost())
			took := time.Since(began)
			require.NoError(t, err)
			outcome := "ok"
			if r.Fault != nil {
				outcome = string(r.Fault.Code)
				require.NotEmpty(t, r.Fault.Message)
				if cause := errors.Unwrap(r.Fault); cause != nil {
					t.Log("cause: ", cause)
				}
				require.Less(t, len(r.Fault.Message), 10_000)
			}
			t.Logf("%s in %v, peak %d MB: %v", outcome, took.Round(time.Millisecond), r.PeakMemory>>20, r.Fault)
			require.Contains(t, expected, outcome, "%v", r.Fault)
			require.Less(t, took, 2*(cpu+250)*time.Millisecond, "twice what is allowed, since the machine may be busy")
			require.Less(t, r.PeakMemory, int64(128<<20))

			next := execute(t, s, job(`SDK.Entities.Todo.getById("1").title`), newHost())
			require.Nil(t, next.Fault)
			require.JSONEq(t, `"Milk"`, string(next.Result))
		})
	}
	require.NoError(t, s.Close())
}

func expectations(t *testing.T, code string) []string {
	lines := strings.SplitN(code, "\n", 3)
	list, ok := strings.CutPrefix(lines[1], "// expect:")
	require.True(t, ok)
	out := strings.Split(list, "|")
	for i := range out {
		out[i] = strings.TrimSpace(out[i])
	}
	return out
}

var _ wire.Host = (*todoHost)(nil)
