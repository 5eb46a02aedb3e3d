package wire

import (
	"regexp"
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"
)

// The layout of specs/code-mcp-guide.md, in which scripts find servers too.

var (
	guideWords   = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`([a-z0-9])([A-Z])`) })
	guideOutside = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`[^\p{L}\p{M}\p{Nd}]+`) })
)

// GuideModule returns the guide's name of a server's module: snake_case, without what is no letter and no digit.
func GuideModule(id string) string {
	out := strings.Trim(guideOutside().ReplaceAllString(strings.ToLower(guideWords().ReplaceAllString(id, "${1}_${2}")), "_"), "_")
	if out == "" {
		return "server"
	}
	if '0' <= out[0] && out[0] <= '9' {
		out = "_" + out
	}
	return out
}

// GuidePath returns the path by which JavaScript imports the module of a server in the guide's layout.
func GuidePath(id string) string { return "./servers/" + GuideModule(id) + "/index.js" }

// GuideFunction returns the guide's name of a tool's function in JavaScript: camelCase.
func GuideFunction(tool string) string {
	parts := strings.FieldsFunc(tool, func(r rune) bool { return r == '.' || r == '_' || r == '-' })
	for i, p := range parts {
		if i > 0 {
			first, size := utf8.DecodeRuneInString(p)
			parts[i] = string(unicode.ToUpper(first)) + p[size:]
		}
	}
	return strings.Join(parts, "")
}

// ServerAt returns the server whose module has a path, nil if there is none. guide reports whether the path is that of
// the guide's layout: its module has the guide's names of functions beside its own.
func ServerAt(servers []Server, path string) (s *Server, guide bool) {
	id, own := ServerOf(path)
	for i := range servers {
		switch {
		case own && servers[i].ID == id:
			return &servers[i], false
		case !own && GuidePath(servers[i].ID) == path:
			return &servers[i], true
		}
	}
	return nil, false
}
