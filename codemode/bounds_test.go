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
	r := h.run(`for (let i = 0; i < 900; i++) try { SDK.Entities.Note.getById("x".repeat(5000)) } catch {} throw 1`)
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
