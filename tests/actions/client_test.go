package actions

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/koan-go/koan/framework"
	"github.com/koan-go/koan/framework/auth"
	"github.com/koan-go/koan/framework/exposure"
	"github.com/koan-go/koan/framework/koantest"
	"github.com/koan-go/koan/tests/fixture"
	"github.com/koan-go/koan/tests/needs"
)

// asApp makes this test binary the app.
const asApp = "KOANTEST_ACTIONS"

func TestMain(m *testing.M) {
	if os.Getenv(asApp) != "" {
		framework.Main(fixture.App())
	}
	os.Exit(m.Run())
}

const counting = `export const action = { description: "Counts the todos.", listed: false, effects: { readOnly: true }, output: { type: "integer" } };
export default () => SDK.Entities.Todo.count();`

// answer is the result of a tool.
type answer struct {
	IsError bool            `json:"isError"`
	Body    json.RawMessage `json:"body"`
}

func TestClientListsAndCallsActions(t *testing.T) {
	needs.Node(t)
	t.Parallel()
	folder := t.TempDir()
	put(t, folder, "finish-todo.ts", finish)
	put(t, folder, "count-todos.js", counting)
	program, err := os.Executable()
	require.NoError(t, err)
	cmd := exec.Command("node", "../npm/actions.mjs", program, "serve", "--actions.dir", folder, "--database", "sqlite://"+filepath.Join(t.TempDir(), "data"))
	cmd.Env = append(os.Environ(), asApp+"=1", "HOME="+t.TempDir())
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	require.NoError(t, err, string(out))
	var seen struct {
		Tool struct {
			Title        string          `json:"title"`
			Description  string          `json:"description"`
			InputSchema  json.RawMessage `json:"inputSchema"`
			OutputSchema json.RawMessage `json:"outputSchema"`
			Annotations  map[string]bool `json:"annotations"`
		}
		Unlisted                                                bool
		Finished, Again, Bad, Script, Invalid, Argument, Search answer
		Types, Modules, Prompt                                  string
		Prompts                                                 []struct{ Name string }
		Complete                                                []string
	}
	require.NoError(t, json.Unmarshal(out, &seen))
	require.Equal(t, "Finish a todo", seen.Tool.Title)
	require.Contains(t, string(seen.Tool.InputSchema), `"note"`)
	require.Contains(t, string(seen.Tool.OutputSchema), `"completed"`)
	require.Equal(t, map[string]bool{"readOnlyHint": false, "destructiveHint": false, "idempotentHint": true, "openWorldHint": false}, seen.Tool.Annotations)
	require.False(t, seen.Unlisted)
	for _, prompt := range seen.Prompts {
		require.NotEqual(t, "count-todos", prompt.Name, "what is not listed is not offered to people")
	}
	require.NotEmpty(t, seen.Prompts)

	require.JSONEq(t, `{"id":"1","completed":true}`, string(seen.Finished.Body))
	require.True(t, seen.Again.IsError)
	require.Contains(t, string(seen.Again.Body), "completed already")
	require.Contains(t, string(seen.Bad.Body), "invalid_payload")
	require.Contains(t, string(seen.Script.Body), `"answer":[1,1]`)
	require.Contains(t, string(seen.Invalid.Body), "finishTodo")
	require.Contains(t, string(seen.Invalid.Body), `"valid":false`)
	require.Contains(t, string(seen.Argument.Body), "invalid_argument")
	require.Contains(t, string(seen.Search.Body), "SDK.Actions.finishTodo")
	require.Contains(t, seen.Types, "const Actions: {")
	require.Contains(t, seen.Types, "finishTodo(input: Actions.FinishTodoInput): Actions.FinishTodoOutput")
	require.Contains(t, seen.Types, "countTodos(input?")
	require.Contains(t, seen.Modules, "count_todos")
	require.Contains(t, seen.Prompt, "finish-todo")
	require.Contains(t, seen.Prompt, `"note":"done"`)
	require.Equal(t, []string{"done", "dropped"}, seen.Complete)
}

// An action is a tool in every mode; mode `code` lists it if it asks for that, and else describes it to scripts.
func TestActionsAreToolsInEveryMode(t *testing.T) {
	t.Parallel()
	always := strings.Replace(finish, "description:", "listed: true, description:", 1)
	kit := start(t, map[string]string{"finish-todo.ts": finish, "finish-at-once.ts": always, "count-todos.js": counting}, koantest.Setting{Key: "codeMode.inlineTypesBytes", Value: "0"})
	for _, mode := range []exposure.Mode{exposure.Code, exposure.Tools, exposure.Full} {
		view := kit.Instance().Snapshot().View(auth.Local(), mode, false)
		list := string(koantest.Tools(view, "generic"))
		require.Contains(t, list, `"name":"finish-at-once"`, mode)
		require.Equal(t, mode != exposure.Code, strings.Contains(list, `"name":"finish-todo"`), mode)
		require.Equal(t, mode == exposure.Code, strings.Contains(list, `- finishTodo({id: string, note: \"done\" | \"dropped\"}): {completed, id}`), mode)
		require.NotNil(t, view.Tool("finish-todo"), mode)
		require.NotContains(t, list, `"name":"count-todos"`, mode)
		if mode == exposure.Code {
			require.NotContains(t, list, `"entities_`, mode)
		}
	}
	off := start(t, map[string]string{"finish-todo.ts": finish}, koantest.Setting{Key: "codeMode.enabled", Value: "false"}, koantest.Setting{Key: "exposure", Value: "tools"})
	out, err := off.Call("action::finish-todo", map[string]any{"id": "1", "note": "done"})
	require.NoError(t, err, "without code mode")
	require.JSONEq(t, `{"id":"1","completed":true}`, string(out))
}
