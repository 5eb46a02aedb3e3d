package e2e

import (
	"encoding/json"
	"fmt"
	"regexp"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/koan-go/koan/framework/fault"
	"github.com/koan-go/koan/framework/journal"
	"github.com/koan-go/koan/tests/pgtest"
)

var idPattern = regexp.MustCompile(`[0-9a-f]{8}-[0-9a-f-]{27}`)

// Plans of every kind of call are approved over MCP by who has the scope, and by
// nobody else.
func TestApproversOverHTTP(t *testing.T) {
	a := newApp(t)
	token := func(subject string, scopes ...string) string {
		raw, _ := json.Marshal(scopes)
		return fmt.Sprintf("  - {subject: %s, sha256: %s, scopes: %s, sets: [%s]}\n", subject, journal.Digest([]byte(subject + "-token"))[len("sha256:"):], raw, `"*"`)
	}
	tokens := a.script("tokens.yaml", "tokens:\n"+token("agent", "*")+token("other", "*")+token("boss", "*", "koan:approve"))
	w := a.web("--server.tokensFile", tokens, "--approval.mode", "destructive", "--codeMode.faces", "[koan, codemode]")
	call := func(who, tool string, in any) map[string]any {
		raw, err := json.Marshal(in)
		require.NoError(t, err)
		_, out := w.call(tool, string(raw), "Authorization", "Bearer "+who+"-token")
		return out
	}
	code := func(out map[string]any) any {
		f, _ := out["error"].(map[string]any)
		return f["code"]
	}
	fill := func() {
		require.Equal(t, true, call("agent", "koan.code.execute", input{"code": `for (const id of ["a", "b"]) SDK.Entities.Todo.upsert({ id, title: id })`})["success"])
	}
	for name, c := range map[string]struct {
		tool string
		in   input
		want string // in the result of the plan
	}{
		"script": {"koan.code.execute", input{"code": `SDK.Out.answer(SDK.Entities.Todo.deleteMany(["a", "b"]))`}, `"answer":2`},
		"module": {"codemode.run", input{"code": `import { todo_delete_many } from "@codemode/servers/koan"; globalThis.__codemode_result__ = await todo_delete_many({ ids: ["a", "b"] })`}, `"deleted":2`},
		"tool":   {"todo.delete-many", input{"ids": []string{"a", "b"}}, `"deleted":2`},

		"generic tool": {"entities_delete-many", input{"entity": "Todo", "ids": []string{"a", "b"}}, `"deleted":2`},
	} {
		t.Run(name, func(t *testing.T) {
			fill()
			asked := call("agent", c.tool, c.in)
			text, _ := json.Marshal(asked)
			require.Contains(t, string(text), "nothing has been committed yet")
			if name == "module" {
				require.Contains(t, string(text), `"code":"APPROVAL_REQUIRED"`, "the script threw nothing")
			}
			list := a.exec("", "approve", "--list")
			require.Contains(t, list.stdout, "deletes 2 (2 Todo)")
			plan := idPattern.FindString(list.stdout)
			for who, want := range map[string]fault.Code{"agent": fault.ApprovalRequired, "other": fault.NotFound} {
				require.EqualValues(t, want, code(call(who, "koan.code.execute", input{"planId": plan})), who)
			}
			shown := call("boss", "koan.code.execute", input{"planId": plan, "dryRun": true})
			require.Len(t, shown["changes"], 2)
			for _, who := range []string{"boss", "boss", "agent"} {
				out := call(who, "koan.code.execute", input{"planId": plan})
				text, _ := json.Marshal(out)
				require.Contains(t, string(text), c.want, who)
			}
			require.EqualValues(t, 1, call("agent", "todo.count", input{})["count"])
		})
	}
	approvers := a.lineOf(a.exec(`SDK.Entities.KoanRun.all({ filter: { approval: "approved" }, fields: "approvedBy" }).map((r) => r.approvedBy)`, "run", "-", "--journal.expose")).Result.Data
	require.Contains(t, approvers, "boss")
	require.NotContains(t, approvers, "agent", "who only asks again has approved nothing")
}

// Two people read a plan over MCP; the yes of the one makes another plan of it, and the yes
// of the other, to what is not asked any more, commits nothing.
func TestReplacedPlanOverMCP(t *testing.T) {
	t.Parallel()
	if pgtest.ForEach(t, TestReplacedPlanOverMCP) {
		return
	}
	a := newApp(t)
	if pgtest.Here(t) {
		a = onPostgres(t)
	}
	token := func(subject, scopes, sets string) string {
		return fmt.Sprintf("  - {subject: %s, sha256: %s, scopes: [%s], sets: [%s]}\n", subject, journal.Digest([]byte(subject + "-token"))[len("sha256:"):], scopes, sets)
	}
	tokens := a.script("tokens.yaml", "tokens:\n"+token("agent", `"*"`, `"*"`)+token("ann", `"*", "koan:approve"`, `"*"`)+token("ben", `"koan:approve"`, `"*"`)+token("clerk", `"koan:approve"`, "default"))
	w := a.web("--server.tokensFile", tokens, "--approval.mode", "destructive")
	type answer struct {
		Success bool
		RunID   string
		Result  struct{ Text, State, Replaces string }
		Answer  any
		Error   struct {
			Code, Message, Hint string
			Details             map[string]any
		}
	}
	call := func(who string, in input) (out answer) {
		raw, err := json.Marshal(in)
		require.NoError(t, err)
		_, body := w.call("koan.code.execute", string(raw), "Authorization", "Bearer "+who+"-token")
		text, err := json.Marshal(body)
		require.NoError(t, err)
		require.NoError(t, json.Unmarshal(text, &out), string(text))
		return out
	}
	fill := func(id string) {
		require.True(t, call("agent", input{"code": `SDK.Entities.Todo.upsert({ id: SDK.args, title: SDK.args }); null`, "args": id}).Success)
	}
	fill("a")
	first := call("agent", input{"code": `SDK.Entities.Todo.count({}, "tenant-p"); SDK.Out.answer(SDK.Entities.Todo.deleteByQuery({ id: { $in: ["a", "b"] } }, { all: true }))`}).Error.Details["planId"].(string)
	read := call("ben", input{"planId": first, "dryRun": true})
	require.NotContains(t, read.Result.Text, "delete Todo b")
	fill("b")

	asked := call("ann", input{"planId": first})
	require.Equal(t, string(fault.ApprovalRequired), asked.Error.Code)
	require.Contains(t, asked.Error.Message, first)
	next := asked.Error.Details["planId"].(string)
	require.NotEqual(t, first, next)
	require.Equal(t, []any{first, first}, []any{asked.Error.Details["replaces"], asked.RunID})
	for _, who := range []string{"ben", "ann", "agent"} {
		late := call(who, input{"planId": first})
		require.Equal(t, string(fault.PlanStale), late.Error.Code, who)
		require.Equal(t, map[string]any{"replaced": first, "planId": next, "state": "waiting"}, late.Error.Details)
		require.Contains(t, late.Error.Hint, next)
	}
	require.Equal(t, 2.0, call("agent", input{"code": `SDK.Out.answer(SDK.Entities.Todo.count({ id: { $in: ["a", "b"] } }))`}).Answer)
	again := call("ben", input{"planId": first, "dryRun": true})
	require.Equal(t, []string{"replaced", read.Result.Text}, []string{again.Result.State, again.Result.Text}, "what was read is what it was")
	shown := call("ben", input{"planId": next, "dryRun": true})
	require.Contains(t, shown.Result.Text, "also: delete Todo b")
	require.Equal(t, first, shown.Result.Replaces)
	for _, who := range []string{"ben", "agent", "ann"} {
		done := call(who, input{"planId": next})
		require.True(t, done.Success, "%s: %v", who, done.Error)
		require.Equal(t, []any{first, 2.0}, []any{done.RunID, done.Answer})
	}
	require.Equal(t, "applied", call("ben", input{"planId": first}).Error.Details["state"])
	require.Equal(t, string(fault.NotFound), call("clerk", input{"planId": first}).Error.Code, "who may not see the plan hears nothing of the next")
}

// Who may name one set only runs scripts there, whether the request or each call names
// it, and a plan of theirs is for whoever may name that set.
func TestCallersWithoutTheDefaultSet(t *testing.T) {
	a := newApp(t)
	token := func(subject, scopes, sets string) string {
		return fmt.Sprintf("  - {subject: %s, sha256: %s, scopes: [%s], sets: [%s]}\n", subject, journal.Digest([]byte(subject + "-token"))[len("sha256:"):], scopes, sets)
	}
	tokens := a.script("tokens.yaml", "tokens:\n"+token("tenant", `"entities:write"`, "tenant-7")+token("boss", `"koan:approve"`, `"tenant-*"`)+token("stranger", `"koan:approve"`, "default, tenant-8"))
	w := a.web("--server.tokensFile", tokens, "--approval.mode", "destructive", "--codeMode.faces", "[koan, codemode]")
	call := func(who, tool string, in input) string {
		raw, err := json.Marshal(in)
		require.NoError(t, err)
		_, out := w.call(tool, string(raw), "Authorization", "Bearer "+who+"-token")
		text, err := json.Marshal(out)
		require.NoError(t, err)
		return string(text)
	}
	require.Contains(t, call("tenant", "koan.code.execute", input{"code": `1 + 1`}), `"result":2`)
	require.Contains(t, call("tenant", "koan.code.execute", input{"code": `SDK.Entities.Todo.upsert({ id: "a", title: "a" }, "tenant-7").id`}), `"result":"a"`)
	require.Contains(t, call("tenant", "koan.code.execute", input{"code": `SDK.Entities.Todo.count()`}), `"result":1`, "the only set is the default one")
	require.Contains(t, call("tenant", "codemode.run", input{"code": `import { todo_count } from "@codemode/servers/koan"; globalThis.__codemode_result__ = await todo_count({ set: "tenant-7" })`}), `"count":1`)
	for name, in := range map[string]input{
		"a call in the default": {"code": `SDK.Entities.Todo.count({}, "default")`},
		"the default, named":    {"code": `1`, "set": "default"},
		"somebody else's":       {"code": `1`, "set": "tenant-8"},
	} {
		require.Contains(t, call("tenant", "koan.code.execute", in), `"unknown_set"`, name)
	}

	for name, in := range map[string]input{
		"set of the request": {"code": `SDK.Entities.Todo.delete("a")`, "set": "tenant-7"},
		"set of the call":    {"code": `SDK.Entities.Todo.delete("a", "tenant-7")`},
	} {
		t.Run(name, func(t *testing.T) {
			call("tenant", "koan.code.execute", input{"code": `SDK.Entities.Todo.upsert({ id: "a", title: "a" }, "tenant-7")`})
			asked := call("tenant", "koan.code.execute", in)
			require.Contains(t, asked, `"approval_required"`)
			plan := idPattern.FindString(asked)
			require.Contains(t, call("stranger", "koan.code.execute", input{"planId": plan}), `"not_found"`)
			require.Contains(t, call("boss", "koan.code.execute", input{"planId": plan}), `"deleted":1`)
			replayed := a.exec("", "replay", plan)
			require.Zero(t, replayed.status, replayed.stdout)
		})
	}
}

// A plan is for who may name every set that its run read, too: what the run gave may
// have come from any of them.
func TestPlansOfRunsThatReadOtherSets(t *testing.T) {
	a := newApp(t)
	token := func(subject, scopes, sets string) string {
		return fmt.Sprintf("  - {subject: %s, sha256: %s, scopes: [%s], sets: [%s]}\n", subject, journal.Digest([]byte(subject + "-token"))[len("sha256:"):], scopes, sets)
	}
	tokens := a.script("tokens.yaml", "tokens:\n"+token("admin", `"*"`, `"*"`)+token("clerk", `"koan:approve"`, "default")+token("boss", `"koan:approve"`, `"*"`))
	w := a.web("--server.tokensFile", tokens, "--approval.mode", "destructive")
	call := func(who, tool string, in input) string {
		raw, err := json.Marshal(in)
		require.NoError(t, err)
		_, out := w.call(tool, string(raw), "Authorization", "Bearer "+who+"-token")
		text, err := json.Marshal(out)
		require.NoError(t, err)
		return string(text)
	}
	fill := func(door string) {
		code := fmt.Sprintf(`SDK.Entities.Todo.upsert({ id: "a", title: "a" }); SDK.Entities.Todo.upsert({ id: "door", title: %q }).id`, door)
		require.Contains(t, call("admin", "koan.code.execute", input{"code": code}), `"result":"door"`)
		require.Contains(t, call("admin", "koan.code.execute", input{"code": `SDK.Entities.Todo.upsert({ id: "s", title: "secret" }, "tenant-p").id`}), `"result":"s"`)
	}
	hidden := func(t *testing.T, plan string) {
		for _, in := range []input{{"planId": plan}, {"planId": plan, "dryRun": true}} {
			out := call("clerk", "koan.code.execute", in)
			require.Contains(t, out, `"not_found"`)
			require.NotContains(t, out, "secret")
		}
	}
	for name, in := range map[string]input{
		"deletes and reads": {"code": `SDK.Entities.Todo.delete("a"); SDK.Entities.Todo.all({ set: "tenant-p" })`},
		"only reads":        {"code": `SDK.Entities.Todo.all({ set: "tenant-p" })`, "approval": "always"},
	} {
		t.Run(name, func(t *testing.T) {
			fill("closed")
			asked := call("admin", "koan.code.execute", in)
			require.Contains(t, asked, `"approval_required"`)
			plan := idPattern.FindString(asked)
			hidden(t, plan)
			require.Contains(t, call("boss", "koan.code.execute", input{"planId": plan}), "secret")
			hidden(t, plan)
		})
	}

	// What a run reads when it is applied counts as well, also where it fails then.
	for name, end := range map[string]string{
		"returns": `SDK.Entities.Todo.getById("s", { set: "tenant-p" }).title`, "throws": `throw new Error(SDK.Entities.Todo.getById("s", { set: "tenant-p" }).title)`,
	} {
		t.Run("opened later, "+name, func(t *testing.T) {
			fill("closed")
			asked := call("admin", "koan.code.execute", input{"code": `SDK.Entities.Todo.delete("a"); if (SDK.Entities.Todo.getById("door").title === "open") { ` + end + ` }`})
			require.Contains(t, asked, `"approval_required"`)
			plan := idPattern.FindString(asked)
			require.Contains(t, call("clerk", "koan.code.execute", input{"planId": plan, "dryRun": true}), `"success":true`)
			fill("open")
			if name == "throws" {
				require.Contains(t, call("boss", "koan.code.execute", input{"planId": plan}), "secret")
			}
			hidden(t, plan)
			require.Contains(t, call("admin", "koan.code.execute", input{"code": `SDK.Entities.Todo.count({ id: "a" })`}), `"result":1`)
			require.Contains(t, call("boss", "koan.code.execute", input{"planId": plan}), "secret")
			hidden(t, plan)
		})
	}
}
