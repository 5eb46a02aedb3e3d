package codemode_test

import (
	"context"
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

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
		"an unknown option": {"SDK.Entities.Note.collection(pagesize=3)", "invalid_argument"},
		"an unknown server": {"import servers.nobody", "unknown_module"},
		"no such function":  {"from servers.mail import sent", "unknown_export"},
		"a needless await":  {"x = await SDK.Entities.Note.all()", "invalid_argument"},
		"an absent await":   {"import servers.mail as mail\nmail.send(to='x')\nx = 1", "unawaited_promise"},
		"one by its name":   {"from servers.mail import send\nsend(to='x')\nx = 1", "unawaited_promise"},
		"an awaited call":   {"from servers.mail import send\nawait send(to='x')\nsend(to='y')", ""},
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
}

func TestPythonIsTheDefault(t *testing.T) {
	t.Parallel()
	h := newPythonHouse(t, map[string]any{"codeMode.languages": []string{"python", "javascript"}})
	require.Equal(t, "[1]", string(h.run("[x for x in range(2) if x]").Result))
	require.Equal(t, "3", string(h.run("```js\n1 + 2\n```").Result))
}
