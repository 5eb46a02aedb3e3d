package codemode_test

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// TestNothingIsEscapedForHTML: a reply has the bytes that its limits count.
func TestNothingIsEscapedForHTML(t *testing.T) {
	h := newHouse(t, nil)
	r := h.run(`console.log("<&>"); SDK.Out.answer("<b>"); "a<b && c>d"`)
	require.NoError(t, r.err)
	require.Equal(t, `"a<b && c>d"`, string(r.raw["result"]))
	require.Equal(t, `"<b>"`, string(r.raw["answer"]))
	require.Contains(t, string(r.raw["logs"]), "<&>")
	require.Contains(t, string(h.run(`throw new Error("<x>")`).raw["error"]), "<x>")
}
