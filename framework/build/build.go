// Package build identifies the build of a program: toolVersion in the contract.
//
// What belongs here: the version of the build. Not here: that of the contract
// (catalog.SchemaVersion).
package build

import (
	"runtime/debug"
	"strings"
	"time"
)

// version is set by the linker:
//
//	go build -ldflags "-X github.com/koan-go/koan/framework/build.version=1.4.0"
var version string

// Version is the version of this program's build, the same at each start: what the
// linker was given, else the version of the main module, else its commit in the form of
// a pseudo-version (0.0.0-20260102030405-abcdefabcdef), with +dirty where files had
// changed since. A build that carries none of these is 0.0.0-dev.
func Version() string {
	info, _ := debug.ReadBuildInfo()
	return of(version, info)
}

const unknown = "0.0.0-dev"

func of(linked string, info *debug.BuildInfo) string {
	if v := strings.TrimPrefix(strings.TrimSpace(linked), "v"); v != "" {
		return v
	}
	if info == nil {
		return unknown
	}
	if v := info.Main.Version; v != "" && v != "(devel)" {
		return strings.TrimPrefix(v, "v")
	}
	return commit(info.Settings)
}

// commit is the version of a build that knows its commit alone.
func commit(settings []debug.BuildSetting) string {
	const short = 12 // digits of the commit, as pseudo-versions have them
	known := map[string]string{}
	for _, s := range settings {
		known[s.Key] = s.Value
	}
	revision := known["vcs.revision"]
	if len(revision) < short {
		return unknown
	}
	v := "0.0.0-"
	if at, err := time.Parse(time.RFC3339, known["vcs.time"]); err == nil {
		v += at.UTC().Format("20060102150405") + "-"
	}
	v += revision[:short]
	if known["vcs.modified"] == "true" {
		v += "+dirty"
	}
	return v
}
