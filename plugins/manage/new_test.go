package manage

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/koan-go/koan/plugins/conformance"
	"github.com/koan-go/koan/tests/needs"
	"github.com/koan-go/koan/tests/soak"
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

// runIn runs a program in a folder, which has to succeed.
func runIn(t *testing.T, dir, name string, args ...string) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), name, args...)
	cmd.Dir, cmd.Env = dir, append(os.Environ(), "GOFLAGS=-mod=mod")
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, "%s", out)
}

func checkAll(t *testing.T, program string, keys map[string]string) {
	t.Helper()
	findings := conformance.Check(t.Context(), program, conformance.Options{Keys: keys})
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
		runIn(t, dir, "go", append(args, "./plugins/food-lookup")...)
	}
	checkAll(t, program, nil)
}

func TestNewPluginInPython(t *testing.T) {
	t.Parallel()
	needs.Python(t)
	dir := filepath.Join(t.TempDir(), "food-lookup")
	write(t, "python", "food-lookup", dir)
	runIn(t, dir, "/usr/bin/python3", "-m", "unittest")
	checkAll(t, dir, nil)
}

func TestNewPluginInTypeScript(t *testing.T) {
	soak.Proof(t)
	t.Parallel()
	needs.Kit(t)
	dir := filepath.Join(t.TempDir(), "food-lookup")
	write(t, "typescript", "food-lookup", dir)
	kit, err := filepath.Abs(filepath.Join("..", "typescript"))
	require.NoError(t, err)
	modules := filepath.Join(kit, "node_modules")
	require.NoError(t, os.Mkdir(filepath.Join(dir, "node_modules"), 0o755)) // as npm would make it
	for name, to := range map[string]string{"koan-plugin": kit, "@types": filepath.Join(modules, "@types")} {
		require.NoError(t, os.Symlink(to, filepath.Join(dir, "node_modules", name)))
	}
	runIn(t, dir, filepath.Join(modules, ".bin", "tsc"))
	tests, err := filepath.Glob(filepath.Join(dir, "tests", "*.test.js"))
	require.NoError(t, err)
	runIn(t, dir, "node", append([]string{"--test"}, tests...)...)
	checkAll(t, dir, map[string]string{"read": `["` + kit + `"]`})
}

// The copy of a kit is the kit.
func TestKitsAreWhole(t *testing.T) {
	t.Parallel()
	for lang, from := range map[string]string{"python": "../python/koan_plugin", "typescript": "../typescript/dist"} {
		files, err := languages[lang].kit.render()
		require.NoError(t, err)
		copied := 0
		for _, f := range files {
			if filepath.Base(from) == filepath.Base(filepath.Dir(f.path)) {
				copied++
			}
		}
		there := 0
		for _, pattern := range []string{"*.py", "*.js", "*.d.ts", "*.binpb", "py.typed"} {
			found, err := filepath.Glob(filepath.Join(from, pattern))
			require.NoError(t, err)
			there += len(found)
		}
		require.Equal(t, there, copied, lang)
	}
}
