package mcpserver_test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/koan-go/koan/framework/auth"
	"github.com/koan-go/koan/framework/fault"
	"github.com/koan-go/koan/framework/internal/mcpserver"
)

// byName takes a caller's own word for who it is.
func byName(r *http.Request) (auth.Principal, error) {
	p := auth.Local()
	p.Subject = r.Header.Get("Who")
	return p, nil
}

func TestRequestsPerMinute(t *testing.T) {
	w := serveWeb(t, options(t, newGarden()), mcpserver.HTTPOptions{Authenticate: byName, RequestsPerMinute: 5})
	for range 5 {
		require.Equal(t, http.StatusOK, w.now("1", "tools/list", "", "", "Who", "ann").status)
	}
	a := w.now("1", "tools/list", "", "", "Who", "ann")
	require.Equal(t, http.StatusTooManyRequests, a.status)
	require.Regexp(t, "^([1-9]|1[0-2])$", a.header.Get("Retry-After"), "seconds")
	r := a.one(t)
	require.Equal(t, string(fault.RateLimited), r.Error.Data.Code)
	require.Contains(t, string(r.Error.Data.Details), `"requestsPerMinute":5`)
	require.Equal(t, http.StatusTooManyRequests, w.do(http.MethodGet, "", "Who", "ann").status, "not for posts alone")
	require.Equal(t, http.StatusOK, w.now("1", "tools/list", "", "", "Who", "bob").status, "another one's requests do not count")
}

// TestSlowSender is cut off, and holds nobody else up.
func TestSlowSender(t *testing.T) {
	w := serveWeb(t, options(t, newGarden()), mcpserver.HTTPOptions{BodyTime: 200 * time.Millisecond})
	c, err := net.Dial("tcp", w.http.Listener.Addr().String())
	require.NoError(t, err)
	defer c.Close()
	require.NoError(t, c.SetReadDeadline(time.Now().Add(20*time.Second)))
	fmt.Fprintf(c, "POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 1000\r\n\r\n{")
	require.Equal(t, http.StatusOK, w.now("1", "tools/list", "", "").status)
	resp, err := http.ReadResponse(bufio.NewReader(c), nil)
	require.NoError(t, err)
	defer resp.Body.Close()
	require.Equal(t, http.StatusBadRequest, resp.StatusCode)
	text, err := io.ReadAll(resp.Body)
	require.NoError(t, err)
	require.Contains(t, string(text), string(fault.InvalidRequest))
}

// TestSlowReader is given up, and what it asked is forgotten.
func TestSlowReader(t *testing.T) {
	o := options(t, newGarden())
	o.MaxBufferBytes = 64 << 20
	w := serveWeb(t, o, mcpserver.HTTPOptions{WriteTime: 100 * time.Millisecond})
	ended := make(chan struct{})
	web := httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		w.handler.ServeHTTP(rw, r)
		close(ended)
	}))
	defer web.Close()
	c, err := net.Dial("tcp", web.Listener.Addr().String())
	require.NoError(t, err)
	defer c.Close()
	require.NoError(t, c.(*net.TCPConn).SetReadBuffer(64<<10))
	// The answer carries the id, and so is longer than what the two sockets take.
	body := `{"jsonrpc":"2.0","id":"` + strings.Repeat("x", 8<<20) + `","method":"tools/list","params":{` + modern("{}") + `}}`
	_, err = fmt.Fprintf(c, "POST /mcp HTTP/1.1\r\nHost: localhost\r\nMcp-Protocol-Version: %s\r\nMcp-Method: tools/list\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s", version, len(body), body)
	require.NoError(t, err)
	select {
	case <-ended:
	case <-time.After(time.Minute):
		require.FailNow(t, "the server waits for a client that does not read")
	}
	require.Equal(t, http.StatusOK, w.now("1", "tools/call", "plant.get-by-id", `"name":"plant.get-by-id","arguments":{"id":"p1"}`).status)
}

// TestExposureIsPerClient: at once, over one server, in both eras.
func TestExposureIsPerClient(t *testing.T) {
	w := serveWeb(t, options(t, newGarden()), mcpserver.HTTPOptions{})
	const understands, legacy = `{"experimental":{"koan":{}}}`, `{"extensions":{"dev.koan/code-mode":{"codeMode":false}}}`
	ask := func(capabilities, method, name, params string) string {
		ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
		defer cancel()
		if params != "" {
			params += ","
		}
		r := w.request(ctx, http.MethodPost, `{"jsonrpc":"2.0","id":1,"method":"`+method+`","params":{`+params+modern(capabilities)+`}}`, modernHeader(method, name)...)
		resp, err := http.DefaultClient.Do(r)
		if err != nil {
			return err.Error()
		}
		defer resp.Body.Close()
		text, _ := io.ReadAll(resp.Body)
		return string(text)
	}
	var group sync.WaitGroup
	for range 8 {
		for _, c := range []struct {
			capabilities  string
			code, entity  bool
			refused, does string
		}{
			{understands, true, false, "plant.delete", "koan.code.execute"},
			{legacy, false, true, "koan.code.execute", "plant.delete"},
			{`{}`, true, true, "plant.eat", "plant.delete"},
		} {
			group.Go(func() {
				list := ask(c.capabilities, "tools/list", "", "")
				if strings.Contains(list, `"koan_code_execute"`) != c.code || strings.Contains(list, `"plant_delete"`) != c.entity || !strings.Contains(list, `"note_count"`) {
					t.Errorf("%s sees %s", c.capabilities, list)
				}
				if got := ask(c.capabilities, "tools/call", c.refused, `"name":"`+c.refused+`"`); !strings.Contains(got, string(fault.ToolNotFound)) {
					t.Errorf("%s may call %s: %s", c.capabilities, c.refused, got)
				}
				if got := ask(c.capabilities, "tools/call", c.does, `"name":"`+c.does+`","arguments":{"id":"p1","code":"{\\"id\\":\\"p1\\"}"}`); strings.Contains(got, string(fault.ToolNotFound)) {
					t.Errorf("%s may not call %s: %s", c.capabilities, c.does, got)
				}
			})
		}
	}
	group.Wait()
}

// TestSameRequestIDsInTwoSessions hear of their own calls only.
func TestSameRequestIDsInTwoSessions(t *testing.T) {
	w := serveWeb(t, options(t, newGarden()), mcpserver.HTTPOptions{})
	const steps = `"name":"lab.steps","_meta":{"progressToken":1}`
	inSession := `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{` + steps + `}}`
	alone := strings.Replace(modernBody("1", "tools/call", `"name":"lab.steps"`), `"_meta":{`, `"_meta":{"progressToken":1,`, 1)
	answers := make(chan answer, 8)
	for i := range cap(answers) {
		body, header := alone, modernHeader("tools/call", "lab.steps")
		if i%2 == 0 {
			body, header = inSession, w.hello()
		}
		go func() { answers <- w.post(body, header...) }()
	}
	for range cap(answers) {
		all := (<-answers).messages(t)
		require.Greater(t, len(all), 1)
		require.Equal(t, "1", string(all[len(all)-1].ID))
		last := 0.0
		for _, m := range all[:len(all)-1] {
			var p struct{ Progress float64 }
			require.Equal(t, "notifications/progress", m.Method)
			require.NoError(t, json.Unmarshal(m.Params, &p))
			require.Greater(t, p.Progress, last, "another one's progress would fall back")
			last = p.Progress
		}
	}
}

// TestHTTPBoundsCallersAcrossSessions: more sessions are not more calls in flight.
func TestHTTPBoundsCallersAcrossSessions(t *testing.T) {
	g := newGarden()
	o := options(t, g)
	o.QueueMax = 2
	w := serveWeb(t, o, mcpserver.HTTPOptions{Authenticate: func(r *http.Request) (auth.Principal, error) {
		return auth.Principal{Subject: r.Header.Get("Authorization"), Scopes: []string{"*"}, Sets: []string{"*"}}, nil
	}})
	const slow, quick = `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"lab.slow"}}`, `{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"plant.get-by-id","arguments":{"id":"p1"}}}`
	one, two := w.hello("Authorization", "ann"), w.hello("Authorization", "ann")
	_, first := w.begin(slow, one...)
	<-g.started
	_, second := w.begin(slow, two...)
	<-g.started
	require.Equal(t, "queue_overloaded", w.post(quick, two...).one(t).Error.Data.Code)
	require.Equal(t, "queue_overloaded", w.now("9", "tools/call", "plant.get-by-id", `"name":"plant.get-by-id","arguments":{"id":"p1"}`, "Authorization", "ann").one(t).Error.Data.Code)
	require.Nil(t, w.post(quick, w.hello("Authorization", "bob")...).one(t).Error)
	require.Equal(t, http.StatusNoContent, w.do(http.MethodDelete, "", one...).status)
	require.NoError(t, <-first)
	require.Error(t, <-g.stopped)
	require.Eventually(t, func() bool { return w.post(quick, two...).one(t).Error == nil }, 5*time.Second, 10*time.Millisecond, "its place is free")
	close(g.release)
	require.NoError(t, <-second)
}
