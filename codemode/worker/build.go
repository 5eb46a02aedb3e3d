package worker

import (
	"runtime"
	"runtime/debug"
	"strings"
	"sync"
)

// stamp identifies the sources of the worker. The linker sets it (-X, see the Makefile) in an
// app and in the worker binary beside it.
var stamp string

// Stamped reports whether this build has a stamp. Only then can another executable be
// recognised as containing the same worker.
func Stamped() bool { return stamp != "" }

// Build identifies the worker in this build. Host and worker compare it, since the executable
// may have been replaced between their starts, and a worker binary may be older than its app.
var Build = sync.OnceValue(func() string {
	if Stamped() {
		return runtime.Version() + " " + stamp
	}
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
