package upstream_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/koan-go/koan/framework"
	"github.com/koan-go/koan/framework/fault"
	"github.com/koan-go/koan/framework/koantest"
)

// fresh is an app whose server x takes a second to start, so that a first script calls tools
// that nobody has listed.
func fresh(t *testing.T, mode string, settings map[string]string) *koantest.Kit {
	t.Helper()
	settings["env."+delayVariable] = "1s"
	kit := koantest.New(t, framework.App{Name: "fresh"}, settingsOf(t, []row{{id: "x", mode: mode, settings: settings}})...)
	require.Nil(t, kit.Instance().Snapshot().Operation(parse(t, workID)))
	return kit
}

// What is configured of a tool by its name counts before the server is known.
func TestConfiguredEffectsOfUnlistedTools(t *testing.T) {
	t.Parallel()
	kit := fresh(t, "behaves", map[string]string{"effects.work": "read"})
	got := kit.Try(callsWork, koantest.Input{DryRun: true})
	require.True(t, got.Success, got.Error)

	kit = fresh(t, "behaves", map[string]string{})
	require.Equal(t, fault.DryRunBlocked, kit.Try(callsWork, koantest.Input{DryRun: true}).Error.Code, "nothing is known of it")
}

// A script's name for a tool may be another tool's own.
func TestNamesLikeThoseOfUnlistedTools(t *testing.T) {
	t.Parallel()
	kit := fresh(t, "has odd names", map[string]string{"effects.with_blank": "read"})
	got := kit.Try(`SDK.Servers.x.with_blank({})`, koantest.Input{})
	require.Equal(t, fault.Conflict, got.Error.Code)
	require.Contains(t, got.Error.Message, "with_blank is the tool with blank")
	require.Equal(t, fault.DryRunBlocked, kit.Try(`SDK.Servers.x.with_blank({})`, koantest.Input{DryRun: true}).Error.Code)
}
