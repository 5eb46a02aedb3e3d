package worker

import (
	"runtime"
	"runtime/debug"
	"strings"
	"sync"
)

// Build identifies this build. Host and worker compare it, since the executable
// may have been replaced between their starts.
var Build = sync.OnceValue(func() string {
	parts := []string{runtime.Version()}
	if info, ok := debug.ReadBuildInfo(); ok {
		parts = append(parts, info.Main.Path, info.Main.Version, info.Main.Sum)
		for _, s := range info.Settings {
			if strings.HasPrefix(s.Key, "vcs.") {
				parts = append(parts, s.Value)
			}
		}
	}
	return strings.Join(parts, " ")
})
