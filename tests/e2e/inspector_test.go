package e2e

import (
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/koan-go/koan/framework/fault"
	"github.com/koan-go/koan/tests/soak"
)

// TestInspector runs sessions of the Inspector's command line over both transports.
// The Inspector's checks of the schemas find nothing.
func TestInspector(t *testing.T) {
	soak.Proof(t)
	t.Parallel()
	t.Run("stdio", func(t *testing.T) {
		cmd := newApp(t).command(t.Context(), "serve")
		inspected(t, inspector{t, t.TempDir(), append(append([]string{"env"}, cmd.Env...), cmd.Args...)})
	})
	t.Run("http", func(t *testing.T) {
		i := inspector{t, t.TempDir(), []string{newApp(t).web().url}}
		i.lists()
	})
	t.Run("pantrypal", func(t *testing.T) {
		for _, style := range []string{"generic", "perEntity"} {
			i := inspector{t, t.TempDir(), []string{filepath.Join(pantryBin(t), "pantrypal"), "serve", "--database", "sqlite://" + t.TempDir(), "--tools.style", style}}
			i.lists()
		}
	})
}

// inspector is the Inspector's command line with a server.
type inspector struct {
	t      *testing.T
	home   string
	server []string
}

// run makes one request, and returns standard error. err is the exit status.
func (i inspector) run(into any, args ...string) (stderr string, err error) {
	i.t.Helper()
	program, err := filepath.Abs("../npm/node_modules/@modelcontextprotocol/inspector/clients/launcher/build/index.js")
	require.NoError(i.t, err)
	cmd := exec.CommandContext(i.t.Context(), newNode(i.t), append(append([]string{program, "--cli"}, i.server...), args...)...)
	var errs bytes.Buffer
	cmd.Dir, cmd.Env, cmd.Stderr = i.home, append(os.Environ(), "HOME="+i.home), &errs
	out, err := cmd.Output()
	require.NoError(i.t, json.Unmarshal(out, into), "%v: %s\n%s", args, out, errs.String())
	return errs.String(), err
}

func (i inspector) ask(into any, args ...string) string {
	i.t.Helper()
	stderr, err := i.run(into, args...)
	require.NoError(i.t, err, "%v: %s", args, stderr)
	return stderr
}

// lists requires that the Inspector finds no problem in the list of tools.
func (i inspector) lists() {
	i.t.Helper()
	var tools struct{ Tools []struct{ Name string } }
	require.NotContains(i.t, i.ask(&tools, "--method", "tools/list", "--strict"), "tool \"")
	require.Greater(i.t, len(tools.Tools), 10)
}

func inspected(t *testing.T, i inspector) {
	t.Helper()
	ask := i.ask
	i.lists()

	type called struct {
		IsError           bool
		StructuredContent map[string]any
		Meta              map[string]struct{ RunID string } `json:"_meta"`
	}
	var got called
	ask(&got, "--method", "tools/call", "--tool-name", "koan_code_execute", "--tool-arg", "code=SDK.Out.answer(SDK.Entities.Todo.count())")
	require.EqualValues(t, 1, got.StructuredContent["answer"])
	runID := got.Meta["dev.koan/run"].RunID
	got = called{}
	_, err := i.run(&got, "--method", "tools/call", "--tool-name", "entities_get-by-id", "--tool-arg", "entity=Todo", "id=none")
	require.Error(t, err, "its exit status says that the tool failed")
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
	var uris []string
	for _, template := range templates.ResourceTemplates {
		uris = append(uris, template.URITemplate)
	}
	require.Subset(t, uris, []string{"koan://entities/{name}", "koan://runs/{id}", "koan://sdk/{name}.d.ts"})

	var prompt struct {
		Messages []struct{ Content struct{ Text string } }
	}
	ask(&prompt, "--method", "prompts/get", "--prompt-name", "write-koan-script", "--prompt-args", "task=Count what is open.", "entities=Todo")
	require.Contains(t, prompt.Messages[0].Content.Text, "Task: Count what is open.")
	require.Contains(t, prompt.Messages[0].Content.Text, "interface Todo")
	require.NotContains(t, prompt.Messages[0].Content.Text, "interface Person ", "only what was chosen")
}
