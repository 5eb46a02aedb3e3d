package source

import (
	"regexp"
	"strings"

	"github.com/koan-go/koan/codemode/internal/wire"
)

var (
	dynamic = regexp.MustCompile(`\bimport\s*\(`)
	written = regexp.MustCompile(`\bimport\s*\(\s*(?:"[^"]*"|'[^']*')\s*[,)]`)
)

// Imports implements language.Source. A script that computes a path may import any module.
func (JavaScript) Imports(code string) func(path string) bool {
	calls := dynamic.FindAllStringIndex(code, -1)
	switch {
	case len(calls) > len(written.FindAllStringIndex(code, -1)):
		return func(string) bool { return true }
	case len(calls) == 0 && !strings.Contains(code, wire.ModulePrefix) && !strings.Contains(code, "servers/"):
		return nil
	}
	return func(path string) bool {
		id, server := wire.ServerOf(path)
		return strings.Contains(code, path) || server && strings.Contains(code, wire.GuidePath(id))
	}
}
