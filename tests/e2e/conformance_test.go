package e2e

import (
	"bytes"
	"context"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"testing"
	"time"

	"github.com/koan-go/koan/tests/needs"
	"github.com/stretchr/testify/require"
)

// lack is why a scenario fails, and in how many of its checks.
type lack struct {
	failed int
	why    string
}

// notOffered are the scenarios of the suites that ask for what the framework does
// not have, none of which they score. The list can only shrink: a scenario that
// fails beyond it fails the test, and so does one that stands here and passes.
var notOffered = map[string]map[string]lack{
	"2026-07-28": {
		"tasks-required-task-error":            {1, "no tool needs a task: each answers an ordinary call as well"},
		"tasks-mrtr-composition":               {1, "a call that becomes a task asks through its task, and never before"},
		"http-custom-header-server-validation": {5, "no tool has arguments that stand in headers (x-mcp-header)"},
	},
}

// suites are the protocol's own conformance suites, as the tests pin them.
var suites = []struct {
	name, program string
	args          []string
	scenarios     int
}{
	{"0.1.16", "conformance-0.1", nil, 30},
	{"2025-11-25", "conformance", []string{"--requirements", "2025-11-25"}, 33},
	{"2026-07-28", "conformance", []string{"--requirements", "2026-07-28"}, 50},
}

func TestConformance(t *testing.T) {
	t.Parallel()
	conformance(t)
}

// conformance runs the suites against one server.
func conformance(t *testing.T) {
	t.Helper()
	a := newApp(t)
	a.env = []string{asFixture + "=", asConformance + "=1"}
	w := a.web("--server.toolNames", "underscore")
	for _, s := range suites {
		t.Run(s.name, func(t *testing.T) { conforms(t, w.url, s.name, s.program, s.args, s.scenarios) })
	}
}

// verdict is a line of a suite's summary.
var verdict = regexp.MustCompile(`(?m)^[✓✗] ([a-z0-9-]+): (\d+) passed, (\d+) failed`)

func conforms(t *testing.T, url, name, program string, args []string, scenarios int) {
	t.Helper()
	modules, err := filepath.Abs("../npm/node_modules")
	require.NoError(t, err)
	needs.Node(t)
	ctx, cancel := context.WithTimeout(t.Context(), 3*time.Minute)
	defer cancel()
	// The suite wants a newer node than Debian has.
	cmd := exec.CommandContext(ctx, filepath.Join(modules, "node/bin/node"),
		append([]string{filepath.Join(modules, program, "dist/index.js"), "server", "--url", url}, args...)...)
	cmd.Dir = t.TempDir()
	out, err := cmd.CombinedOutput()
	_, found := err.(*exec.ExitError)
	require.True(t, err == nil || found, "%v", err)
	_, summary, found := bytes.Cut(out, []byte("=== SUMMARY ==="))
	require.True(t, found, "%s", out)
	lines := verdict.FindAllSubmatch(summary, -1)
	require.GreaterOrEqual(t, len(lines), scenarios, "%s", summary)
	seen := map[string]bool{}
	for _, l := range lines {
		scenario := string(l[1])
		failed, err := strconv.Atoi(string(l[3]))
		require.NoError(t, err)
		seen[scenario] = true
		if want := notOffered[name][scenario]; failed != want.failed {
			t.Errorf("%s: %d checks fail, and %d are known to (%s)", scenario, failed, want.failed, want.why)
		}
	}
	for scenario := range notOffered[name] {
		require.True(t, seen[scenario], "%s stands in the list and is no scenario of %s", scenario, name)
	}
	if t.Failed() {
		t.Logf("%s", out)
	}
}
