// Package python holds the kit for plugins in Python, which a new plugin gets a copy of.
//
// What belongs here: the kit's files. Not here: anything about how they are used.
package python

import "embed"

// Kit has the package koan_plugin.
//
//go:embed koan_plugin/*.py koan_plugin/plugin.binpb koan_plugin/py.typed
var Kit embed.FS
