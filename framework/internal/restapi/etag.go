package restapi

import (
	"context"
	"encoding/json"
	"net/http"
	"slices"
	"strings"

	"github.com/koan-go/koan/framework/catalog"
	"github.com/koan-go/koan/framework/exact"
	"github.com/koan-go/koan/framework/fault"
	"github.com/koan-go/koan/framework/seal"
)

// Digester returns the sealer that digests rows for entity tags, the same for all processes on one
// database, or a fault where it is not to be had now.
type Digester func(context.Context) (*seal.Sealer, error)

// tagger makes entity tags.
type tagger struct{ seal *seal.Sealer }

// digested reports whether tags of an entity's rows may be digests. The others need no secret, so
// that they are read and written also where none can be kept.
func digested(r *catalog.Resource) bool {
	return !r.Versioned || r.Version == "" || r.Field(r.Version) == nil
}

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

// matches reports whether a tag is among those of a header. weak also takes weak ones.
func matches(header []string, tag string, weak bool) bool {
	known, _ := tags(header)
	for _, given := range known {
		if given == anyTag || given == tag || weak && strings.TrimPrefix(given, weakMark) == tag {
			return true
		}
	}
	return false
}

// anyTag stands for whatever there is.
const anyTag = "*"

// tags returns the entity tags of a header (RFC 9110, section 8.8.3). ok reports that it has nothing else.
func tags(header []string) (out []string, ok bool) {
	ok = true
	rest := strings.Join(header, ",")
	for {
		rest = strings.TrimLeft(rest, " \t,")
		if rest == "" {
			return out, ok
		}
		if after, found := strings.CutPrefix(rest, anyTag); found {
			out, rest = append(out, anyTag), after
			continue
		}
		quoted := strings.TrimPrefix(rest, weakMark)
		weak := len(rest) - len(quoted)
		end := -1
		if strings.HasPrefix(quoted, `"`) {
			end = strings.IndexByte(quoted[1:], '"')
		}
		if end < 0 { // not a tag, up to the next comma
			_, rest, _ = strings.Cut(rest, ",")
			ok = false
			continue
		}
		end += weak + len(`""`)
		out, rest = append(out, rest[:end]), rest[end:]
	}
}

// weakMark begins a tag that only says what is equivalent.
const weakMark = "W/"

// condition returns the entity tags of a header on which a write depends, nil where there is no such
// header. One that cannot be read is rejected: without it, the write would undo what somebody else did.
func condition(r *http.Request, name string) ([]string, error) {
	given := r.Header.Values(name)
	if len(given) == 0 {
		return nil, nil
	}
	out, ok := tags(given)
	if !ok || len(out) == 0 || len(out) > 1 && slices.Contains(out, anyTag) {
		return nil, fault.Newf(fault.InvalidRequest, "the header %s has no list of entity tags: %s", name, catalog.Quote(fault.Clip(strings.Join(given, ", "), 64))).
			WithHint("Send the ETag of the entity that you have read, with its double quotes, or leave the header out.")
	}
	return out, nil
}
