// Package pytypes checks texts with Python's type checkers, for tests of whatever writes stubs.
//
// What belongs here: the way to the checkers. Not here: what a test expects of them.
package pytypes

import (
	"context"
	"encoding/json"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/koan-go/koan/framework/catalog"
	"github.com/koan-go/koan/tests/needs"
)

// Stub returns the stub of koan that an app offers.
func Stub(tb testing.TB, v *catalog.View) string {
	tb.Helper()
	text, err := document(tb, v).Read(tb.Context(), v, "")
	require.NoError(tb, err)
	return string(text)
}

// Folder returns the stubs that an app offers to an editor, by their paths.
func Folder(tb testing.TB, v *catalog.View) map[string]string {
	tb.Helper()
	return document(tb, v).Folder(v)
}

func document(tb testing.TB, v *catalog.View) *catalog.Document {
	tb.Helper()
	for _, d := range v.Snapshot().Documents() {
		if d.URI == "koan://sdk/koan.pyi" {
			return d
		}
	}
	require.Fail(tb, "the app has no stub")
	return nil
}

// Found is what a checker says of files, by their names: "line: message" each.
type Found map[string][]string

// Check checks files with mypy and pyright, each as strict as it can be, that see a stub of the package koan; the stub
// is one of the files, koan/__init__.pyi.
func Check(tb testing.TB, stub string, files map[string]string) (mypy, pyright Found) {
	tb.Helper()
	files = maps.Clone(files)
	files["koan/__init__.pyi"] = stub
	return CheckAll(tb, files)
}

// CheckAll is Check of files with whatever stubs they need.
func CheckAll(tb testing.TB, files map[string]string) (mypy, pyright Found) {
	tb.Helper()
	needs.Program(tb, "mypy")
	needs.Node(tb)
	checker := needs.NodeProgram(tb, "pyright")
	dir := tb.TempDir()
	files = maps.Clone(files)
	files["pyrightconfig.json"] = `{"typeCheckingMode": "standard", "reportMissingModuleSource": false}`
	for name, text := range files {
		path := filepath.Join(dir, name)
		require.NoError(tb, os.MkdirAll(filepath.Dir(path), 0o755))
		require.NoError(tb, os.WriteFile(path, []byte(text), 0o644))
	}
	return runMypy(tb, dir), runPyright(tb, dir, checker)
}

func runMypy(tb testing.TB, dir string) Found {
	tb.Helper()
	out := output(tb, dir, "mypy", "--strict", "--no-error-summary", "--hide-error-context", "--no-incremental", "--cache-dir", os.DevNull, ".")
	found := Found{}
	for line := range strings.Lines(out) {
		parts := strings.SplitN(strings.TrimSpace(line), ":", 3)
		if len(parts) == 3 && strings.HasPrefix(strings.TrimSpace(parts[2]), "error") {
			found[parts[0]] = append(found[parts[0]], parts[1]+":"+parts[2])
		}
	}
	return found
}

func runPyright(tb testing.TB, dir, program string) Found {
	tb.Helper()
	var report struct {
		GeneralDiagnostics []struct {
			File, Severity, Message string
			Range                   struct{ Start struct{ Line int } }
		}
	}
	require.NoError(tb, json.Unmarshal([]byte(output(tb, dir, program, "--outputjson")), &report))
	found := Found{}
	for _, d := range report.GeneralDiagnostics {
		if d.Severity == "error" {
			name, err := filepath.Rel(dir, d.File)
			require.NoError(tb, err)
			found[name] = append(found[name], strconv.Itoa(d.Range.Start.Line+1)+": "+d.Message)
		}
	}
	return found
}

// output runs a checker, whose exit status says that it found something.
func output(tb testing.TB, dir, program string, args ...string) string {
	tb.Helper()
	cmd := exec.CommandContext(context.WithoutCancel(tb.Context()), program, args...)
	cmd.Dir = dir
	var said strings.Builder
	cmd.Stderr = &said
	out, err := cmd.Output()
	if err != nil && len(out) == 0 {
		require.NoError(tb, err, said.String())
	}
	return string(out)
}

// Files returns the names of files in which something was found.
func (f Found) Files() []string { return slices.Sorted(maps.Keys(f)) }
