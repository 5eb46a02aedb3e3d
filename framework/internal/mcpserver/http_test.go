package mcpserver_test

import (
	"bufio"
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/koan-go/koan/framework/auth"
	"github.com/koan-go/koan/framework/catalog"
	"github.com/koan-go/koan/framework/fault"
	"github.com/koan-go/koan/framework/internal/mcpserver"
)

// web is a server over HTTP and what its raw clients need.
type web struct {
	t       testing.TB
	server  *mcpserver.Server
	handler *mcpserver.HTTP
	http    *httptest.Server
}

func serveWeb(t testing.TB, o mcpserver.Options, ho mcpserver.HTTPOptions) *web {
	t.Helper()
	s, err := mcpserver.New(o)
	require.NoError(t, err)
	w := &web{t: t, server: s, handler: s.HTTP(ho)}
	w.http = httptest.NewServer(w.handler)
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
		defer cancel()
		w.handler.Shutdown(ctx)
		w.http.CloseClientConnections()
		w.http.Close()
	})
	return w
}

// answer is an HTTP response, read whole.
type answer struct {
	status int
	header http.Header
	body   string
}

// messages are the messages of a response, as a stream or as plain JSON.
func (a answer) messages(t testing.TB) []reply {
	t.Helper()
	if a.header.Get("Content-Type") != "text/event-stream" {
		return []reply{decode(t, []byte(a.body))}
	}
	var out []reply
	for _, line := range strings.Split(a.body, "\n") {
		if data, ok := strings.CutPrefix(line, "data: "); ok {
			out = append(out, decode(t, []byte(data)))
		}
	}
	return out
}

func (a answer) one(t testing.TB) reply {
	t.Helper()
	all := a.messages(t)
	require.Len(t, all, 1, a.body)
	return all[0]
}

func (w *web) request(ctx context.Context, method, body string, header ...string) *http.Request {
	w.t.Helper()
	r, err := http.NewRequestWithContext(ctx, method, w.http.URL+"/mcp", strings.NewReader(body))
	require.NoError(w.t, err)
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Accept", "application/json, text/event-stream")
	for i := 0; i < len(header); i += 2 {
		if header[i] == "Host" {
			r.Host = header[i+1]
			continue
		}
		r.Header.Set(header[i], header[i+1])
	}
	return r
}

func (w *web) do(method, body string, header ...string) answer {
	w.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	resp, err := http.DefaultClient.Do(w.request(ctx, method, body, header...))
	require.NoError(w.t, err)
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	require.NoError(w.t, err)
	return answer{resp.StatusCode, resp.Header, string(text)}
}

func (w *web) post(body string, header ...string) answer {
	w.t.Helper()
	return w.do(http.MethodPost, body, header...)
}

// hello opens a session of the older era and returns its header.
func (w *web) hello(header ...string) []string {
	w.t.Helper()
	a := w.post(`{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"web","version":"0"}}}`, header...)
	require.Equal(w.t, http.StatusOK, a.status, a.body)
	require.NotEmpty(w.t, a.header.Get("Mcp-Session-Id"))
	session := append([]string{"Mcp-Session-Id", a.header.Get("Mcp-Session-Id"), "Mcp-Protocol-Version", "2025-11-25"}, header...)
	require.Equal(w.t, http.StatusAccepted, w.post(`{"jsonrpc":"2.0","method":"notifications/initialized"}`, session...).status)
	return session
}

const version = "2026-07-28"

// now makes a request of the newer era with its headers.
func (w *web) now(id, method, name, params string, header ...string) answer {
	w.t.Helper()
	return w.post(modernBody(id, method, params), modernHeader(method, name, header...)...)
}

func modernBody(id, method, params string) string {
	if params != "" {
		params += ","
	}
	return `{"jsonrpc":"2.0","id":` + id + `,"method":"` + method + `","params":{` + params + modern("{}") + `}}`
}

func modernHeader(method, name string, header ...string) []string {
	out := []string{"Mcp-Protocol-Version", version, "Mcp-Method", method}
	if name != "" {
		out = append(out, "Mcp-Name", name)
	}
	return append(out, header...)
}

func TestHTTPSession(t *testing.T) {
	w := serveWeb(t, options(t, newGarden()), mcpserver.HTTPOptions{})
	s := w.hello()
	got := w.post(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"plant.get-by-id","arguments":{"id":"p1"}}}`, s...)
	require.Equal(t, http.StatusOK, got.status)
	require.Equal(t, "application/json", got.header.Get("Content-Type"))
	require.False(t, got.one(t).tool(t).IsError)

	got = w.post(`{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"lab.steps","_meta":{"progressToken":"p"}}}`, s...)
	require.Equal(t, "text/event-stream", got.header.Get("Content-Type"))
	all := got.messages(t)
	require.Greater(t, len(all), 1)
	for _, m := range all[:len(all)-1] {
		require.Equal(t, "notifications/progress", m.Method)
	}
	require.JSONEq(t, "2", string(all[len(all)-1].ID), "the answer comes last")

	got = w.post(`{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"lab.steps","_meta":{"progressToken":"p"}}}`, append(s, "Accept", "application/json")...)
	require.JSONEq(t, "2", string(got.one(t).ID), "who reads no streams gets the answer")

	require.Equal(t, http.StatusNoContent, w.do(http.MethodDelete, "", s...).status)
	require.Equal(t, http.StatusNotFound, w.post(`{"jsonrpc":"2.0","id":3,"method":"ping"}`, s...).status)
}

func TestHTTPRefusals(t *testing.T) {
	o := options(t, newGarden())
	o.MaxBufferBytes = 4096
	w := serveWeb(t, o, mcpserver.HTTPOptions{AllowedOrigins: []string{"https://app.example.org"}, AllowedHosts: []string{"koan.example.org"}})
	s := w.hello()
	ping := `{"jsonrpc":"2.0","id":1,"method":"ping"}`
	for name, c := range map[string]struct {
		body   string
		header []string
		status int
		code   fault.Code
	}{
		"no session":         {ping, nil, 400, fault.InvalidRequest},
		"unknown session":    {ping, []string{"Mcp-Session-Id", "x"}, 404, fault.NotFound},
		"unknown version":    {ping, append([]string{}, s[0], s[1], "Mcp-Protocol-Version", "1999-01-01"), 400, fault.CapabilityUnsupported},
		"no JSON":            {`{"jsonrpc":`, s, 400, fault.ParseError},
		"empty":              {"", s, 400, fault.ParseError},
		"no request":         {`{"jsonrpc":"1.0","id":1,"method":"ping"}`, s, 400, fault.InvalidRequest},
		"too long":           {`{"jsonrpc":"2.0","id":1,"method":"` + strings.Repeat("x", 5000) + `"}`, s, 413, fault.InvalidRequest},
		"another type":       {ping, append(s, "Content-Type", "text/plain"), 415, fault.InvalidRequest},
		"accepts nothing":    {ping, append(s, "Accept", "text/html"), 406, fault.InvalidRequest},
		"another site":       {ping, append(s, "Origin", "https://evil.example.org"), 403, fault.Forbidden},
		"a rebound name":     {ping, append(s, "Host", "evil.example.org"), 403, fault.Forbidden},
		"batch, late":        {"[" + ping + "]", s, 200, fault.InvalidRequest},
		"empty batch":        {"[]", s, 200, fault.InvalidRequest},
		"initialize, broken": {`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":7}}`, nil, 200, fault.InvalidPayload},
	} {
		t.Run(name, func(t *testing.T) {
			a := w.post(c.body, c.header...)
			require.Equal(t, c.status, a.status, a.body)
			r := a.one(t)
			require.NotNil(t, r.Error)
			require.Equal(t, string(c.code), r.Error.Data.Code, a.body)
		})
	}
	for name, header := range map[string][]string{
		"an allowed site": append(s, "Origin", "https://app.example.org"), "the site itself": append(s, "Origin", w.http.URL), "an allowed name": append(s, "Host", "koan.example.org:1"),
	} {
		require.Equal(t, http.StatusOK, w.post(ping, header...).status, name)
	}
	a := w.do(http.MethodOptions, "", "Origin", "https://app.example.org")
	require.Equal(t, http.StatusNoContent, a.status)
	require.Equal(t, "https://app.example.org", a.header.Get("Access-Control-Allow-Origin"))
	a = w.do(http.MethodPut, "", s...)
	require.Equal(t, http.StatusMethodNotAllowed, a.status)
	require.NotEmpty(t, a.header.Get("Allow"))
}

func TestHTTPModern(t *testing.T) {
	w := serveWeb(t, options(t, newGarden()), mcpserver.HTTPOptions{})
	call := `"name":"plant.get-by-id","arguments":{"id":"p1"}`
	a := w.now("1", "tools/call", "plant.get-by-id", call)
	require.Equal(t, http.StatusOK, a.status, a.body)
	require.Empty(t, a.header.Get("Mcp-Session-Id"))
	require.False(t, a.one(t).tool(t).IsError)
	require.Equal(t, http.StatusOK, w.now("1", "server/discover", "", "").status)
	for name, c := range map[string]struct {
		method, tool, params string
		header               []string
		status               int
	}{
		"no method":        {"tools/call", "plant.get-by-id", call, []string{"Mcp-Method", ""}, 400},
		"another method":   {"tools/call", "plant.get-by-id", call, []string{"Mcp-Method", "tools/list"}, 400},
		"another name":     {"tools/call", "plant.delete", call, nil, 400},
		"no name":          {"tools/call", "", call, nil, 400},
		"another version":  {"tools/call", "plant.get-by-id", call, []string{"Mcp-Protocol-Version", "2025-11-25"}, 400},
		"resumes":          {"tools/call", "plant.get-by-id", call, []string{"Last-Event-ID", "1"}, 400},
		"unknown method":   {"tools/cal", "", "", nil, 404},
		"unknown tool":     {"tools/call", "plant.nothing", `"name":"plant.nothing"`, nil, 400},
		"no such resource": {"resources/read", "koan://nothing", `"uri":"koan://nothing"`, nil, 400},
	} {
		t.Run(name, func(t *testing.T) {
			a := w.now("1", c.method, c.tool, c.params, c.header...)
			require.Equal(t, c.status, a.status, a.body)
			require.NotEmpty(t, a.one(t).Error.Data.Code)
		})
	}
	a = w.post(`{"jsonrpc":"2.0","id":1,"method":"tools/list"}`, "Mcp-Protocol-Version", "2031-01-01", "Mcp-Method", "tools/list")
	require.Equal(t, http.StatusBadRequest, a.status)
	require.Equal(t, -32022, a.one(t).Error.Code, "a version that nobody speaks is told so, whatever else is missing")
	for _, method := range []string{http.MethodGet, http.MethodDelete} {
		a := w.do(method, "", "Mcp-Protocol-Version", version)
		require.Equal(t, http.StatusMethodNotAllowed, a.status)
		require.Equal(t, "POST", a.header.Get("Allow"))
	}
}

// begin sends a request whose answer takes long, and returns a way to leave.
func (w *web) begin(body string, header ...string) (leave context.CancelFunc, done <-chan error) {
	w.t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	r := w.request(ctx, http.MethodPost, body, header...)
	ended := make(chan error, 1)
	go func() {
		resp, err := http.DefaultClient.Do(r)
		if err == nil {
			_, err = io.Copy(io.Discard, resp.Body)
			_ = resp.Body.Close()
		}
		ended <- err
	}()
	w.t.Cleanup(cancel)
	return cancel, ended
}

func TestHTTPClientDisconnects(t *testing.T) {
	g := newGarden()
	w := serveWeb(t, options(t, g), mcpserver.HTTPOptions{})
	leave, _ := w.begin(modernBody("7", "tools/call", `"name":"lab.slow"`), modernHeader("tools/call", "lab.slow")...)
	<-g.started
	cancel := `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":7,` + modern("{}") + `}}`
	require.Equal(t, http.StatusAccepted, w.post(cancel, modernHeader("notifications/cancelled", "")...).status)
	select {
	case err := <-g.stopped:
		require.FailNow(t, "somebody else's cancel ended the call", err)
	case <-time.After(100 * time.Millisecond):
	}
	leave()
	require.Error(t, <-g.stopped, "who leaves cancels")

	s, other := w.hello(), w.hello()
	slow := `{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"lab.slow"}}`
	leave, _ = w.begin(slow, s...)
	<-g.started
	leave()
	require.Equal(t, http.StatusAccepted, w.post(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":7}}`, other...).status)
	select {
	case err := <-g.stopped:
		require.FailNow(t, "a lost connection, or another session's cancel, ended the call", err)
	case <-time.After(100 * time.Millisecond):
	}
	require.Equal(t, http.StatusAccepted, w.post(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":7}}`, s...).status)
	require.Error(t, <-g.stopped)

	_, done := w.begin(slow, s...)
	<-g.started
	require.Equal(t, http.StatusNoContent, w.do(http.MethodDelete, "", s...).status)
	require.Error(t, <-g.stopped, "the session's end cancels")
	require.NoError(t, <-done)
}

func TestHTTPBounds(t *testing.T) {
	g := newGarden()
	o := options(t, g)
	o.QueueMax = 2
	w := serveWeb(t, o, mcpserver.HTTPOptions{MaxSessions: 2, SessionIdle: 200 * time.Millisecond})
	for i := range 2 {
		w.begin(modernBody(string(rune('1'+i)), "tools/call", `"name":"lab.slow"`), modernHeader("tools/call", "lab.slow")...)
		<-g.started
	}
	a := w.now("9", "tools/call", "lab.slow", `"name":"lab.slow"`)
	require.Equal(t, "queue_overloaded", a.one(t).Error.Data.Code, a.body)
	require.Equal(t, -32001, a.one(t).Error.Code)
	close(g.release)

	w.hello()
	s := w.hello()
	a = w.post(`{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"web","version":"0"}}}`)
	require.Equal(t, http.StatusServiceUnavailable, a.status)
	require.NotEmpty(t, a.header.Get("Retry-After"))
	require.Eventually(t, func() bool {
		return w.post(`{"jsonrpc":"2.0","method":"notifications/initialized"}`, s...).status == http.StatusNotFound || !sleep(300)
	}, 5*time.Second, time.Millisecond)
	w.hello()
}

func sleep(ms int) bool { time.Sleep(time.Duration(ms) * time.Millisecond); return true }

func TestHTTPPrincipals(t *testing.T) {
	w := serveWeb(t, options(t, newGarden()), mcpserver.HTTPOptions{Authenticate: func(r *http.Request) (auth.Principal, error) {
		name := r.Header.Get("Authorization")
		if name == "" {
			return auth.Principal{}, fault.New(fault.Unauthorized, "who are you?")
		}
		return auth.Principal{Subject: name, Scopes: []string{"*"}, Sets: []string{"*"}}, nil
	}})
	require.Equal(t, http.StatusUnauthorized, w.post(`{"jsonrpc":"2.0","id":1,"method":"ping"}`).status)
	ann := w.hello("Authorization", "ann")
	require.Equal(t, http.StatusOK, w.post(`{"jsonrpc":"2.0","id":1,"method":"ping"}`, ann...).status)
	stolen := append([]string{}, ann[:4]...)
	require.Equal(t, http.StatusNotFound, w.post(`{"jsonrpc":"2.0","id":1,"method":"ping"}`, append(stolen, "Authorization", "bob")...).status)
}

// listening opens a stream and returns its events, one line of data each.
func (w *web) listening(r *http.Request) (status int, events <-chan string, leave func()) {
	w.t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	resp, err := http.DefaultClient.Do(r.WithContext(ctx))
	require.NoError(w.t, err)
	out := make(chan string, 100)
	go func() {
		defer close(out)
		defer resp.Body.Close()
		for sc := bufio.NewScanner(resp.Body); sc.Scan(); {
			if data, ok := strings.CutPrefix(sc.Text(), "data: "); ok {
				out <- data
			}
		}
	}()
	w.t.Cleanup(cancel)
	return resp.StatusCode, out, cancel
}

func (w *web) event(events <-chan string) reply {
	w.t.Helper()
	select {
	case e, ok := <-events:
		require.True(w.t, ok, "the stream ended")
		return decode(w.t, []byte(e))
	case <-time.After(5 * time.Second):
		require.FailNow(w.t, "no event")
	}
	return reply{}
}

func TestHTTPStreams(t *testing.T) {
	w := serveWeb(t, options(t, newGarden()), mcpserver.HTTPOptions{})
	s := w.hello()
	w.server.CatalogChanged() // before anybody listens
	get := w.request(context.Background(), http.MethodGet, "", s...)
	status, events, leave := w.listening(get)
	require.Equal(t, http.StatusOK, status)
	require.Equal(t, "notifications/tools/list_changed", w.event(events).Method)
	require.Equal(t, "notifications/resources/list_changed", w.event(events).Method)
	require.Equal(t, http.StatusConflict, w.do(http.MethodGet, "", s...).status)
	leave()
	require.Eventually(t, func() bool {
		status, again, leave := w.listening(w.request(context.Background(), http.MethodGet, "", s...))
		defer leave()
		if status != http.StatusOK {
			return false
		}
		w.server.CatalogChanged()
		return w.event(again).Method == "notifications/tools/list_changed"
	}, 5*time.Second, 10*time.Millisecond)

	listen := w.request(context.Background(), http.MethodPost, modernBody("5", "subscriptions/listen", `"notifications":{"toolsListChanged":true}`), modernHeader("subscriptions/listen", "")...)
	status, events, _ = w.listening(listen)
	require.Equal(t, http.StatusOK, status)
	require.Contains(t, w.event(events).Method, "acknowledged")
	w.server.CatalogChanged()
	require.Equal(t, "notifications/tools/list_changed", w.event(events).Method)
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	w.handler.Shutdown(ctx)
	require.JSONEq(t, "5", string(w.event(events).ID), "a subscription ends with its answer")
	_, open := <-events
	require.False(t, open)
}

func TestHTTPShutdown(t *testing.T) {
	g := newGarden()
	o := options(t, g)
	o.Grace = 300 * time.Millisecond
	w := serveWeb(t, o, mcpserver.HTTPOptions{})
	s := w.hello()
	_, done := w.begin(`{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"lab.slow"}}`, s...)
	<-g.started
	down := make(chan struct{})
	go func() { w.handler.Shutdown(context.Background()); close(down) }()
	require.Eventually(t, func() bool {
		return w.post(`{"jsonrpc":"2.0","id":1,"method":"ping"}`, s...).status == http.StatusServiceUnavailable
	}, 5*time.Second, time.Millisecond)
	require.Error(t, <-g.stopped, "after its grace a call is cancelled")
	require.NoError(t, <-done, "and answered")
	<-down
	require.Equal(t, http.StatusServiceUnavailable, w.now("1", "tools/list", "", "").status)
}

func TestHTTPRecoversPanics(t *testing.T) {
	o := options(t, newGarden())
	good := o.Catalog()
	broken := false
	o.Catalog = func() *catalog.Snapshot {
		if broken {
			panic("greenhouse")
		}
		return good
	}
	w := serveWeb(t, o, mcpserver.HTTPOptions{Authenticate: func(r *http.Request) (auth.Principal, error) {
		if r.Header.Get("Authorization") == "panic" {
			panic(errors.New("door"))
		}
		return auth.Local(), nil
	}})
	require.Equal(t, http.StatusInternalServerError, w.post(`{}`, "Authorization", "panic").status)
	s := w.hello()
	broken = true
	require.Equal(t, "internal", w.post(`{"jsonrpc":"2.0","id":1,"method":"tools/list"}`, s...).one(t).Error.Data.Code)
	broken = false
	require.Nil(t, w.post(`{"jsonrpc":"2.0","id":1,"method":"tools/list"}`, s...).one(t).Error)
}

func FuzzHTTP(f *testing.F) {
	f.Add(`{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{}}`, "", "application/json", version)
	f.Add(modernBody("1", "tools/list", ""), "", "*/*", version)
	f.Add(`[{"jsonrpc":"2.0","method":"x"}]`, "x", "text/event-stream;q=0", "2025-03-26")
	w := serveWeb(f, options(f, newGarden()), mcpserver.HTTPOptions{})
	s := w.hello()
	f.Fuzz(func(t *testing.T, body, session, accept, version string) {
		for _, id := range []string{session, s[1]} {
			r := httptest.NewRequest(http.MethodPost, "/mcp", strings.NewReader(body))
			ctx, cancel := context.WithTimeout(context.Background(), 2*time.Second)
			defer cancel()
			r.Header = http.Header{"Content-Type": {"application/json"}, "Accept": {accept}, "Mcp-Session-Id": {id}, "Mcp-Protocol-Version": {version}, "Mcp-Method": {"tools/list"}}
			rec := httptest.NewRecorder()
			w.handler.ServeHTTP(rec, r.WithContext(ctx))
			if rec.Code >= 500 && rec.Code != http.StatusServiceUnavailable {
				t.Fatalf("%d: %s", rec.Code, rec.Body)
			}
		}
	})
}
