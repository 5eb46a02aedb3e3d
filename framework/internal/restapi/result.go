package restapi

import (
	"encoding/json"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/koan-go/koan/framework/catalog"
	"github.com/koan-go/koan/framework/exact"
	"github.com/koan-go/koan/framework/fault"
	"github.com/koan-go/koan/framework/internal/invoke"
)

// respond sends what a call of an entity's operation returned.
func (h *responder) respond(w http.ResponseWriter, r *http.Request, e *entity, found route, c *call, got invoke.Result) {
	status := http.StatusOK
	switch {
	case found.operation.ID.Op == "create":
		status = http.StatusCreated
		if at := location(e, setOf(c.input), got.Output); at != "" {
			w.Header().Set("Location", at)
		}
	case found.Body != "" || found.Item && found.Method == http.MethodGet:
		if found.Body == "model" && created(e, got) {
			status = http.StatusCreated
			if at := location(e, r.URL.Query().Get("set"), got.Output); at != "" {
				w.Header().Set("Location", at)
			}
		}
		// With other fields or related rows it is not the entity that a write would match.
		if q := r.URL.RawQuery; q == "" || !selects(r.URL.Query()) {
			tag := c.tags.tag(e.Resource, got.Output)
			w.Header().Set("ETag", tag)
			if given, ok := tags(r.Header.Values("If-Match")); found.Method == http.MethodGet && ok && len(given) > 0 && !matches(given, tag, false) {
				h.rejectAs(w, r, rejection{Fault: fault.New(fault.Conflict, "the "+e.Name+" is not the one that If-Match names").WithHint("Read it without If-Match.").WithRetry(fault.Fix), status: http.StatusPreconditionFailed})
				return
			}
			if found.Method == http.MethodGet && matches(r.Header.Values("If-None-Match"), tag, true) {
				w.WriteHeader(http.StatusNotModified)
				return
			}
		}
	case found.operation.ID.Op == "collection" && found.Method == http.MethodGet:
		if links := pageLinks(r.URL, got.Output); links != "" {
			w.Header().Set("Link", links)
		}
	}
	h.write(w, status, jsonType, got.Output)
}

// selects reports whether a query asks for other fields than the entity's own.
func selects(q url.Values) bool { return q.Has("fields") || q.Has("with") }

// describe says which run a response is of, and how far the data had come.
func describe(w http.ResponseWriter, got invoke.Result) {
	if got.Outcome != nil {
		w.Header().Set(runHeader, got.Outcome.Run)
	}
	if got.Position != "" {
		w.Header().Set(versionHeader, got.Position)
	}
}

// created reports whether a call stored an entity that was not there.
func created(e *entity, got invoke.Result) bool {
	for _, c := range got.Outcome.Counts {
		if c.Entity == e.Name && c.Created > 0 {
			return true
		}
	}
	return false
}

// location is the path of a stored entity, "" for one that has none since a hook chose its id.
func location(e *entity, set string, row json.RawMessage) string {
	var id string
	_ = json.Unmarshal(exact.Member(row, e.Key.Name), &id) // ids are strings
	if noStep(id) {
		return ""
	}
	at := apiPath + catalog.Kebab(e.Name) + "/" + url.PathEscape(id)
	if set != "" {
		at += "?" + url.Values{"set": {set}}.Encode()
	}
	return at
}

// setOf is the set that an input names, "" for none.
func setOf(input json.RawMessage) (set string) {
	_ = json.Unmarshal(exact.Member(input, "set"), &set)
	return set
}

func rowOf(out json.RawMessage) map[string]json.RawMessage {
	var row map[string]json.RawMessage
	_ = json.Unmarshal(out, &row) // operations return objects
	return row
}

// before is the page before one: the last one, if that is beyond it.
func before(page, size int, total *int) int {
	if total == nil || size < 1 {
		return page - 1
	}
	return max(1, min(page-1, (*total+size-1)/size))
}

// pageLinks are the links of a page to others (RFC 8288), "" for none.
func pageLinks(at *url.URL, out json.RawMessage) string {
	var page struct {
		Page, PageSize int
		TotalCount     *int
		NextCursor     *string
		Truncated      bool
	}
	others := map[string]json.RawMessage{}
	for name, value := range exact.All(out) { // the items, which are most of it, are not decoded
		if name != "items" {
			others[name] = value
		}
	}
	if json.Unmarshal(object(others), &page) != nil {
		return ""
	}
	query := at.Query()
	var links []string
	add := func(rel string, set func(url.Values)) {
		q := url.Values{}
		for name, values := range query {
			q[name] = slices.Clone(values)
		}
		set(q)
		links = append(links, "<"+(&url.URL{Path: at.Path, RawQuery: q.Encode()}).String()+`>; rel="`+rel+`"`)
	}
	onPage := func(n int) func(url.Values) {
		return func(q url.Values) { q.Del("cursor"); q.Set("page", strconv.Itoa(n)) }
	}
	behind := func(q url.Values) { q.Del("page"); q.Set("cursor", *page.NextCursor) }
	if query.Get("cursor") != "" {
		if page.NextCursor != nil {
			add("next", behind)
		}
		add("first", func(q url.Values) { q.Del("cursor") })
		return strings.Join(links, ", ")
	}
	switch {
	case page.NextCursor == nil:
	case page.Truncated: // the next number begins behind what was left out
		add("next", behind)
	default:
		add("next", onPage(page.Page+1))
	}
	if page.Page > 1 {
		add("prev", onPage(before(page.Page, page.PageSize, page.TotalCount)))
		add("first", onPage(1))
	}
	if page.TotalCount != nil && page.PageSize > 0 && *page.TotalCount > page.PageSize {
		add("last", onPage((*page.TotalCount+page.PageSize-1)/page.PageSize))
	}
	return strings.Join(links, ", ")
}
