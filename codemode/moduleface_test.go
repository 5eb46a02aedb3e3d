package codemode_test

import (
	"context"
	"encoding/json"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/koan-go/koan/framework/auth"
	"github.com/koan-go/koan/framework/catalog"
	"github.com/koan-go/koan/framework/exposure"
	"github.com/koan-go/koan/framework/fault"
	"github.com/koan-go/koan/framework/run"
)

// envelope is what codemode.run returns.
type envelope struct {
	Logs []struct {
		Level, Message string
		TimeMs         *int64
	}
	Result      json.RawMessage
	Diagnostics []struct{ Severity, Code, Message, Hint, Path, ErrorClass string }
	ToolTrace   []run.CallRecord

	raw     map[string]json.RawMessage
	outcome *run.Outcome
}

// errors are the diagnostics of that severity.
func (e *envelope) errors() []string {
	var out []string
	for _, d := range e.Diagnostics {
		if d.Severity == "error" {
			out = append(out, d.Code)
		}
	}
	return out
}

// square is a plugin beside the house's own: it answers after some time.
type square struct {
	running, most, done atomic.Int64
}

// begin counts a call, and how many there are at most.
func (s *square) begin() {
	for n := s.running.Add(1); ; {
		if most := s.most.Load(); n <= most || s.most.CompareAndSwap(most, n) {
			return
		}
	}
}

func (s *square) offer() catalog.Offer {
	return catalog.Offer{Operations: []*catalog.Operation{{
		ID: catalog.PluginID("square", "of"),
		Contract: catalog.Contract{
			Input:  json.RawMessage(`{"type":"object","properties":{"n":{"type":"number"},"ms":{"type":"integer"},"together":{"type":"integer"}},"required":["n"],"additionalProperties":false}`),
			Output: json.RawMessage(`{"type":"object","properties":{"n":{"type":"number"}}}`), Example: json.RawMessage(`{"n":3}`),
			Effects: catalog.Effects{ReadOnly: true, Idempotent: true},
		},
		Listing: catalog.Listing{Summary: "Squares a number after some milliseconds.", Reach: catalog.Everywhere},
		Work: catalog.Work{
			Handler: func(ctx context.Context, c catalog.Call) (json.RawMessage, error) {
				var in struct {
					N            float64
					Ms, Together int
				}
				if err := json.Unmarshal(c.Input(), &in); err != nil {
					return nil, err
				}
				s.begin()
				defer s.running.Add(-1)
				for began := time.Now(); time.Since(began) < time.Duration(in.Ms)*time.Millisecond || s.most.Load() < int64(in.Together); {
					select {
					case <-time.After(time.Millisecond):
					case <-ctx.Done():
						return nil, ctx.Err()
					}
				}
				s.done.Add(1)
				if in.N < 0 {
					return nil, fault.Newf(fault.UpstreamError, "%v has no square here", in.N)
				}
				return json.Marshal(map[string]any{"n": in.N * in.N})
			},
		},
	}}}
}

// modules is a house with the face codemode and the plugin square.
type modules struct {
	*house
	square *square
}

func newModules(t testing.TB, changed map[string]any) *modules {
	all := map[string]any{"codeMode.faces": []string{"koan", "codemode"}}
	for k, v := range changed {
		all[k] = v
	}
	m := &modules{house: newHouse(t, all), square: &square{}}
	snapshot, err := catalog.NewSnapshot(m.library.offer(), m.square.offer(), m.provider.Offer())
	require.NoError(t, err)
	m.view = snapshot.View(auth.Local(), exposure.Full, false)
	return m
}

// request sends a request to codemode.run, which never fails.
func (m *modules) request(ctx context.Context, raw string) *envelope {
	m.t.Helper()
	out, outcome, err := m.engine.Invoke(ctx, run.Request{
		View: m.view, Principal: auth.Local(), ID: catalog.CodeID("codemode", "run"), Input: json.RawMessage(raw), Surface: "test", Via: catalog.SurfaceTools,
	})
	require.NoError(m.t, err)
	e := &envelope{outcome: outcome}
	require.NoError(m.t, json.Unmarshal(out, e), string(out))
	require.NoError(m.t, json.Unmarshal(out, &e.raw))
	for _, key := range []string{"logs", "diagnostics", "toolTrace"} {
		require.True(m.t, strings.HasPrefix(string(e.raw[key]), "["), "%s is a list: %s", key, out)
	}
	require.Contains(m.t, e.raw, "result")
	for _, d := range e.Diagnostics {
		require.Contains(m.t, []string{"error", "warning", "info"}, d.Severity)
		require.NotEmpty(m.t, d.Code)
		require.NotEmpty(m.t, d.Message)
		require.True(m.t, d.Hint != "" || d.Severity != "error", "%+v", d)
	}
	if len(e.errors()) > 0 {
		require.Equal(m.t, "null", string(e.raw["result"]))
	}
	return e
}

func (m *modules) module(code string, more ...in) *envelope {
	m.t.Helper()
	all := in{"code": code}
	for _, more := range more {
		for k, v := range more {
			all[k] = v
		}
	}
	raw, err := json.Marshal(all)
	require.NoError(m.t, err)
	return m.request(context.Background(), string(raw))
}

// gives runs a module that must succeed, and returns its result.
func (m *modules) gives(code string) string {
	m.t.Helper()
	e := m.module(code)
	require.Empty(m.t, e.errors(), "%+v", e.Diagnostics)
	return string(e.Result)
}

func TestModuleResult(t *testing.T) {
	m := newModules(t, nil)
	for code, want := range map[string]string{
		`globalThis.__codemode_result__ = { ok: true, count: 2 }`:                  `{"ok":true,"count":2}`,
		`globalThis.__codemode_result__ = 1; globalThis.__codemode_result__ = [2]`: `[2]`,
		`1 + 1`:                      `null`,
		`globalThis.result = 1`:      `null`,
		`SDK.Out.answer("not here")`: `null`,
		`export const x = 1`:         `null`,
		`globalThis.__codemode_result__ = await Promise.resolve(3)`:                                                               `3`,
		`import { specVersion } from "@codemode/discovery"; globalThis.__codemode_result__ = /^\d+\.\d+\.\d+$/.test(specVersion)`: `true`,
	} {
		require.JSONEq(t, want, m.gives(code), code)
	}
	e := m.module(`1 + 1`)
	require.Len(t, e.Diagnostics, 1)
	require.Equal(t, "info", e.Diagnostics[0].Severity)
	require.Equal(t, "NO_RESULT", e.Diagnostics[0].Code)
	require.Empty(t, m.module(`globalThis.__codemode_result__ = null`).Diagnostics)
}

func TestModuleCommits(t *testing.T) {
	m := newModules(t, nil)
	const change = `import * as koan from "@codemode/servers/koan";
const n = await koan.note_get_by_id({ id: "1" });
await koan.note_upsert({ model: { id: "1", text: n.text + "!" } });
`
	e := m.module(change + `globalThis.__codemode_result__ = (await koan.note_collection({})).items.map((n) => n.text);`)
	require.JSONEq(t, `["first!"]`, string(e.Result))
	require.Equal(t, "first!", m.text("1"))
	require.Equal(t, []string{"note.get-by-id", "note.upsert", "note.collection"}, []string{e.ToolTrace[0].ToolName, e.ToolTrace[1].ToolName, e.ToolTrace[2].ToolName})
	require.Equal(t, "koan", e.ToolTrace[0].ServerID)

	e = m.module(change + `throw new Error("no")`)
	require.Equal(t, []string{"UNCAUGHT_EXCEPTION"}, e.errors())
	require.Equal(t, "script:4:7", e.Diagnostics[0].Path)
	require.Equal(t, "NOT_COMMITTED", e.Diagnostics[1].Code)
	require.Equal(t, "first!", m.text("1"))
	require.Len(t, e.ToolTrace, 2)
}

func TestModuleFailures(t *testing.T) {
	m := newModules(t, map[string]any{"sandbox.cpuMs": 1000, "codeMode.maxSdkCalls": 5})
	for name, c := range map[string]struct {
		code, diagnostic, class, path string
	}{
		"syntax":         {"let a = ;", "SYNTAX_ERROR", "", "script:1:9"},
		"uncaught":       {"\nthrow new TypeError('x')", "UNCAUGHT_EXCEPTION", "", "script:2:7"},
		"a call's fault": {"import { note_get_by_id } from '@codemode/servers/koan';\nawait note_get_by_id({ id: '9' })", "UNCAUGHT_EXCEPTION", "ToolCallError", "script:2:21"},
		"bad input":      {"import { of } from '@codemode/servers/square';\nawait of({ n: 'x' })", "UNCAUGHT_EXCEPTION", "SchemaValidationError", "script:2:9"},
		"unhandled":      {"import { of } from '@codemode/servers/square';\nof({ n: -1 })", "UNCAUGHT_EXCEPTION", "ToolCallError", "script:2:3"},
		"package":        {"import _ from 'lodash'", "IMPORT_FAILURE", "CodemodeError", "script:1:15"},
		"unknown server": {"import * as x from '@codemode/servers/github'", "IMPORT_FAILURE", "ServerNotFoundError", "script:1:20"},
		"unknown tool":   {"import { off } from '@codemode/servers/square';\nawait off({ n: 1 })", "IMPORT_FAILURE", "ToolNotFoundError", "script:2:7"},
		"dynamic import": {"const id = 'x';\nawait import('@codemode/servers/' + id)", "IMPORT_FAILURE", "ServerNotFoundError", "script:2:7"},
		"cpu":            {"for (;;);", "SANDBOX_LIMIT", "SandboxLimitError", "script:1:1"},
		"calls":          {"import { of } from '@codemode/servers/square';\nfor (let i = 0; i < 9; i++) await of({ n: i })", "SANDBOX_LIMIT", "SandboxLimitError", "script:2:37"},
		"never settles":  {"await new Promise(() => {})", "NEVER_SETTLED", "", "script:1:7"},
		"result too big": {"globalThis.__codemode_result__ = 'x'.repeat(300000)", "SANDBOX_LIMIT", "SandboxLimitError", ""},
		"empty":          {"  ", "INVALID_CODE", "", "/code"},
		"text as code":   {"eval('1')", "UNCAUGHT_EXCEPTION", "", "script:1:1"},
	} {
		t.Run(name, func(t *testing.T) {
			e := m.module(c.code)
			require.Equal(t, []string{c.diagnostic}, e.errors(), "%+v", e.Diagnostics)
			d := e.Diagnostics[0]
			require.Equal(t, c.class, d.ErrorClass, d.Message)
			require.Equal(t, c.path, d.Path, d.Message)
			require.Equal(t, name == "bad input", strings.HasPrefix(d.Message, "/n: "), d.Message)
		})
	}
}

func TestModuleRequests(t *testing.T) {
	m := newModules(t, nil)
	for raw, paths := range map[string][]string{
		`{}`:                       {"/code"},
		`{"code":1}`:               {"/code"},
		`[]`:                       {""},
		`{"code":"1","limits":[]}`: {"/limits"},
		`{"code":"1","limits":{"timeoutMs":"1","maxToolCalls":0}}`: {"/limits/maxToolCalls", "/limits/timeoutMs"},
		`{"code":"1","requestedCapabilities":"koan"}`:              {"/requestedCapabilities"},
		`{"code":"1","requestedCapabilities":[1]}`:                 {"/requestedCapabilities/0"},
		`{"code":"1","cod":"2"}`:                                   {"/cod"},
	} {
		e := m.request(context.Background(), raw)
		var got []string
		for _, d := range e.Diagnostics {
			require.Equal(t, "error", d.Severity)
			require.Equal(t, "INVALID_REQUEST", d.Code)
			got = append(got, d.Path)
		}
		slices.Sort(got)
		require.Equal(t, paths, got, raw)
		require.True(t, e.outcome.Refused, "no run was opened")
	}
}

func TestModuleLimits(t *testing.T) {
	m := newModules(t, nil)
	e := m.module(`for (let i = 0; i < 100; i++) console.log("x".repeat(50))`, in{"limits": in{"maxLogBytes": 200, "somethingElse": true}})
	require.Empty(t, e.errors())
	last := e.Logs[len(e.Logs)-1]
	require.Equal(t, "warn", last.Level)
	require.Contains(t, last.Message, "200 bytes")

	e = m.module(`import { of } from "@codemode/servers/square"; await of({ n: 1 }); await of({ n: 2 })`, in{"limits": in{"maxToolCalls": 1}})
	require.Equal(t, []string{"SANDBOX_LIMIT"}, e.errors())
	require.Len(t, e.ToolTrace, 1)

	e = m.module(`console.log("before"); await new Promise(() => {}); `, in{"limits": in{"timeoutMs": 99999999}})
	require.Equal(t, "LIMIT_CLAMPED", e.Diagnostics[1].Code)
	require.Equal(t, "warning", e.Diagnostics[1].Severity)

	before := m.square.done.Load()
	e = m.module(`import { of } from "@codemode/servers/square"; console.log("before"); await of({ n: 1, ms: 60000 })`, in{"limits": in{"timeoutMs": 1000}})
	require.Equal(t, []string{"SANDBOX_LIMIT"}, e.errors())
	require.Equal(t, "SandboxLimitError", e.Diagnostics[0].ErrorClass)
	require.NotEmpty(t, e.Logs)
	require.Equal(t, "before", e.Logs[0].Message)
	require.Equal(t, before, m.square.done.Load(), "the call was cancelled")
}

func TestModuleLogs(t *testing.T) {
	m := newModules(t, nil)
	e := m.module(`console.debug("d", 1, true, null, undefined, 2n, Symbol("s"));
console.log({ b: 1, a: [1, { c: 2 }] }, [1, 2]);
console.info("i"); console.warn("w"); console.error("e");
const circle = {}; circle.self = circle; console.log("circle", circle);
console.log();
await new Promise((r) => setTimeout(r, 1500)); console.log("late");`)
	require.Empty(t, e.errors())
	var got []string
	for _, l := range e.Logs {
		require.NotNil(t, l.TimeMs)
		got = append(got, l.Level+": "+l.Message)
	}
	require.Equal(t, []string{
		"debug: d 1 true null undefined 2 Symbol(s)", `log: {"b":1,"a":[1,{"c":2}]} [1,2]`, "log: i", "warn: w", "error: e",
		"log: circle [Unserializable Object]", "log: ", "log: late",
	}, got)
	require.GreaterOrEqual(t, *e.Logs[len(e.Logs)-1].TimeMs, int64(1500))
}

func TestModuleCapabilities(t *testing.T) {
	m := newModules(t, nil)
	require.Empty(t, m.module(`globalThis.__codemode_result__ = 1`, in{"requestedCapabilities": []string{"koan", "square"}}).Diagnostics)

	e := m.module(`globalThis.__codemode_result__ = 1`, in{"requestedCapabilities": []string{"koan", "sqare"}})
	require.Empty(t, e.errors())
	require.Equal(t, "CAPABILITY_UNAVAILABLE", e.Diagnostics[0].Code)
	require.Equal(t, "warning", e.Diagnostics[0].Severity)
	require.Equal(t, "/requestedCapabilities/1", e.Diagnostics[0].Path)
	require.Contains(t, e.Diagnostics[0].Message, `did you mean "square"`)

	e = m.module(`import * as s from "@codemode/servers/sqare"`, in{"requestedCapabilities": []string{"sqare"}})
	require.Equal(t, []string{"IMPORT_FAILURE"}, e.errors())
	require.Equal(t, "ServerNotFoundError", e.Diagnostics[0].ErrorClass)
}

func TestModuleOutsideEffects(t *testing.T) {
	m := newModules(t, nil)
	e := m.module(`import { send } from "@codemode/servers/mail"; await send({ to: "me" }); throw 1`)
	last := e.Diagnostics[len(e.Diagnostics)-1]
	require.Equal(t, "OUTSIDE_EFFECTS", last.Code)
	require.Contains(t, last.Message, "mail send")
}

func TestModuleStartsFresh(t *testing.T) {
	m := newModules(t, nil)
	require.JSONEq(t, `null`, m.gives(`globalThis.leak = 1; Array.prototype.leak = 2; Object.freeze(Object.prototype)`))
	require.JSONEq(t, `["undefined","undefined"]`, m.gives(`globalThis.__codemode_result__ = [typeof globalThis.leak, typeof [].leak]`))
}

func TestModuleRequiresAnAnswer(t *testing.T) {
	m := newModules(t, map[string]any{"codeMode.requireAnswer": true})
	require.Equal(t, []string{"MISSING_ANSWER"}, m.module(`1`).errors())
	require.Equal(t, "1", m.gives(`globalThis.__codemode_result__ = 1`))
}

func TestModuleFaceAlone(t *testing.T) {
	m := newModules(t, map[string]any{"codeMode.faces": []string{"codemode"}})
	var names []string
	for _, op := range m.view.Tools() {
		if op.ID.Kind == catalog.KindCode {
			names = append(names, m.view.Snapshot().ToolName(op.ID))
		}
	}
	require.Equal(t, []string{"codemode.run"}, names, "exactly one outer tool")
	require.Nil(t, m.view.Tool("koan.code.execute"))
	_, _, err := m.engine.Invoke(context.Background(), run.Request{View: m.view, Principal: auth.Local(), ID: catalog.CodeID("koan", "execute"), Input: json.RawMessage(`{"code":"1"}`), Surface: "run"})
	require.NoError(t, err, "the app's own commands still run scripts")

	told := m.provider.(catalog.Instructor).Instructions()
	for _, word := range []string{"requestedCapabilities", "timeoutMs, maxMemoryBytes, maxLogBytes, maxToolCalls", "structuredContent", "one text block", "base64", "not an object", "import.meta", "Restrictions"} {
		require.Contains(t, told, word)
	}
}

func TestModuleDescription(t *testing.T) {
	m := newModules(t, nil)
	op := m.view.Snapshot().Operation(catalog.CodeID("codemode", "run"))
	text := op.Description(m.view)
	for _, line := range []string{
		`declare module "@codemode/servers/square" {`, `export function of(input: Types.OfInput): Promise<Types.OfOutput>;`, `readOnlyHint`, `export function note_upsert(`,
		`export function listServers(): Promise<ServerInfo[]>;`, `class SchemaValidationError extends CodemodeError`,
	} {
		require.Contains(t, text, line)
	}
	_, rest, _ := strings.Cut(text, "```js\n")
	example, _, _ := strings.Cut(rest, "```")
	require.NotEqual(t, "null", m.gives(example), "the example runs")
	require.Equal(t, text, op.Description(newModules(t, nil).view), "equal views are described in equal bytes")
	for _, part := range []string{example, "- @codemode/servers/square: of\n", "- @codemode/servers/koan: note_collection", "@codemode/discovery"} {
		require.Contains(t, text[:1900], part, "clients cut at 2,048 characters")
	}

	small := newModules(t, map[string]any{"codeMode.inlineTypesBytes": 200})
	brief := small.view.Snapshot().Operation(catalog.CodeID("codemode", "run")).Description(small.view)
	require.Contains(t, brief, "- @codemode/servers/square: of\n")
	require.NotContains(t, brief, "declare")

	var modules *catalog.Document
	for _, d := range m.provider.Offer().Documents {
		if d.URI == "koan://sdk/modules.d.ts" {
			modules = d
		}
	}
	all, err := modules.Read(context.Background(), m.view, "")
	require.NoError(t, err)
	require.Contains(t, string(all), `declare module "@codemode/servers/mail" {`)
}
