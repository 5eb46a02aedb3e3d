package plugins_test

import (
	"context"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/koan-go/koan/framework"
	"github.com/koan-go/koan/framework/catalog"
	"github.com/koan-go/koan/framework/koantest"
	"github.com/koan-go/koan/tests/fixture"
)

// folderOf makes a folder with this test binary under some names.
func folderOf(t *testing.T, names ...string) string {
	t.Helper()
	self, err := os.Executable()
	require.NoError(t, err)
	dir := filepath.Join(t.TempDir(), "plugins")
	require.NoError(t, os.Mkdir(dir, 0o755))
	for _, name := range names {
		require.NoError(t, os.Symlink(self, filepath.Join(dir, name)))
	}
	return dir
}

// checkOf is what doctor says of a plugin.
func checkOf(t *testing.T, k *koantest.Kit, plugin string) catalog.Check {
	t.Helper()
	for _, c := range k.Instance().Checks(t.Context()) {
		if c.Name == "plugin "+plugin {
			return c
		}
	}
	t.Fatalf("doctor says nothing of %s", plugin)
	return catalog.Check{}
}

// A plugin that is called like something of the app's is not offered, and doctor says why; others are.
func TestNamesThatAreTaken(t *testing.T) {
	t.Parallel()
	app := fixture.App()
	app.GoActions = append(app.GoActions, framework.Action("tidy", "Tidy up.", func(context.Context, framework.Call, struct{}) (struct{}, error) { return struct{}{}, nil }))
	k := koantest.New(t, app, set("plugins.dir", folderOf(t, "todo", "tidy", "neat")), set("plugins.todo.required", "true"))
	for plugin, has := range map[string]string{"todo": "the entity Todo", "tidy": "the action tidy", "neat": ""} {
		op := k.Instance().Snapshot().Operation(catalog.PluginID(plugin, "write"))
		check := checkOf(t, k, plugin)
		require.Equal(t, has == "", op != nil, plugin)
		require.Equal(t, has == "", check.OK, plugin)
		if has != "" {
			require.Contains(t, check.Detail, "it is not offered, since its name is that of "+has)
			require.Contains(t, check.Hint, "another domain")
		}
	}
	err := k.Instance().Ready(t.Context())
	require.ErrorContains(t, err, "the plugin todo is not offered")
	_, err = k.Call("action::tidy", map[string]any{})
	require.NoError(t, err)
}

// What everybody may write to is not started, until that has been put right.
func TestFilesThatEverybodyMayWriteTo(t *testing.T) {
	t.Parallel()
	for name, open := range map[string]func(dir string) string{
		"the folder": func(dir string) string { return dir },
		"the file":   func(dir string) string { return filepath.Join(dir, "neat") },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := folderOf(t, "diary")
			raw, err := os.ReadFile(filepath.Join(dir, "diary"))
			require.NoError(t, err)
			require.NoError(t, os.WriteFile(filepath.Join(dir, "neat"), raw, 0o755))
			path := open(dir)
			require.NoError(t, os.Chmod(path, 0o757))
			k := koantest.New(t, fixture.App(), set("plugins.dir", dir), set("plugins.neat.required", "true"))
			require.Nil(t, k.Instance().Snapshot().Operation(catalog.PluginID("neat", "write")))
			check := checkOf(t, k, "neat")
			require.False(t, check.OK)
			require.Contains(t, check.Detail, "everybody may write to "+path)
			require.Contains(t, check.Hint, "chmod go-w "+path)
			require.Equal(t, name == "the file", checkOf(t, k, "diary").OK)
			require.ErrorContains(t, k.Instance().Ready(t.Context()), "the plugin neat is not running")

			require.NoError(t, os.Chmod(path, 0o755))
			require.Eventually(t, func() bool { return k.Instance().Ready(t.Context()) == nil }, 20*time.Second, 20*time.Millisecond)
		})
	}
}
