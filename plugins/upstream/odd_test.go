package upstream_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/koan-go/koan/framework"
	"github.com/koan-go/koan/framework/fault"
	"github.com/koan-go/koan/framework/koantest"
	"github.com/koan-go/koan/framework/run"
)

// An odd server misbehaves in one way, over whatever it is reached. What it writes for a message is
// the text of its way, with $id for the message's id; what begins with a mark below is done instead.
const (
	asUsual = ""            // what every server writes
	silence = "\x00silence" // nothing
	exits   = "\x00exits "  // the process ends with the words behind it; over HTTP the connection
	status  = "\x00status " // a status of HTTP, a content type and a body
	oddMode = "odd: "       // before the name of a way, as the mode of a server over stdio
	fine    = `{"jsonrpc":"2.0","id":$id,"result":{"content":[{"type":"text","text":"done"}]}}`
	notice  = `{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","data":"x"}}`
	welcome = `{"jsonrpc":"2.0","id":$id,"result":{"protocolVersion":"2025-06-18","capabilities":{"tools":{}},"serverInfo":{"name":"odd","version":"1"}}}`
	unknown = `{"jsonrpc":"2.0","id":$id,"error":{"code":-32601,"message":"no such method"}}`
)

// oddServer is one server, over all its connections.
type oddServer struct {
	way func(s *oddServer, m *message) string

	mu       sync.Mutex
	sessions int
	calls    int
	first    bool // a message has come, on this process
	begun    bool // initialize has come
}

// write returns what the server writes for a message.
func (s *oddServer) write(m *message) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	if m.Method == "tools/call" {
		s.calls++
	}
	text := s.way(s, m)
	s.first, s.begun = true, s.begun || m.Method == "initialize"
	if text == asUsual {
		switch {
		case m.Method == "initialize":
			text = welcome
		case m.Method == "tools/list":
			text = `{"jsonrpc":"2.0","id":$id,"result":` + oneTool + `}`
		case m.Method == "tools/call":
			text = fine
		case len(m.ID) == 0:
			text = silence
		default:
			text = unknown
		}
	}
	return strings.ReplaceAll(text, "$id", string(m.ID))
}

// serveOddly is an odd server over standard input and output.
func serveOddly(way string) {
	s := &oddServer{way: oddWays[way]}
	in := json.NewDecoder(os.Stdin)
	for {
		var m message
		if err := in.Decode(&m); err != nil {
			return
		}
		text := s.write(&m)
		if words, ok := strings.CutPrefix(text, exits); ok {
			fmt.Fprintln(os.Stderr, words)
			os.Exit(1)
		}
		if text != silence {
			fmt.Println(text)
		}
	}
}

// overHTTP is an odd server over Streamable HTTP.
func overHTTP(t *testing.T, s *oddServer) string {
	t.Helper()
	h := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var m message
		if r.Method != http.MethodPost || json.NewDecoder(r.Body).Decode(&m) != nil {
			w.WriteHeader(http.StatusMethodNotAllowed)
			return
		}
		m.session = r.Header.Get("Mcp-Session-Id")
		text := s.write(&m)
		if m.Method == "initialize" {
			s.mu.Lock()
			s.sessions++
			w.Header().Set("Mcp-Session-Id", strconv.Itoa(s.sessions))
			s.mu.Unlock()
		}
		respond(w, r, &m, text)
	}))
	t.Cleanup(h.Close)
	return h.URL
}

func respond(w http.ResponseWriter, r *http.Request, m *message, text string) {
	switch {
	case strings.HasPrefix(text, exits):
		panic(http.ErrAbortHandler)
	case strings.HasPrefix(text, status):
		parts := strings.SplitN(strings.TrimPrefix(text, status), " ", 3)
		code, _ := strconv.Atoi(parts[0])
		w.Header()["Content-Type"] = nil
		if parts[1] != "-" {
			w.Header().Set("Content-Type", parts[1])
		}
		w.WriteHeader(code)
		_, _ = io.WriteString(w, parts[2])
	case text == silence && len(m.ID) == 0:
		w.WriteHeader(http.StatusAccepted)
	case text == silence:
		<-r.Context().Done()
	case strings.HasPrefix(text, "event:"), strings.HasPrefix(text, "data:"):
		w.Header().Set("Content-Type", "text/event-stream")
		_, _ = io.WriteString(w, text)
	default:
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, text)
	}
}

// overSSE is an odd server over the older HTTP transport, which answers a POST to its address with a
// status.
func overSSE(t *testing.T, s *oddServer, posted int) string {
	t.Helper()
	var mu sync.Mutex
	streams := map[string]chan string{}
	done := make(chan struct{})
	h := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodGet {
			mu.Lock()
			id := strconv.Itoa(len(streams))
			events := make(chan string, 100)
			streams[id] = events
			mu.Unlock()
			w.Header().Set("Content-Type", "text/event-stream")
			fmt.Fprintf(w, "event: endpoint\ndata: /messages?session=%s\n\n", id)
			_ = http.NewResponseController(w).Flush()
			for {
				select {
				case text := <-events:
					if strings.HasPrefix(text, exits) {
						panic(http.ErrAbortHandler)
					}
					fmt.Fprintf(w, "event: message\ndata: %s\n\n", strings.ReplaceAll(text, "\n", "\ndata: "))
					_ = http.NewResponseController(w).Flush()
				case <-r.Context().Done():
					return
				case <-done:
					return
				}
			}
		}
		var m message
		if r.URL.Path != "/messages" || json.NewDecoder(r.Body).Decode(&m) != nil {
			w.WriteHeader(posted)
			return
		}
		m.session = r.URL.Query().Get("session")
		text := s.write(&m)
		if strings.HasPrefix(text, status) {
			respond(w, r, &m, text)
			return
		}
		w.WriteHeader(http.StatusAccepted)
		mu.Lock()
		events := streams[m.session]
		mu.Unlock()
		if text != silence {
			events <- text
		}
	}))
	t.Cleanup(func() { close(done); h.Close() })
	return h.URL
}

// The ways of reaching a server.
const (
	stdio  = "stdio"
	stream = "http" // Streamable HTTP
	events = "sse"  // the older one
)

var everywhere = []string{stdio, stream, events}

// oddRow is a way to misbehave, and what comes of it: what a script gets of its last call, what the
// journal has of it, and what a person who asks for a check reads.
type oddRow struct {
	way      string
	over     []string
	settings map[string]string
	calls    int // 1 unless it is set

	result  string     // JSON; "" for a call that fails
	code    fault.Code // of that
	says    string     // part of its message, and of the journal's
	person  string     // part of the check's text; "" for a server without a finding
	refused bool       // the check fails
}

// on makes a way of what the server writes for one method.
func on(method, text string) func(*oddServer, *message) string {
	return func(_ *oddServer, m *message) string {
		if m.Method == method {
			return text
		}
		return asUsual
	}
}

func call(text string) func(*oddServer, *message) string { return on("tools/call", text) }

func list(result string) func(*oddServer, *message) string {
	return on("tools/list", `{"jsonrpc":"2.0","id":$id,"result":`+result+`}`)
}

// asks is the question that comes first.
func asksFirst(text string) func(*oddServer, *message) string { return on("server/discover", text) }

// forgets makes a way of a server that forgets its first session after a call, and then answers so.
func forgets(text string) func(*oddServer, *message) string {
	return func(s *oddServer, m *message) string {
		if m.Method == "tools/call" && s.calls > 1 && s.sessions < 2 && s.sessions > 0 || m.Method == "tools/list" && s.calls > 0 && s.sessions == 1 {
			return text
		}
		return asUsual
	}
}

func rpcError(code int, message string) string {
	return fmt.Sprintf(`{"jsonrpc":"2.0","id":$id,"error":{"code":%d,"message":%q}}`, code, message)
}

// checkOdd compares what came of a row.
func checkOdd(t *testing.T, r *oddRow, got *oddOutcome) {
	t.Helper()
	if r.result != "" {
		require.Nil(t, got.Fault)
		require.JSONEq(t, r.result, string(got.Result))
		require.True(t, got.journal.OK)
	} else {
		require.NotNil(t, got.Fault, "it succeeded: %s", got.Result)
		require.Equal(t, r.code, got.Fault.Code, got.Fault.Message)
		require.Contains(t, got.Fault.Message, r.says)
		require.NotEmpty(t, got.Fault.Hint)
		require.False(t, got.journal.OK)
		require.Contains(t, got.journal.Error, r.says)
	}
	require.Equal(t, !r.refused, got.checked, got.check)
	if r.person != "" {
		require.Contains(t, got.check, r.person)
	} else {
		require.NotContains(t, got.check, ";")
	}
}

type oddOutcome struct {
	Result json.RawMessage
	Fault  *fault.Fault

	journal run.CallRecord
	checked bool
	check   string
}

// Each way to misbehave, over each way to reach a server that knows it.
func TestOddServers(t *testing.T) {
	t.Parallel()
	var rows []row
	odd := map[string]*oddRow{}
	calls := map[string]int{}
	all := slices.Concat(oddRows, reportedRows)
	for i := range all {
		r := &all[i]
		require.Contains(t, oddWays, r.way)
		for _, over := range r.over {
			id := fmt.Sprintf("%s-%s", over, strings.ReplaceAll(r.way, " ", "-"))
			one := row{id: id, mode: oddMode + r.way, settings: map[string]string{"timeoutMs": "20000", "startMs": "40000"}}
			for name, value := range r.settings {
				one.settings[name] = value
			}
			switch over {
			case stream:
				one.url = overHTTP(t, &oddServer{way: oddWays[r.way]})
			case events:
				one.url = overSSE(t, &oddServer{way: oddWays[r.way]}, http.StatusMethodNotAllowed)
			}
			rows, odd[id], calls[id] = append(rows, one), r, max(r.calls, 1)
		}
	}
	kit := koantest.New(t, framework.App{Name: "odd"}, append(settingsOf(t, rows), koantest.Setting{Key: "sandbox.timeoutMs", Value: "300000"})...)
	seen := map[string]*oddOutcome{}
	for id, n := range calls { // the servers start meanwhile, all at once
		out := kit.Try(`
			let got;
			for (let n = 0; n < SDK.args.calls; n++) {
				try { got = { result: SDK.Servers[SDK.args.id].work({}) } }
				catch (e) { got = { fault: { code: e.code, message: e.message, hint: e.hint, retry: e.retry } } }
			}
			SDK.Out.emit(got);
			throw new Error("so that the calls are shown")`, koantest.Input{Args: map[string]any{"id": id, "calls": n}})
		seen[id] = &oddOutcome{}
		require.Len(t, out.Emitted, 1, "%s: %v", id, out.Error)
		require.NoError(t, json.Unmarshal(out.Emitted[0], seen[id]))
		require.Len(t, out.Calls, n, id)
		seen[id].journal = out.Calls[n-1]
	}
	for _, c := range kit.Instance().Checks(t.Context()) {
		if id, ok := strings.CutPrefix(c.Name, "upstream "); ok {
			seen[id].checked, seen[id].check = c.OK, c.Detail
		}
	}
	for id, r := range odd {
		t.Run(id, func(t *testing.T) { checkOdd(t, r, seen[id]) })
	}
	require.GreaterOrEqual(t, len(odd), 100)
}

// A server that hangs, because it was not asked what it expected first, is started in the other way
// beside that, and its next start begins so.
func TestServersThatHangAreStartedAsTheyExpect(t *testing.T) {
	t.Parallel()
	kit := koantest.New(t, framework.App{Name: "hangs"}, settingsOf(t, []row{{id: "x", mode: oddMode + "silence unless asked as expected", settings: map[string]string{"startMs": "2000"}}})...)
	require.Equal(t, fault.ServiceUnavailable, kit.Try(callsWork, koantest.Input{}).Error.Code)
	require.Eventually(t, func() bool { return kit.Try(callsWork, koantest.Input{}).Success }, timeout, tick)
}

// A server that is slow to start is started once, however often somebody stops waiting for it.
func TestSlowServersAreStartedOnce(t *testing.T) {
	t.Parallel()
	file := t.TempDir() + "/starts"
	kit := koantest.New(t, framework.App{Name: "slow"}, settingsOf(t, []row{{id: "x", mode: oddMode + "starts once it may", settings: map[string]string{"startMs": "3000", "env.STARTS": file}}})...)
	got := kit.Try(callsWork, koantest.Input{})
	require.Equal(t, fault.ServiceUnavailable, got.Error.Code)
	require.Contains(t, got.Error.Message, "did not start in 3s")
	require.NoError(t, os.WriteFile(file+".on", nil, 0o600))
	require.Eventually(t, func() bool { return kit.Try(callsWork, koantest.Input{}).Success }, timeout, tick)
	raw, err := os.ReadFile(file)
	require.NoError(t, err)
	require.Equal(t, "started\n", string(raw))
}
