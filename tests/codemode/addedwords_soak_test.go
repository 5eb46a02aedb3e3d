//go:build soak

package codemode

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// edits are what somebody writes who adds an operator and an operation: to the vocabulary,
// and what carries them out, which is keyed by their names.
var edits = []struct{ file, before, after string }{
	{"framework/catalog/vocabulary.go", "\nvar filterOperators = []FilterOperator{\n", `	{"` + addedOperator + `", OneValue, AtField, ordered},` + "\n"},
	{"framework/catalog/vocabulary.go", "\nvar entityOperations = []EntityOperation{\n", `	{
		Name: "` + addedOperation + `", Access: AccessCompute, Effects: reading, Arguments: []string{"filter"}, Optional: true, Options: []string{"set"},
		Output: "count", Methods: []Method{{"` + addedOperation + `", nil, ReturnsNumber}},
	},` + "\n"},
	{"entities/internal/filter/operators.go", "\n\t\"$lt\": ordered(\"<\"),", ` "` + addedOperator + `": ordered("="),`},
	{"entities/internal/filter/operators.go", "\n\t\"$lt\": jsonOrdered(\"$lt\", \"<\"),", ` "` + addedOperator + `": jsonOrdered("` + addedOperator + `", "="),`},
	{"entities/internal/model/operations.go", "\n// Operations are all of them", `
func init() {
	for _, o := range Operations {
		if o.Name == "count" {
			o.EntityOperation = named("` + addedOperation + `")
			Operations = append(Operations, o)
		}
	}
}

`},
	{"entities/internal/engine/operations.go", "\n// Offer returns", `
func init() { handlers["` + addedOperation + `"] = handlers["count"] }

`},
}

// overlay writes the edited files to a folder, and returns what -overlay takes.
func overlay(t *testing.T, folder string) string {
	t.Helper()
	root, err := filepath.Abs("../..")
	require.NoError(t, err)
	replaced := map[string]string{}
	for _, e := range edits {
		from := filepath.Join(root, e.file)
		to := filepath.Join(folder, strings.ReplaceAll(e.file, "/", "_"))
		source := from
		if replaced[from] != "" {
			source = to
		}
		text, err := os.ReadFile(source)
		require.NoError(t, err)
		require.Equal(t, 1, strings.Count(string(text), e.before), "%s: %s", e.file, e.before)
		edited := e.before + e.after
		if strings.HasPrefix(e.after, "\n") {
			edited = e.after + e.before
		}
		require.NoError(t, os.WriteFile(to, []byte(strings.Replace(string(text), e.before, edited, 1)), 0o600))
		replaced[from] = to
	}
	raw, err := json.Marshal(map[string]any{"Replace": replaced})
	require.NoError(t, err)
	path := filepath.Join(folder, "overlay.json")
	require.NoError(t, os.WriteFile(path, raw, 0o600))
	return path
}

// An operator and an operation that are added to the vocabulary are found everywhere: the
// tests of every projection hold with them, so that none has a table of its own. Nearly all
// packages are compiled for it.
func TestSoakAddedWords(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	words := overlay(t, dir)
	for _, c := range []struct {
		pkg   string
		tests []string
		flags []string
	}{
		{"../docs", []string{"TestOperations"}, []string{"-update"}},
		{".", []string{
			"TestVocabularyHasAddedWords", "TestEveryProjectionNamesTheOperatorsOfFilters", "TestOperatorsFitWhereTheVocabularySays",
			"TestEveryProjectionNamesTheOperationsOfEntities", "TestMethodsTakeWhatTheVocabularySays",
		}, []string{"-added", addedOperator + "," + addedOperation}},
	} {
		// Nearly all packages are compiled for this test alone, and run for a second: they are not optimized.
		args := append([]string{"test", "-overlay", words, "-vet=off", "-gcflags=github.com/koan-go/koan/...=-N -l", "-count=1", "-v", "-run", "^(" + strings.Join(c.tests, "|") + ")$", c.pkg, "-reference", dir}, c.flags...)
		out, err := exec.CommandContext(t.Context(), "go", args...).CombinedOutput()
		require.NoError(t, err, "%s", out)
		for _, name := range c.tests {
			require.Contains(t, string(out), "--- PASS: "+name+" ")
		}
	}
	page, err := os.ReadFile(filepath.Join(dir, "operations.md"))
	require.NoError(t, err)
	require.Contains(t, string(page), "| `"+addedOperator+"` |")
	require.Contains(t, string(page), "| `"+addedOperation+"` |")
}
