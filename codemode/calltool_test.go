package codemode_test

import (
	"context"
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/koan-go/koan/framework/auth"
	"github.com/koan-go/koan/framework/catalog"
	"github.com/koan-go/koan/framework/fault"
	"github.com/koan-go/koan/framework/run"
)

// byID runs a script of code_execute and returns its result.
func (m *modules) byID(code string) (json.RawMessage, error) {
	m.t.Helper()
	out, _, err := m.engine.Invoke(context.Background(), run.Request{
		View: m.view, Principal: auth.Local(), ID: catalog.CodeID("gateway", "execute"), Input: toJSON(m.t, in{"code": code}), Surface: "test", Via: catalog.SurfaceTools,
	})
	if err != nil {
		return nil, err
	}
	var done struct{ Result json.RawMessage }
	require.NoError(m.t, json.Unmarshal(out, &done))
	return done.Result, nil
}

func toJSON(t testing.TB, v any) json.RawMessage {
	t.Helper()
	raw, err := json.Marshal(v)
	require.NoError(t, err)
	return raw
}

func TestCallToolRunsInParallelWhereItIsAwaited(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		code, result string
		most         int64
	}{
		"a list of calls":    {`(await Promise.all([1, 2, 3, 4].map((n) => callTool("plugin::square.of", { n, together: 4 })))).map((r) => r.n)`, `[1,4,9,16]`, 4},
		"in functions":       {`(await Promise.all([1, 2, 3].map(async (n) => { const r = await callTool("plugin::square.of", { n, together: 3 }); return r.n; })))`, `[1,4,9]`, 3},
		"variables":          {`const a = callTool("plugin::square.of", { n: 2, together: 2 }), b = callTool("plugin::square.of", { n: 3, together: 2 }); return (await a).n + (await b).n`, `13`, 2},
		"beyond the bound":   {`(await Promise.all(Array.from({ length: 100 }, (_, n) => callTool("plugin::square.of", { n, together: 64 })))).length`, `100`, 64},
		"results at once":    {`[1, 2, 3].map((n) => callTool("plugin::square.of", { n, ms: 5 }).n)`, `[1,4,9]`, 1},
		"lines of results":   {`const a = callTool("plugin::square.of", { n: 2 }); const b = callTool("plugin::square.of", { n: a.n }); return b.n`, `16`, 1},
		"a function of ours": {`{ const callTool = (id) => id.length; return [await callTool("abc"), callTool("ab")]; }`, `[3,2]`, 0},
		"entities":           {`const w = callTool("koan::Note.upsert", { model: { id: "9", text: "new" } }), r = callTool("koan::Note.get-by-id", { id: "9" }); await w; return (await r).text`, `"new"`, 0},
		"a failure":          {`const r = await Promise.allSettled([callTool("plugin::square.of", { n: "x" }), callTool("plugin::square.of", { n: 2 })]); return [r[0].reason.code, r[0].reason instanceof Error, r[1].value.n]`, `["invalid_payload",true,4]`, 1},
		"a wrong id":         {`try { await callTool("nonsense") } catch (e) { return e.code }`, `"invalid_code_mode_id"`, 0},
		"no id":              {`return callTool(5).catch((e) => e.code)`, `"invalid_payload"`, 0},
	} {
		t.Run(name, func(t *testing.T) {
			m := newModules(t, map[string]any{"codeMode.faces": []string{"gateway"}})
			got, err := m.byID(c.code)
			require.NoError(t, err)
			require.JSONEq(t, c.result, string(got))
			require.Equal(t, c.most, m.square.most.Load())
		})
	}
	m := newModules(t, map[string]any{"codeMode.faces": []string{"gateway"}, "codeMode.maxSdkCalls": 2})
	_, err := m.byID(`await Promise.allSettled([1, 2, 3].map((n) => callTool("plugin::square.of", { n })))`)
	require.Equal(t, fault.SDKCallsExceeded, fault.CodeOf(err))
}

// What callTool has returned is on the tape, however many attempts there are.
func TestCallToolIsOnTheTape(t *testing.T) {
	t.Parallel()
	m := newModules(t, map[string]any{"codeMode.faces": []string{"gateway"}})
	m.shelf.locks = true
	got, err := m.byID(`const slow = [callTool("plugin::square.of", { n: 2, ms: 900 }), callTool("plugin::square.of", { n: 3, ms: 400 })];
await callTool("koan::Note.upsert", { model: { id: "1", text: "locked" } });
return (await Promise.all(slow)).map((r) => r.n);`)
	require.NoError(t, err)
	require.JSONEq(t, `[4,9]`, string(got))
	require.EqualValues(t, 2, m.square.done.Load(), "each call was made once")
	require.Equal(t, "locked", m.text("1"))
}
