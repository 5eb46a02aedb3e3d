package e2e

import (
	"encoding/json"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/koan-go/koan/framework/fault"
)

// TestTheInspector runs sessions of the Inspector's command line over both
// transports.
func TestTheInspector(t *testing.T) {
	t.Parallel()
	t.Run("stdio", func(t *testing.T) {
		cmd := newApp(t).command(t.Context(), "serve")
		inspected(t, append(append([]string{"env"}, cmd.Env...), cmd.Args...)...)
	})
	t.Run("http", func(t *testing.T) { inspected(t, newApp(t).web().url) })
}

func inspected(t *testing.T, server ...string) {
	t.Helper()
	build, err := filepath.Abs("../npm/node_modules/@modelcontextprotocol/inspector-cli/build")
	require.NoError(t, err)
	require.DirExists(t, build, "run `make setup` first")
	ask := func(into any, args ...string) {
		t.Helper()
		cmd := exec.CommandContext(t.Context(), "node", append(append([]string{"index.js"}, server...), args...)...)
		cmd.Dir = build // it looks for its package.json from there
		out, err := cmd.Output()
		require.NoError(t, err, "%v: %s", args, out)
		require.NoError(t, json.Unmarshal(out, into), "%s", out)
	}
	var tools struct{ Tools []struct{ Name string } }
	ask(&tools, "--method", "tools/list")
	require.Greater(t, len(tools.Tools), 10)

	type called struct {
		IsError           bool
		StructuredContent map[string]any
		Meta              map[string]struct{ RunID string } `json:"_meta"`
	}
	var got called
	ask(&got, "--method", "tools/call", "--tool-name", "koan.code.execute", "--tool-arg", "code=SDK.Out.answer(SDK.Entities.Todo.count())")
	require.EqualValues(t, 1, got.StructuredContent["answer"])
	runID := got.Meta["dev.koan/run"].RunID
	got = called{}
	ask(&got, "--method", "tools/call", "--tool-name", "todo.get-by-id", "--tool-arg", "id=none")
	require.True(t, got.IsError)
	require.Equal(t, string(fault.NotFound), got.StructuredContent["error"].(map[string]any)["code"])

	var read struct{ Contents []struct{ URI, Text string } }
	ask(&read, "--method", "resources/read", "--uri", "koan://sdk/Todo.d.ts")
	require.Contains(t, read.Contents[0].Text, "interface Todo")
	read.Contents = nil
	ask(&read, "--method", "resources/read", "--uri", "koan://runs/"+runID)
	require.Contains(t, read.Contents[0].Text, `"callCount":1`)
	var templates struct {
		ResourceTemplates []struct{ URITemplate string }
	}
	ask(&templates, "--method", "resources/templates/list")
	require.Equal(t, "koan://runs/{id}", templates.ResourceTemplates[0].URITemplate)
	require.Equal(t, "koan://sdk/{name}.d.ts", templates.ResourceTemplates[1].URITemplate)

	var prompt struct {
		Messages []struct{ Content struct{ Text string } }
	}
	ask(&prompt, "--method", "prompts/get", "--prompt-name", "write-koan-script", "--prompt-args", "task=Count what is open.", "entities=Todo")
	require.Contains(t, prompt.Messages[0].Content.Text, "Task: Count what is open.")
	require.Contains(t, prompt.Messages[0].Content.Text, "interface Todo")
	require.NotContains(t, prompt.Messages[0].Content.Text, "interface Person ", "only what was chosen")
}
