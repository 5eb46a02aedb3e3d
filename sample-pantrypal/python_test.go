package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/koan-go/koan/framework/koantest"
	"github.com/koan-go/koan/tests/needs"
)

// TestWorkflowsInPython carries out workflows that are solved in Python, too, and take the place of those in JavaScript:
// dry, then for real, and undone, with the same answers and the same changes.
func TestWorkflowsInPython(t *testing.T) {
	t.Parallel()
	needs.Program(t, "python3")
	k := open(t, koantest.Setting{Key: "journal.enabled", Value: "true"}, koantest.Setting{Key: "codeMode.languages", Value: "javascript,python"},
		koantest.Setting{Key: "actions.dir", Value: filepath.Join("testdata", "python")})
	files, err := filepath.Glob("testdata/python/*.py")
	require.NoError(t, err)
	solved := map[string]bool{}
	for _, f := range files {
		text, err := os.ReadFile(f)
		require.NoError(t, err)
		solved[strings.TrimSuffix(filepath.Base(f), ".py")] = true
		out, err := k.Call("code::koan.validate", map[string]any{"code": string(text), "language": "python"})
		require.NoError(t, err)
		require.JSONEq(t, `{"valid":true}`, string(out), f)
	}
	for _, w := range workflows(t) {
		if !solved[w.Name] {
			continue
		}
		t.Run(w.Name, func(t *testing.T) {
			kitchen{k.Kit, t, k.photos}.try(w)
		})
		delete(solved, w.Name)
	}
	require.Empty(t, solved, "each has a workflow")

	// They fail as exceptions of Python, of which a caller in JavaScript sees what the exception says.
	r := k.Run("try { SDK.Actions.mealPrep({ servings: 90 }) } catch (e) { SDK.Out.answer([e.code, e.message]) }", koantest.Input{})
	require.JSONEq(t, `["execution_error", "ValueError: 4 meals of 90 portions are 360, more than the 100 that one meal is planned for."]`, string(r.Answer))
}

// What faults say names what Python has, whatever entities say of it.
func TestFaultsNameWhatPythonHas(t *testing.T) {
	t.Parallel()
	needs.Program(t, "python3")
	k := open(t, koantest.Setting{Key: "codeMode.languages", Value: "python"})
	for code, words := range map[string][]string{
		"SDK.Entities.PantryItem.delete_by_query({})": {"confirm with all=True"},
		"SDK.Entities.PantryItem.delete_by_query()":   {"{} with all=True matches every"},
		"SDK.Entities.PantryItem.get_by_id(None)":     {"not None:", "findById can be None"},
		"await asyncio.Future()":                      {"make sure that something ends each future"},
		"null":                                        {"Write None."},
		"JSON.stringify({})":                          {"json.dumps"},
		"SDK.Entities.PantryItem.find_by_id('00000000-0000-0000-0000-000000000000').name": {"check it first"},
	} {
		r := k.Try(code, koantest.Input{Language: "python"})
		require.NotNil(t, r.Error, code)
		for _, w := range words {
			require.Contains(t, r.Error.Message+" "+r.Error.Hint, w, code)
		}
	}
}
