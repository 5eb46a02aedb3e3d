// Package typescript holds the kit for plugins in TypeScript, which a new plugin gets a copy of.
//
// What belongs here: the kit's files. Not here: anything about how they are used.
package typescript

import "embed"

// Kit has the package koan-plugin, compiled.
//
//go:embed dist package.json plugin.proto
var Kit embed.FS
