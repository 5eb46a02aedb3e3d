package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/koan-go/koan/framework/auth"
	"github.com/koan-go/koan/framework/exposure"
	"github.com/koan-go/koan/framework/koantest"
	"github.com/koan-go/koan/tests/needs"
	"github.com/koan-go/koan/tests/pytypes"
	"github.com/koan-go/koan/tests/typescript"
)

// TestScriptsPassStrictTypes: the app's scripts and actions have no type error in a strict editor.
func TestScriptsPassStrictTypes(t *testing.T) {
	t.Parallel()
	k := open(t)
	files := map[string]string{"koan.d.ts": typescript.Declarations(t, k.Instance().View(auth.Local(), exposure.Understands))}
	for _, folder := range []string{"scripts", "cmd/demo", "actions"} {
		found, err := filepath.Glob(folder + "/*.js")
		require.NoError(t, err)
		require.NotEmpty(t, found)
		for _, file := range found {
			text, err := os.ReadFile(file)
			require.NoError(t, err)
			files[strings.ReplaceAll(file, "/", "_")] = string(text)
		}
	}
	for file, wrong := range typescript.Check(t, files) {
		for _, one := range wrong {
			t.Errorf("%s%s", file, one)
		}
	}
}

// TestStubHoldsUnderTypeCheckersOfPython: the stub for scripts in Python has no error, and knows the app.
func TestStubHoldsUnderTypeCheckersOfPython(t *testing.T) {
	t.Parallel()
	needs.Program(t, "python3")
	k := open(t, koantest.Setting{Key: "codeMode.languages", Value: "javascript,python"})
	stub := pytypes.Stub(t, k.Instance().View(auth.Local(), exposure.Understands))
	mypy, pyright := pytypes.Check(t, stub, map[string]string{
		"right.py": "from koan import SDK\nfor item in SDK.Entities.PantryItem.each(filter={\"quantity\": {\"$lt\": 2}}):\n    name: str = item.name\n",
		"wrong.py": "from koan import SDK\nSDK.Entities.PantryItm.all()\n",
	})
	require.Equal(t, []string{"wrong.py"}, mypy.Files(), "%v", mypy)
	require.Equal(t, []string{"wrong.py"}, pyright.Files(), "%v", pyright)
}
