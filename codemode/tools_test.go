package codemode_test

import (
	"context"
	"encoding/json"
	"flag"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/koan-go/koan/codemode/internal/wire"
	"github.com/koan-go/koan/framework/auth"
	"github.com/koan-go/koan/framework/catalog"
	"github.com/koan-go/koan/framework/exposure"
	"github.com/koan-go/koan/framework/fault"
)

var update = flag.Bool("update", false, "write the golden files")

func TestValidate(t *testing.T) {
	tests := []struct {
		name, code string
		valid      bool
		diagnostic string
		says       string
	}{
		{"good", "const p = SDK.Entities.Note.collection(); SDK.Out.answer(p.items)", true, "", ""},
		{"several statements and a loop that never ends", "let x = 1; for (;;) x++", true, "", ""},
		{"top-level return and await", "const a = await SDK.args; return a", true, "", ""},
		{"typescript", "const a: number = 1; SDK.Out.answer(a)", true, "", ""},
		{"empty", "", false, "", "Code cannot be empty"},
		{"blank", "  \n", false, "", "Code cannot be empty"},
		{"too long", strings.Repeat("x", 50_001), false, "", "50001 characters"},
		{"syntax", "let a = 1;\nlet b = ;", false, wire.DiagnosticParse, "line 2"},
		{"unterminated comment", "1 /* never", false, wire.DiagnosticParse, ""},
		{"unknown entity", "SDK.Entities.Nte.collection()", false, wire.DiagnosticUnknownEntity, `did you mean "Note"?`},
		{"unknown method", "SDK.Entities.Note.delete('1')", false, wire.DiagnosticUnknownMethod, "no method"},
		{"two problems", "SDK.Entities.Note.x(); fetch('y')", false, wire.DiagnosticUnknownMethod, "(and 1 more)"},
		{"unknown set", "SDK.Entities.Note.collection({set: 'cellar'})", false, wire.DiagnosticUnknownSet, "attic"},
	}
	h := newHouse(t, nil)
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			r := h.call(context.Background(), "validate", in{"code": tt.code})
			require.NoError(t, r.err)
			require.Nil(t, r.outcome, "no run is opened")
			var v struct {
				Valid       bool
				Error       string
				Diagnostics []struct{ Code, Severity, Message, Hint string }
			}
			raw, err := json.Marshal(r.raw)
			require.NoError(t, err)
			require.NoError(t, json.Unmarshal(raw, &v))
			require.Equal(t, tt.valid, v.Valid, string(raw))
			if tt.valid {
				require.JSONEq(t, `{"valid":true}`, string(raw))
				return
			}
			require.NotEmpty(t, v.Error)
			require.Contains(t, string(raw), strings.ReplaceAll(tt.says, `"`, `\"`))
			if tt.diagnostic == "" {
				require.Empty(t, v.Diagnostics)
				return
			}
			require.Equal(t, tt.diagnostic, v.Diagnostics[0].Code)
			require.NotEmpty(t, v.Diagnostics[0].Hint)
		})
	}
	require.Empty(t, h.records.all, "nothing is journalled as a run")
	for _, bad := range []string{`{}`, `{"code":1}`, `{"code":null}`} {
		h.call(context.Background(), "validate", bad).fails(t, fault.InvalidPayload)
	}
}

func TestSearch(t *testing.T) {
	h := newHouse(t, nil)
	find := func(in in) []map[string]any {
		r := h.call(context.Background(), "search", in)
		require.NoError(t, r.err)
		require.Equal(t, in["query"], strings.Trim(string(r.raw["query"]), `"`))
		var out []map[string]any
		require.NoError(t, json.Unmarshal(r.raw["results"], &out))
		return out
	}
	got := find(in{"query": "notes on a shelf"})
	require.Equal(t, "koan::Note", got[0]["id"])
	require.Equal(t, "SDK.Entities.Note", got[0]["name"])
	require.Equal(t, "A note on the shelf.", got[0]["summary"])
	require.NotContains(t, got[0], "declaration")

	full := find(in{"query": "send letter", "detail": "full", "limit": 1})
	require.Len(t, full, 1)
	require.Equal(t, "SDK.Mail.send", full[0]["name"])
	require.Contains(t, full[0]["declaration"], "send(input?: Mail.SendInput): Mail.SendOutput;")

	names := find(in{"query": "note upsert", "detail": "name"})
	require.NotContains(t, names[0], "summary")
	require.Empty(t, find(in{"query": "zzzz"}))
	require.NotEmpty(t, find(in{"query": ""}))
	long := h.call(context.Background(), "search", in{"query": strings.Repeat("ä ", 1<<20)})
	require.Equal(t, strings.Repeat("ä ", 100), strings.Trim(string(long.raw["query"]), `"`), "of a query an answer repeats 200 characters")
	for _, bad := range []string{`{}`, `{"query":1}`, `{"query":"a","limit":0}`, `{"query":"a","limit":51}`, `{"query":"a","detail":"all"}`} {
		h.call(context.Background(), "search", bad).fails(t, fault.InvalidPayload)
	}
}

func TestDescription(t *testing.T) {
	h := newHouse(t, nil)
	op := h.view.Snapshot().Operation(catalog.CodeID("koan", "execute"))
	text := op.Description(h.view)
	path := "testdata/execute-description.txt"
	if *update {
		require.NoError(t, os.WriteFile(path, []byte(text), 0o644))
	}
	want, err := os.ReadFile(path)
	require.NoError(t, err)
	require.Equal(t, string(want), text)

	other := newHouse(t, nil)
	require.Equal(t, text, op.Description(other.view), "equal views are described in equal bytes")

	small := newHouse(t, map[string]any{"codeMode.inlineTypesBytes": 300})
	brief := small.view.Snapshot().Operation(catalog.CodeID("koan", "execute")).Description(small.view)
	require.Contains(t, brief, "SDK.Entities.Note: id, text\n")
	require.NotContains(t, brief, "interface")

	_, rest, _ := strings.Cut(text, "```js\n")
	example, _, _ := strings.Cut(rest, "```")
	require.NoError(t, h.run(example).err, "the example runs")
}

func TestExamplesRun(t *testing.T) {
	h := newHouse(t, nil)
	for _, op := range h.provider.Offer().Operations {
		if op.Example == nil || op.Unlisted { // of an undo and a status, which are about a run that there was
			require.Contains(t, []string{"undo", "status"}, op.ID.Op)
			continue
		}
		r := h.call(context.Background(), op.ID.Op, string(op.Example))
		require.NoError(t, r.err, op.ID)
	}
	require.JSONEq(t, `"Koan"`, string(h.call(context.Background(), "execute", string(h.provider.Offer().Operations[0].Example)).Answer))
}

func TestDocuments(t *testing.T) {
	h := newHouse(t, nil)
	docs := h.provider.Offer().Documents
	require.Len(t, docs, 3)
	all, err := docs[0].Read(context.Background(), h.view, "")
	require.NoError(t, err)
	require.Contains(t, string(all), "interface Note")
	require.Equal(t, []string{"Note"}, docs[1].List(h.view))
	_, err = docs[1].Read(context.Background(), h.view, "Nte")
	require.Equal(t, fault.NotFound, fault.CodeOf(err))
	require.ErrorContains(t, err, `did you mean "Note"?`)
}

func TestUnsupportedOptionsFailStart(t *testing.T) {
	for name, changed := range map[string]map[string]any{
		"runtime": {"codeMode.runtime": "v8"},
		"face":    {"codeMode.faces": []string{"koan", "lab"}},
		"none":    {"codeMode.faces": []string{}},
	} {
		_, err := start(t, changed)
		require.Equal(t, fault.CapabilityUnsupported, fault.CodeOf(err), name)
	}
	_, err := start(t, map[string]any{"codeMode.faces": []string{"lab"}, "codeMode.runtime": "v8"})
	require.ErrorContains(t, err, "gateway")
	require.ErrorContains(t, err, "v8")
}

func TestCodeModeDisabled(t *testing.T) {
	h := newHouse(t, map[string]any{"codeMode.enabled": false})
	for _, op := range []string{"execute", "validate", "search"} {
		require.False(t, h.view.Listed(catalog.CodeID("koan", op)))
		require.NotNil(t, h.view.Tool("koan.code."+op))
		for _, raw := range []string{`{"code":"1"}`, `{}`} {
			f := h.call(context.Background(), op, raw).fails(t, fault.CodeModeDisabled)
			require.NotEmpty(t, f.Hint)
		}
	}
	require.Equal(t, []string{"CodeMode: enabled=false mode=auto entities=2"}, h.provider.(catalog.Reporter).Report(catalog.Boot{Mode: "auto", Entities: 2}))
	require.True(t, h.provider.(catalog.Checker).Checks(context.Background())[0].OK)
}

func TestRights(t *testing.T) {
	h := newHouse(t, nil)
	nobody := h.view.Snapshot().View(auth.Principal{Sets: []string{"attic"}}, exposure.Full, false)
	text := h.view.Snapshot().Operation(catalog.CodeID("koan", "execute")).Description(nobody)
	require.Contains(t, text, `type NoteSet = "attic";`)
	require.NotContains(t, text, `"default" | "attic"`)
}

// In worker processes the same house behaves the same.
func TestConfined(t *testing.T) {
	h := newHouse(t, map[string]any{"confined": true, "sandbox.cpuMs": 2000})
	h.provider.(catalog.Warmer).Warm(context.Background())
	report := h.provider.(catalog.Reporter).Report(catalog.Boot{Mode: "full", Entities: 1})[0]
	require.Regexp(t, `^CodeMode: enabled=true mode=full runtime=goja isolation=process(\+seccomp)?(\+landlock)?(\+namespaces)? cpuMs=2000 memoryMb=64 maxSdkCalls=1000 requireAnswer=false entities=1$`, report)
	r := h.run(twice)
	require.NoError(t, r.err)
	require.Equal(t, "first!", h.text("1"))
	require.Positive(t, r.outcome.Metrics["peakMemoryBytes"])
	require.Equal(t, map[string]any{"limit": "cpu"}, subset(h.run("for (;;);").fails(t, fault.Timeout).Details, "limit"))
	require.Equal(t, 2, h.run("\n throw 1").fails(t, fault.JavaScriptError).Line)
	h.run("const a = []; for (;;) a.push('x'.repeat(1000) + a.length)", in{"limits": in{"maxMemoryBytes": 1}}).fails(t, fault.MemoryExceeded)
	require.NoError(t, h.run("1").err, "the next script runs as if nothing had happened")
	require.JSONEq(t, `false`, string(h.call(context.Background(), "validate", in{"code": "SDK.Entities.Nte.x()"}).raw["valid"]))
	for _, c := range h.provider.(catalog.Checker).Checks(context.Background()) {
		require.True(t, c.OK, "%+v", c)
	}
}

func subset(details any, key string) map[string]any {
	d, _ := details.(map[string]any)
	return map[string]any{key: d[key]}
}
