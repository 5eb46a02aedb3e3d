package plugins_test

import (
	"context"
	"encoding/json"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/koan-go/koan/framework/auth"
	"github.com/koan-go/koan/framework/catalog"
	"github.com/koan-go/koan/framework/fault"
	"github.com/koan-go/koan/framework/koantest"
	"github.com/koan-go/koan/framework/run/approve"
	"github.com/koan-go/koan/plugins/kit"
	"github.com/koan-go/koan/tests/fixture"
)

// errand is a call that the plugin clerk makes.
type errand struct {
	ID    string `json:"id"`
	Input string `json:"input"` // JSON
}

type errands struct {
	Calls    []errand `json:"calls"`
	Parallel bool     `json:"parallel,omitempty"`
	Fail     bool     `json:"fail,omitempty"` // after the calls
	Deep     bool     `json:"deep,omitempty"` // calls itself with the same input
	Stop     bool     `json:"stop,omitempty"` // returns the first fault of a call
}

// errandsDone is what became of them: outputs, or codes of faults.
type errandsDone struct {
	Outcomes []string `json:"outcomes"`
	Hints    []string `json:"hints"`
	Called   int64    `json:"called"` // calls of the process so far
}

// clerk is a plugin that calls what it is told to.
func clerk() kit.Plugin {
	var called atomic.Int64
	do := func(ctx context.Context, call kit.Call, in errands) (errandsDone, error) {
		out := errandsDone{Called: called.Add(1), Outcomes: make([]string, len(in.Calls)), Hints: make([]string, len(in.Calls))}
		if in.Deep {
			if err := call.Invoke(ctx, "plugin::clerk.work", in, &out); err != nil {
				return out, err
			}
			return out, nil
		}
		errs := make([]error, len(in.Calls))
		one := func(i int) {
			var got json.RawMessage
			if errs[i] = call.Invoke(ctx, in.Calls[i].ID, json.RawMessage(in.Calls[i].Input), &got); errs[i] != nil {
				out.Outcomes[i], out.Hints[i] = string(fault.CodeOf(errs[i])), fault.From(errs[i]).Hint
				return
			}
			out.Outcomes[i] = string(got)
		}
		var all sync.WaitGroup
		for i := range in.Calls {
			if in.Parallel {
				all.Go(func() { one(i) })
				continue
			}
			if one(i); in.Stop && errs[i] != nil {
				return out, errs[i]
			}
		}
		all.Wait()
		if in.Fail {
			return out, fault.New(fault.Conflict, "as it was told")
		}
		return out, nil
	}
	return kit.Plugin{
		Domain: "clerk", Version: "1.0.0", Description: "Runs errands.",
		Needs: []string{"koan::Todo.*", "koan::Person.count", "plugin::clerk.*"},
		Functions: []kit.Function{
			kit.Func("work", "Run errands.", do),
			kit.Func("look", "Run errands that change nothing.", do, kit.ReadOnly()),
			kit.Func("ship", "Run errands, and ship something.", do, kit.Outside()),
		},
	}
}

// office is the fixture's app with the plugin clerk.
func office(t *testing.T, settings ...koantest.Setting) *koantest.Kit {
	t.Helper()
	k := koantest.New(t, fixture.App(), append(settings, set("plugins.dir", folderOf(t, "clerk")))...)
	require.NotNil(t, k.Instance().Snapshot().Operation(catalog.PluginID("clerk", "work")), "the plugin runs")
	return k
}

// send calls a function of the clerk.
func send(t *testing.T, k *koantest.Kit, function string, in errands) (errandsDone, error) {
	t.Helper()
	raw, err := k.Call("plugin::clerk."+function, in)
	var out errandsDone
	if err == nil {
		require.NoError(t, json.Unmarshal(raw, &out))
	}
	return out, err
}

var (
	allTodos = set("plugins.clerk.grants", "koan::Todo.*")
	create   = errand{"koan::Todo.create", `{"model":{"id":"2","title":"Read tests"}}`}
	rename   = errand{"koan::Todo.patch", `{"id":"1","changes":{"title":"Renamed"}}`}
	count    = errand{"koan::Todo.count", `{}`}
)

// titles are those of all todos, as a caller outside of any run sees them.
func titles(k *koantest.Kit) (out []string) {
	k.Run(`SDK.Out.answer(SDK.Entities.Todo.collection({sort: "title"}).items.map((t) => t.title))`, koantest.Input{}).AnswerInto(&out)
	return out
}

// What a plugin calls is part of the run that calls it: its transaction, its record, its undo.
func TestPluginCallsBack(t *testing.T) {
	t.Parallel()
	k := office(t, allTodos, set("journal.enabled", "true"), set("replay.keep", "all"))
	r := k.Run(`
		SDK.Entities.Todo.patch("1", {priority: "high"});
		const done = SDK.Clerk.work(SDK.args);
		SDK.Out.answer([done.outcomes[2], SDK.Entities.Todo.count(), SDK.Entities.Todo.getById("1").title]);`,
		koantest.Input{Args: errands{Calls: []errand{create, rename, count}}, Include: []string{"changes", "calls"}})
	require.JSONEq(t, `["{\"count\":2}", 2, "Renamed"]`, string(r.Answer))
	require.Len(t, r.Changes, 2)
	require.Equal(t, []string{"Read tests", "Renamed"}, titles(k))
	for _, data := range []bool{false, true} {
		replayed, err := k.Instance().Replay(t.Context(), r.RunID, data)
		require.NoError(t, err)
		require.Equal(t, !data, replayed.Identical, "%+v: with today's data the todo is there already", replayed.Difference)
	}

	_, err := k.Call("code::koan.undo", map[string]any{"runId": r.RunID})
	require.NoError(t, err)
	require.Equal(t, []string{"Write tests"}, titles(k))
}

// As a tool of its own it is a run of its own.
func TestPluginThatIsCalledAloneCallsBack(t *testing.T) {
	t.Parallel()
	k := office(t, allTodos)
	out, err := send(t, k, "work", errands{Calls: []errand{create, count}, Parallel: true})
	require.NoError(t, err)
	require.Contains(t, []string{`{"count":1}`, `{"count":2}`}, out.Outcomes[1])
	require.Len(t, titles(k), 2)

	_, err = send(t, k, "work", errands{Calls: []errand{rename}, Fail: true})
	require.Equal(t, fault.Conflict, fault.CodeOf(err))
	require.Equal(t, []string{"Read tests", "Write tests"}, titles(k), "what a call that fails has done is undone")
}

// A plugin may call what it has asked for and was granted, and nothing else.
func TestGrants(t *testing.T) {
	t.Parallel()
	calls := errands{Calls: []errand{count, {"koan::Person.count", `{}`}, {"koan::Label.count", `{}`}, {"code::koan.execute", `{"code":"1"}`}, {"nonsense", `{}`}, {"koan::Todo.nonsense", `{}`}}}
	for name, c := range map[string]struct {
		grants string
		want   []string
	}{
		"none":   {"", []string{"forbidden", "forbidden", "forbidden", "forbidden", "invalid_code_mode_id", "forbidden"}},
		"some":   {"[koan::Todo.*]", []string{`{"count":1}`, "forbidden", "forbidden", "forbidden", "invalid_code_mode_id", "tool_not_found"}},
		"others": {"[koan::Label.count, koan::Person.*]", []string{"forbidden", `{"count":0}`, "forbidden", "forbidden", "invalid_code_mode_id", "forbidden"}},
	} {
		t.Run(name, func(t *testing.T) {
			settings := []koantest.Setting{}
			if c.grants != "" {
				settings = append(settings, set("plugins.clerk.grants", c.grants))
			}
			k := office(t, settings...)
			out, err := send(t, k, "work", calls)
			require.NoError(t, err)
			require.Equal(t, c.want, out.Outcomes)
			require.Contains(t, out.Hints[2], "kit.Plugin.Needs")
			require.Contains(t, out.Hints[2], "plugins.clerk.grants")
			for _, check := range k.Instance().Checks(t.Context()) {
				if check.Name == "plugin clerk" {
					require.Equal(t, name == "others", !check.OK, check.Detail)
					require.Equal(t, name == "others", len(check.Hint) > 0)
					if name == "others" {
						require.Contains(t, check.Detail, "it does not ask for koan::Label.count")
						require.Contains(t, check.Detail, "not granted: koan::Todo.*, plugin::clerk.*")
					}
				}
			}
		})
	}
}

// The rights are those of the caller, and no more.
func TestCallsBackHaveTheCallersRights(t *testing.T) {
	t.Parallel()
	k := office(t, allTodos)
	reader := k.As(auth.Principal{Subject: "rea", Scopes: []string{catalog.ScopeCall}, Sets: []string{"default"}})
	out, err := send(t, reader, "work", errands{Calls: []errand{rename, count, {"koan::Todo.count", `{"set":"sales"}`}}})
	require.NoError(t, err)
	require.Equal(t, []string{"tool_not_found", `{"count":1}`, "unknown_set"}, out.Outcomes)
}

// What is declared of the plugin's function holds for its calls, and those of a dry run are rolled back.
func TestCallsBackKeepToTheEffects(t *testing.T) {
	t.Parallel()
	k := office(t, allTodos)
	out, err := send(t, k, "look", errands{Calls: []errand{rename, count}})
	require.NoError(t, err)
	require.Equal(t, []string{"forbidden", `{"count":1}`}, out.Outcomes)
	require.Contains(t, out.Hints[0], "plugins.clerk.effects")

	in := koantest.Input{Args: errands{Calls: []errand{create, count}}, DryRun: true, Include: []string{"changes"}}
	r := k.Run(`SDK.Out.answer(SDK.Clerk.work(SDK.args).outcomes[1])`, in)
	require.JSONEq(t, `"{\"count\":2}"`, string(r.Answer))
	require.Len(t, r.Changes, 1)
	require.Equal(t, []string{"Write tests"}, titles(k))
	require.Equal(t, fault.DryRunBlocked, codeOf(k.Try(`SDK.Clerk.ship(SDK.args)`, in)))
}

// Approval is asked for what the plugin does, and the plan does that.
func TestCallsBackAreApproved(t *testing.T) {
	t.Parallel()
	k := office(t, allTodos, set("approval.mode", "destructive"))
	asked := k.Try(`SDK.Out.answer(SDK.Clerk.work(SDK.args).called)`, koantest.Input{Args: errands{Calls: []errand{{"koan::Todo.delete", `{"id":"1"}`}}}})
	plan := planOf(t, asked.Error)
	require.Equal(t, []string{"Write tests"}, titles(k))
	approver := k.As(auth.Principal{Subject: "ann", Scopes: []string{auth.All, approve.Scope}, Sets: []string{auth.All}})
	applied, err := approver.Call("code::koan.execute", map[string]any{"planId": plan})
	require.NoError(t, err)
	require.Contains(t, string(applied), `"answer":1`, "what it returned to the plan is not asked again")
	require.Empty(t, titles(k))
}

// Calls count, and come to an end: a plugin that calls itself does not wait for itself either.
func TestCallsBackAreBounded(t *testing.T) {
	t.Parallel()
	k := office(t, set("plugins.clerk.grants", "[koan::Todo.*, plugin::clerk.work]"), set("plugins.clerk.maxParallel", "1"), set("codeMode.maxSdkCalls", "20"))
	_, err := send(t, k, "work", errands{Calls: []errand{}, Deep: true})
	require.Equal(t, fault.ExecutionError, fault.CodeOf(err))
	require.Contains(t, err.Error(), "more than 8 deep")
	var many errands
	for range 30 {
		many.Calls = append(many.Calls, count)
	}
	require.Equal(t, fault.SDKCallsExceeded, codeOf(k.Try(`SDK.Clerk.work(SDK.args)`, koantest.Input{Args: many})))
	_, err = send(t, k, "work", errands{Calls: []errand{rename}})
	require.NoError(t, err, "the plugin is alive")
}

// The fault of a call may be returned as it is.
func TestFaultOfACallBackPassesOn(t *testing.T) {
	t.Parallel()
	k := office(t, allTodos)
	_, err := send(t, k, "work", errands{Calls: []errand{create, {"koan::Todo.create", `{"model":{"id":"1","title":"again"}}`}}, Stop: true})
	require.Equal(t, fault.Conflict, fault.CodeOf(err))
	_, err = send(t, k, "work", errands{Calls: []errand{{"koan::Todo.nonsense", `{}`}}, Stop: true})
	require.Equal(t, fault.ToolNotFound, fault.CodeOf(err), "also one that is not a plugin's own to return")
	require.Equal(t, []string{"Write tests"}, titles(k))
}
