package codemode_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/koan-go/koan/framework/fault"
)

func TestFailuresAreBounded(t *testing.T) {
	h := newHouse(t, nil)
	body := func(r *reply) int {
		n := 0
		for _, part := range r.raw {
			n += len(part)
		}
		return n
	}
	r := h.run(`for (let i = 0; i < 400; i++) try { SDK.Entities.Note.getById("x".repeat(5000)) } catch {} throw 1`)
	r.fails(t, fault.JavaScriptError)
	require.Less(t, body(r), 80<<10)
	last := r.Calls[len(r.Calls)-1]
	require.Equal(t, "…", last.ToolName)
	require.Contains(t, last.Error, "more calls are left out")
	require.False(t, last.OK)
	for _, c := range r.Calls {
		require.LessOrEqual(t, len([]rune(c.Error)), 301)
	}

	r = h.run(`for (let i = 0; i < 3; i++) SDK.Entities.Note.getById("1"); 1`, in{"include": []string{"calls"}})
	require.Len(t, r.Calls, 3)
}

func TestChangesThatCannotBeSent(t *testing.T) {
	h := newHouse(t, map[string]any{"codeMode.maxResultBytes": 1000})
	const code = `for (let i = 0; i < 50; i++) SDK.Entities.Note.upsert({id: "n" + i, text: "x".repeat(100)}); 1`
	for _, with := range []in{{"dryRun": true}, {"include": []string{"changes"}}} {
		r := h.run(code, with)
		f := r.fails(t, fault.ResultTooLarge)
		require.Contains(t, f.Message, "list of changes")
		require.False(t, *r.Committed)
		require.NotContains(t, h.shelf.notes["default"], "n1")
	}
	require.NoError(t, h.run(code).err)
}

func TestMemoryLimitsAreNamedAsTheyAre(t *testing.T) {
	h := newHouse(t, nil)
	r := h.run("1", in{"limits": in{"maxMemoryBytes": 1000}})
	require.NoError(t, r.err)
	require.Len(t, r.Logs, 1)
	require.True(t, strings.Contains(r.Logs[0].Message, "1048576 is used"), r.Logs[0].Message)
}

// TestBoundsOfARun has the limits that the host keeps met exactly, and passed by
// one.
func TestBoundsOfARun(t *testing.T) {
	const call = `SDK.Entities.Note.collection();`
	for name, c := range map[string]struct {
		key   string
		at    int
		code  func(n int) string
		fault fault.Code
	}{
		"characters of the code": {"sandbox.maxCodeLength", 30, func(n int) string { return "1;//" + strings.Repeat("ü", n-4) }, fault.CodeTooLong},
		"SDK calls":              {"codeMode.maxSdkCalls", 5, func(n int) string { return strings.Repeat(call, n) + "1" }, fault.SDKCallsExceeded},
	} {
		t.Run(name, func(t *testing.T) {
			h := newHouse(t, map[string]any{c.key: c.at})
			require.NoError(t, h.run(c.code(c.at)).err, "exactly at the limit")
			h.run(c.code(c.at+1)).fails(t, c.fault)
		})
	}
}
