package main

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/koan-go/koan/tests/programs"
)

// build makes the app and its plugin beside it, as `make build` does, and returns the app.
func build(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	require.NoError(t, programs.Build(dir, map[string]string{"pantrypal": "sample-pantrypal", "plugins/vision": "plugins/vision"}))
	return filepath.Join(dir, "pantrypal")
}

func TestDemoEndToEnd(t *testing.T) {
	o := options{app: build(t), script: "evening.js"}
	run := func(photo string) (shown, steps string, err error) {
		var out, progress bytes.Buffer
		o.photo = photo
		err = demo(t.Context(), o, &out, &progress)
		return out.String(), progress.String(), err
	}
	t.Run("the sample photo", func(t *testing.T) {
		shown, steps, err := run("../../testdata/haul.png")
		require.NoError(t, err)
		for _, want := range []string{
			"6 codes read, 5 lots put away", "2000000000992", "Baby spinach", "Chickpeas", "Vine tomatoes", "Dinner tonight", "The next days", "Shopping list", "Cooked: ",
			"What changed:", "PantryEvent", "haul", "tonight", "week-plan", "shop", "One round trip, ", " SDK calls, ", "Undone: ", "The evening has left no trace",
		} {
			require.Contains(t, shown, want)
		}
		require.NotContains(t, shown, "failed")
		require.Contains(t, steps, "sending evening.js")
	})
	t.Run("a photo without codes", func(t *testing.T) {
		shown, _, err := run("../../testdata/empty.png")
		require.NoError(t, err)
		require.Contains(t, shown, "No barcode")
	})
	t.Run("a photo that is broken further on", func(t *testing.T) {
		shown, _, err := run("../../testdata/broken.png")
		var f *failure
		require.ErrorAs(t, err, &f)
		require.Positive(t, f.Line)
		require.NotEmpty(t, f.Hint)
		require.False(t, f.committed)
		require.Empty(t, shown)
	})
	t.Run("a script that fails", func(t *testing.T) {
		o.script = filepath.Join(t.TempDir(), "bad.js")
		require.NoError(t, os.WriteFile(o.script, []byte("const a = 1;\nnull.x;\n"), 0o600))
		_, _, err := run("../../testdata/empty.png")
		require.Contains(t, describe(err, false), "at line 2")
	})
	t.Run("a caller's own configuration does not matter", func(t *testing.T) {
		o.script = "../../scripts/simple-dinner.js"
		t.Setenv("KOAN_CODEMODE_ENABLED", "false")
		shown, _, err := run("../../testdata/empty.png")
		require.NoError(t, err)
		require.Contains(t, shown, "Spinach and Feta Frittata")
	})
}
