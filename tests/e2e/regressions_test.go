package e2e

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/koan-go/koan/framework/fault"
)

// The search for problems of an input is bounded.
func TestProblemsOfHugeInputsAreBounded(t *testing.T) {
	p := newApp(t).serve()
	many := map[string]any{}
	for i := range 30_000 {
		many[fmt.Sprint("m", i)] = 1
	}
	names := strings.Split(strings.Repeat("a,", 30_000), ",")
	for _, c := range []struct {
		tool  string
		input any
		says  string
	}{
		{"todo.collection", many, "at least 10000 problems"},
		{"todo.delete", many, "at least 10000 problems"},
		{"todo.collection", map[string]any{"fields": names}, "at most 1000 names"},
		{"todo.collection", map[string]any{"with": strings.Join(names, ",")}, "at most 1000 names"},
		{"koan.code.execute", many, "at least 10000 problems"},
		{"koan.code.execute", map[string]any{"code": "1", "only": names}, "at least 10000 problems"},
		{"koan.code.execute", map[string]any{"code": "1", "include": names}, "at least 10000 problems"},
	} {
		var failed struct{ Error fault.Fault }
		require.NoError(t, json.Unmarshal(p.tool(c.tool, c.input).Structured, &failed))
		require.Equal(t, fault.InvalidPayload, failed.Error.Code)
		require.Contains(t, failed.Error.Message, c.says)
		require.Less(t, len(failed.Error.Message), 32<<10)
	}
}

// TestCornersOfScripts are regressions of defects that were found from outside.
func TestCornersOfScripts(t *testing.T) {
	t.Parallel()
	p := newApp(t).serve()
	for code, result := range map[string]any{
		`let n = 0; function run(){ return ++n } run.call(null); n`:           1.0,
		`let n = 0; function run(){ return "r" } function other(){ run() } n`: "r",
		`return {then(r){ r(43) }, a: 1}`:                                     map[string]any{"a": 1.0},
		`"<".repeat(100000)`:                                                  strings.Repeat("<", 100_000),
		`["\ud800"]`:                                                          []any{"\ufffd"},
		`Array.prototype[Symbol.iterator] = 1; SDK.Entities.Todo.all().length === SDK.Entities.Todo.count()`: true,
		"````js title=\"x\"\n7\n````": 7.0,
	} {
		e := p.execute(code)
		require.True(t, e.Success, "%s: %+v", code, e.Error)
		require.Equal(t, result, e.Result, code)
	}

	e := p.execute(`const m = {title: "x"}; for (let i = 0; i < 20000; i++) m["f" + i] = 1; SDK.Entities.Todo.upsert(m)`)
	require.Equal(t, string(fault.InvalidPayload), e.Error.Code)
	require.Len(t, e.Error.Details, fault.MaxDetails)
	require.Less(t, len(e.Error.Message), 32<<10)

	e = p.execute("try { SDK.Out.answer('x'.repeat(300000)) } catch {}\nSDK.Entities.Todo.upsert({title: 'never'})")
	require.Equal(t, string(fault.ResultTooLarge), e.Error.Code)
	require.Equal(t, 1, e.Error.Line)
	require.False(t, e.Committed)

	e = p.execute("1", input{"limits": input{"timeoutMs": "x"}})
	require.Equal(t, "/limits/timeoutMs", e.Error.Path)
	e = p.execute("await null;\n throw 'late'")
	require.Equal(t, 2, e.Error.Line)
}
