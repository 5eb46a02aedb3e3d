package build

import (
	"runtime/debug"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestVersion(t *testing.T) {
	vcs := func(modified string) *debug.BuildInfo {
		return &debug.BuildInfo{Main: debug.Module{Version: "(devel)"}, Settings: []debug.BuildSetting{
			{Key: "vcs", Value: "git"}, {Key: "vcs.revision", Value: "f3e7bfb5a2cb0123456789"}, {Key: "vcs.time", Value: "2026-11-22T19:38:01+02:00"}, {Key: "vcs.modified", Value: modified},
		}}
	}
	for _, c := range []struct {
		name, linked string
		info         *debug.BuildInfo
		want         string
	}{
		{"linked", "v1.2.3", vcs("false"), "1.2.3"},
		{"released module", "", &debug.BuildInfo{Main: debug.Module{Version: "v1.4.0"}}, "1.4.0"},
		{"pseudo-version", "", &debug.BuildInfo{Main: debug.Module{Version: "v0.0.0-20261122173801-f3e7bfb5a2cb+dirty"}}, "0.0.0-20261122173801-f3e7bfb5a2cb+dirty"},
		{"commit", "", vcs("false"), "0.0.0-20261122173801-f3e7bfb5a2cb"},
		{"changed since", "", vcs("true"), "0.0.0-20261122173801-f3e7bfb5a2cb+dirty"},
		{"commit without a time", "", &debug.BuildInfo{Settings: []debug.BuildSetting{{Key: "vcs.revision", Value: "f3e7bfb5a2cb01"}}}, "0.0.0-f3e7bfb5a2cb"},
		{"nothing known", "", &debug.BuildInfo{Main: debug.Module{Version: "(devel)"}}, "0.0.0-dev"},
		{"no build information", "", nil, "0.0.0-dev"},
	} {
		t.Run(c.name, func(t *testing.T) { require.Equal(t, c.want, of(c.linked, c.info)) })
	}
	require.Equal(t, Version(), Version())
}
