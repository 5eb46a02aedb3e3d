package e2e

import (
	"context"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/koan-go/koan/framework/fault"
	"github.com/koan-go/koan/tests/needs"
	"github.com/koan-go/koan/tests/typescript"
)

// node runs a program of node with the packages of tests/npm; `make setup` puts
// both there.
func node(t *testing.T, env []string, args ...string) []byte {
	t.Helper()
	return runNode(t, "node", env, args...)
}

func runNode(t *testing.T, program string, env []string, args ...string) []byte {
	t.Helper()
	needs.Node(t)
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, program, args...)
	cmd.Env = append(os.Environ(), env...)
	out, err := cmd.Output()
	var failed *exec.ExitError
	if err != nil {
		if ok := asExit(err, &failed); ok {
			t.Fatalf("node %v: %v\n%s%s", args, err, out, failed.Stderr)
		}
		t.Fatal(err)
	}
	return out
}

func asExit(err error, target **exec.ExitError) bool {
	e, ok := err.(*exec.ExitError)
	*target = e
	return ok
}

func TestTypeScriptClient(t *testing.T) {
	t.Parallel()
	t.Run("stdio", func(t *testing.T) {
		cmd := newApp(t).command(t.Context(), "serve")
		official(t, cmd.Env, cmd.Args...)
	})
	t.Run("http", func(t *testing.T) {
		w := newApp(t).web()
		official(t, nil, w.url)
	})
}

// official runs the session of tests/npm/client.mjs with a server, and checks what
// the client saw.
func official(t *testing.T, env []string, server ...string) {
	t.Helper()
	out := node(t, env, append([]string{"../npm/client.mjs"}, server...)...)
	type answer struct {
		IsError bool
		Body    map[string]any
	}
	var seen struct {
		Tools, Resources, Prompts, Entities, Argument, Heard   []string
		Prompt                                                 string
		Schemas, Progress, Cancelled, Declarations             bool
		Count, Missing, Bad, Script, Failing, Validate, Search answer
		Unknown                                                struct {
			Code int
			Data struct{ Code string }
		}
	}
	require.NoError(t, json.Unmarshal(out, &seen), string(out))
	require.Contains(t, seen.Tools, "koan_code_execute")
	require.Equal(t, []string{"info begun", "warning over"}, seen.Heard, "what a script logs, while it runs")
	require.True(t, seen.Schemas)
	require.EqualValues(t, 1, seen.Count.Body["count"])
	code := func(a answer) any {
		require.True(t, a.IsError)
		return a.Body["error"].(map[string]any)["code"]
	}
	require.Equal(t, string(fault.NotFound), code(seen.Missing))
	require.Equal(t, string(fault.InvalidPayload), code(seen.Bad))
	require.Equal(t, string(fault.JavaScriptError), code(seen.Failing))
	require.Equal(t, "done", seen.Script.Body["answer"])
	require.True(t, seen.Progress)
	require.False(t, seen.Validate.IsError)
	require.Equal(t, false, seen.Validate.Body["valid"])
	require.NotEmpty(t, seen.Search.Body["results"])
	require.Equal(t, -32602, seen.Unknown.Code)
	require.Equal(t, string(fault.ToolNotFound), seen.Unknown.Data.Code)
	require.True(t, seen.Cancelled)
	require.Contains(t, seen.Resources, "koan://sdk/koan.d.ts")
	require.True(t, seen.Declarations)
	require.Equal(t, []string{"write-koan-script"}, seen.Prompts)
	require.Contains(t, seen.Prompt, "Task: Count.")
	require.Equal(t, []string{"Todo"}, seen.Entities)
	require.Equal(t, []string{"Person,Todo"}, seen.Argument)
}

// typecheck runs tsc --strict over files.
func typecheck(t *testing.T, dir string, files ...string) (string, error) {
	t.Helper()
	tsc, err := filepath.Abs("../npm/node_modules/typescript/bin/tsc")
	require.NoError(t, err)
	needs.Node(t)
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	args := append([]string{tsc, "--strict", "--noEmit", "--skipDefaultLibCheck", "--allowJs", "--checkJs", "--target", "es2022", "--lib", "es2022", "--moduleDetection", "legacy"}, files...)
	cmd := exec.CommandContext(ctx, "node", args...)
	cmd.Dir = dir
	out, err := cmd.CombinedOutput()
	return string(out), err
}

func TestDeclarationsHoldUnderTSC(t *testing.T) {
	t.Parallel()
	a := newApp(t)
	sdk := a.exec("", "sdk")
	require.Zero(t, sdk.status, sdk.stderr)
	a.script("koan.d.ts", sdk.stdout)
	a.script("good.ts", `
const page = SDK.Entities.Todo.collection({ filter: { completed: false, priority: { $in: ["low", "high"] } }, sort: "-title", with: "assignedUser", set: "tenant-a" });
const titles: (string | undefined)[] = page.items.map((t) => t.title);
for (const t of SDK.Entities.Todo.each({ pageSize: 10 })) SDK.Out.info(String(t.title));
const found = SDK.Entities.Todo.findById("1");
if (found) SDK.Out.answer({ id: found.id, due: found.dueDate, n: SDK.Entities.Todo.count({ title: { $contains: "x" } }) });
const n: number = SDK.Entities.Todo.delete("1");
const blank = SDK.Entities.Todo.new();
SDK.Entities.Todo.upsert({ title: blank.title ?? "x", labels: ["1", 2], assignedUser: "p1", tags: ["a"] });
SDK.Entities.Todo.patch("1", { labels: { $add: [3] }, assignedUser: null, steps: [{ id: "s1" }] });
SDK.Entities.Todo.upsertMany(page.items);
const logs = SDK.Entities.AuditLog.collection().items.length;
console.log(titles, n, logs, SDK.run.id, SDK.args);
`)
	out, err := typecheck(t, a.dir, "koan.d.ts", "good.ts")
	require.NoError(t, err, out)
	refused(t, sdk.stdout, map[string]string{
		"a wrong field in a filter":    `SDK.Entities.Todo.collection({ filter: { compelted: true } });`,
		"a wrong type in a filter":     `SDK.Entities.Todo.collection({ filter: { completed: "yes" } });`,
		"a wrong enum":                 `SDK.Entities.Todo.upsert({ title: "x", priority: "urgent" });`,
		"a read-only entity's mutator": `SDK.Entities.AuditLog.upsert({ message: "x" });`,
		"a wrong type in a model":      `SDK.Entities.Todo.upsert({ title: 7 });`,
		"a wrong relationship's form":  `SDK.Entities.Todo.upsert({ title: "x", labels: true });`,
		"a wrong set":                  `SDK.Entities.Todo.count({}, "nowhere");`,
		"a wrong relationship":         `SDK.Entities.Todo.getById("1", { with: "nobody" });`,
		"an unknown method":            `SDK.Entities.Todo.colection();`,
	})
}

// refused wants an error of TypeScript's in the first line of each script.
func refused(t *testing.T, declarations string, scripts map[string]string) {
	t.Helper()
	files := map[string]string{"koan.d.ts": declarations}
	for name, code := range scripts {
		files[name+".ts"] = code
	}
	found := typescript.Check(t, files)
	for name, code := range scripts {
		require.NotEmpty(t, found[name+".ts"], "tsc accepts %s", code)
		require.Contains(t, found[name+".ts"][0], "(1,")
	}
}
