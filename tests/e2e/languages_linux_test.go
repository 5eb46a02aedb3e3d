package e2e

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/koan-go/koan/framework/fault"
	"github.com/koan-go/koan/framework/koantest"
	"github.com/koan-go/koan/tests/fixture"
	"github.com/koan-go/koan/tests/needs"
)

// steps are the same work in one language: what a run may be kept, repeated, replayed and undone for.
type steps struct{ add, remove, chance, lose, count string }

var javascriptSteps = steps{
	add:    `const t = SDK.Entities.Todo.upsert({ id: "a", title: "once " + Math.random() }); SDK.Out.answer(t.title)`,
	remove: `SDK.Out.answer(SDK.Entities.Todo.deleteByQuery({ id: "a" }, { maxAffected: 5 }))`,
	chance: `import { take } from "@codemode/servers/nap";
const order = [];
await Promise.all(Array.from({ length: 4 }, async (_, n) => {
  await take({ ms: Math.floor(Math.random() * 20) });
  const t = SDK.Entities.Todo.upsert({ title: "todo " + n + " " + Math.random() });
  order.push(n, t.id, Date.now());
}));
globalThis.result = { order, all: SDK.Entities.Todo.count() };`,
	lose:  `SDK.Entities.Todo.upsert({ title: "lost" }); SDK.Entities.Todo.getById("none " + Math.random())`,
	count: `const n = SDK.Entities.Todo.count(); SDK.Out.answer(n)`,
}

var languageSteps = map[string]steps{
	"javascript": javascriptSteps,
	"node":       javascriptSteps,
	"python": {
		add:    "import random\nt = SDK.Entities.Todo.upsert({'id': 'a', 'title': f'once {random.random()}'})\nSDK.Out.answer(t.title)",
		remove: "SDK.Out.answer(SDK.Entities.Todo.delete_by_query({'id': 'a'}, max_affected=5))",
		chance: `import datetime, random, uuid
from servers.nap import take
order = []
async def one(n):
    await take(ms=random.randrange(20))
    t = SDK.Entities.Todo.upsert({"title": f"todo {n} {uuid.uuid4()}"})
    order.extend([n, t.id, datetime.datetime.now().isoformat()])
await asyncio.gather(*(one(n) for n in range(4)))
result = {"order": order, "all": SDK.Entities.Todo.count()}`,
		lose:  "import random\nSDK.Entities.Todo.upsert({'title': 'lost'})\nSDK.Entities.Todo.get_by_id(f'none {random.random()}')",
		count: "n = SDK.Entities.Todo.count()\nSDK.Out.answer(n if n > 0 else 0)",
	},
}

// What the host does around a run, it does in each language: a key, a plan that a person approves, undo and replay.
func TestRunsAreKeptInEachLanguage(t *testing.T) {
	t.Parallel()
	needs.Program(t, "python3")
	node := needs.ScriptNode(t)
	for language, s := range languageSteps {
		t.Run(language, func(t *testing.T) {
			t.Parallel()
			a := withNap(t)
			a.env = append(a.env, "KOAN_CODEMODE_LANGUAGES=javascript,python,node", "KOAN_CODEMODE_NODE="+node, `KOAN_APPROVAL_RULES=[{operation: delete, mode: writes}]`)
			run := func(code string, args ...string) runLine {
				return a.lineOf(a.exec(code, append([]string{"run", "-", "--language", language}, args...)...))
			}
			title := func() any {
				return a.lineOf(a.exec(`SDK.Entities.Todo.findById("a")?.title ?? null`, "run", "-")).Result.Data
			}

			once := run(s.add, "--idempotency-key", "k")
			require.True(t, once.Result.OK, "%+v", once.Result.Error)
			again := run(s.add, "--idempotency-key", "k")
			require.Equal(t, once.Result.Answer, again.Result.Answer, "the run is not made again")
			require.Equal(t, string(fault.Conflict), run(s.remove, "--idempotency-key", "k").Result.Error.Code)
			require.Equal(t, once.Result.Answer, title())

			plan := run(s.remove)
			require.Equal(t, string(fault.ApprovalRequired), plan.Result.Error.Code)
			require.Equal(t, once.Result.Answer, title(), "nothing is committed before")
			applied := a.lineOf(a.exec("", "approve", plan.PlanID, "--yes"))
			require.True(t, applied.Result.OK, "%+v", applied.Result.Error)
			require.EqualValues(t, 1, applied.Result.Answer)
			require.Nil(t, title())

			require.True(t, a.lineOf(a.exec("", "undo", once.RunID, "--on-conflict", "skip")).Result.OK, "what is gone is as before the run")
			restored := a.exec("", "undo", applied.RunID)
			require.True(t, a.lineOf(restored).Result.OK, "%s", restored.stdout)
			require.Equal(t, once.Result.Answer, title())

			chance := run(s.chance)
			require.True(t, chance.Result.OK, "%+v", chance.Result.Error)
			require.Equal(t, 9, a.replay(chance.RunID, 0).Calls)
			lost := run(s.lose)
			require.Equal(t, string(fault.NotFound), lost.Result.Error.Code)
			require.Equal(t, "not_found", a.replay(lost.RunID, 0).Recorded.Outcome)
			counted := a.lineOf(a.exec(`SDK.Entities.Todo.count({ title: "lost" })`, "run", "-")).Result.Data
			raw, err := json.Marshal(counted)
			require.NoError(t, err)
			require.Equal(t, "0", string(raw))
			keepsLanguage(t, a, language, s.count)
		})
	}
}

// The journal has the same of a run in each language, but for the script, chance and time.
func TestRecordsOfLanguagesAgree(t *testing.T) {
	t.Parallel()
	needs.Program(t, "python3")
	node := needs.ScriptNode(t)
	kept := map[string][]map[string]any{}
	for language, s := range languageSteps {
		a := withNap(t)
		a.env = append(a.env, "KOAN_CODEMODE_LANGUAGES=javascript,python,node", "KOAN_CODEMODE_NODE="+node)
		for _, args := range [][]string{{s.add}, {s.add, "--dry-run"}, {s.remove, "--idempotency-key", "k"}, {s.chance}, {s.lose}} {
			a.exec(args[0], append([]string{"run", "-", "--language", language}, args[1:]...)...)
		}
		for line := range strings.Lines(a.exec("", "runs", "--json").stdout) {
			var record map[string]any
			require.NoError(t, json.Unmarshal([]byte(line), &record))
			require.Equal(t, language, record["language"])
			for _, own := range []string{"id", "started", "durationMs", "code", "codeDigest", "inputDigest", "language", "line", "resultBytes", "runtime", "traceId", "message", "changesDigest"} {
				delete(record, own)
			}
			for _, call := range record["calls"].([]any) {
				require.NotContains(t, call, "", "what is for no reader")
				for _, own := range []string{"startedMs", "durationMs", "inputDigest", "outputBytes", "position"} {
					delete(call.(map[string]any), own)
				}
			}
			slices.SortFunc(record["calls"].([]any), func(a, b any) int { // which of several at once comes first is chance
				return strings.Compare(fmt.Sprint(a), fmt.Sprint(b))
			})
			kept[language] = append(kept[language], record)
		}
	}
	require.Len(t, kept["javascript"], 5)
	require.Len(t, kept["javascript"][1]["calls"], 9)
	require.Equal(t, kept["javascript"], kept["node"])
	require.Equal(t, kept["javascript"], kept["python"])
}

// keepsLanguage checks that a script which named no language is replayed in the one that it was in, whichever is the
// first by now, and that the journal names it.
func keepsLanguage(t *testing.T, a *app, language, code string) {
	t.Helper()
	other := "python"
	if language == other {
		other = "node"
	}
	first := a.lineOf(a.exec(code, "run", "-", "--codeMode.languages", language+","+other))
	require.True(t, first.Result.OK, "%+v", first.Result.Error)
	for _, how := range [][]string{nil, {"--data"}} {
		require.Equal(t, 1, a.replay(first.RunID, 0, append(how, "--codeMode.languages", other+","+language)...).Calls)
	}
	gone := a.exec("", "replay", first.RunID, "--codeMode.languages", other)
	require.Equal(t, 2, gone.status, gone.stderr)
	require.Contains(t, gone.stderr, "runs no scripts in "+language)
	kept := a.lineOf(a.exec(`SDK.Entities.KoanRun.getById("`+first.RunID+`").language`, "run", "-", "--journal.expose"))
	require.Equal(t, language, kept.Result.Data)
}

// A script that computes for too long stops itself, so that its fault has the line. Where the machine gives it no CPU
// for as long, the host ends it, and nobody knows the line: nothing may run beside this test.
func TestPythonSaysWhereItsTimeEnded(t *testing.T) {
	needs.Program(t, "python3")
	kit := koantest.NewConfined(t, fixture.App(), koantest.Setting{Key: "codeMode.languages", Value: "python"}, koantest.Setting{Key: "sandbox.cpuMs", Value: "200"})
	for range 8 {
		f := kit.Try("\nwhile True: pass", koantest.Input{}).Error
		require.NotNil(t, f)
		require.Equal(t, fault.Timeout, f.Code, "%v", f)
		require.Equal(t, 2, f.Line)
		require.Equal(t, map[string]any{"limit": "cpu", "limitMs": 200.0}, f.Details)
	}
	f := kit.Try("a = []\nwhile True: a.append(bytearray(1 << 20))", koantest.Input{}).Error
	require.NotNil(t, f)
	require.Equal(t, fault.MemoryExceeded, f.Code, "%v", f)
	require.Equal(t, 2, f.Line)
	require.Equal(t, map[string]any{"limitBytes": float64(64 << 20)}, f.Details)
}
