package events

import (
	"context"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/koan-go/koan/framework"
	"github.com/koan-go/koan/framework/auth"
	"github.com/koan-go/koan/framework/koantest"
	"github.com/koan-go/koan/tests/club"
	"github.com/koan-go/koan/tests/fixture"
)

// One caller has so many streams, and gets the next one as soon as another ends. Others have theirs.
func TestMaxListeners(t *testing.T) {
	t.Parallel()
	who := &callers{known: map[string]auth.Principal{
		"ann": {Subject: "ann", Scopes: []string{auth.All}, Sets: []string{auth.All}},
		"bob": {Subject: "bob", Scopes: []string{auth.All}, Sets: []string{auth.All}},
	}}
	s := serve(t, club.App(), framework.HTTPOptions{Authenticate: who.authenticate}, koantest.Setting{Key: "events.maxListeners", Value: "2"})
	first, second := s.follow(nil, bearer("ann")...), s.follow(nil, bearer("ann")...)
	got, err := s.try("GET", "/api/events", "", bearer("ann")...)
	require.NoError(t, err)
	require.Equal(t, "1", got.header.Get("Retry-After"))
	p := s.do(got.status, "GET", "/api/events", "", bearer("ann")...)
	require.Equal(t, "queue_overloaded", p["code"])
	require.Contains(t, p["message"], "2 streams of changes are open, which is the limit (events.maxListeners)")
	require.Equal(t, map[string]any{"queue": map[string]any{"max": 2.0, "size": 2.0}}, p["details"])

	s.follow(nil, bearer("bob")...)
	s.do(http.StatusCreated, "POST", "/api/member", `{"id":"m1","name":"x"}`, bearer("ann")...)
	require.Equal(t, []string{"create Member default/m1"}, second.briefs(1), "those that are open go on")
	first.stop()
	require.Eventually(t, func() bool {
		ctx, stop := context.WithCancel(t.Context())
		defer stop()
		r, err := http.NewRequestWithContext(ctx, http.MethodGet, s.url+"/api/events", nil)
		require.NoError(t, err)
		r.Header.Set("Authorization", "Bearer ann")
		resp, err := s.transport.RoundTrip(r)
		require.NoError(t, err)
		defer resp.Body.Close()
		return resp.StatusCode == http.StatusOK
	}, 20*time.Second, 20*time.Millisecond)
}

// plain is a writer of responses as programs wrap it: it can be flushed, and nothing else.
type plain struct{ w http.ResponseWriter }

func (p plain) Header() http.Header         { return p.w.Header() }
func (p plain) Write(b []byte) (int, error) { return p.w.Write(b) }
func (p plain) WriteHeader(status int)      { p.w.WriteHeader(status) }
func (p plain) Flush()                      { p.w.(http.Flusher).Flush() }
func plainly(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { next.ServeHTTP(plain{w}, r) })
}

// Connections that cannot be taken over carry streams too: those of HTTP/2, and of programs that
// wrap the writer.
func TestStreamsWithoutTheirConnection(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		wrap  func(http.Handler) http.Handler
		http2 bool
	}{
		"HTTP/2":           {func(h http.Handler) http.Handler { return h }, true},
		"HTTP/2, wrapped":  {plainly, true},
		"HTTP/1.1 wrapped": {plainly, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := serve(t, fixture.App(), framework.HTTPOptions{})
			protocols := make(chan int, 100)
			over := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				protocols <- r.ProtoMajor
				c.wrap(s.handler).ServeHTTP(w, r)
			}))
			over.EnableHTTP2 = c.http2
			over.StartTLS()
			t.Cleanup(over.CloseClientConnections)
			again := &server{t: t, url: over.URL, transport: over.Client().Transport}
			f := again.follow(nil)
			require.Equal(t, map[bool]int{true: 2, false: 1}[c.http2], <-protocols)
			again.do(http.StatusCreated, "POST", "/api/todo", `{"id":"a","title":"x"}`)
			s.do(http.StatusCreated, "POST", "/api/todo", `{"id":"b","title":"x"}`)
			require.Equal(t, []string{"create Todo default/a", "create Todo default/b"}, f.briefs(2))
			id := f.lastID()
			f.stop()
			s.do(http.StatusCreated, "POST", "/api/todo", `{"id":"c","title":"x"}`)
			require.Equal(t, []string{"create Todo default/c"}, again.follow(nil, "Last-Event-ID", id).briefs(1))
		})
	}
}
