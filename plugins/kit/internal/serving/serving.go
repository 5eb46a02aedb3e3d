// Package serving gives package kittest the server of a plugin without a process.
//
// What belongs here: that one function, which package kit sets. Not here: a server.
package serving

import (
	"log/slog"

	"github.com/koan-go/koan/plugins/internal/wire"
)

// New returns the server of a kit.Plugin, or what is wrong with the plugin. Package kit sets it, so that its own
// interface has nothing for tests.
var New func(plugin any, log *slog.Logger) (wire.PluginServer, error)
