package e2e

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/koan-go/koan/framework/fault"
	"github.com/koan-go/koan/tests/needs"
)

// checkNewApp checks the app further that the README has made in home.
func checkNewApp(t *testing.T, root, home string) {
	do := func(in, name string, args ...string) string {
		t.Helper()
		ctx, cancel := context.WithTimeout(t.Context(), 8*time.Minute)
		defer cancel()
		cmd := exec.CommandContext(ctx, name, args...)
		cmd.Dir = in
		out, err := cmd.CombinedOutput()
		require.NoError(t, err, "%s %v\n%s", name, args, out)
		return string(out)
	}
	app := filepath.Join(home, "bin", "todo")
	const data = "sqlite://other"
	out := do(home, app, "run", "scripts/plan.js", "--args", `{"who":"Ada","titles":["Buy milk"]}`, "--database", data)
	require.Contains(t, out, `"answer":{"open":1,"titles":["Buy milk"],"holidays":2}`)
	require.Contains(t, do(home, app, "sdk", "--database", data), `type TodoSet = "default" | "archive"`)

	// A strict editor has nothing to say of what is written for the app: by koan new, by the README and by
	// action add, in both languages.
	for name, code := range map[string]string{"count.js": "const open = SDK.Entities.Todo.count({ done: SDK.args.done });\nSDK.Out.answer(open);", "list.ts": "const all: string[] = SDK.Entities.Todo.all({ filter: { title: SDK.args.title } }).map((t) => t.title);\nall.length"} {
		require.NoError(t, os.WriteFile(filepath.Join(home, "scripts", name), []byte(code), 0o644))
		line := do(home, app, "run", "scripts/"+name, "--args", `{"title":"Buy milk","done":false}`, "--language", map[string]string{".js": "javascript", ".ts": "typescript"}[filepath.Ext(name)], "--database", data)
		ran := regexp.MustCompile(`"run_id":"([^"]+)"`).FindStringSubmatch(line)
		require.NotNil(t, ran, line)
		do(home, app, "action", "add", "did-"+strings.TrimSuffix(name, filepath.Ext(name)), "--run", ran[1], "--folder", "actions", "--database", data)
	}
	do(home, app, "sdk", "--out", "koan.d.ts", "--actions.dir", "actions", "--database", data)
	require.NoError(t, os.Rename(filepath.Join(home, "close.js"), filepath.Join(home, "scripts", "close.js")))
	needs.Node(t)
	do(home, "node", filepath.Join(root, "tests", "npm", "node_modules", "typescript", "bin", "tsc"), "--project", "jsconfig.json")
	require.NoError(t, os.WriteFile(filepath.Join(home, "scripts", "wrong.js"), []byte("SDK.Entities.Todo.getById(1).titel"), 0o644))
	wrongType := exec.Command("node", filepath.Join(root, "tests", "npm", "node_modules", "typescript", "bin", "tsc"), "--project", "jsconfig.json")
	wrongType.Dir = home
	said, err := wrongType.CombinedOutput()
	require.Error(t, err, "it does check")
	require.Regexp(t, `(?s)^scripts/wrong\.js\(1,[^\n]*titel[^\n]*\n$`, string(said))

	remove := exec.Command(app, "run", "-", "--database", data)
	remove.Dir, remove.Stdin = home, strings.NewReader(`SDK.Entities.Todo.deleteByQuery({}, { all: true })`)
	line, err := remove.Output()
	require.Error(t, err, "a person agrees before rows are deleted")
	require.Contains(t, string(line), `"approval_state":"REQUIRED"`)

	cmd := exec.Command(app, "serve", "--database", data)
	cmd.Dir = home
	p := start(t, cmd)
	p.call("initialize", input{"protocolVersion": "2025-11-25", "capabilities": input{}, "clientInfo": input{"name": "x", "version": "1"}})
	p.notify("notifications/initialized", input{})
	require.JSONEq(t, `{"count":1}`, string(p.tool("todo.count", input{}).Structured))
	m := p.call("tools/call", input{"name": "holiday.upsert", "arguments": input{"model": input{}}})
	require.Equal(t, string(fault.ToolNotFound), codeOf(t, m.Error))
	p.close()

	// The plugin of the guide is built with the app, and runs.
	guide, err := os.ReadFile(filepath.Join(root, "docs", "howto", "plugin.md"))
	require.NoError(t, err)
	_, code, _ := strings.Cut(string(guide), "```go\n")
	code, _, _ = strings.Cut(code, "```")
	require.NoError(t, os.MkdirAll(filepath.Join(home, "plugins", "dice"), 0o755))
	require.NoError(t, os.WriteFile(filepath.Join(home, "plugins", "dice", "main.go"), []byte(code), 0o644))
	do(home, "go", "mod", "tidy")
	do(home, "make", "build")
	cmd = exec.Command(app, "run", "-", "--database", data)
	cmd.Dir, cmd.Stdin = home, strings.NewReader("SDK.Dice.roll({ sides: 2 }).value")
	line, err = cmd.Output()
	require.NoError(t, err, "%s", line)
	require.Regexp(t, `"data":[12],`, string(line))

	// A schema that cannot be exposed changes nothing: generated files stay, and with
	// them what the schemas import. The old files of a renamed schema are removed.
	schema := filepath.Join(home, "ent", "schema", "todo.go")
	was, err := os.ReadFile(schema)
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(schema, []byte(strings.Replace(string(was), `Description: "A day off."`, `Version: "nothing"`, 1)), 0o644))
	wrong := exec.Command("make", "generate")
	wrong.Dir = home
	said, err = wrong.CombinedOutput()
	require.Error(t, err)
	require.Contains(t, string(said), `1 problem in the ent schema:`+"\n"+`  Holiday: the version field "nothing" does not exist`)
	do(home, "go", "build", "./...")
	require.NoError(t, os.WriteFile(schema, []byte(strings.ReplaceAll(string(was), "Holiday", "Feast")), 0o644))
	do(home, "make", "generate")
	_, err = os.Stat(filepath.Join(home, "ent", "holiday.go"))
	require.ErrorIs(t, err, os.ErrNotExist)
}
