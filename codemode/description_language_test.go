package codemode_test

import (
	"context"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/koan-go/koan/framework/catalog"
	"github.com/koan-go/koan/tests/pytypes"
)

// pythonFirst is an app whose scripts are in Python unless they say otherwise.
var pythonFirst = map[string]any{"codeMode.languages": []string{"python", "javascript"}}

func TestDescriptionIsInTheFirstLanguage(t *testing.T) {
	t.Parallel()
	h := newPythonHouse(t, pythonFirst)
	op := h.view.Snapshot().Operation(catalog.CodeID("koan", "execute"))
	text := op.Description(h.view)
	path := "testdata/execute-description-python.txt"
	if *update {
		require.NoError(t, os.WriteFile(path, []byte(text), 0o644))
	}
	want, err := os.ReadFile(path)
	require.NoError(t, err)
	require.Equal(t, string(want), text)
	require.Contains(t, op.Summary, "one Python program")
	require.Equal(t, text, newPythonHouse(t, pythonFirst).description(), "equal views are described in equal bytes")
	require.Contains(t, h.provider.(catalog.Instructor).Instructions(), "koan://sdk/koan.pyi.")

	// A language has its own rules, not those of the one beside it.
	alone := newPythonHouse(t, map[string]any{"codeMode.languages": []string{"python"}}).description()
	for _, other := range []string{"JavaScript", "console.log", "language:", "pageSize: 5", "```js"} {
		require.NotContains(t, alone, other)
	}
	second := newPythonHouse(t, nil).description()
	require.Contains(t, second, "Runs one JavaScript program")
	require.Contains(t, second, `- language: "python" runs Python instead`)
	require.Contains(t, second, "```ts\n")
}

func TestDescriptionInPythonKeepsItsBudget(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		entities, budget int
		declares         bool
	}{
		{0, 16000, true}, {1, 16000, true}, {1, 500, false}, {1, 0, false}, {40, 100_000, true}, {40, 3000, false}, {41, 100_000, true}, {200, 4000, false}, {200, 100, false},
	} {
		t.Run(fmt.Sprintf("%d entities, %d bytes", tt.entities, tt.budget), func(t *testing.T) {
			h := newPythonHouse(t, map[string]any{"codeMode.languages": []string{"python", "javascript", "node"}, "codeMode.inlineTypesBytes": tt.budget})
			h.crowd(tt.entities)
			text := h.description()
			require.Equal(t, tt.declares, strings.Contains(text, "\nDeclarations:\n```python\n"), text)
			require.LessOrEqual(t, len(text), 1900+tt.budget+len("\nDeclarations:\n```python\n```\n"))
			first := text[:min(1900, len(text))]
			require.Contains(t, first, "koan.code.search")
			if tt.entities > 0 {
				require.Contains(t, first, "Thing000")
			}
			example := between(t, text, "Example:\n```python\n")
			require.NoError(t, h.run(example).err, "the example runs")
			require.JSONEq(t, `true`, string(h.call(context.Background(), "validate", in{"code": example}).raw["valid"]))
		})
	}
}

// between returns the rest of a code fence.
func between(t *testing.T, text, begin string) string {
	t.Helper()
	_, rest, found := strings.Cut(text, begin)
	require.True(t, found, begin)
	inside, _, found := strings.Cut(rest, "```")
	require.True(t, found)
	return inside
}

// What a description declares in Python has no type error, and finds those of scripts.
func TestDeclarationsOfDescriptionHoldUnderTypeCheckersOfPython(t *testing.T) {
	t.Parallel()
	const imports = "from typing import Any, Generic, Iterator, Literal, Mapping, Optional, Sequence, TypedDict, TypeVar, Union\n"
	h := newPythonHouse(t, pythonFirst)
	text := h.description()
	files := map[string]string{
		"example.py": "from koan import SDK\n" + between(t, text, "Example:\n```python\n"),
		"right.py":   "from koan import SDK\nfor note in SDK.Entities.Note.each(filter={'text': 'a'}, sort='-text'):\n    text: str = note.text\nsent: bool = SDK.Mail.send(to='x').sent\nSDK.Entities.Note.upsert({'text': SDK.run.set})\n",
	}
	for i, wrong := range []string{"SDK.Entities.Nota.all()", "SDK.Entities.Note.collection(pagesize=3)", "SDK.Entities.Note.get_by_id('1').txt", "SDK.Mail.send(towards='x')", "SDK.Mail.sent()"} {
		files[fmt.Sprintf("wrong%d.py", i)] = "from koan import SDK\n" + wrong + "\n"
	}
	mypy, pyright := pytypes.Check(t, imports+between(t, text, "Declarations:\n```python\n"), files)
	for name, found := range map[string]pytypes.Found{"mypy": mypy, "pyright": pyright} {
		for file := range files {
			assert.Equal(t, strings.HasPrefix(file, "wrong"), len(found[file]) > 0, "%s of %s: %v", name, file, found[file])
		}
		assert.Empty(t, found["koan/__init__.pyi"], name)
	}
}
