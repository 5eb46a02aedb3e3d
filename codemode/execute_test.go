package codemode_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/stretchr/testify/require"

	"github.com/koan-go/koan/framework/auth"
	"github.com/koan-go/koan/framework/catalog"
	"github.com/koan-go/koan/framework/fault"
	"github.com/koan-go/koan/framework/journal"
	"github.com/koan-go/koan/framework/run"
	"github.com/koan-go/koan/framework/run/store"
)

const twice = `
const a = SDK.Entities.Note.getById("1");
SDK.Entities.Note.upsert({id: "1", text: a.text + "!"});
console.log("hello");
SDK.Out.answer({ids: SDK.Entities.Note.collection().items.map(n => n.id)});
"the result"`

func TestExecuteCommits(t *testing.T) {
	h := newHouse(t, nil)
	r := h.run(twice, in{"include": []string{"changes", "calls"}, "correlationId": "c-7"})
	require.NoError(t, r.err)
	require.True(t, r.Success)
	require.JSONEq(t, `{"ids":["1"]}`, string(r.Answer))
	require.JSONEq(t, `"the result"`, string(r.Result))
	require.Equal(t, "first!", h.text("1"))
	require.Equal(t, []store.ChangeCount{{Entity: "Note", Set: "default", Updated: 1}}, r.ChangeCounts)
	require.Len(t, r.Changes, 1)
	require.Len(t, r.Calls, 3)
	require.Equal(t, run.CallRecord{ServerID: "koan", ToolName: "note.upsert", OK: true, DurationMs: r.Calls[1].DurationMs}, r.Calls[1])
	require.Len(t, r.Logs, 1)
	require.Equal(t, "info", r.Logs[0].Level)
	require.Equal(t, "hello", r.Logs[0].Message)
	require.NotNil(t, r.Logs[0].TimeMs)
	require.Equal(t, 3, r.outcome.SDKCalls)
	require.Contains(t, r.outcome.Metrics, "cpuMs")
	require.Contains(t, r.outcome.Metrics, "peakMemoryBytes")
	require.Len(t, h.shelf.receipts, 1)
	require.Equal(t, journal.Digest([]byte(twice)), h.shelf.receipts[0].CodeDigest)
	require.JSONEq(t, `"the result"`, string(h.shelf.receipts[0].Result))
	require.Equal(t, "c-7", h.records.all[0].CorrelationID)
	require.Equal(t, "ok", h.records.all[0].Outcome)
}

func TestOnlyUndefinedIsLeftOut(t *testing.T) {
	h := newHouse(t, nil)
	r := h.run("let x = 1")
	require.NoError(t, r.err)
	keys := []string{}
	for k := range r.raw {
		keys = append(keys, k)
	}
	require.ElementsMatch(t, []string{"success", "runId", "logs", "changeCounts"}, keys)
	require.Equal(t, "[]", string(r.raw["logs"]))
	require.Equal(t, "[]", string(r.raw["changeCounts"]))
	for code, want := range map[string]string{"null": "null", "false": "false", "0": "0", "''": `""`, "({a: null})": `{"a":null}`} {
		require.Equal(t, want, string(h.run(code).raw["result"]), code)
		require.Equal(t, want, string(h.run("SDK.Out.answer(" + code + ")").raw["answer"]), code)
	}
}

// Every result names its run, also that of a script which was refused.
func TestResultsNameTheirRun(t *testing.T) {
	h := newHouse(t, nil)
	named := func(r *reply) string {
		t.Helper()
		var id string
		require.NoError(t, json.Unmarshal(r.raw["runId"], &id), "%s", r.raw)
		require.NotEmpty(t, id)
		require.Equal(t, r.outcome.Run, id)
		return id
	}
	r := h.run("SDK.run.id")
	require.Equal(t, named(r), strings.Trim(string(r.Result), `"`))
	for name, code := range map[string]string{"dry": "1", "throws": "throw 1", "syntax": "let let", "fault": "SDK.Entities.Note.getById('9')", "refused": "  "} {
		t.Run(name, func(t *testing.T) {
			r := h.run(code, in{"dryRun": name == "dry"})
			require.NotEqual(t, named(r), named(h.run(code)))
			require.Equal(t, name == "refused", r.outcome.Refused)
		})
	}
	m := newModules(t, nil)
	for _, code := range []string{"globalThis.__codemode_result__ = 1", "throw 1", "", "import 'fs'"} {
		e := m.module(code)
		require.NotEmpty(t, strings.Trim(string(e.raw["runId"]), `"`), code)
	}
	require.NotEmpty(t, strings.Trim(string(m.request(t.Context(), `{"code":1}`).raw["runId"]), `"`))
}

func TestDryRunShowsChanges(t *testing.T) {
	h := newHouse(t, nil)
	r := h.run(twice, in{"dryRun": true})
	require.NoError(t, r.err)
	require.Len(t, r.Changes, 1)
	require.NotContains(t, r.raw, "calls")
	require.Equal(t, "first", h.text("1"))
	h.run(`SDK.Mail.send({to: "x"})`, in{"dryRun": true}).fails(t, fault.DryRunBlocked)
	require.Equal(t, "[]", string(h.run("1", in{"dryRun": true}).raw["changes"]))
}

func TestFailureRollsBack(t *testing.T) {
	h := newHouse(t, nil)
	r := h.run("SDK.Mail.send({to: 'me'});\nSDK.Entities.Note.upsert({id: '2', text: 'x'});\nconsole.warn('so far');\n  throw new TypeError('no');")
	f := r.fails(t, fault.JavaScriptError)
	require.Contains(t, f.Message, "no")
	require.Equal(t, 4, f.Line)
	require.False(t, *r.Committed)
	require.Len(t, r.Calls, 2)
	require.Len(t, r.Logs, 1)
	require.Equal(t, "warn", r.Logs[0].Level)
	require.Len(t, r.OutsideEffects, 1)
	require.Equal(t, "mail.send", r.OutsideEffects[0].ToolName)
	require.NotContains(t, h.shelf.notes["default"], "2")
	require.Equal(t, string(fault.JavaScriptError), h.records.all[0].Outcome)
}

// Optional members that are null or an empty text are as if they were absent, and names of languages
// may be those of files' endings.
func TestOptionalMembersThatSayNothing(t *testing.T) {
	h := newHouse(t, nil)
	for _, given := range []string{
		`"set":"","language":"","entryFunction":"","correlationId":"","approval":"","planId":"","onLarge":""`,
		`"args":null,"set":null,"language":null,"dryRun":null,"atomic":null,"limits":null,"only":null,"include":null,"planId":null,"idempotencyKey":null`,
		`"limits":{"timeoutMs":null,"maxToolCalls":null}`, `"language":"ts"`, `"language":"JS"`, `"language":"TypeScript"`,
	} {
		r := h.call(t.Context(), "execute", json.RawMessage(`{"code":"SDK.args.nothing === undefined ? 2 : 3",`+given+`}`))
		require.True(t, r.Success, "%s: %v", given, r.Error)
		require.JSONEq(t, "2", string(r.Result))
	}
	h.call(t.Context(), "execute", json.RawMessage(`{"code":"1","dryRun":""}`)).fails(t, fault.InvalidPayload) // rather than a run that is none
	h.call(t.Context(), "execute", json.RawMessage(`{"code":"","planId":"x"}`)).fails(t, fault.NotFound)
	require.Equal(t, `"onLarge" cannot be "nope"; it can only be "file"`, h.call(t.Context(), "execute", json.RawMessage(`{"code":"1","onLarge":"nope"}`)).fails(t, fault.InvalidPayload).Message)
}

func TestFaultsOfExecute(t *testing.T) {
	tests := []struct {
		name    string
		in      any
		code    fault.Code
		path    string
		changed map[string]any
	}{
		{"no code", `{}`, fault.InvalidPayload, "/code", nil},
		{"code is not a string", `{"code":1}`, fault.InvalidPayload, "/code", nil},
		{"code is null", `{"code":null}`, fault.InvalidPayload, "/code", nil},
		{"not an object", `[]`, fault.InvalidPayload, "", nil},
		{"unknown member", `{"code":"1","plan":"x"}`, fault.InvalidPayload, "/plan", nil},
		{"code and a plan", `{"code":"1","planId":"x"}`, fault.InvalidPayload, "/code", nil},
		{"a plan with args", `{"planId":"x","args":{}}`, fault.InvalidPayload, "/args", nil},
		{"a plan with a set", `{"planId":"x","set":"y"}`, fault.InvalidPayload, "/set", nil},
		{"an empty plan is none", `{"planId":""}`, fault.InvalidPayload, "/code", nil},
		{"no such plan", `{"planId":"x"}`, fault.NotFound, "/planId", nil},
		{"unknown approval", `{"code":"1","approval":"maybe"}`, fault.InvalidPayload, "/approval", nil},
		{"approval without a place for plans", `{"code":"1","approval":"writes"}`, fault.CapabilityUnsupported, "/approval", nil},
		{"wrong type", `{"code":"1","dryRun":"yes"}`, fault.InvalidPayload, "/dryRun", nil},
		{"limit of a wrong type", `{"code":"1","limits":{"timeoutMs":"5"}}`, fault.InvalidPayload, "/limits/timeoutMs", nil},
		{"limit of nothing", `{"code":"1","limits":{"maxToolCalls":0}}`, fault.InvalidPayload, "/limits/maxToolCalls", nil},
		{"two dry runs", `{"code":"1","dryRun":true,"dryRun":false}`, fault.InvalidPayload, "/dryRun", nil},
		{"a dry run in capitals", `{"code":"1","DryRun":true}`, fault.InvalidPayload, "/DryRun", nil},
		{"two keys", `{"code":"1","idempotencyKey":"a","idempotencyKey":"b"}`, fault.InvalidPayload, "/idempotencyKey", nil},
		{"two limits", `{"code":"1","limits":{"maxToolCalls":-1},"limits":{}}`, fault.InvalidPayload, "/limits", nil},
		{"two limits inside", `{"code":"1","limits":{"maxToolCalls":1,"maxToolCalls":2}}`, fault.InvalidPayload, "/limits/maxToolCalls", nil},
		{"unknown include", `{"code":"1","include":["change"]}`, fault.InvalidPayload, "/include/0", nil},
		{"args too deep", `{"code":"1","args":` + strings.Repeat("[", 3000) + strings.Repeat("]", 3000) + `}`, fault.InvalidPayload, "/args", nil},
		{"entry that is no name", `{"code":"let a; let b","entryFunction":"o.main"}`, fault.InvalidPayload, "/entryFunction", nil},
		{"unknown only", `{"code":"1","only":["Not"]}`, fault.InvalidPayload, "/only/0", nil},
		{"a set that no entity has", in{"code": "SDK.Entities.Note.upsert({id: '3', text: ''})", "set": "cellar"}, fault.UnknownSet, "/set", nil},
		{"a long set", in{"code": "1", "set": strings.Repeat("s", 201)}, fault.InvalidPayload, "/set", nil},
		{"a long correlation id", in{"code": "1", "correlationId": strings.Repeat("c", 201)}, fault.InvalidPayload, "/correlationId", nil},
		{"a long correlation id of a plan", in{"planId": "p", "correlationId": strings.Repeat("c", 201)}, fault.InvalidPayload, "/correlationId", nil},
		{"a long plan id", in{"planId": strings.Repeat("p", 201)}, fault.InvalidPayload, "/planId", nil},
		{"a long entry function", in{"code": "1", "entryFunction": strings.Repeat("f", 201)}, fault.InvalidPayload, "/entryFunction", nil},
		{"a long name in only", in{"code": "1", "only": []string{strings.Repeat("o", 201)}}, fault.InvalidPayload, "/only/0", nil},
		{"unknown language", `{"code":"1","language":"coffee"}`, fault.InvalidPayload, "/language", nil},
		{"empty", in{"code": ""}, fault.InvalidCode, "/code", nil},
		{"blank", in{"code": " \n\t"}, fault.InvalidCode, "/code", nil},
		{"too long", in{"code": strings.Repeat("x", 50_001)}, fault.CodeTooLong, "/code", nil},
		{"characters, not bytes", in{"code": "'" + strings.Repeat("ä", 50_000) + "'"}, fault.CodeTooLong, "/code", nil},
		{"an idempotency key", in{"code": "1", "idempotencyKey": "k"}, fault.CapabilityUnsupported, "/idempotencyKey", nil},
		{"syntax", in{"code": "let x = ;"}, fault.SyntaxError, "", nil},
		{"not found", in{"code": "SDK.Entities.Note.getById('9')"}, fault.NotFound, "", nil},
		{"no answer", in{"code": "SDK.Entities.Note.upsert({id: '3', text: ''})"}, fault.MissingAnswer, "", map[string]any{"codeMode.requireAnswer": true}},
		{"too many calls", in{"code": "for (;;) try { SDK.Entities.Note.collection() } catch {}"}, fault.SDKCallsExceeded, "", map[string]any{"codeMode.maxSdkCalls": 5}},
		{"too many calls of its own", in{"code": "for (;;) SDK.Entities.Note.collection()", "limits": in{"maxToolCalls": 3}}, fault.SDKCallsExceeded, "", nil},
		{"a large result", in{"code": "SDK.Entities.Note.upsert({id: '3', text: ''}); 'x'.repeat(300000)"}, fault.ResultTooLarge, "", nil},
		{"a circular result", in{"code": "const a = {}; a.a = a; a"}, fault.JavaScriptError, "", nil},
		{"CPU", in{"code": "for (;;);"}, fault.Timeout, "", map[string]any{"sandbox.cpuMs": 50}},
		{"wall", in{"code": "SDK.Mail.wait()", "limits": in{"timeoutMs": 60}}, fault.Timeout, "", nil},
		{"never settled", in{"code": "await new Promise(() => {})"}, fault.NeverSettled, "", nil},
		{"outside of only", in{"code": "SDK.Mail.send({})", "only": []string{"Note"}}, fault.JavaScriptError, "", nil},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			h := newHouse(t, tt.changed)
			f := h.call(context.Background(), "execute", tt.in).fails(t, tt.code)
			if tt.path != "" {
				require.Equal(t, tt.path, f.Path)
			}
			require.Equal(t, map[string]note{"1": {"1", "first"}}, h.shelf.notes["default"], "nothing is committed")
			require.NoError(t, h.run("1", in{}).errUnless(tt.changed))
		})
	}
}

// errUnless is the error of a run after the one under test, which settings may
// make fail too.
func (r *reply) errUnless(changed map[string]any) error {
	if changed != nil {
		return nil
	}
	return r.err
}

func TestAllInputProblemsAreReported(t *testing.T) {
	h := newHouse(t, nil)
	f := h.call(context.Background(), "execute", `{"cod":"1","dryRun":1,"limits":[]}`).fails(t, fault.InvalidPayload)
	details := f.Details.([]fault.Detail)
	require.Len(t, details, 4)
	require.Contains(t, details[0].Message, `did you mean "code"?`)
}

func TestWallTimeSaysSo(t *testing.T) {
	h := newHouse(t, nil)
	started := time.Now()
	f := h.run("SDK.Mail.wait()", in{"limits": in{"timeoutMs": 80}}).fails(t, fault.Timeout)
	require.Equal(t, map[string]any{"limit": "wall", "timeoutMs": int64(80)}, f.Details)
	require.Less(t, time.Since(started), 2*time.Second)
}

func TestLimitsNameTheLine(t *testing.T) {
	for _, confined := range []bool{false, true} {
		h := newHouse(t, map[string]any{"confined": confined, "codeMode.maxSdkCalls": 2})
		f := h.run("let a = 1;\nfor (;;)\n  SDK.Entities.Note.collection()").fails(t, fault.SDKCallsExceeded)
		require.Equal(t, 3, f.Line)
		f = h.run("let a = 1;\n SDK.Entities.Note.getById('77')").fails(t, fault.NotFound)
		require.Equal(t, 2, f.Line)
	}
}

func TestCancelEndsTheRun(t *testing.T) {
	h := newHouse(t, nil)
	ctx, cancel := context.WithCancel(context.Background())
	time.AfterFunc(50*time.Millisecond, cancel)
	h.call(ctx, "execute", in{"code": "SDK.Entities.Note.upsert({id: '5', text: ''}); SDK.Mail.wait()"}).fails(t, fault.Cancelled)
	require.NotContains(t, h.shelf.notes["default"], "5")
}

func TestOwnLimitsOnlyLower(t *testing.T) {
	h := newHouse(t, nil)
	r := h.run("1", in{"limits": in{"timeoutMs": 60_000, "maxToolCalls": 5000, "cpuMs": 9, "maxLogBytes": 1000}})
	require.NoError(t, r.err)
	require.Len(t, r.Logs, 2)
	for i, name := range []string{"timeoutMs", "maxToolCalls"} {
		require.Equal(t, "warn", r.Logs[i].Level)
		require.Contains(t, r.Logs[i].Message, "limits."+name+" is above the server's")
	}
}

// Changes of an entity that the caller does not know of are counted without its name.
func TestUnknownEntitiesAreNotNamed(t *testing.T) {
	h := newHouse(t, nil)
	for _, more := range []in{{}, {"dryRun": true}, {"include": []string{"changes"}}, {"atomic": false, "include": []string{"changes"}}} {
		r := h.run("SDK.Entities.Note.upsert({id: 'a', text: 'audited'})", more)
		require.NoError(t, r.err)
		require.NotContains(t, encoded(t, r.raw), "Ledger")
		require.Contains(t, string(r.raw["changeCounts"]), `{"entity":"","set":"default","created":1,"updated":0,"deleted":0}`)
	}
	r := h.run("SDK.Entities.Note.upsert({id: 'b', text: 'audited'}); null.x", in{"atomic": false})
	require.Error(t, r.err)
	require.Contains(t, string(r.raw["changeCounts"]), `"entity":""`)
	require.NotContains(t, encoded(t, r.raw), "Ledger")
	require.Contains(t, encoded(t, h.records.all[0].Changes), "Ledger", "the journal has it")
}

func encoded(t *testing.T, v any) string {
	raw, err := json.Marshal(v)
	require.NoError(t, err)
	return string(raw)
}

// A limit by another name is none, whatever it says.
func TestLimitsHaveExactNames(t *testing.T) {
	h := newHouse(t, map[string]any{"codeMode.maxSdkCalls": 5})
	r := h.run("for (let n = 0; n < 20; n++) SDK.Entities.Note.collection()", in{"limits": in{"MaxToolCalls": -1, "maxtoolcalls": 0, "MAXMEMORYBYTES": -1, "TimeoutMs": -5}})
	r.fails(t, fault.SDKCallsExceeded)
	require.Equal(t, 5, r.outcome.SDKCalls)
	require.NoError(t, h.run("1", in{"limits": in{"TimeoutMs": -5, "Maxlogbytes": -1}}).err)
}

func TestSetsAndRunAreSeenByTheScript(t *testing.T) {
	h := newHouse(t, nil)
	r := h.run("SDK.Entities.Note.upsert({id: 'a', text: 'b'}); ({set: SDK.run.set, dry: SDK.run.dryRun, args: SDK.args})", in{"set": "attic", "args": in{"x": 1}})
	require.NoError(t, r.err)
	require.JSONEq(t, `{"set":"attic","dry":false,"args":{"x":1}}`, string(r.Result))
	require.Contains(t, h.shelf.notes["attic"], "a")
	require.Equal(t, "attic", r.ChangeCounts[0].Set)
}

// Two attempts of one run see the same clock, random numbers and run id, though
// time goes on between them.
func TestAttemptsAreDeterministic(t *testing.T) {
	h := newHouse(t, nil)
	raced := false
	h.library.calls = func(op string) {
		if op != "upsert" || raced {
			return
		}
		raced = true
		time.Sleep(20 * time.Millisecond)
		h.shelf.mu.Lock()
		h.shelf.version["default"]++
		h.shelf.mu.Unlock()
	}
	r := h.run(`
const seen = [Date.now(), Math.random(), SDK.run.id];
SDK.Entities.Note.collection();
seen.push(Date.now(), Math.random());
console.log(JSON.stringify(seen));
SDK.Out.progress(1, 2, JSON.stringify(seen));
SDK.Entities.Note.upsert({id: "n", text: JSON.stringify(seen)});
seen`)
	require.NoError(t, r.err)
	require.Equal(t, 2, r.outcome.Attempts)
	require.Len(t, r.Logs, 1, "logs are of the last attempt")
	require.JSONEq(t, string(r.Result), h.text("n"))
	first := h.run("[SDK.run.id, Math.random()]")
	require.NotEqual(t, string(first.Result), string(h.run("[SDK.run.id, Math.random()]").Result))
}

// How much there is to do may be unknown; what is no number is no step.
func TestProgressOfAScript(t *testing.T) {
	h := newHouse(t, nil)
	var steps []any
	h.steps = func(done, total float64, message string) { steps = append(steps, done, total, message) }
	r := h.run("SDK.Out.progress(1); SDK.Out.progress(2, 5, {a: 1}); SDK.Out.progress('x', 5); SDK.Out.progress(3, Infinity); 7")
	require.NoError(t, r.err)
	require.JSONEq(t, "7", string(r.Result))
	require.Equal(t, []any{1.0, 0.0, "", 2.0, 5.0, `{"a":1}`, 3.0, 0.0, ""}, steps)
}

func TestEmittedValues(t *testing.T) {
	h := newHouse(t, nil)
	var parts []string
	h.parts = func(index int, value json.RawMessage) { parts = append(parts, fmt.Sprint(index, " ", string(value))) }
	r := h.run("SDK.Out.emit({step: 1}); SDK.Out.emit([2]); 7")
	require.NoError(t, r.err)
	require.Equal(t, []string{`0 {"step":1}`, `1 [2]`}, parts)
	require.JSONEq(t, `[{"step":1},[2]]`, string(r.raw["emitted"]))
	require.NotContains(t, h.run("7").raw, "emitted")

	r = h.run("SDK.Out.emit('before'); throw 1")
	r.fails(t, fault.JavaScriptError)
	require.JSONEq(t, `["before"]`, string(r.raw["emitted"]), "a failure has what was emitted before it")
}

// A later attempt repeats what it emits; the caller gets what differs.
func TestEmittedValuesOfAttempts(t *testing.T) {
	h := newHouse(t, nil)
	var parts []string
	h.parts = func(index int, value json.RawMessage) { parts = append(parts, fmt.Sprint(index, " ", string(value))) }
	seen := 0
	h.library.calls = func(op string) {
		if op == "upsert" && seen == 0 {
			seen++
			h.shelf.mu.Lock()
			h.shelf.notes["default"], h.shelf.version["default"] = map[string]note{"one": {ID: "one"}, "two": {ID: "two"}}, h.shelf.version["default"]+1
			h.shelf.mu.Unlock()
		}
	}
	r := h.run("SDK.Out.emit('same'); SDK.Out.emit(SDK.Entities.Note.collection().items.length); SDK.Entities.Note.upsert({id: 'k', text: 'x'}); SDK.Out.emit('last'); 7")
	require.NoError(t, r.err)
	require.Equal(t, 2, r.outcome.Attempts)
	require.Equal(t, []string{`0 "same"`, `1 1`, `1 2`, `2 "last"`}, parts)
	require.JSONEq(t, `["same",2,"last"]`, string(r.raw["emitted"]))
}

func TestNotAtomicCommitsEachCall(t *testing.T) {
	h := newHouse(t, nil)
	r := h.run("SDK.Entities.Note.upsert({id: 'k', text: 'kept'}); throw 1", in{"atomic": false})
	r.fails(t, fault.JavaScriptError)
	require.True(t, *r.Committed)
	require.Equal(t, "kept", h.text("k"))
}

func TestCodeToolsFollowTheMode(t *testing.T) {
	h := newHouse(t, nil)
	for _, op := range []string{"execute", "validate", "search"} {
		require.Equal(t, catalog.CodeID("koan", op), h.view.Tool("koan.code."+op).ID)
		require.Equal(t, catalog.CodeID("koan", op), h.view.Tool("koan_code_"+op).ID)
	}
	h.view = h.view.Snapshot().View(auth.Local(), "tools", false)
	h.run("1").fails(t, fault.ToolNotFound)
}

func FuzzExecuteInput(f *testing.F) {
	for _, s := range []string{`{}`, `{"code":"1","limits":{"x":1}}`, `{"code":1,"args":[],"only":["a",1]}`, `null`, `{"code":"1","include":"calls"}`, `{"code":"a","limits":{"timeoutMs":1e30}}`} {
		f.Add(s)
	}
	h := newHouse(f, nil)
	decode := h.view.Snapshot().Operation(catalog.CodeID("koan", "execute")).Decode
	schema := compiled(f, "execute", h)
	f.Fuzz(func(t *testing.T, s string) {
		v, err := jsonschema.UnmarshalJSON(strings.NewReader(s))
		if err != nil || len(s) > 4096 {
			return
		}
		_, err = decode(catalog.Input{JSON: json.RawMessage(s)})
		if err != nil {
			require.Equal(t, fault.InvalidPayload, fault.CodeOf(err))
			return
		}
		require.NoError(t, schema.Validate(v), "the decoder admits what the schema refuses")
	})
}

func compiled(t testing.TB, op string, h *house) *jsonschema.Schema {
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(h.view.Snapshot().Operation(catalog.CodeID("koan", op)).Input))
	require.NoError(t, err)
	c := jsonschema.NewCompiler()
	require.NoError(t, c.AddResource("in.json", doc))
	schema, err := c.Compile("in.json")
	require.NoError(t, err)
	return schema
}

func TestSecretsLeaveNoTrace(t *testing.T) {
	h := newHouse(t, nil)
	const secret = "4111 1111 1111 1111"
	r := h.run(`console.log("card " + "4111 1111 1111 1111");
SDK.Out.warn("password=hunter22");
throw new Error("Bearer abcdefgh12345678 is no good");`, nil)
	require.Error(t, r.err)
	require.Len(t, r.Logs, 2)
	require.Equal(t, "card [redacted]", r.Logs[0].Message)
	require.Equal(t, "password=[redacted]", r.Logs[1].Message)
	require.Contains(t, r.Error.Message, "Bearer [redacted] is no good")
	for _, text := range []string{r.Error.Message, r.Error.Source, fmt.Sprint(r.Error.Details)} {
		require.NotContains(t, text, "abcdefgh12345678")
	}
	rec := h.records.all[len(h.records.all)-1]
	require.NotContains(t, rec.Code+rec.Message, "abcdefgh")
	require.NotContains(t, rec.Code, secret)
	require.GreaterOrEqual(t, rec.Redactions, 5)

	// What a script returns on purpose is its caller's.
	r = h.run(`"card 4111 1111 1111 1111"`, nil)
	require.JSONEq(t, `"card `+secret+`"`, string(r.Result))
}
