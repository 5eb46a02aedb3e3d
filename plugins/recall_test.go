package plugins

import (
	"context"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/koan-go/koan/framework/fault"
)

// again stops an app and starts it anew with the same folders, after change.
func again(t *testing.T, b *bench, change func(*testHost)) *bench {
	t.Helper()
	require.NoError(t, b.provider.Stop(context.Background()))
	next := &testHost{values: b.host.values, log: &syncBuffer{}, keeps: true}
	change(next)
	return startOn(t, next)
}

// A plugin that was started before is offered before its process runs, and also where that does not start
// any more; what it is asked then waits, or says so.
func TestKnownPluginsAreOfferedAtOnce(t *testing.T) {
	t.Parallel()
	dir := pluginsDir(t, "flaky")
	there := filepath.Join(dir, "flaky.txt")
	require.NoError(t, os.WriteFile(there, nil, 0o644))
	first := startOn(t, &testHost{log: &syncBuffer{}, keeps: true, values: values{
		"plugins.dir": dir, "plugins.stateDir": t.TempDir(), "plugins.flaky.read": dir, "plugins.flaky.greeting": "Hello",
	}})
	_, err := first.invoke(t.Context(), "flaky", "say", echoIn{})
	require.NoError(t, err)
	offered := first.provider.Offer().Operations

	require.NoError(t, os.Remove(there))
	b := again(t, first, func(*testHost) {})
	require.Len(t, b.provider.Offer().Operations, len(offered))
	require.Equal(t, first.provider.Offer().Owners, b.provider.Offer().Owners)
	b.provider.current["flaky"].await(t.Context(), time.Minute)
	b.provider.opts.RestartWait = time.Millisecond
	_, err = b.invoke(t.Context(), "flaky", "say", echoIn{})
	require.Equal(t, fault.PluginUnavailable, fault.CodeOf(err))
	require.False(t, checkOf(t, b, "plugin flaky").OK)
	b.provider.opts.RestartWait = 10 * time.Second
	require.NoError(t, os.WriteFile(there, nil, 0o644))
	_, err = b.invoke(t.Context(), "flaky", "say", echoIn{})
	require.NoError(t, err)
	require.Zero(t, b.host.changes.Load(), "it offers what it was offered with")
}

// What a plugin said counts for its files and for the settings that it took then.
func TestOthersAreAskedAnew(t *testing.T) {
	t.Parallel()
	for what, change := range map[string]func(t *testing.T, h *testHost){
		"settings": func(_ *testing.T, h *testHost) { h.values["plugins.flaky.greeting"] = "Good morning" },
		"files": func(t *testing.T, h *testHost) {
			path := filepath.Join(h.values["plugins.dir"], "flaky")
			raw, err := os.ReadFile(path)
			require.NoError(t, err)
			require.NoError(t, os.Remove(path))
			require.NoError(t, os.WriteFile(path, append(raw, '\n'), 0o755))
		},
		"what is kept": func(t *testing.T, h *testHost) {
			require.NoError(t, os.WriteFile(filepath.Join(h.values["plugins.stateDir"], ".manifests", "flaky.json"), []byte("{"), 0o600))
		},
	} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			dir := pluginsDir(t, "flaky")
			there := filepath.Join(dir, "flaky.txt")
			require.NoError(t, os.WriteFile(there, nil, 0o644))
			first := startOn(t, &testHost{log: &syncBuffer{}, keeps: true, values: values{
				"plugins.dir": dir, "plugins.stateDir": t.TempDir(), "plugins.flaky.read": dir,
			}})
			require.NotEmpty(t, first.provider.Offer().Operations)
			require.NoError(t, os.Remove(there))
			b := again(t, first, func(h *testHost) { change(t, h) })
			require.Empty(t, b.provider.Offer().Operations)
		})
	}
}

// An app that is started for one command starts the process of a known plugin when that is called.
func TestKnownPluginsOfOneCommandStartWhenTheyAreCalled(t *testing.T) {
	t.Parallel()
	first := startOn(t, &testHost{log: &syncBuffer{}, keeps: true, values: values{"plugins.dir": pluginsDir(t, "echo"), "plugins.stateDir": t.TempDir()}})
	b := again(t, first, func(h *testHost) { h.oneShot = true })
	require.NotEmpty(t, b.provider.Offer().Operations)
	require.Never(t, func() bool { return b.provider.current["echo"].state().proc != nil }, time.Second, 50*time.Millisecond)
	_, err := b.say(echoIn{})
	require.NoError(t, err)

	b = again(t, b, func(h *testHost) { h.oneShot = true })
	require.True(t, checkOf(t, b, "plugin echo").OK, "doctor starts it, too")
}
