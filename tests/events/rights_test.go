package events

import (
	"fmt"
	"net"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/koan-go/koan/framework"
	"github.com/koan-go/koan/framework/auth"
	"github.com/koan-go/koan/framework/fault"
	"github.com/koan-go/koan/tests/club"
	"github.com/koan-go/koan/tests/pgtest"
)

// callers are those whose tokens are valid now.
type callers struct {
	mu    sync.Mutex
	known map[string]auth.Principal
}

func (c *callers) revoke(token string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.known, token)
}

func (c *callers) authenticate(r *http.Request) (auth.Principal, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	p, ok := c.known[strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer ")]
	if !ok {
		return auth.Principal{}, fault.New(fault.Unauthorized, "the bearer token is not valid")
	}
	return p, nil
}

func bearer(token string) []string { return []string{"Authorization", "Bearer " + token} }

// A reader gets the entities, fields and sets that it may read, and nothing of others; a
// policy that refuses a reader hides the whole entity.
func TestRightsDecideWhatIsSent(t *testing.T) {
	if pgtest.ForEach(t, TestRightsDecideWhatIsSent) {
		return
	}
	t.Parallel()
	who := &callers{known: map[string]auth.Principal{
		"all":    {Subject: "ann", Scopes: []string{auth.All}, Sets: []string{auth.All}},
		"guest":  {Subject: "guest", Sets: []string{"default"}},
		"member": {Subject: "member", Scopes: []string{"member:read"}, Sets: []string{"default", "branch-a"}},
	}}
	s := serve(t, club.App(), framework.HTTPOptions{Authenticate: who.authenticate})
	all, guest, member := s.follow(nil, bearer("all")...), s.follow(nil, bearer("guest")...), s.follow(nil, bearer("member")...)
	post := func(path, body string) { s.do(http.StatusCreated, "POST", path, body, bearer("all")...) }
	post("/api/member", `{"id":"bob","name":"Bob","phone":"555"}`)
	post("/api/diary", `{"id":"d","text":"dear"}`)
	post("/api/event?set=branch-a", `{"id":"a","title":"A"}`)
	post("/api/event?set=branch-b", `{"id":"b","title":"B"}`)
	s.do(http.StatusOK, "PATCH", "/api/member/bob", `{"phone":"556"}`, bearer("all")...)
	post("/api/event", `{"id":"last","title":"last"}`)
	got := map[string]event{}
	for range 6 {
		e := all.next()
		got[e.brief()] = e
	}
	require.Len(t, got, 6)
	require.Equal(t, "555", got["create Member default/bob"].data["after"].(map[string]any)["phone"])
	require.Contains(t, got, "create Diary default/d")
	require.Equal(t, []string{"create Event default/last"}, guest.briefs(1), "the rest is none of its business")
	seen := member.briefs(3)
	require.ElementsMatch(t, []string{"create Member default/bob", "create Event branch-a/a", "create Event default/last"}, seen,
		"a change of a field that it may not read is none for it")
	require.NotContains(t, fmt.Sprint(member.lastID()), "branch-b")

	p := s.do(http.StatusNotFound, "GET", "/api/events?set=branch-b", "", bearer("member")...)
	require.Equal(t, "unknown_set", p["code"])
	p = s.do(http.StatusBadRequest, "GET", "/api/events?entity=Member", "", bearer("guest")...)
	require.Equal(t, "invalid_payload", p["code"])
	require.NotContains(t, fmt.Sprint(p), "Member\"?", "no suggestion of what it may not know")
	s.do(http.StatusUnauthorized, "GET", "/api/events", "")

	// What it follows behind an event of somebody with more rights is still its own.
	again := s.follow(nil, append(bearer("guest"), "Last-Event-ID", got["create Member default/bob"].id)...)
	require.Equal(t, []string{"create Event default/last"}, again.briefs(1))
}

// Rights count as they are when something is sent; a token that is not valid any more ends the
// stream, which says so.
func TestRevokedTokensEndStreams(t *testing.T) {
	t.Parallel()
	who := &callers{known: map[string]auth.Principal{
		"ann": {Subject: "ann", Scopes: []string{auth.All}, Sets: []string{auth.All}},
		"bob": {Subject: "bob", Scopes: []string{"member:read"}, Sets: []string{"default"}},
	}}
	s := serve(t, club.App(), framework.HTTPOptions{Authenticate: who.authenticate})
	idle, busy := s.follow(nil, bearer("bob")...), s.follow(url.Values{"entity": {"Member"}}, bearer("bob")...)
	s.do(http.StatusCreated, "POST", "/api/member", `{"id":"m1","name":"x"}`, bearer("ann")...)
	require.Equal(t, []string{"create Member default/m1"}, busy.briefs(1))
	who.revoke("bob")
	for _, f := range []*follower{idle, busy} {
		all := f.ended()
		last := all[len(all)-1]
		require.Equal(t, "error", last.name)
		require.Equal(t, "unauthorized", last.code())
		require.NotEmpty(t, last.id)
	}
	s.do(http.StatusUnauthorized, "GET", "/api/events", "", bearer("bob")...)
}

// Pages of other sites, other names of the server, and paths that are not clean get nothing.
func TestAttacks(t *testing.T) {
	t.Parallel()
	s := serve(t, club.App(), framework.HTTPOptions{})
	for name, header := range map[string][]string{
		"origin":      {"Origin", "https://evil.example"},
		"null origin": {"Origin", "null"},
		"host":        {"Host", "evil.example"},
	} {
		got, err := s.try("GET", "/api/events", "", header...)
		require.NoError(t, err)
		require.Equal(t, http.StatusForbidden, got.status, name)
		require.Empty(t, got.header.Get("Access-Control-Allow-Origin"), name)
	}
	for _, id := range []string{"default:1:0123abcd\r\nX: y", strings.Repeat("a", 5000), "*,default:-1:0123abcd", "default:1+99999999999:0123abcd", "../../etc:1:0123abcd"} {
		s.do(http.StatusBadRequest, "GET", "/api/events?"+url.Values{"lastEventId": {id}}.Encode(), "")
	}
	// A header is what it is until the end of its line.
	c, err := net.Dial("tcp", strings.TrimPrefix(s.url, "http://"))
	require.NoError(t, err)
	defer c.Close()
	fmt.Fprintf(c, "GET /api/events HTTP/1.1\r\nHost: %s\r\nLast-Event-ID: a\x00b\r\nConnection: close\r\n\r\n", strings.TrimPrefix(s.url, "http://"))
	answer := make([]byte, 64)
	n, err := c.Read(answer)
	require.NoError(t, err)
	require.Contains(t, string(answer[:n]), "HTTP/1.1 400")
}
