package worker

import (
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/koan-go/koan/codemode/internal/script"
)

func TestCompiledScriptsAreKept(t *testing.T) {
	c := compiled{most: compiledBytes}
	compile := func(src script.Source) *script.Program {
		p, err := c.compile(src)
		require.NoError(t, err)
		return p
	}
	src := script.Source{Code: "const a: number = 1; a"}
	first := compile(src)
	require.Same(t, first, compile(src))
	for name, other := range map[string]script.Source{
		"code":     {Code: "const a: number = 2; a"},
		"language": {Code: src.Code, Language: "typescript"},
		"entry":    {Code: src.Code, Entry: "run"},
		"module":   {Code: src.Code, Module: true},
	} {
		require.NotSame(t, first, compile(other), name)
	}
	require.Same(t, first, compile(src))
	_, err := c.compile(script.Source{Code: "let a: = ;"})
	require.Error(t, err)
	require.Len(t, c.kept, 5, "what does not compile is not kept")
	c.forget()
	require.NotSame(t, first, compile(src))
}

// TestCompiledScriptsAreBounded: the one that was not used longest goes first.
func TestCompiledScriptsAreBounded(t *testing.T) {
	c := compiled{most: compiledBytes}
	compile := func(code string) *script.Program {
		p, err := c.compile(script.Source{Code: code})
		require.NoError(t, err)
		return p
	}
	first, second := compile("0"), compile("1")
	for i := range compiledBytes/compiledLeast - 2 {
		compile(strconv.Itoa(i + 2))
	}
	require.Same(t, first, compile("0"))
	compile("'one more'")
	require.Same(t, first, compile("0"), "it was used")
	require.NotSame(t, second, compile("1"))
	require.Equal(t, compiledBytes, c.bytes)

	large := "'" + strings.Repeat("x", compiledBytes) + "'"
	require.NotSame(t, compile(large), compile(large), "too long to be kept")
	require.Len(t, c.kept, compiledBytes/compiledLeast)
	compile("'" + strings.Repeat("x", compiledBytes-2) + "'")
	require.Len(t, c.kept, 1)
	require.Equal(t, compiledBytes, c.bytes)

	c.bound(8 << 20)
	require.NotSame(t, compile("0"), compile("'"+strings.Repeat("x", 8<<10)+"'"))
	require.Equal(t, compiledLeast, c.bytes, "less memory, less kept")
}
