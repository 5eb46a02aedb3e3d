package upstream_test

import (
	"context"
	"log/slog"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/koan-go/koan/framework"
	"github.com/koan-go/koan/framework/catalog"
)

// What is kept of a server is there at the next start, and compared with the server without a call: a
// tool that is new is found, and one that is gone is not offered. It is kept for the whole entry.
func TestKeptToolsAreComparedAtEachStart(t *testing.T) {
	home := t.TempDir()
	for _, name := range []string{"HOME", "XDG_CACHE_HOME", "XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_STATE_HOME"} {
		t.Setenv(name, filepath.Join(home, name))
	}
	file := writeTool(t, filepath.Join(home, "tool"), workTool)
	start := func(env string) *framework.Instance {
		flags := map[string]string{"approval.mode": "never", "approval.rules": "[]"}
		for _, s := range settingsOf(t, []row{{id: "x", mode: "is redefined", settings: map[string]string{"env." + toolFileVariable: file, "env.TOOLSETS": env}}}) {
			flags[s.Key] = s.Value
		}
		i, err := framework.New(context.Background(), framework.App{Name: "restarted"}, framework.Options{Config: framework.Source{Flags: flags}, Log: slog.New(slog.DiscardHandler)})
		require.NoError(t, err)
		return i
	}
	has := func(i *framework.Instance, tool string) bool {
		return i.Snapshot().Operation(catalog.ID{Kind: catalog.KindUpstream, Owner: "x", Op: tool}) != nil
	}
	first := start("all")
	require.Eventually(t, func() bool { return has(first, "work") }, timeout, tick)
	require.NoError(t, first.Stop(context.Background()))

	writeTool(t, file, otherTool)
	second := start("all")
	require.Eventually(t, func() bool { return has(second, "other") && !has(second, "work") }, timeout, tick)
	require.NoError(t, second.Stop(context.Background()))

	third := start("none")
	require.Eventually(t, func() bool { return has(third, "other") }, timeout, tick)
	require.NoError(t, third.Stop(context.Background()))
	kept, err := filepath.Glob(filepath.Join(home, "XDG_CACHE_HOME", "koan", "restarted", "upstreams", "*.json"))
	require.NoError(t, err)
	require.Len(t, kept, 2, "another environment is another server")

	again := start("all")
	require.True(t, has(again, "other"), "a start waits for nobody")
	require.NoError(t, again.Stop(context.Background()))
}
