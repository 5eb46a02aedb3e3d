package plugins

import (
	"context"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// Files that start and do nothing keep neither the others nor the app waiting until their time is
// over, however many they are.
func TestIdleFilesDelayNobody(t *testing.T) {
	t.Parallel()
	names := []string{"a-hung-1", "a-hung-2", "a-hung-3", "a-hung-4", "a-hung-5", "echo"}
	b := startWith(t, Options{StartTimeout: 10 * time.Minute}, nil, names...)
	_, err := b.say(echoIn{})
	require.NoError(t, err, "it is there when the app has started")
	for _, name := range names[:5] {
		require.Equal(t, publicReason("it is starting"), b.provider.current[name].state().failure)
	}
	require.Contains(t, b.host.log.String(), "nobody waits for it")
}

// A mistake of the plugin's author is named as what it is.
func TestMistakeOfTheAuthorIsNamed(t *testing.T) {
	t.Parallel()
	b := start(t, pluginsDir(t, "mistaken"), nil)
	detail := b.provider.Checks(t.Context())[1].Detail
	require.Contains(t, detail, `the function "list": output: []string is not a struct`)
	require.Contains(t, detail, "exit status 2")
	require.NotContains(t, detail, "not a Koan plugin")
}

// A plugin that is not made with go-plugin is ended as gracefully as others.
func TestForeignPluginEndsGracefully(t *testing.T) {
	t.Parallel()
	dir := pluginsDir(t, "foreign")
	b := start(t, dir, values{"plugins.foreign.isolation": "trusted"}) // it writes beside its executable
	_, err := b.invoke(t.Context(), "foreign", "end", echoIn{})
	require.NoError(t, err)
	require.NoError(t, b.provider.Stop(context.Background()))
	_, err = os.Stat(filepath.Join(dir, "foreign.ended"))
	require.NoError(t, err, "it got SIGTERM, and had the time for it")
	require.NotContains(t, b.host.log.String(), "level=WARN")
	require.NotContains(t, b.host.log.String(), "level=ERROR")
}
