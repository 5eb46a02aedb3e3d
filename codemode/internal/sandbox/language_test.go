package sandbox

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/koan-go/koan/codemode/internal/wire"
	"github.com/koan-go/koan/codemode/languages"
)

var expected = regexp.MustCompile(`(?m)^// => (.+)$`)

// TestLanguage runs scripts as models write them; the first line of each is its result.
// validate must report nothing for any of them.
func TestLanguage(t *testing.T) {
	files, err := filepath.Glob("testdata/language/*.[jt]s")
	require.NoError(t, err)
	require.GreaterOrEqual(t, len(files), 60)
	executors(t, func(t *testing.T, x wire.Executor) {
		for _, file := range files {
			t.Run(filepath.Base(file), func(t *testing.T) {
				code, err := os.ReadFile(file)
				require.NoError(t, err)
				want := expected.FindSubmatch(code)
				require.NotNil(t, want)
				r := execute(t, x, imported(string(code)), newHost())
				require.Nil(t, r.Fault, "%v", r.Fault)
				require.JSONEq(t, string(want[1]), string(r.Result))

				check := imported(string(code))
				check.Task = wire.Validate
				require.Empty(t, execute(t, x, check, newHost()).Diagnostics)
			})
		}
	})
}

// TestSnippets compares the values of small expressions with those in other engines.
func TestSnippets(t *testing.T) {
	text, err := os.ReadFile("testdata/snippets.txt")
	require.NoError(t, err)
	blocks := strings.Split(strings.TrimSpace(string(text)), "\n\n")[1:]
	require.Greater(t, len(blocks), 500)
	for _, b := range blocks {
		code, want, ok := strings.Cut(b, "\n=> ")
		require.True(t, ok, b)
		t.Run(code, func(t *testing.T) {
			r := execute(t, NewInProcess(languages.All), job(code), newHost())
			require.Nil(t, r.Fault, "%v", r.Fault)
			if want == "undefined" {
				require.Nil(t, r.Result)
			} else {
				require.JSONEq(t, want, string(r.Result))
			}
			check := job(code)
			check.Task = wire.Validate
			require.Empty(t, execute(t, NewInProcess(languages.All), check, newHost()).Diagnostics)
		})
	}
}
