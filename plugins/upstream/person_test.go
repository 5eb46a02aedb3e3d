package upstream_test

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/koan-go/koan/framework/catalog"
	"github.com/koan-go/koan/framework/koantest"
)

// person is somebody at an MCP client: one connection, over which scripts are sent and
// questions are answered.
type person struct {
	t      *testing.T
	conn   io.ReadWriteCloser
	answer func(n int, q question) string // the answer to the n-th question, "" for none

	mu       sync.Mutex
	asked    []question
	notified []string
	replies  map[int]chan json.RawMessage
	last     int
}

// question is a request of the app to its client.
type question struct {
	Method string
	Params struct {
		Message         string
		RequestedSchema struct {
			Properties map[string]json.RawMessage
			Required   []string
		}
		SystemPrompt string
		MaxTokens    int
		Messages     json.RawMessage
	}
}

// declares are capabilities of a client.
const (
	declaresForms    = `{"elicitation":{}}`
	declaresSampling = `{"elicitation":{},"sampling":{}}`
)

func connect(t *testing.T, kit *koantest.Kit, capabilities string, answer func(n int, q question) string) *person {
	t.Helper()
	p := join(t, kit, answer)
	p.call("initialize", `{"protocolVersion":"2025-11-25","clientInfo":{"name":"person","version":"1"},"capabilities":`+capabilities+`}`)
	p.write(`{"jsonrpc":"2.0","method":"notifications/initialized"}`)
	return p
}

// join is connect without a handshake, as clients of 2026-07-28 do.
func join(t *testing.T, kit *koantest.Kit, answer func(n int, q question) string) *person {
	t.Helper()
	p := &person{t: t, conn: kit.Connect(), answer: answer, replies: map[int]chan json.RawMessage{}}
	go p.read()
	return p
}

func (p *person) write(text string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	_, _ = io.WriteString(p.conn, text+"\n") // a connection that is lost shows in the reply that never comes
}

func (p *person) read() {
	in := bufio.NewScanner(p.conn)
	in.Buffer(nil, 64<<20)
	for in.Scan() {
		var m struct {
			ID     json.RawMessage
			Method string
			Result json.RawMessage
			Error  json.RawMessage
		}
		if json.Unmarshal(in.Bytes(), &m) != nil {
			continue
		}
		switch {
		case m.Method != "" && m.ID != nil:
			var q question
			_ = json.Unmarshal(in.Bytes(), &q)
			p.mu.Lock()
			p.asked = append(p.asked, q)
			n := len(p.asked)
			p.mu.Unlock()
			go func(id json.RawMessage) {
				if text := p.answer(n, q); text != "" {
					p.write(fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"result":%s}`, id, text))
				}
			}(m.ID)
		case m.Method != "":
			p.mu.Lock()
			p.notified = append(p.notified, strings.Clone(in.Text()))
			p.mu.Unlock()
		default:
			var id int
			_ = json.Unmarshal(m.ID, &id)
			p.mu.Lock()
			reply := p.replies[id]
			p.mu.Unlock()
			if m.Error != nil {
				m.Result = m.Error
			}
			if reply != nil {
				reply <- m.Result
			}
		}
	}
}

// send sends a request, and returns its id and where the reply comes.
func (p *person) send(method, params string) (id int, reply chan json.RawMessage) {
	p.mu.Lock()
	p.last++
	id, reply = p.last, make(chan json.RawMessage, 1)
	p.replies[id] = reply
	p.mu.Unlock()
	p.write(fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":%q,"params":%s}`, id, method, params))
	return id, reply
}

// awaitNotification waits for a notification that has a text.
func (p *person) awaitNotification(text string) {
	p.t.Helper()
	require.Eventually(p.t, func() bool {
		p.mu.Lock()
		defer p.mu.Unlock()
		return slices.ContainsFunc(p.notified, func(n string) bool { return strings.Contains(n, text) })
	}, timeout, tick, "no notification has %q", text)
}

func (p *person) call(method, params string) json.RawMessage {
	p.t.Helper()
	_, reply := p.send(method, params)
	return <-reply
}

// script are the parameters of a call of koan.code.execute.
func script(code string) string {
	raw, _ := json.Marshal(map[string]any{"name": "koan_code_execute", "arguments": map[string]any{"code": code}, "_meta": map[string]any{"progressToken": "p"}})
	return string(raw)
}

func readResult(t *testing.T, raw json.RawMessage) *koantest.Result {
	t.Helper()
	var got struct{ StructuredContent *koantest.Result }
	require.NoError(t, json.Unmarshal(raw, &got), string(raw))
	require.NotNil(t, got.StructuredContent, string(raw))
	return got.StructuredContent
}

// try runs a script that may fail.
func (p *person) try(code string) *koantest.Result {
	p.t.Helper()
	return readResult(p.t, p.call("tools/call", script(code)))
}

// run runs a script that succeeds.
func (p *person) run(code string) *koantest.Result {
	p.t.Helper()
	r := p.try(code)
	require.True(p.t, r.Success, "%v", r.Error)
	return r
}

// questions returns what the person was asked so far, and forgets it.
func (p *person) questions() []question {
	p.mu.Lock()
	defer p.mu.Unlock()
	out := p.asked
	p.asked = nil
	return out
}

// always answers every question with the same.
func always(text string) func(int, question) string {
	return func(int, question) string { return text }
}

const (
	yes        = `{"action":"accept","content":{"approve":true}}`
	no         = `{"action":"accept","content":{"approve":false}}`
	yesSession = `{"action":"accept","content":{"approve":true,"lasts":"session"}}`
	yesAlways  = `{"action":"accept","content":{"approve":true,"lasts":"always"}}`
)

func parse(t *testing.T, id string) catalog.ID {
	t.Helper()
	out, err := catalog.ParseID(id)
	require.NoError(t, err)
	return out
}

// enumOf returns the terms that a question about a plan offers.
func enumOf(t *testing.T, q question) json.RawMessage {
	t.Helper()
	var lasts struct{ Enum json.RawMessage }
	require.NoError(t, json.Unmarshal(q.Params.RequestedSchema.Properties["lasts"], &lasts))
	return lasts.Enum
}
