package plugins

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/koan-go/koan/framework/catalog"
	"github.com/koan-go/koan/framework/journal"
	"github.com/koan-go/koan/plugins/internal/lock"
)

// brought makes a folder with the plugin echo, as a folder of its own, and a lock that lists it with a digest.
func brought(t *testing.T, digest func(right string) string) (dir string, host *testHost) {
	t.Helper()
	self, err := os.Executable()
	require.NoError(t, err)
	dir = filepath.Join(t.TempDir(), "plugins")
	own := filepath.Join(dir, "echo")
	require.NoError(t, os.MkdirAll(own, 0o755))
	require.NoError(t, os.WriteFile(filepath.Join(own, "words.txt"), []byte("beside"), 0o600))
	raw, err := os.ReadFile(self)
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(filepath.Join(own, "echo"), raw, 0o755))
	right, err := lock.Digest(own)
	require.NoError(t, err)
	config := filepath.Join(t.TempDir(), "koan.yaml")
	require.NoError(t, lock.Change(t.Context(), lock.Beside(config), func(f *lock.File) error {
		f.Plugins["echo"] = lock.Entry{Version: "0.9.0", Contract: 1, Digest: digest(right), Source: "https://plugins.example/echo"}
		return nil
	}))
	return dir, &testHost{values: values{"plugins.dir": dir}, config: config, log: &syncBuffer{}}
}

func other(string) string { return journal.Digest([]byte("what was agreed to")) }

func same(right string) string { return right }

func checkOf(t *testing.T, b *bench, name string) catalog.Check {
	t.Helper()
	all := b.provider.Checks(t.Context())
	i := slices.IndexFunc(all, func(c catalog.Check) bool { return c.Name == name })
	require.GreaterOrEqual(t, i, 0, "%v", all)
	return all[i]
}

// A plugin that was brought from elsewhere starts with the files that a person has agreed to, and what it says of its
// effects is not believed.
func TestALockedPluginStarts(t *testing.T) {
	t.Parallel()
	_, host := brought(t, same)
	b := startOn(t, host)
	_, err := b.say(echoIn{Text: "hello"})
	require.NoError(t, err)
	for _, op := range b.provider.Offer().Operations {
		require.True(t, op.Untrusted)
		require.True(t, op.Effects.Destructive && op.Effects.Outside && !op.Effects.ReadOnly, op.ID.String())
	}
}

func TestAPluginOfAnotherDigestIsLeftOut(t *testing.T) {
	t.Parallel()
	_, host := brought(t, other)
	b := startOn(t, host)
	require.Empty(t, b.provider.Offer().Operations)
	check := checkOf(t, b, "plugin echo")
	require.False(t, check.OK)
	require.Contains(t, check.Detail, "left out")
	require.Contains(t, check.Detail, other(""))
	require.Contains(t, check.Hint, "koan plugin upgrade echo")
	require.Contains(t, host.log.String(), "koan.lock has the digest")

	_, free := brought(t, other)
	free.values["plugins.locked"] = "false"
	b = startOn(t, free)
	_, err := b.say(echoIn{Text: "hello"})
	require.NoError(t, err)

	_, needed := brought(t, other)
	needed.values["plugins.required"] = "echo"
	p := Provide(Options{})
	err = p.Start(t.Context(), needed)
	require.ErrorContains(t, err, "the plugin echo, which is required, is left out")
	require.ErrorContains(t, err, "koan plugin upgrade echo")
}

// One that is changed while the app runs keeps its earlier process.
func TestAChangedLockedPluginKeepsItsProcess(t *testing.T) {
	t.Parallel()
	dir, host := brought(t, same)
	b := startOn(t, host)
	was, err := b.say(echoIn{Text: "hello"})
	require.NoError(t, err)
	file := filepath.Join(dir, "echo", "echo")
	raw, err := os.ReadFile(file)
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(file+".new", append(raw, "more"...), 0o755))
	require.NoError(t, os.Rename(file+".new", file))
	require.Eventually(t, func() bool {
		c := checkOf(t, b, "plugin echo")
		return !c.OK && strings.Contains(c.Detail, "the new version does not run: left out")
	}, time.Minute, 50*time.Millisecond)
	is, err := b.say(echoIn{Text: "hello"})
	require.NoError(t, err)
	require.Equal(t, was.Pid, is.Pid)
}

func TestWhatTheLockListsAndIsNotThere(t *testing.T) {
	t.Parallel()
	dir, host := brought(t, same)
	require.NoError(t, os.RemoveAll(filepath.Join(dir, "echo")))
	b := startOn(t, host)
	check := checkOf(t, b, "plugin echo")
	require.False(t, check.OK)
	require.Contains(t, check.Detail, "there is no such plugin in "+dir)
	require.Contains(t, check.Hint, "https://plugins.example/echo")

	require.NoError(t, os.WriteFile(lock.Beside(host.config), []byte("version: 7\n"), 0o600))
	require.False(t, checkOf(t, b, "koan.lock").OK)
	require.ErrorContains(t, Provide(Options{}).Start(t.Context(), host), "koan.lock: version is 7")
}

// A folder in the plugins' folder is a plugin where it has an executable of its name: sources are none.
func TestFoldersOfPlugins(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for file, mode := range map[string]os.FileMode{"sources/main.go": 0o600, "tool/other": 0o700, "quiet/quiet": 0o600, "good/good": 0o700, "nested/nested/nested": 0o700} {
		require.NoError(t, os.MkdirAll(filepath.Join(dir, filepath.Dir(file)), 0o700))
		require.NoError(t, os.WriteFile(filepath.Join(dir, file), nil, mode))
	}
	found, skipped, err := discover(dir)
	require.NoError(t, err)
	require.Equal(t, []string{"good"}, names(found))
	require.Equal(t, filepath.Join(dir, "good"), found[0].files())
	require.Len(t, skipped, 1)
	require.Contains(t, skipped[0], "quiet: the file is not executable")
}

// A plugin that the lock comes to list is a stranger's from then on, also where the app had one of its name; and what is
// configured of one that is missing is no mistake.
func TestWhatComesToBeLockedIsNotBelieved(t *testing.T) {
	t.Parallel()
	dir, host := brought(t, same)
	path := lock.Beside(host.config)
	listed, err := lock.Read(path)
	require.NoError(t, err)
	require.NoError(t, os.Remove(path))
	b := startOn(t, host)
	untrusted := func() bool {
		all := b.provider.Offer().Operations
		return len(all) > 0 && all[0].Untrusted
	}
	require.False(t, untrusted(), "it is the app's own")
	require.NoError(t, lock.Change(t.Context(), path, func(f *lock.File) error { f.Plugins = listed.Plugins; return nil }))
	require.Eventually(t, untrusted, time.Minute, 50*time.Millisecond)
	_, err = b.say(echoIn{Text: "hello"})
	require.NoError(t, err)

	require.NoError(t, os.RemoveAll(filepath.Join(dir, "echo")))
	host.values["plugins.echo.timeoutMs"] = "1000"
	again := startOn(t, &testHost{values: host.values, config: host.config, log: &syncBuffer{}})
	require.Contains(t, checkOf(t, again, "plugin echo").Hint, "koan plugin add")
}
