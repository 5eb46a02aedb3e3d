package config_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/koan-go/koan/framework/catalog"
	"github.com/koan-go/koan/framework/internal/config"
)

// TestFreeKeysReloadWithTheirSection: keys below an open section that is live take
// effect, also by being left out; those of another section wait.
func TestFreeKeysReloadWithTheirSection(t *testing.T) {
	settings := []catalog.Setting{{Key: "live", Open: true, Live: true}, {Key: "fixed", Open: true}}
	load := func(flags map[string]string) *config.Config {
		c, err := config.Load(settings, config.Source{Flags: flags})
		require.NoError(t, err)
		return c
	}
	now := load(map[string]string{"live.a.x": "1", "live.a.y": "1", "live.a.same": "1", "fixed.z": "1"})
	merged, live, later := now.With(load(map[string]string{"live.a.x": "2", "live.b.n": "2", "live.a.same": "1", "fixed.z": "2"}))
	require.Equal(t, []string{"live.a.x", "live.a.y", "live.b.n"}, live)
	require.Equal(t, []string{"fixed.z"}, later)
	require.Equal(t, map[string]string{"a.x": "2", "a.same": "1", "b.n": "2"}, merged.Under("live"))
	require.Equal(t, map[string]string{"z": "1"}, merged.Under("fixed"))
	require.Equal(t, "1", now.Under("live")["a.x"], "until it is taken")
	now.Take(merged)
	require.Equal(t, "2", now.Under("live")["a.x"])
}
