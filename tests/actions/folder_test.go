package actions

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/koan-go/koan/framework/catalog"
	"github.com/koan-go/koan/framework/fault"
	"github.com/koan-go/koan/framework/koantest"
)

func put(t *testing.T, folder, name, code string) {
	t.Helper()
	require.NoError(t, os.WriteFile(filepath.Join(folder, name), []byte(code), 0o600))
}

const hello = `export const action = { description: "Says hello." }; export default () => "hello";`

// offered waits until the catalog has an action, or has it no more.
func offered(t *testing.T, kit *koantest.Kit, name string, want bool) {
	t.Helper()
	require.Eventually(t, func() bool {
		return (kit.Instance().Snapshot().Operation(catalog.ActionID(name)) != nil) == want
	}, 20*time.Second, 10*time.Millisecond, "%s: %v", name, want)
}

func TestFolderIsFollowed(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	put(t, folder, "hello.js", hello)
	put(t, folder, "README.md", "no action")
	kit := start(t, nil, koantest.Setting{Key: "actions.dir", Value: folder})
	call := func(name string) string {
		out, err := kit.Call("action::"+name, map[string]any{})
		require.NoError(t, err)
		return string(out)
	}
	require.Equal(t, `"hello"`, call("hello"))

	put(t, folder, "goodbye.ts", strings.ReplaceAll(hello, "hello", "goodbye"))
	offered(t, kit, "goodbye", true)
	require.Equal(t, `"goodbye"`, call("goodbye"))

	put(t, folder, "hello.js", strings.ReplaceAll(hello, `"hello"`, `"hello again"`))
	require.Eventually(t, func() bool { return call("hello") == `"hello again"` }, 20*time.Second, 10*time.Millisecond, "a change of the code alone")

	// A file that has become wrong keeps its last good version; another one comes beside it.
	put(t, folder, "hello.js", "export const action = { description: 1 };")
	put(t, folder, "beside.js", strings.ReplaceAll(hello, "hello", "beside"))
	offered(t, kit, "beside", true)
	require.Equal(t, `"hello again"`, call("hello"))

	require.NoError(t, os.Rename(filepath.Join(folder, "goodbye.ts"), filepath.Join(folder, "farewell.ts")))
	offered(t, kit, "goodbye", false)
	offered(t, kit, "farewell", true)
	_, err := kit.Call("action::goodbye", map[string]any{})
	require.Equal(t, fault.ToolNotFound, fault.CodeOf(err))

	require.NoError(t, os.Remove(filepath.Join(folder, "hello.js")))
	offered(t, kit, "hello", false)
}

func TestRunKeepsTheActionsThatItBeganWith(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	put(t, folder, "hello.js", hello)
	kit := start(t, nil, koantest.Setting{Key: "actions.dir", Value: folder})
	done := make(chan *koantest.Result, 1)
	go func() {
		done <- kit.Try(`
			const before = SDK.Actions.hello();
			const wait = new Promise((go) => setTimeout(go, 2500));
			await wait;
			SDK.Out.answer([before, SDK.Actions.hello()])`, koantest.Input{})
	}()
	time.Sleep(300 * time.Millisecond)
	require.NoError(t, os.Rename(filepath.Join(folder, "hello.js"), filepath.Join(folder, "renamed.js")))
	offered(t, kit, "hello", false)
	r := <-done
	require.True(t, r.Success, "%v", r.Error)
	require.JSONEq(t, `["hello","hello"]`, string(r.Answer))
}

func TestWrongFilesNameTheirPlacesAndLeaveTheOthers(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	put(t, folder, "hello.js", hello)
	const run = "\nexport default () => 1;"
	for name, code := range map[string]string{
		"getter.js":     "export const action = {\n  get description() { for (;;); } };" + run,
		"unknown.ts":    "export const action = {\n  description: 'x',\n  right: 'app' };" + run,
		"rights.ts":     "export const action = { description: 'x', rights: 'root' };" + run,
		"example.ts":    "export const action = { description: 'x', input: { type: 'object', required: ['a'] }, examples: [{}] };" + run,
		"Bad_Name.js":   hello,
		"deep.js":       "export const action = { description: 'x', input: " + strings.Repeat("[", 5000) + strings.Repeat("]", 5000) + " };" + run,
		"long.js":       "export const action = { description: '" + strings.Repeat("x", 10<<20) + "' };" + run,
		"bytes.js":      "\xff\xfe",
		"twice.js":      hello,
		"twice.ts":      hello,
		"proto.js":      "export const action = { description: 'x', __proto__: { rights: 'app' } };" + run,
		"throws.js":     "throw new Error('never executed');\n" + hello,
		"module.js":     "import fs from 'fs';\n" + hello,
		"effects.js":    "export const action = { description: 'x', effects: { readonly: true } };" + run,
		"sets.js":       "export const action = { description: 'x', sets: ['../etc'] };" + run,
		"scopes.js":     "export const action = { description: 'x', scopes: 'a' };" + run,
		"reference.js":  "export const action = { description: 'x', input: { type: 'object', properties: { a: { $ref: 'file:///etc/passwd' } } } };" + run,
		"write-koan.js": hello,
	} {
		put(t, folder, name, code)
	}
	kit := start(t, nil, koantest.Setting{Key: "actions.dir", Value: folder})
	out, err := kit.Call("action::hello", map[string]any{})
	require.NoError(t, err)
	require.Equal(t, `"hello"`, string(out))
	var names []string
	for _, op := range kit.Instance().Snapshot().Operations() {
		if op.ID.Kind == catalog.KindAction {
			names = append(names, op.ID.Op)
		}
	}
	require.Equal(t, []string{"hello", "throws", "twice", "write-koan"}, names)
	_, err = kit.Call("action::throws", map[string]any{})
	require.ErrorContains(t, err, "never executed")
}

func TestEffectsHold(t *testing.T) {
	t.Parallel()
	kit := start(t, map[string]string{
		"reads.js":  `export const action = { description: "Reads.", effects: { readOnly: true } }; export default () => SDK.Entities.Todo.count();`,
		"lies.js":   `export const action = { description: "Says that it reads.", effects: { readOnly: true } }; export default () => SDK.Entities.Todo.patch("1", { views: 9 });`,
		"hides.js":  `export const action = { description: "Has another one write.", effects: { readOnly: true } }; export default () => SDK.Actions.writes();`,
		"writes.js": `export const action = { description: "Writes.", effects: {} }; export default () => SDK.Entities.Todo.patch("1", { views: 9 }).views;`,
	})
	out, err := kit.Call("action::reads", map[string]any{})
	require.NoError(t, err)
	require.Equal(t, "1", string(out))
	for _, name := range []string{"lies", "hides"} {
		_, err = kit.Call("action::"+name, map[string]any{})
		require.Equal(t, fault.Forbidden, fault.CodeOf(err), "%s: %v", name, err)
		require.Contains(t, err.Error(), "is declared read-only")
	}
	out, err = kit.Call("action::writes", map[string]any{})
	require.NoError(t, err)
	require.Equal(t, "9", string(out))
}

func TestActionsCommitByCallWhereTheRunIsNotAtomic(t *testing.T) {
	t.Parallel()
	kit := start(t, map[string]string{"failing.js": failing, "finish-todo.ts": finish})
	out, err := kit.Call("code::koan.execute", map[string]any{"atomic": false, "code": `
		SDK.Actions.finishTodo({ id: "1", note: "done" });
		try { SDK.Actions.failing({ title: "milk" }) } catch (e) { SDK.Out.answer(e.message) }
		throw new Error("after it")`})
	require.Error(t, err)
	require.Contains(t, string(out), `"committed":true`)
	r := kit.Run(`const t = SDK.Entities.Todo.getById("1"); SDK.Out.answer([t.completed, t.title, SDK.Entities.Step.count(), SDK.Entities.Todo.count()])`, koantest.Input{})
	require.JSONEq(t, `[true,"Write tests",1,1]`, string(r.Answer))
}

func TestOnlyNarrowsActions(t *testing.T) {
	t.Parallel()
	kit := start(t, map[string]string{"finish-todo.ts": finish})
	_, err := kit.Call("code::koan.execute", map[string]any{"only": []string{"Todo"}, "code": `SDK.Actions.finishTodo({ id: "1", note: "done" })`})
	require.Error(t, err)
	_, err = kit.Call("code::koan.execute", map[string]any{"only": []string{"action:finish-todo"}, "code": `SDK.Actions.finishTodo({ id: "1", note: "done" })`})
	require.Error(t, err, "its calls are the caller's, who has no todos here")
	_, err = kit.Call("code::koan.execute", map[string]any{"only": []string{"action:finish-todo", "Todo", "Step"}, "code": `SDK.Actions.finishTodo({ id: "1", note: "done" })`})
	require.NoError(t, err)
}
