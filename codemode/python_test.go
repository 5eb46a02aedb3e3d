package codemode_test

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/koan-go/koan/codemode/internal/wire"
	"github.com/koan-go/koan/framework/auth"
	"github.com/koan-go/koan/framework/catalog"
	"github.com/koan-go/koan/framework/exposure"
	"github.com/koan-go/koan/framework/fault"
	"github.com/koan-go/koan/tests/needs"
)

// newPythonHouse returns an app whose scripts may be in Python too.
func newPythonHouse(t *testing.T, changed map[string]any) *house {
	t.Helper()
	needs.Program(t, "python3")
	all := map[string]any{"confined": true, "codeMode.languages": []string{"javascript", "python"}}
	for k, v := range changed {
		all[k] = v
	}
	return newHouse(t, all)
}

func TestPythonRunsAsOneTransaction(t *testing.T) {
	t.Parallel()
	h := newPythonHouse(t, nil)
	python := in{"language": "py"}

	r := h.run("print('hello', 1)\nfor n in ('2', '3'):\n    SDK.Entities.Note.upsert({'id': n, 'text': 'from ' + n})\nSDK.Out.answer(len(SDK.Entities.Note.all()))\nresult = {'set': SDK.run.set}", python, in{"include": []string{"changes", "calls"}})
	require.NoError(t, r.err)
	require.Equal(t, "3", string(r.Answer))
	require.JSONEq(t, `{"set":"default"}`, string(r.Result))
	require.Equal(t, "hello 1", r.Logs[0].Message)
	require.Equal(t, "info", r.Logs[0].Level)
	require.Len(t, r.Changes, 2)
	require.Len(t, r.Calls, 3)
	require.Equal(t, "from 3", h.text("3"))

	r = h.run("SDK.Entities.Note.upsert({'id': '4', 'text': 'lost'})\nraise ValueError('stop')", python)
	f := r.fails(t, fault.ScriptError)
	require.Equal(t, "ValueError: stop", f.Message)
	require.Equal(t, 2, f.Line)
	require.False(t, *r.Committed)
	require.Empty(t, h.text("4"))

	r = h.run("SDK.Entities.Note.upsert(model={'id': '5', 'text': 'dry'})", python, in{"dryRun": true})
	require.NoError(t, r.err)
	require.Len(t, r.Changes, 1)
	require.Empty(t, h.text("5"))

	r = h.run("SDK.Entities.Note.get_by_id('9')", python)
	require.Contains(t, r.fails(t, fault.NotFound).Hint, "findById returns None")

	r = h.run("```python\nimport servers.mail as mail\nawait mail.send(to='x')\n```")
	require.NoError(t, r.err)
	require.JSONEq(t, `{"sent":true}`, string(r.Result))

	r = h.run("for i in range(20):\n    SDK.Entities.Note.all()", python, in{"limits": map[string]any{"maxToolCalls": 5}})
	f = r.fails(t, fault.SDKCallsExceeded)
	require.Equal(t, 2, f.Line)

	r = h.run("import random, uuid, secrets, os, time\n[random.random(), str(uuid.uuid4()), secrets.token_hex(4), os.urandom(2).hex(), time.time() > 1.7e9]", python)
	require.NoError(t, r.err)
	r = h.run("globalThis.result = 6 * 7") // the other language is there as before
	require.Equal(t, "42", string(r.Result))
}

func TestPythonIsValidated(t *testing.T) {
	t.Parallel()
	h := newPythonHouse(t, nil)
	for name, c := range map[string]struct{ code, diagnostic string }{
		"valid":             {"x = SDK.Entities.Note.collection(filter={'text': 'a'})", ""},
		"syntax":            {"x = (", "parse"},
		"an unknown entity": {"SDK.Entities.Nota.all()", "unknown_entity"},
		"an unknown method": {"SDK.Entities.Note.colection()", "unknown_method"},
		"an unknown option": {"SDK.Entities.Note.collection(pagesize=3)", "unknown_option"},
		"an unknown server": {"import servers.nobody", "unknown_module"},
		"no such function":  {"from servers.mail import sent", "unknown_export"},
		"a needless await":  {"x = await SDK.Entities.Note.all()", "invalid_argument"},
		"an absent await":   {"import servers.mail as mail\nmail.send(to='x')\nx = 1", "unawaited_promise"},
		"one by its name":   {"from servers.mail import send\nsend(to='x')\nx = 1", "unawaited_promise"},
		"an awaited call":   {"from servers.mail import send\nawait send(to='x')\nsend(to='y')", ""},

		"a plugin's input":               {"SDK.Mail.send(to='x')\nSDK.Mail.send({'to': 'x'})\nSDK.Mail.send(**SDK.args)\nSDK.Mail.send(SDK.args)", ""},
		"an unknown member of a plugin":  {"SDK.Mail.send(towards='x')", "invalid_argument"},
		"one in a dict":                  {"SDK.Mail.send({'towards': 'x'})", "invalid_argument"},
		"a type of a plugin":             {"SDK.Mail.send(to=3)", "invalid_argument"},
		"two dicts":                      {"SDK.Mail.send({'to': 'x'}, {})", "invalid_argument"},
		"a module's input":               {"import servers.mail as mail\nawait mail.send(to=3)", "invalid_argument"},
		"one from its package":           {"await servers.mail.send({'to': 3})", "invalid_argument"},
		"one of a function by its name":  {"from servers.mail import send as s\nawait s(towards='x')", "invalid_argument"},
		"one of the whole result":        {"import servers.mail\nawait servers.mail.raw.send(to=3)", "invalid_argument"},
		"a literal beside another value": {"SDK.Mail.send({'to': 3, **SDK.args})", "invalid_argument"},
		"a value that a run knows":       {"SDK.Mail.send(to=str(SDK.args))\nSDK.Mail.send({'to': SDK.args.to})", ""},
		"an entity's tool":               {"await servers.koan.note_collection(filtr={})", "unknown_option"},
		"a member with a run's value":    {"SDK.Mail.send(to='x', cc=SDK.args.cc)", "invalid_argument"},
		"an id that a run knows":         {"SDK.Entities.Note.get_by_id(SDK.args.id, sett='x')", "unknown_option"},
		"a set that a run knows":         {"SDK.Entities.Note.all(SDK.args.set)\nSDK.Entities.Note.all(set=SDK.args.set)", ""},
	} {
		t.Run(name, func(t *testing.T) {
			r := h.call(context.Background(), "validate", in{"code": c.code, "language": "python"})
			require.NoError(t, r.err)
			got := string(r.raw["diagnostics"])
			if c.diagnostic == "" {
				require.Equal(t, "true", string(r.raw["valid"]), got)
				return
			}
			require.Equal(t, "false", string(r.raw["valid"]), got)
			require.Contains(t, got, `"code":"`+c.diagnostic+`"`)
		})
	}
}

// Inputs of servers' tools are checked as JavaScript's are.
func TestPythonInputsOfServersAreValidated(t *testing.T) {
	t.Parallel()
	h := newPythonHouse(t, nil)
	input := json.RawMessage(`{"type":"object","properties":{"state":{"enum":["open","closed"]},"perPage":{"type":"integer","minimum":1},"labels":{"type":"array","items":{"type":"string"}}},"required":["state"],"additionalProperties":false}`)
	snapshot, err := catalog.NewSnapshot(h.library.offer(), h.provider.Offer(), catalog.Offer{Operations: []*catalog.Operation{{
		ID:       catalog.ID{Kind: catalog.KindUpstream, Owner: "git-hub", Op: "list_issues"},
		Contract: catalog.Contract{Input: input, Output: json.RawMessage(`{}`), Effects: catalog.Effects{ReadOnly: true}},
		Listing:  catalog.Listing{Summary: "Lists issues.", Reach: catalog.ReachScript},
		Work:     catalog.Work{Handler: func(context.Context, catalog.Call) (json.RawMessage, error) { return json.RawMessage(`[]`), nil }},
	}}})
	require.NoError(t, err)
	h.view = snapshot.View(auth.Local(), exposure.Full, false)
	for _, tt := range []struct{ python, javascript, path string }{
		{"await servers.git_hub.list_issues(state='open', perPage=3)", "SDK.Servers['git-hub'].list_issues({state: 'open', perPage: 3})", ""},
		{"SDK.Servers.git_hub.list_issues(state='opn')", "SDK.Servers['git-hub'].list_issues({state: 'opn'})", "/state"},
		{"import servers.git_hub as g\nawait g.list_issues(state='open', perPage=0)", "SDK.Servers['git-hub'].list_issues({state: 'open', perPage: 0})", "/perPage"},
		{"await servers.git_hub.list_issues({'state': SDK.args.state, 'labels': [1]})", "SDK.Servers['git-hub'].list_issues({state: SDK.args.state, labels: [1]})", "/labels/0"},
		{"await servers.git_hub.list_issues(perPage=3)", "SDK.Servers['git-hub'].list_issues({perPage: 3})", "/state"},
		{"await servers.git_hub.list_issues(**SDK.args)", "SDK.Servers['git-hub'].list_issues(SDK.args)", ""},
	} {
		for language, code := range map[string]string{"python": tt.python, "javascript": tt.javascript} {
			r := h.call(context.Background(), "validate", in{"code": code, "language": language})
			require.NoError(t, r.err)
			if tt.path == "" {
				require.Equal(t, "true", string(r.raw["valid"]), "%s: %s", code, r.raw["diagnostics"])
				continue
			}
			var found []struct{ Code, Path string }
			require.NoError(t, json.Unmarshal(r.raw["diagnostics"], &found), code)
			require.Len(t, found, 1, code)
			require.Equal(t, wire.DiagnosticInvalidArgument, found[0].Code, code)
			require.Equal(t, tt.path, found[0].Path, code)
		}
	}
}

// A finding about an input has the place of the member that it is about.
func TestPythonFindingsHaveTheirPlace(t *testing.T) {
	t.Parallel()
	h := newPythonHouse(t, nil)
	for code, want := range map[string][2]int{
		"x = 1\nSDK.Mail.send(\n    to=3,\n)":                             {3, 8},
		"SDK.Mail.send({\n  'to': 3})":                                    {2, 9},
		"SDK.Entities.Note.collection(filter={},\n  pagesize=SDK.args.n)": {2, 12},
	} {
		r := h.call(context.Background(), "validate", in{"code": code, "language": "python"})
		require.NoError(t, r.err)
		var found []struct{ Line, Column int }
		require.NoError(t, json.Unmarshal(r.raw["diagnostics"], &found), code)
		require.Len(t, found, 1, code)
		require.Equal(t, want, [2]int{found[0].Line, found[0].Column}, code)
	}
}

func TestSearchDeclaresInTheLanguageThatIsAskedFor(t *testing.T) {
	t.Parallel()
	h := newPythonHouse(t, nil)
	declared := func(query, language string) string {
		given := in{"query": query, "detail": "full", "limit": 1}
		if language != "" {
			given["language"] = language
		}
		r := h.call(context.Background(), "search", given)
		require.NoError(t, r.err)
		var results []struct{ Declaration string }
		require.NoError(t, json.Unmarshal(r.raw["results"], &results))
		require.Len(t, results, 1)
		return results[0].Declaration
	}
	require.Contains(t, declared("Note", "python"), "class _NoteMethods: # SDK.Entities.Note\n")
	require.Contains(t, declared("get note by id", "py"), "def get_by_id(self, id: Union[str, int]")
	require.NotContains(t, declared("get note by id", "python"), "getById")
	require.Contains(t, declared("letter", "python"), "class _MailFunctions: # SDK.Mail\n    def send(self, _given: MailSendInput = ..., /, *, to: str = ...)")
	require.Contains(t, declared("Note", ""), "interface Note")
	require.Contains(t, declared("Note", "ts"), "interface Note")

	first := newPythonHouse(t, map[string]any{"codeMode.languages": []string{"python"}})
	r := first.call(context.Background(), "search", in{"query": "letter", "detail": "full"})
	require.NoError(t, r.err)
	require.Contains(t, string(r.raw["results"]), "def send(self")
	r = first.call(context.Background(), "search", in{"query": "letter", "language": "js"})
	require.Equal(t, fault.CapabilityUnsupported, fault.CodeOf(r.err))
	r = newHouse(t, nil).call(context.Background(), "search", in{"query": "letter", "language": "python"})
	require.Equal(t, fault.CapabilityUnsupported, fault.CodeOf(r.err))
}

func TestPythonThatIsNotThere(t *testing.T) {
	t.Parallel()
	r := newHouse(t, nil).run("1", in{"language": "python"})
	require.Contains(t, r.fails(t, fault.CapabilityUnsupported).Hint, "codeMode.languages")

	_, err := start(t, map[string]any{"codeMode.languages": []string{"python"}, "codeMode.python": "no-such-python"})
	require.Equal(t, fault.CapabilityUnsupported, fault.CodeOf(err))
	require.ErrorContains(t, err, `no program "no-such-python"`)

	_, err = start(t, map[string]any{"codeMode.languages": []string{"basic"}})
	require.ErrorContains(t, err, `the language "basic" is not built`)

	needs.Program(t, "python3")
	_, err = start(t, map[string]any{"codeMode.languages": []string{"python"}, "codeMode.pythonModules": []string{"no_such_module"}})
	require.ErrorContains(t, err, "no_such_module")

	folder := t.TempDir() // which confined scripts do not see
	require.NoError(t, os.WriteFile(filepath.Join(folder, "elsewhere.py"), nil, 0o600))
	program := filepath.Join(folder, "python3")
	require.NoError(t, os.WriteFile(program, []byte("#!/bin/sh\nPYTHONPATH="+folder+" exec python3 \"$@\"\n"), 0o755))
	_, err = start(t, map[string]any{"codeMode.languages": []string{"python"}, "codeMode.python": program, "codeMode.pythonModules": []string{"elsewhere"}})
	require.Equal(t, fault.CapabilityUnsupported, fault.CodeOf(err))
	require.ErrorContains(t, err, "elsewhere cannot be imported where scripts run: ModuleNotFoundError")
	require.Contains(t, fault.From(err).Hint, "codeMode.pythonModules")

	for text, want := range map[string]string{
		`exec python3 -c 'import sys; code = sys.argv.pop(2); sys.argv.pop(1); sys.version_info = (3, 9, 18); exec(code)' "$@"`: "is 3.9.18: scripts need 3.11 or newer",
		"echo no license >&2; exit 3": "does not describe itself: no license",
		"echo hello":                  "does not describe itself",
	} {
		program := filepath.Join(t.TempDir(), "python3")
		require.NoError(t, os.WriteFile(program, []byte("#!/bin/sh\n"+text+"\n"), 0o755))
		_, err = start(t, map[string]any{"codeMode.languages": []string{"python"}, "codeMode.python": program})
		require.Equal(t, fault.CapabilityUnsupported, fault.CodeOf(err))
		require.ErrorContains(t, err, want)
		require.Contains(t, fault.From(err).Hint, "codeMode.python")
	}
}

func TestPythonIsTheDefault(t *testing.T) {
	t.Parallel()
	h := newPythonHouse(t, map[string]any{"codeMode.languages": []string{"python", "javascript"}})
	require.Equal(t, "[1]", string(h.run("[x for x in range(2) if x]").Result))
	require.Equal(t, "3", string(h.run("```js\n1 + 2\n```").Result))
}
