package manage

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/koan-go/koan/plugins/conformance"
)

// module makes a module that uses this checkout of Koan, with the requirements that this has.
func module(t *testing.T) (dir string) {
	t.Helper()
	root, err := filepath.Abs(filepath.Join("..", ".."))
	require.NoError(t, err)
	mod, err := os.ReadFile(filepath.Join(root, "go.mod"))
	require.NoError(t, err)
	sum, err := os.ReadFile(filepath.Join(root, "go.sum"))
	require.NoError(t, err)
	dir = t.TempDir()
	mod = bytes.Replace(mod, []byte("module github.com/koan-go/koan\n"), []byte("module example.com/app\n"), 1)
	mod = append(mod, "\nrequire github.com/koan-go/koan v0.0.0\nreplace github.com/koan-go/koan => "+root+"\n"...)
	require.NoError(t, os.WriteFile(filepath.Join(dir, "go.mod"), mod, 0o600))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "go.sum"), sum, 0o600))
	return dir
}

// write writes a new plugin into a folder.
func write(t *testing.T, lang, name, folder string) {
	t.Helper()
	files, err := render(languages[lang], name)
	require.NoError(t, err)
	for _, f := range files {
		to := filepath.Join(folder, f.path)
		require.NoError(t, os.MkdirAll(filepath.Dir(to), 0o755))
		require.NoError(t, os.WriteFile(to, f.text, f.mode))
	}
}

func checkAll(t *testing.T, program string) {
	t.Helper()
	findings := conformance.Check(t.Context(), program, conformance.Options{})
	require.Greater(t, len(findings), 10)
	for _, f := range findings {
		require.True(t, f.OK, "%s: %s", f.Name, f.Detail)
	}
}

// A new plugin in Go compiles, passes its own tests, and passes every check.
func TestNewPluginInGo(t *testing.T) {
	t.Parallel()
	dir := module(t)
	write(t, "go", "food-lookup", filepath.Join(dir, "plugins", "food-lookup"))
	program := filepath.Join(dir, "bin", "food-lookup")
	for _, args := range [][]string{{"vet"}, {"test"}, {"build", "-o", program}} {
		cmd := exec.CommandContext(t.Context(), "go", append(args, "./plugins/food-lookup")...)
		cmd.Dir, cmd.Env = dir, append(os.Environ(), "GOFLAGS=-mod=mod")
		out, err := cmd.CombinedOutput()
		require.NoError(t, err, "%s", out)
	}
	checkAll(t, program)
}
