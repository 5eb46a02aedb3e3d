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

// TestToolsSnapshot keeps what clients see of a fixed catalog as a file: a change
// to it is a visible diff, and schemaVersion moves with it (CONTRACT section 5).
func TestToolsSnapshot(t *testing.T) {
	const golden = "testdata/tools.json"
	r := newApp(t).exec("", "tools", "--mode", "full")
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
	again := newApp(t).exec("", "tools", "--mode", "full")
	require.Equal(t, r.stdout, again.stdout, "byte-stable")
}
