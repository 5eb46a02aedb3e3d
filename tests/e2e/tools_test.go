package e2e

import (
	"bytes"
	"encoding/json"
	"flag"
	"os"
	"slices"
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

func TestToolsCommand(t *testing.T) {
	a := newApp(t)
	names := func(mode string, args ...string) []string {
		r := a.exec("", append([]string{"tools", "--mode", mode}, args...)...)
		require.Zero(t, r.status, r.stderr)
		var list struct {
			Tools []struct {
				Name         string
				Description  string
				InputSchema  map[string]any
				OutputSchema map[string]any
				Annotations  map[string]any
			}
		}
		require.NoError(t, json.Unmarshal([]byte(r.stdout), &list))
		var out []string
		for _, tool := range list.Tools {
			out = append(out, tool.Name)
			require.NotEmpty(t, tool.Description, tool.Name)
			require.Equal(t, "object", tool.InputSchema["type"], tool.Name)
			if tool.OutputSchema != nil {
				require.Equal(t, "object", tool.OutputSchema["type"], tool.Name)
			}
			for _, hint := range []string{"readOnlyHint", "destructiveHint", "openWorldHint"} {
				require.Contains(t, tool.Annotations, hint, tool.Name)
			}
			require.Equal(t, tool.Annotations["readOnlyHint"] == false, len(tool.Annotations) == 4, "%s: idempotentHint", tool.Name)
		}
		return out
	}
	code := []string{"koan_code_execute", "koan_code_search", "koan_code_undo", "koan_code_validate"}
	require.ElementsMatch(t, code, names("code"))
	require.ElementsMatch(t, append(slices.Clone(code), names("tools")...), names("full"))
	require.Contains(t, names("tools"), "entities_collection", "there are more than 40 otherwise")

	each := []string{"--tools.style", "perEntity", "--server.toolNames", "dotted"}
	tools := names("tools", each...)
	require.NotContains(t, tools, "koan.code.execute")
	require.Contains(t, tools, "todo.get-by-id")
	require.Contains(t, tools, "audit-log.collection")
	require.NotContains(t, tools, "audit-log.upsert", "a read-only entity has no mutating tools")
	for _, name := range tools {
		require.NotContains(t, name, "draft", "what is not exposed does not exist")
	}
	require.Greater(t, len(names("full", each...)), 40)
}
