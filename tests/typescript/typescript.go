// Package typescript checks texts with the real TypeScript compiler, for tests of
// whatever writes declarations.
//
// What belongs here: the way to the compiler. Not here: what a test expects
// of it.
package typescript

import (
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/koan-go/koan/framework/catalog"
	"github.com/koan-go/koan/tests/needs"
)

// Check type-checks files as `tsc --strict` does. Every file that is no .d.ts is a
// module of its own, and all see the same .d.ts files. It returns the findings by
// file, "(line,column): TSnnnn: message"; none where all is well.
func Check(tb testing.TB, files map[string]string) map[string][]string {
	tb.Helper()
	return CheckEach(tb, files)[0]
}

// CheckEach is Check for several groups of files that do not see each other: much
// faster than one at a time.
func CheckEach(tb testing.TB, groups ...map[string]string) []map[string][]string {
	tb.Helper()
	program := filepath.Join(root(tb), "tests", "npm", "check.mjs")
	needs.Node(tb)
	job, err := json.Marshal(groups)
	require.NoError(tb, err)
	cmd := exec.CommandContext(tb.Context(), "node", program)
	cmd.Stdin = bytes.NewReader(job)
	var said bytes.Buffer
	cmd.Stderr = &said
	out, err := cmd.Output()
	require.NoError(tb, err, said.String())
	var found []map[string][]string
	require.NoError(tb, json.Unmarshal(out, &found))
	require.Len(tb, found, len(groups))
	return found
}

// Declarations returns the TypeScript declarations that an app offers of its SDK.
func Declarations(tb testing.TB, v *catalog.View) string {
	tb.Helper()
	for _, d := range v.Snapshot().Documents() {
		if d.URI == "koan://sdk/koan.d.ts" {
			text, err := d.Read(tb.Context(), v, "")
			require.NoError(tb, err)
			return string(text)
		}
	}
	require.Fail(tb, "the app has no declarations")
	return ""
}

// root is the repository's folder: the one above that has the compiler.
func root(tb testing.TB) string {
	tb.Helper()
	dir, err := os.Getwd()
	require.NoError(tb, err)
	for {
		if _, err := os.Stat(filepath.Join(dir, "tests", "npm", "check.mjs")); err == nil {
			return dir
		}
		up := filepath.Dir(dir)
		require.NotEqual(tb, up, dir, "tests/npm is nowhere above")
		dir = up
	}
}
