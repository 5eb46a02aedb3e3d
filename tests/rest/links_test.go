package rest

import (
	"fmt"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/koan-go/koan/framework"
	"github.com/koan-go/koan/tests/pgtest"
)

var nextLink = regexp.MustCompile(`<([^>]*)>; rel="next"`)

// walk follows the links to the next page to the end, and returns the titles and the addresses.
func (s *server) walk(at string) (titles, asked []string) {
	s.t.Helper()
	for at != "" {
		require.Less(s.t, len(asked), 50, "the links end")
		asked = append(asked, at)
		page := s.do("GET", at, "")
		got := page.object(http.StatusOK)
		for _, item := range got["items"].([]any) {
			titles = append(titles, item.(map[string]any)["title"].(string))
		}
		at = ""
		if found := nextLink.FindStringSubmatch(page.header.Get("Link")); found != nil {
			at = found[1]
		}
	}
	return titles, asked
}

// A page that is cut at 4 MiB has fewer rows than its size, so the next numbered page would begin
// behind rows that nobody has seen.
func TestLinksOfTruncatedPages(t *testing.T) {
	t.Parallel()
	if pgtest.ForEach(t, TestLinksOfTruncatedPages) {
		return
	}
	s := serve(t, fixtureApp(), framework.HTTPOptions{})
	var want []string
	notes := strings.Repeat("n", 700<<10)
	for i := range 14 {
		title := fmt.Sprintf("t%02d", i)
		want = append(want, title)
		s.do("POST", "/api/todo", `{"title":"`+title+`","priority":"low","notes":"`+notes+`"}`).object(http.StatusCreated)
	}
	query := url.Values{"filter": {`{"priority":"low"}`}, "sort": {"title"}, "with": {"steps"}, "pageSize": {"10"}}
	titles, asked := s.walk("/api/todo?" + query.Encode())
	require.Equal(t, want, titles)
	for _, at := range asked[1:] {
		u, err := url.Parse(at)
		require.NoError(t, err)
		got := u.Query()
		require.NotEmpty(t, got.Get("cursor"), at)
		require.Empty(t, got.Get("page"), "page and cursor exclude each other")
		for name := range query {
			require.Equal(t, query[name], got[name], at)
		}
	}

	query.Set("page", "2")
	titles, _ = s.walk("/api/todo?" + query.Encode())
	require.Equal(t, want[10:], titles)
	query.Set("page", "1")
	titles, _ = s.walk("/api/todo?" + query.Encode())
	require.Equal(t, want, titles)

	query.Set("fields", "title")
	query.Del("page")
	titles, asked = s.walk("/api/todo?" + query.Encode())
	require.Equal(t, want, titles)
	require.Len(t, asked, 2)
	require.Contains(t, asked[1], "page=2", "a page that is whole leads to the next number")
}
