package mcpserver_test

import (
	"context"
	"crypto/tls"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/koan-go/koan/framework/fault"
	"github.com/koan-go/koan/framework/internal/mcpserver"
)

const opening = `{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"web","version":"0"}}}`

// TestSessionsPerCallerAreBounded takes them from itself: others still get theirs.
func TestSessionsPerCallerAreBounded(t *testing.T) {
	g := newGarden()
	w := serveWeb(t, options(t, g), mcpserver.HTTPOptions{Authenticate: byName, MaxSessions: 6})
	ping := `{"jsonrpc":"2.0","id":1,"method":"ping"}`
	status := func(session []string) int { return w.post(ping, session...).status }
	var greedy [][]string
	for range 6 {
		greedy = append(greedy, w.hello("Who", "greedy"))
	}
	a := w.post(opening, "Who", "greedy")
	require.Equal(t, http.StatusServiceUnavailable, a.status)
	require.Equal(t, string(fault.QueueOverloaded), a.one(t).Error.Data.Code)

	// One runs a call, the next two have their streams open, the others are idle.
	_, done := w.begin(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"lab.slow"}}`, greedy[0]...)
	<-g.started
	for _, s := range greedy[1:3] {
		status, _, _ := w.listening(w.request(context.Background(), http.MethodGet, "", s...))
		require.Equal(t, http.StatusOK, status)
	}
	require.Equal(t, http.StatusOK, status(greedy[3]), "used now")
	ann := w.hello("Who", "ann")
	require.Equal(t, http.StatusNotFound, status(greedy[4]), "the longest unused")
	bob := w.hello("Who", "bob")
	require.Equal(t, http.StatusNotFound, status(greedy[5]))
	bobs := w.hello("Who", "bob")
	require.Equal(t, http.StatusNotFound, status(greedy[3]))
	for _, s := range [][]string{ann, bob, bobs, greedy[1], greedy[2]} {
		require.Equal(t, http.StatusOK, status(s))
	}
	// Now greedy has three and bob two: nobody has so many more that one could be taken.
	require.Equal(t, http.StatusServiceUnavailable, w.post(opening, "Who", "bob").status)
	eve := w.hello("Who", "eve")
	require.Equal(t, http.StatusOK, status(eve))
	require.Equal(t, http.StatusOK, status(greedy[0]), "the one with a call stays")
	close(g.release)
	require.NoError(t, <-done)
}

// TestSubscriptionsOverHTTPAreBounded, for a caller and not for each request.
func TestSubscriptionsOverHTTPAreBounded(t *testing.T) {
	w := serveWeb(t, options(t, newGarden()), mcpserver.HTTPOptions{Authenticate: byName, MaxSessions: 2})
	listen := func(who string, id int) *http.Request {
		return w.request(context.Background(), http.MethodPost, modernBody(fmt.Sprint(id), "subscriptions/listen", `"notifications":{"toolsListChanged":true}`),
			modernHeader("subscriptions/listen", "", "Who", who)...)
	}
	var leave context.CancelFunc
	for id := range 2 {
		status, events, end := w.listening(listen("ann", id))
		require.Equal(t, http.StatusOK, status)
		require.Contains(t, w.event(events).Method, "acknowledged")
		leave = end
	}
	a := w.now("9", "subscriptions/listen", "", `"notifications":{"toolsListChanged":true}`, "Who", "ann").one(t)
	require.Equal(t, -32001, a.Error.Code)
	require.JSONEq(t, `{"queue":{"max":2,"size":2}}`, string(a.Error.Data.Details))
	status, events, _ := w.listening(listen("bob", 1))
	require.Equal(t, http.StatusOK, status)
	require.Contains(t, w.event(events).Method, "acknowledged", "another caller has others")
	leave()
	require.Eventually(t, func() bool {
		_, events, _ := w.listening(listen("ann", 3))
		first := <-events // nothing where the answer is no stream
		return strings.Contains(first, "acknowledged")
	}, 5*time.Second, 20*time.Millisecond, "its place is free")
}

// TestConcurrentRequestsPerCallerAreBounded are bounded before they are read, and another caller's are
// not touched by them.
func TestConcurrentRequestsPerCallerAreBounded(t *testing.T) {
	w := serveWeb(t, options(t, newGarden()), mcpserver.HTTPOptions{Authenticate: byName})
	var held []net.Conn
	hold := func() {
		c, err := net.Dial("tcp", w.http.Listener.Addr().String())
		require.NoError(t, err)
		t.Cleanup(func() { _ = c.Close() })
		held = append(held, c)
		_, err = fmt.Fprintf(c, "POST /mcp HTTP/1.1\r\nHost: localhost\r\nWho: ann\r\nContent-Type: application/json\r\nContent-Length: 1000\r\n\r\n{")
		require.NoError(t, err)
	}
	for range 270 { // more than there are: one that looks takes a place too
		hold()
	}
	var a answer
	require.Eventually(t, func() bool {
		hold() // on a busy machine one that came too early was refused by one that looked
		a = w.now("1", "tools/list", "", "", "Who", "ann")
		return a.status == http.StatusServiceUnavailable
	}, 20*time.Second, 10*time.Millisecond, "all are on their way")
	require.Equal(t, string(fault.QueueOverloaded), a.one(t).Error.Data.Code)
	require.Equal(t, http.StatusOK, w.now("1", "tools/list", "", "", "Who", "bob").status)
	for _, c := range held {
		require.NoError(t, c.Close())
	}
	require.Eventually(t, func() bool { return w.now("1", "tools/list", "", "", "Who", "ann").status == http.StatusOK }, 10*time.Second, 20*time.Millisecond)
}

// TestDNSRebindingIsRejected: any site can point its own name at a server that asks
// nobody who they are, and its pages are then of that name, to the browser too.
func TestDNSRebindingIsRejected(t *testing.T) {
	anybody := serveWeb(t, options(t, newGarden()), mcpserver.HTTPOptions{AllowedHosts: []string{"koan.example.org"}})
	known := serveWeb(t, options(t, newGarden()), mcpserver.HTTPOptions{Authenticate: byName})
	for name, c := range map[string]struct {
		w            *web
		host, origin string
		tls          bool
		want         int
	}{
		"a name":                     {anybody, "evil.example.org:8080", "http://evil.example.org:8080", false, http.StatusForbidden},
		"a name, and no page":        {anybody, "evil.example.org:8080", "", false, http.StatusOK},
		"an address":                 {anybody, "192.168.1.7:8080", "http://192.168.1.7:8080", false, http.StatusOK},
		"an address of IPv6":         {anybody, "[fd00::1]:8080", "http://[fd00::1]:8080", false, http.StatusOK},
		"this machine":               {anybody, "localhost:8080", "http://localhost:8080", false, http.StatusOK},
		"a name that is allowed":     {anybody, "koan.example.org", "http://koan.example.org", false, http.StatusOK},
		"a name that has its TLS":    {anybody, "app.example.org", "https://app.example.org", true, http.StatusOK},
		"a name that needs a token":  {known, "app.example.org", "http://app.example.org", false, http.StatusOK},
		"no host, and no real page":  {anybody, "", "null", false, http.StatusForbidden},
		"a page of another's server": {known, "app.example.org", "http://evil.example.org", false, http.StatusForbidden},
	} {
		t.Run(name, func(t *testing.T) {
			r := httptest.NewRequest(http.MethodPost, "http://x/mcp", strings.NewReader(opening))
			r.Host = c.host
			r.Header.Set("Content-Type", "application/json")
			if c.origin != "" {
				r.Header.Set("Origin", c.origin)
			}
			if c.tls {
				r.TLS = &tls.ConnectionState{}
			}
			got := httptest.NewRecorder()
			c.w.handler.ServeHTTP(got, r)
			require.Equal(t, c.want, got.Code, got.Body)
		})
	}
}
