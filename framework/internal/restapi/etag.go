package restapi

import (
	"encoding/json"
	"strings"

	"github.com/koan-go/koan/framework/catalog"
	"github.com/koan-go/koan/framework/exact"
	"github.com/koan-go/koan/framework/seal"
)

// tagger makes entity tags.
type tagger struct{ seal *seal.Sealer }

// tag is the entity tag of a whole row: its version, else a digest that tells nothing of what
// it is of.
func (t tagger) tag(r *catalog.Resource, out json.RawMessage) string {
	if r.Versioned && r.Version != "" {
		if version := exact.Member(out, r.Version); version != nil {
			return `"` + strings.Trim(string(version), `"`) + `"`
		}
	}
	canonical, err := exact.Canonical(out)
	if err != nil { // operations return JSON
		canonical = out
	}
	return `"` + t.seal.Digest("etag", append([]byte(r.Name+"\x00"), canonical...)) + `"`
}

func (h *Handler) tag(r *catalog.Resource, out json.RawMessage) string {
	return tagger{h.opts.Seal}.tag(r, out)
}

// matches reports whether a tag is among those of a header. weak also takes weak ones.
func matches(header []string, tag string, weak bool) bool {
	for _, given := range tags(header) {
		if given == "*" || given == tag || weak && strings.TrimPrefix(given, "W/") == tag {
			return true
		}
	}
	return false
}

// tags are the entity tags of a header. Those that servers make have no commas.
func tags(header []string) []string {
	var out []string
	for _, part := range strings.Split(strings.Join(header, ","), ",") {
		if part = strings.TrimSpace(part); part != "" {
			out = append(out, part)
		}
	}
	return out
}
