package entgen

import (
	"os"
	"path/filepath"
	"testing"

	"entgo.io/ent/entc/gen"
	"github.com/stretchr/testify/require"
)

// An app whose schemas have hooks, as it was generated, gets a schema that imports ent.
func TestImportsThatHaveBecomeACircleAreRemoved(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string) {
		path := filepath.Join(dir, filepath.FromSlash(name))
		require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o755))
		require.NoError(t, os.WriteFile(path, []byte(text), 0o644))
	}
	const imports = header + "\npackage ent\n\nimport (\n\t\"context\"\n\n\t_ \"example.org/app/ent/runtime\" // defaults and hooks of the schemas\n)\n\nvar _ context.Context\n"
	const without = header + "\npackage ent\n\nimport (\n\t\"context\"\n\n)\n\nvar _ context.Context\n"
	write("go.mod", "module example.org/app\n\ngo 1.24\n")
	write("ent/client.go", "package ent\n")
	write("ent/koan.go", imports)
	write("ent/privacy/privacy.go", "package privacy\n\nimport _ \"example.org/app/ent\"\n")
	write("ent/runtime/runtime.go", "package runtime\n\nimport _ \"example.org/app/ent/schema\"\n")
	write("ent/schema/schema.go", "package schema\n")
	c := &gen.Config{Target: filepath.Join(dir, "ent")}
	read := func() string {
		raw, err := os.ReadFile(filepath.Join(dir, "ent", "koan.go"))
		require.NoError(t, err)
		return string(raw)
	}

	require.NoError(t, breakCircle(c))
	require.Equal(t, imports, read(), "there is no circle")

	write("rules/rules.go", "package rules\n\nimport _ \"example.org/app/ent/privacy\"\n")
	write("ent/schema/schema.go", "package schema\n\nimport _ \"example.org/app/rules\"\n")
	require.NoError(t, breakCircle(c))
	require.Equal(t, without, read())

	write("ent/koan.go", imports[len(header):])
	require.NoError(t, breakCircle(c))
	require.Equal(t, imports[len(header):], read(), "it is not a generated file")

	require.NoError(t, os.Remove(filepath.Join(dir, "ent", "koan.go")))
	require.NoError(t, breakCircle(c), "it is the first generation")
	require.Len(t, New().Options(), 1)
}
