package fault_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/koan-go/koan/framework/fault"
)

func TestAt(t *testing.T) {
	doc := map[string]any{"a/b": []any{1.0, map[string]any{"~": nil}}, "": "empty"}
	for path, want := range map[string]any{"": doc, "/a~1b/0": 1.0, "/a~1b/1/~0": nil, "/": "empty"} {
		v, ok := fault.At(doc, path)
		require.True(t, ok, path)
		require.Equal(t, want, v, path)
	}
	for _, path := range []string{"/a", "/a~1b/2", "/a~1b/-1", "/a~1b/x", "/a~1b/0/0", "/a~1b/1/x"} {
		_, ok := fault.At(doc, path)
		require.False(t, ok, path)
	}
	require.Equal(t, []string{"~1", "/"}, fault.Steps("/~01/~1"))
}

func TestSubject(t *testing.T) {
	for path, want := range map[string]string{"": "the input", "/a": `"a"`, "/a~1b/c": `"c"`, "/ids/0": `item 0 of "ids"`, "/0": `"0"`, "/a/": `""`} {
		require.Equal(t, want, fault.Subject(path), path)
	}
}
