package javascript

import (
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/koan-go/koan/codemode/internal/language/javascript/script"
)

func TestProgramCacheReturnsSameProgram(t *testing.T) {
	c := programCache{maxBytes: maxCacheBytes}
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
	require.Len(t, c.entries, 5, "a failed compilation is not kept")
	c.clear()
	require.NotSame(t, first, compile(src))
}

// TestProgramCacheIsBounded also checks that the least recently used program is evicted first.
func TestProgramCacheIsBounded(t *testing.T) {
	c := programCache{maxBytes: maxCacheBytes}
	compile := func(code string) *script.Program {
		p, err := c.compile(script.Source{Code: code})
		require.NoError(t, err)
		return p
	}
	first, second := compile("0"), compile("1")
	for i := range maxCacheBytes/minEntryBytes - 2 {
		compile(strconv.Itoa(i + 2))
	}
	require.Same(t, first, compile("0"))
	compile("'one more'")
	require.Same(t, first, compile("0"), "it was used recently")
	require.NotSame(t, second, compile("1"))
	require.Equal(t, maxCacheBytes, c.bytes)

	large := "'" + strings.Repeat("x", maxCacheBytes) + "'"
	require.NotSame(t, compile(large), compile(large), "too long to be kept")
	require.Len(t, c.entries, maxCacheBytes/minEntryBytes)
	compile("'" + strings.Repeat("x", maxCacheBytes-2) + "'")
	require.Len(t, c.entries, 1)
	require.Equal(t, maxCacheBytes, c.bytes)

	c.setLimit(8 << 20)
	require.NotSame(t, compile("0"), compile("'"+strings.Repeat("x", 8<<10)+"'"))
	require.Equal(t, minEntryBytes, c.bytes, "a lower memory limit shrinks the cache")
}
