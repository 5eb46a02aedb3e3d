// Package events tests the stream of changes of whole apps: what it has, in which order, who
// gets it, and what happens to those who do not read it.
package events

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	_ "github.com/koan-go/koan/codemode/languages"
	"github.com/koan-go/koan/framework"
	"github.com/koan-go/koan/framework/koantest"
	"github.com/koan-go/koan/tests/club"
	"github.com/koan-go/koan/tests/fixture"
	"github.com/koan-go/koan/tests/pgtest"
	"github.com/koan-go/koan/tests/words"
)

// as makes this test binary the fixture app.
const as = "KOANTEST_EVENTS"

func TestMain(m *testing.M) {
	switch os.Getenv(as) {
	case "fixture":
		framework.Main(fixture.App())
	case "words":
		framework.Main(words.App())
	case "club":
		framework.Main(club.App())
	}
	os.Exit(m.Run())
}

// settings are what an app under test needs to be followed.
var settings = []koantest.Setting{{Key: "journal.enabled", Value: "true"}}

// server is an app that serves HTTP.
type server struct {
	t   testing.TB
	url string
	kit *koantest.Kit // nil for one in another process
	cmd *exec.Cmd     // nil for one in this process
	// handler is what it serves, nil for one in another process; transport is how clients reach it.
	handler   http.Handler
	transport http.RoundTripper
}

// place is a database of the test's own.
func place(t testing.TB) string {
	if pgtest.Here(t) {
		return pgtest.Place(t)
	}
	return "sqlite://" + t.TempDir()
}

// serve serves an app in this process.
func serve(t testing.TB, app framework.App, o framework.HTTPOptions, more ...koantest.Setting) *server {
	t.Helper()
	own := append([]koantest.Setting{{Key: "database", Value: place(t)}}, settings...)
	kit := koantest.New(t, app, append(own, more...)...)
	handler, err := kit.Instance().HTTPHandler(o)
	require.NoError(t, err)
	s := httptest.NewServer(handler)
	t.Cleanup(func() { handler.Shutdown(context.Background()); s.Close() })
	return &server{t: t, url: s.URL, kit: kit, handler: handler, transport: http.DefaultTransport}
}

// buffer is what a process says.
type buffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (b *buffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.Write(p)
}

func (b *buffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.String()
}

var listening = regexp.MustCompile(`MCP: listening on (http://\S+)/mcp`)

// process serves an app in a process of its own.
func process(t testing.TB, app, database string, args ...string) *server {
	t.Helper()
	self, err := os.Executable()
	require.NoError(t, err)
	cmd := exec.Command(self, append([]string{"serve", "--http", "127.0.0.1:0", "--database", database}, args...)...)
	cmd.Env = append(os.Environ(), as+"="+app, "XDG_DATA_HOME="+t.TempDir(), "HOME="+t.TempDir(), "KOAN_SERVER_SECRET="+strings.Repeat("shared secret ", 3))
	cmd.Dir = t.TempDir()
	said := &buffer{}
	cmd.Stderr = said
	require.NoError(t, cmd.Start())
	t.Cleanup(func() { _ = cmd.Process.Kill(); _ = cmd.Wait() })
	s := &server{t: t, cmd: cmd, transport: http.DefaultTransport}
	require.Eventually(t, func() bool {
		if m := listening.FindStringSubmatch(said.String()); m != nil {
			s.url = m[1]
		}
		return s.url != ""
	}, 30*time.Second, 10*time.Millisecond, "%s", said)
	return s
}

// do sends a request and returns the response with this status.
func (s *server) do(status int, method, path, body string, header ...string) map[string]any {
	s.t.Helper()
	got, err := s.try(method, path, body, header...)
	require.NoError(s.t, err)
	require.Equal(s.t, status, got.status, "%s %s: %s", method, path, got.body)
	var out map[string]any
	if len(got.body) > 0 {
		require.NoError(s.t, json.Unmarshal(got.body, &out), "%s", got.body)
	}
	return out
}

// reply is a response.
type reply struct {
	status int
	header http.Header
	body   []byte
}

func (s *server) try(method, path, body string, header ...string) (reply, error) {
	r, err := http.NewRequest(method, s.url+path, strings.NewReader(body))
	if err != nil {
		return reply{}, err
	}
	if body != "" {
		r.Header.Set("Content-Type", "application/json")
	}
	for i := 0; i < len(header); i += 2 {
		if header[i] == "Host" {
			r.Host = header[i+1]
		} else {
			r.Header.Set(header[i], header[i+1])
		}
	}
	resp, err := s.transport.RoundTrip(r)
	if err != nil {
		return reply{}, err
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	return reply{resp.StatusCode, resp.Header, text}, err
}

// event is what a stream sent.
type event struct {
	id, name string
	data     map[string]any
	at       time.Time
}

// code is that of the fault in an event, "" for none.
func (e event) code() string {
	s, _ := e.data["code"].(string)
	return s
}

// brief is a change in short.
func (e event) brief() string {
	return fmt.Sprint(e.data["action"], " ", e.data["entity"], " ", e.data["set"], "/", e.data["id"])
}

// follower reads a stream.
type follower struct {
	t      testing.TB
	events chan event
	lastID func() string
	stop   context.CancelFunc
}

// follow opens a stream, which is open when it returns.
func (s *server) follow(query url.Values, header ...string) *follower {
	s.t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	s.t.Cleanup(cancel)
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, s.url+"/api/events?"+query.Encode(), nil)
	require.NoError(s.t, err)
	for i := 0; i < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	resp, err := s.transport.RoundTrip(r)
	require.NoError(s.t, err)
	if resp.StatusCode != http.StatusOK {
		text, _ := io.ReadAll(resp.Body)
		require.FailNow(s.t, "no stream", "%s", text)
	}
	require.Equal(s.t, "text/event-stream", resp.Header.Get("Content-Type"))
	f := &follower{t: s.t, events: make(chan event, 100_000), stop: cancel}
	var mu sync.Mutex
	last := ""
	f.lastID = func() string {
		mu.Lock()
		defer mu.Unlock()
		return last
	}
	opened := make(chan struct{})
	go func() {
		open := sync.OnceFunc(func() { close(opened) })
		defer close(f.events)
		defer resp.Body.Close()
		read := bufio.NewReader(resp.Body)
		e := event{}
		for {
			line, err := read.ReadString('\n')
			if err != nil {
				return
			}
			line = strings.TrimSuffix(line, "\n")
			name, value, _ := strings.Cut(line, ": ")
			switch name {
			case "id":
				mu.Lock()
				last, e.id = value, value
				mu.Unlock()
				open()
			case "event":
				e.name = value
			case "data":
				if json.Unmarshal([]byte(value), &e.data) != nil {
					return
				}
			case "":
				if line == "" && e.name != "" {
					e.at = time.Now()
					f.events <- e
				}
				if line == "" {
					e = event{}
				}
			}
		}
	}()
	select {
	case <-opened:
	case <-time.After(20 * time.Second):
		require.FailNow(s.t, "the stream says nothing")
	}
	return f
}

// next returns the next event.
func (f *follower) next() event {
	f.t.Helper()
	select {
	case e, ok := <-f.events:
		require.True(f.t, ok, "the stream has ended")
		require.Equal(f.t, "change", e.name, "%v", e.data)
		return e
	case <-time.After(20 * time.Second):
		require.FailNow(f.t, "no event")
		return event{}
	}
}

// briefs returns the next events in short.
func (f *follower) briefs(n int) []string {
	f.t.Helper()
	out := make([]string, n)
	for i := range out {
		out[i] = f.next().brief()
	}
	return out
}

// ended waits for the end of the stream, and returns what came before it.
func (f *follower) ended() (out []event) {
	f.t.Helper()
	for {
		select {
		case e, ok := <-f.events:
			if !ok {
				return out
			}
			out = append(out, e)
		case <-time.After(20 * time.Second):
			require.FailNow(f.t, "the stream does not end")
		}
	}
}

// residentKB is the memory of a process in KB.
func residentKB(t testing.TB, pid int) int {
	raw, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(pid), "status"))
	require.NoError(t, err)
	m := regexp.MustCompile(`VmRSS:\s+(\d+) kB`).FindSubmatch(raw)
	require.NotNil(t, m)
	n, err := strconv.Atoi(string(m[1]))
	require.NoError(t, err)
	return n
}
