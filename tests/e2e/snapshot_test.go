package e2e

import (
	"bytes"
	"encoding/json"
	"flag"
	"os"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/koan-go/koan/framework/catalog"
)

var update = flag.Bool("update", false, "write the golden files anew")

// TestToolsSnapshot keeps what clients see of a fixed catalog as files: a change to
// them is a visible diff, and schemaVersion moves with it (CONTRACT section 5).
func TestToolsSnapshot(t *testing.T) {
	requireSnapshot(t, "testdata/tools.json", "tools", "--mode", "full")
	requireSnapshot(t, "testdata/tools-per-entity.json", "tools", "--mode", "full", "--tools.style", "perEntity")
}

// requireSnapshot compares the list that a command prints with a golden file.
func requireSnapshot(t *testing.T, golden string, args ...string) {
	t.Helper()
	r := newApp(t).exec("", args...)
	require.Zero(t, r.status, r.stderr)
	var list map[string]json.RawMessage
	require.NoError(t, json.Unmarshal([]byte(r.stdout), &list))
	got, err := json.Marshal(map[string]any{"schemaVersion": catalog.SchemaVersion, "tools": list["tools"]})
	require.NoError(t, err)
	var pretty bytes.Buffer
	require.NoError(t, json.Indent(&pretty, got, "", "  "))
	pretty.WriteByte('\n')
	if *update {
		require.NoError(t, os.WriteFile(golden, pretty.Bytes(), 0o644))
	}
	want, err := os.ReadFile(golden)
	require.NoError(t, err)
	require.Equal(t, string(want), pretty.String(), "run the test with -update and move schemaVersion: major for a removal or rename, minor for an addition")
	again := newApp(t).exec("", args...)
	require.Equal(t, r.stdout, again.stdout, "byte-stable")
}
