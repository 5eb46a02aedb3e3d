// Package actions tests actions in a whole app: in files and in Go, in confined workers, over
// both databases, as scripts, clients and people call them.
package actions

import (
	"context"
	"encoding/json"
	"testing"
	"testing/fstest"

	"github.com/stretchr/testify/require"

	_ "github.com/koan-go/koan/codemode/languages"
	"github.com/koan-go/koan/framework"
	"github.com/koan-go/koan/framework/auth"
	"github.com/koan-go/koan/framework/fault"
	"github.com/koan-go/koan/framework/koantest"
	"github.com/koan-go/koan/tests/fixture"
	"github.com/koan-go/koan/tests/pgtest"
)

// Actions of the tests.
const (
	finish = `
export const action = {
  title: "Finish a todo", description: "Marks a todo as completed and notes why.",
  input: { type: "object", properties: { id: { type: "string" }, note: { enum: ["done", "dropped"] } }, required: ["id", "note"], additionalProperties: false },
  output: { type: "object", required: ["id", "completed"], properties: { id: { type: "string" }, completed: { type: "boolean" } } },
  effects: { idempotent: true }, examples: [{ id: "1", note: "done" }],
};
type In = { id: string; note: "done" | "dropped" };
export default ({ id, note }: In) => {
  const before = SDK.Entities.Todo.getById(id);
  if (before.completed) throw new Error("the todo " + id + " is completed already");
  SDK.Entities.Step.upsert({ text: note, todo: id });
  const todo = SDK.Entities.Todo.patch(id, { completed: true, notes: note });
  return { id: todo.id, completed: todo.completed };
};`

	failing = `
export const action = { description: "Writes to the todos and then fails.", input: { type: "object", properties: { title: { type: "string" }, set: { type: "string" } } } };
export default ({ title, set }) => {
  SDK.Entities.Todo.upsert({ id: "left", title }, { set });
  SDK.Entities.Todo.patch("1", { title: "changed by a failing action" });
  throw new Error("no " + title);
};`
)

// start starts the fixture app with these files of actions.
func start(t *testing.T, files map[string]string, settings ...koantest.Setting) *koantest.Kit {
	t.Helper()
	return startWith(t, fixture.App(), files, settings...)
}

func startWith(t *testing.T, app framework.App, files map[string]string, settings ...koantest.Setting) *koantest.Kit {
	t.Helper()
	if len(files) > 0 {
		app.Actions = folderOf(files)
	}
	if pgtest.Here(t) {
		settings = append(settings, koantest.Setting{Key: "database", Value: pgtest.Place(t)})
	}
	return koantest.NewConfined(t, app, settings...)
}

// folderOf has files as an app embeds them.
func folderOf(files map[string]string) fstest.MapFS {
	folder := fstest.MapFS{}
	for name, code := range files {
		folder["actions/"+name] = &fstest.MapFile{Data: []byte(code)}
	}
	return folder
}

func TestScriptCallsAction(t *testing.T) {
	t.Parallel()
	if pgtest.ForEach(t, TestScriptCallsAction) {
		return
	}
	kit := start(t, map[string]string{"finish-todo.ts": finish})
	r := kit.Run(`
		const made = SDK.Actions.finishTodo({ id: "1", note: "done" });
		SDK.Out.answer([made, SDK.Entities.Todo.getById("1").notes, SDK.Entities.Step.count()])`, koantest.Input{Include: []string{"calls"}})
	require.JSONEq(t, `[{"id":"1","completed":true},"done",1]`, string(r.Answer))
	require.True(t, r.Success)
	var names []string
	for _, c := range r.Calls {
		names = append(names, c.Parent+"/"+c.ToolName)
	}
	require.ElementsMatch(t, []string{"finish-todo/todo.get-by-id", "finish-todo/step.upsert", "finish-todo/todo.patch", "/finish-todo", "/todo.get-by-id", "/step.count"}, names)
	require.Len(t, r.ChangeCounts, 2)
}

func TestFailedActionThatIsCaughtLeavesNothing(t *testing.T) {
	t.Parallel()
	if pgtest.ForEach(t, TestFailedActionThatIsCaughtLeavesNothing) {
		return
	}
	kit := start(t, map[string]string{"failing.js": failing})
	for _, script := range []string{
		// first writes in the action; written before; written after a caught failure
		`try { SDK.Actions.failing({ title: "milk" }) } catch (e) { SDK.Out.answer([e.code, e.message]) }`,
		`SDK.Entities.Todo.patch("1", { views: 7 }); try { SDK.Actions.failing({ title: "milk" }) } catch (e) { SDK.Out.answer([e.code, e.message]) }`,
		`try { SDK.Actions.failing({ title: "milk" }) } catch (e) { SDK.Out.answer([e.code, e.message]) } SDK.Entities.Todo.patch("1", { views: 8 });`,
	} {
		r := kit.Run(script, koantest.Input{Include: []string{"changes"}})
		require.JSONEq(t, `["execution_error","no milk"]`, string(r.Answer))
		for _, c := range r.Changes {
			require.Equal(t, "1", c.ID)
			require.NotContains(t, string(c.After), "failing")
		}
		r = kit.Run(`SDK.Out.answer([SDK.Entities.Todo.findById("left"), SDK.Entities.Todo.getById("1").title])`, koantest.Input{})
		require.JSONEq(t, `[null,"Write tests"]`, string(r.Answer))
	}
	_, err := kit.Call("action::failing", map[string]any{"title": "milk"})
	require.Equal(t, fault.ExecutionError, fault.CodeOf(err))
	require.Equal(t, "no milk", fault.From(err).Message)
}

func TestActionSpansSetsOrNone(t *testing.T) {
	t.Parallel()
	if pgtest.ForEach(t, TestActionSpansSetsOrNone) {
		return
	}
	if !pgtest.Here(t) {
		kit := start(t, map[string]string{"failing.js": failing})
		r := kit.Run(`try { SDK.Actions.failing({ title: "milk", set: "tenant-a" }) } catch (e) { SDK.Out.answer(e.code) }`, koantest.Input{})
		require.JSONEq(t, `"cross_set"`, string(r.Answer), "a file per set")
		r = kit.Run(`SDK.Out.answer(SDK.Entities.Todo.findById("left", { set: "tenant-a" }))`, koantest.Input{})
		require.JSONEq(t, `null`, string(r.Answer))
		return
	}
	kit := start(t, map[string]string{"failing.js": failing})
	kit.Run(`SDK.Entities.Todo.upsert({ id: "a", title: "a" }, "tenant-a")`, koantest.Input{})
	r := kit.Run(`
		SDK.Entities.Todo.patch("a", { title: "kept" }, "tenant-a");
		try { SDK.Actions.failing({ title: "milk", set: "tenant-a" }) } catch (e) { SDK.Out.answer(e.message) }`, koantest.Input{})
	require.JSONEq(t, `"no milk"`, string(r.Answer))
	r = kit.Run(`SDK.Out.answer([SDK.Entities.Todo.all({ set: "tenant-a" }).map((t) => t.title), SDK.Entities.Todo.getById("1").title])`, koantest.Input{})
	require.JSONEq(t, `[["kept"],"Write tests"]`, string(r.Answer))
}

func TestActionAsATool(t *testing.T) {
	t.Parallel()
	kit := start(t, map[string]string{"finish-todo.ts": finish})
	out, err := kit.Call("action::finish-todo", map[string]any{"id": "1", "note": "done"})
	require.NoError(t, err)
	require.JSONEq(t, `{"id":"1","completed":true}`, string(out))
	_, err = kit.Call("action::finish-todo", map[string]any{"id": "1", "note": "because"})
	require.Equal(t, fault.InvalidPayload, fault.CodeOf(err))
	require.Equal(t, "/note", fault.From(err).Path)
	_, err = kit.Call("action::finish-todo", map[string]any{"id": "1", "note": "done"})
	require.Equal(t, fault.ExecutionError, fault.CodeOf(err))
	require.Contains(t, err.Error(), "completed already")
	_, err = kit.Call("action::finish-todo", map[string]any{"id": "none", "note": "done"})
	require.Equal(t, fault.NotFound, fault.CodeOf(err), "%v", err)
	require.Zero(t, fault.From(err).Line)
}

// An action says what is wrong with its input beyond the schema, as the schema would.
func TestActionRefusesInput(t *testing.T) {
	kit := start(t, map[string]string{"book.js": `
		export const action = { description: "Books days.", input: { type: "object", properties: { start: { type: "string" }, end: { type: "string" }, how: { type: "string" } } } };
		export default ({ start, end, how }) => {
			if (how === "bare") throw Object.assign(new Error("too late"), { path: "/start" });
			if (how === "no path") throw Object.assign(new Error("too late"), { path: "start", hint: "Send an earlier day." });
			if (end < start) throw Object.assign(new Error(end + " is before " + start), { path: "/end", hint: "Send a later day." });
			return {};
		};`})
	_, err := kit.Call("action::book", map[string]any{"start": "b", "end": "a"})
	f := fault.From(err)
	require.Equal(t, []any{fault.InvalidPayload, "/end", "a is before b", "Send a later day.", fault.Fix, 0}, []any{f.Code, f.Path, f.Message, f.Hint, f.Retry, f.Line})
	_, err = kit.Call("action::book", map[string]any{"how": "bare"})
	require.Equal(t, []any{fault.InvalidPayload, "/start", fault.New(fault.InvalidPayload, "").Hint}, []any{fault.CodeOf(err), fault.From(err).Path, fault.From(err).Hint})
	_, err = kit.Call("action::book", map[string]any{"how": "no path"})
	require.Equal(t, fault.ExecutionError, fault.CodeOf(err))
	r := kit.Run(`try { SDK.Actions.book({ start: "b", end: "a" }) } catch (e) { SDK.Out.answer([e.code, e.path, e.hint]) }`, koantest.Input{})
	require.JSONEq(t, `["invalid_payload","/end","Send a later day."]`, string(r.Answer))
}

func TestActionThatLoopsOrRecursesEnds(t *testing.T) {
	t.Parallel()
	kit := start(t, map[string]string{
		"loop.js":    `export const action = { description: "Loops." }; export default () => { for (;;); };`,
		"again.js":   `export const action = { description: "Calls itself." }; export default () => SDK.Actions.again({});`,
		"caught.js":  `export const action = { description: "Calls itself and catches." }; export default () => { try { return SDK.Actions.caught({}) } catch (e) { return e.message } };`,
		"many.js":    `export const action = { description: "Calls much." }; export default () => { for (let i = 0; i < 100; i++) SDK.Entities.Todo.count(); };`,
		"memory.js":  `export const action = { description: "Takes memory." }; export default () => { const all = []; for (;;) all.push("x".repeat(1e6) + all.length); };`,
		"promise.js": `export const action = { description: "Never settles." }; export default () => new Promise(() => {});`,
	}, koantest.Setting{Key: "sandbox.cpuMs", Value: "700"}, koantest.Setting{Key: "sandbox.memoryMb", Value: "16"}, koantest.Setting{Key: "codeMode.maxSdkCalls", Value: "50"})
	for name, want := range map[string]fault.Code{
		"loop": fault.Timeout, "again": fault.ExecutionError, "many": fault.SDKCallsExceeded, "memory": fault.MemoryExceeded, "promise": fault.ExecutionError,
	} {
		t.Run(name, func(t *testing.T) {
			_, err := kit.Call("action::"+name, map[string]any{})
			require.Equal(t, want, fault.CodeOf(err), "%v", err)
			r := kit.Try(`try { SDK.Actions.`+name+`({}) } catch (e) {}; SDK.Entities.Todo.patch("1", { views: 1 })`, koantest.Input{})
			if want == fault.ExecutionError {
				require.True(t, r.Success, "it can be caught")
				return
			}
			require.Equal(t, want, r.Error.Code, "a limit ends the run even when it is caught")
			require.False(t, r.Committed)
		})
	}
	out, err := kit.Call("action::caught", map[string]any{})
	require.NoError(t, err)
	require.Contains(t, string(out), "more than 8 deep: caught > caught")
}

// Who calls an action may not be who runs the server.
func TestDefectOfAnActionIsSaidWithoutItsPath(t *testing.T) {
	t.Parallel()
	kit := start(t, map[string]string{
		"engine.js": `export const action = { description: "Has a mistake." }; export default () => undefined.x;`,
		"input.js":  `export const action = { description: "Asks for what there is not." }; export default () => SDK.Entities.Todo.count({ titel: 1 });`,
	})
	for _, name := range []string{"engine", "input"} {
		_, err := kit.Call("action::"+name, map[string]any{})
		f := fault.From(err)
		require.Equal(t, fault.ExecutionError, f.Code)
		require.Equal(t, "This is a defect of the action \""+name+"\": report it to its author.", f.Hint)
	}
}

func TestOutputThatDoesNotFitKeepsNothing(t *testing.T) {
	t.Parallel()
	app := fixture.App()
	app.Providers = []framework.Provider{&mail{}}
	kit := startWith(t, app, map[string]string{"wrong.js": `
		export const action = { description: "Returns something else.", output: { type: "object", required: ["id"] } };
		export default () => { SDK.Entities.Todo.patch("1", { title: "kept?" }); return { name: 1 } };`, "sent.js": `
		export const action = { description: "Sends, and returns something else.", output: { type: "object", required: ["id"] } };
		export default () => SDK.Mail.send({});`})
	r := kit.Run(`try { SDK.Actions.wrong() } catch (e) { SDK.Out.answer([e.code, e.message, e.hint]) }`, koantest.Input{})
	require.Contains(t, string(r.Answer), "execution_error")
	require.Contains(t, string(r.Answer), "does not match its schema")
	require.NotContains(t, string(r.Answer), "outside", "it did nothing outside")
	r = kit.Run(`try { SDK.Actions.sent() } catch (e) { SDK.Out.answer(e.hint) }`, koantest.Input{})
	require.Contains(t, string(r.Answer), "Its effect outside may have happened")
	r = kit.Run(`SDK.Out.answer(SDK.Entities.Todo.getById("1").title)`, koantest.Input{})
	require.JSONEq(t, `"Write tests"`, string(r.Answer))
}

type closing struct {
	ID string `json:"id"`
}

type closed struct {
	Title string   `json:"title"`
	At    string   `json:"at"`
	Draw  []uint64 `json:"draw"`
}

func closeTodo(ctx context.Context, call framework.Call, in closing) (closed, error) {
	var todo struct {
		Title string `json:"title"`
	}
	if err := call.Invoke(ctx, "koan::Todo.patch", map[string]any{"id": in.ID, "changes": map[string]any{"completed": true}}, &todo); err != nil {
		return closed{}, err
	}
	if in.ID == "1" {
		return closed{}, fault.New(fault.Conflict, "the first todo stays open")
	}
	return closed{Title: todo.Title, At: call.Now().Format("2006"), Draw: []uint64{call.Rand().Uint64()}}, nil
}

func TestActionInGo(t *testing.T) {
	t.Parallel()
	if pgtest.ForEach(t, TestActionInGo) {
		return
	}
	app := fixture.App()
	app.GoActions = []framework.GoAction{framework.Action("close-todo", "Closes a todo.", closeTodo, framework.ActionExample(closing{ID: "1"}))}
	kit := startWith(t, app, map[string]string{"close-twice.js": `
		export const action = { description: "Closes two." };
		export default () => [SDK.Actions.closeTodo({ id: "2" }), SDK.Actions.closeTodo({ id: "2" })];`})
	kit.Run(`SDK.Entities.Todo.upsert({ id: "2", title: "second" })`, koantest.Input{})
	out, err := kit.Call("action::close-todo", closing{ID: "2"})
	require.NoError(t, err)
	require.Contains(t, string(out), `"title":"second"`)
	_, err = kit.Call("action::close-todo", closing{ID: "1"})
	require.Equal(t, fault.Conflict, fault.CodeOf(err))
	require.Contains(t, err.Error(), "the first todo stays open")
	_, err = kit.Call("action::close-todo", closing{ID: "none"})
	require.Equal(t, fault.NotFound, fault.CodeOf(err))
	r := kit.Run(`SDK.Out.answer([SDK.Entities.Todo.getById("1").completed, SDK.Actions.closeTwice().map((c) => c.draw[0])])`, koantest.Input{})
	var answer []json.RawMessage
	r.AnswerInto(&answer)
	require.JSONEq(t, `false`, string(answer[0]), "what a failed action did is undone")
	var draws []json.RawMessage
	require.NoError(t, json.Unmarshal(answer[1], &draws))
	require.NotEqual(t, draws[0], draws[1])
}

// An agent may close todos and do nothing else.
func TestAppRights(t *testing.T) {
	t.Parallel()
	if pgtest.ForEach(t, TestAppRights) {
		return
	}
	kit := start(t, map[string]string{
		"close.js": `
			export const action = { description: "Closes a todo.", rights: "app", scopes: ["todos:close"], effects: {}, input: { type: "object", properties: { id: { type: "string" }, set: { type: "string" } } } };
			export default ({ id, set }) => { console.log("closing"); SDK.Entities.Person.upsert({ name: "secret", email: "x@example.org" }, { set }); return SDK.Entities.Todo.patch(id, { completed: true }, { set }).completed };`,
		"leak.js": `
			export const action = { description: "Fails at something.", rights: "app", scopes: ["todos:close"] };
			export default () => SDK.Entities.Person.getById("the id of somebody");`,
		"archive.js": `
			export const action = { description: "Archives.", rights: "app", scopes: ["todos:close"], sets: ["archive"] };
			export default () => SDK.Entities.Todo.upsert({ id: "old", title: "old" }).id + SDK.run.set;`,
	})
	agent := kit.As(auth.Principal{Subject: "agent", Scopes: []string{"todos:close"}, Sets: []string{"default"}})
	out, err := agent.Call("action::close", map[string]any{"id": "1"})
	require.NoError(t, err)
	require.JSONEq(t, `true`, string(out))
	_, err = agent.Call("action::close", map[string]any{"id": "1", "set": "archive"})
	require.Equal(t, fault.ExecutionError, fault.CodeOf(err), "within the caller's sets")

	_, err = agent.Call("action::leak", map[string]any{})
	require.Equal(t, fault.ExecutionError, fault.CodeOf(err))
	require.NotContains(t, err.Error()+fault.From(err).Hint, "Person")
	require.NotContains(t, err.Error(), "somebody")

	out, err = agent.Call("action::archive", map[string]any{})
	require.NoError(t, err, "within the action's own sets")
	require.JSONEq(t, `"oldarchive"`, string(out))

	nobody := kit.As(auth.Principal{Subject: "nobody", Scopes: []string{"entities:write"}, Sets: []string{"default"}})
	_, err = nobody.Call("action::close", map[string]any{"id": "1"})
	require.Error(t, err)
}

// What a run reports of an action with the app's rights is what the run's caller may see.
func TestReportsOfAppRightsAreTheCallers(t *testing.T) {
	t.Parallel()
	if pgtest.ForEach(t, TestReportsOfAppRightsAreTheCallers) {
		return
	}
	kit := start(t, map[string]string{"hire.js": `
		export const action = { description: "Hires somebody.", rights: "app", scopes: ["people:hire"] };
		export default () => { SDK.Entities.Person.upsert({ name: "Ada", email: "ada@example.org" }); SDK.Entities.Todo.patch("1", { title: "welcome Ada" }); return "hired" };`})
	// Reading takes no scope here, so that everybody knows of the entities; the sets decide who
	// sees rows.
	agent := kit.As(auth.Principal{Subject: "agent", Scopes: []string{"people:hire"}, Sets: []string{"default"}})
	r := agent.Run(`SDK.Out.answer(SDK.Actions.hire())`, koantest.Input{Include: []string{"changes", "calls"}})
	require.Len(t, r.Changes, 2, "the caller may read these entities")
	for _, c := range r.Calls {
		if c.Parent != "" {
			require.Empty(t, c.ToolName, "the caller may not write")
			require.Empty(t, c.Error)
		}
	}

	archive := startWith(t, fixture.App(), map[string]string{"hire.js": `
		export const action = { description: "Hires somebody.", rights: "app", scopes: ["people:hire"], sets: ["archive"] };
		export default () => { SDK.Entities.Person.upsert({ name: "Ada", email: "ada@example.org" }); return "hired" };`})
	stranger := archive.As(auth.Principal{Subject: "stranger", Scopes: []string{"people:hire"}, Sets: []string{"tenant-x"}})
	out, err := stranger.Call("code::koan.execute", map[string]any{"set": "tenant-x", "code": `SDK.Out.answer(SDK.Actions.hire())`, "include": []string{"changes"}})
	require.NoError(t, err)
	require.NotContains(t, string(out), "ada@example.org", "rows of a set that the caller may not name")
	require.Contains(t, string(out), `"changeCounts":[{"entity":"","set":"","created":1,"updated":0,"deleted":0}]`, "counts are whole")
}

// A test that calls an action whose file is wrong learns what is wrong with it, and where.
func TestTestsOfABrokenActionSayWhatIsWrong(t *testing.T) {
	t.Parallel()
	kit := start(t, map[string]string{"finish.ts": finish, "broken.js": "export const action = { description: \"x\" };\nexport default () => { let = ; };"})
	_, err := kit.TryAction("broken", nil)
	f := fault.From(err)
	require.Equal(t, fault.ToolNotFound, f.Code)
	require.Regexp(t, `/broken\.js:2:\d+: `, f.Message)
	_, err = kit.TryAction("missing", nil)
	require.NotContains(t, err.Error(), "broken")
}
