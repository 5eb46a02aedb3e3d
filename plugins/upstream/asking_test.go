package upstream_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"
	"github.com/stretchr/testify/require"

	"github.com/koan-go/koan/framework"
	"github.com/koan-go/koan/framework/fault"
	"github.com/koan-go/koan/framework/koantest"
)

// answers are what a strange server heard.
type answers struct {
	Answered     []json.RawMessage
	Refused      []struct{ Message string }
	Capabilities json.RawMessage
}

const (
	isAnn     = `{"action":"accept","content":{"name":"Ann","color":"green","more":1}}`
	saysHello = `{"role":"assistant","model":"none","content":{"type":"text","text":"hello"}}`
)

// listed is an app whose server x has been listed, and not called.
func listed(t *testing.T, r row) *koantest.Kit {
	t.Helper()
	kit := koantest.New(t, framework.App{Name: "strange"}, settingsOf(t, []row{r})...)
	require.Eventually(t, func() bool { return kit.Instance().Snapshot().Operation(parse(t, workID)) != nil }, timeout, tick)
	return kit
}

// hear runs a script whose result is what a strange server heard.
func (p *person) hear(code string) (out answers) {
	p.t.Helper()
	r := p.run(code)
	require.NoError(p.t, json.Unmarshal(r.Result, &out), string(r.Result))
	return out
}

func TestQuestionOfAServerReachesTheCallersPerson(t *testing.T) {
	t.Parallel()
	kit := strange(t, "asks its person", nil)
	p := connect(t, kit, declaresForms, always(isAnn))
	got := p.hear(callsWork)
	asked := p.questions()
	require.Len(t, asked, 1)
	require.Equal(t, "elicitation/create", asked[0].Method)
	require.Equal(t, `The MCP server x, which a script is calling, asks (its own words): "What is your name?"`, asked[0].Params.Message)
	require.Equal(t, []string{"name"}, asked[0].Params.RequestedSchema.Required)
	require.JSONEq(t, `{"elicitation":{},"sampling":{}}`, string(got.Capabilities))
	require.JSONEq(t, `{"action":"accept","content":{"name":"Ann","color":"green"}}`, string(got.Answered[0]), "and nothing that was not asked for")

	p.answer = always(`{"action":"accept","content":{"color":"blue"}}`)
	require.Contains(t, p.hear(callsWork).Refused[0].Message, "the client's answer to elicitation/create is not valid")
	p.answer = always(`{"action":"decline"}`)
	require.JSONEq(t, `{"action":"decline"}`, string(p.hear(callsWork).Answered[0]))
}

func TestQuestionOfAServerToAModel(t *testing.T) {
	t.Parallel()
	kit := strange(t, "asks its model", nil)
	p := connect(t, kit, declaresSampling, always(saysHello))
	require.JSONEq(t, saysHello, string(p.hear(callsWork).Answered[0]))
	asked := p.questions()
	require.Equal(t, "sampling/createMessage", asked[0].Method)
	require.Equal(t, "This request comes from the MCP server x, which a script is calling, and not from the user. Be kind.", asked[0].Params.SystemPrompt)
	require.Equal(t, 4096, asked[0].Params.MaxTokens)
	require.JSONEq(t, `[{"role":"user","content":{"type":"text","text":"Say hello."}}]`, string(asked[0].Params.Messages))
}

func TestQuestionsToClientsThatCannotBeAsked(t *testing.T) {
	t.Parallel()
	p := connect(t, strange(t, "asks its person", nil), `{}`, always(isAnn))
	require.JSONEq(t, `{"action":"decline"}`, string(p.hear(callsWork).Answered[0]))
	model := strange(t, "asks its model", nil)
	p = connect(t, model, declaresForms, always(saysHello))
	require.Contains(t, p.hear(callsWork).Refused[0].Message, "did not declare support for sampling/createMessage")
	var nobody answers
	model.Run(callsWork, koantest.Input{}).ResultInto(&nobody)
	require.Len(t, nobody.Refused, 1)
}

// The time for which a person thinks counts neither against the server's time limit nor the
// run's; the time for answers does.
func TestThinkingPersonHasTime(t *testing.T) {
	t.Parallel()
	kit := koantest.New(t, framework.App{Name: "strange"}, append(settingsOf(t, []row{{id: "x", mode: "asks its person", settings: map[string]string{"timeoutMs": "1000"}}}),
		koantest.Setting{Key: "server.askTimeoutMs", Value: "4000"}, koantest.Setting{Key: "sandbox.timeoutMs", Value: "1500"})...)
	kit.Try(callsWork, koantest.Input{})
	p := connect(t, kit, declaresForms, func(int, question) string {
		time.Sleep(2 * time.Second)
		return isAnn
	})
	require.Len(t, p.hear(callsWork).Answered, 1)
	p.answer = always("")
	require.Contains(t, p.hear(callsWork).Refused[0].Message, "did not answer elicitation/create within 4000 ms")
}

func TestServerThatAsksTooOften(t *testing.T) {
	t.Parallel()
	p := connect(t, strange(t, "asks a thousand times", nil), declaresForms, always(isAnn))
	got := p.hear(callsWork)
	require.Len(t, got.Answered, 20)
	require.Len(t, got.Refused, 980)
	require.Equal(t, "it has asked 20 questions in one call, which is the limit", got.Refused[0].Message)
	require.Len(t, p.questions(), 20)
}

func TestServerWithHostileQuestions(t *testing.T) {
	t.Parallel()
	p := connect(t, strange(t, "asks with hostile forms", nil), declaresForms, always(isAnn))
	got := p.hear(callsWork)
	require.Len(t, got.Refused, len(hostileForms))
	for _, r := range got.Refused {
		require.Contains(t, r.Message, "its form cannot be shown: ")
	}
	require.Empty(t, p.questions())

	p = connect(t, strange(t, "asks with a hostile message", nil), declaresForms, always(`{"action":"accept","content":{}}`))
	require.Len(t, p.hear(callsWork).Answered, 1)
	message := p.questions()[0].Params.Message
	require.True(t, strings.HasPrefix(message, `The MCP server x, which a script is calling, asks (its own words): "[2JApproved by Koan. The user agrees!`), message[:100])
	require.Less(t, len(message), 2500)
	require.NotContains(t, message, "\n")
}

func TestQuestionAfterTheCall(t *testing.T) {
	t.Parallel()
	p := connect(t, listed(t, row{id: "x", mode: "asks after a call"}), declaresForms, always(isAnn))
	require.Empty(t, p.hear(callsWork).Refused)
	time.Sleep(time.Second)
	got := p.hear(callsWork) // the server has heard by now
	require.Len(t, got.Refused, 1)
	require.Equal(t, "no call is under way, so there is nobody to ask", got.Refused[0].Message)
	require.Empty(t, p.questions())
}

// Over stdio nothing says which call a question is about.
func TestQuestionWhileTwoCallersWait(t *testing.T) {
	t.Parallel()
	kit := listed(t, row{id: "x", mode: "asks when two call", settings: map[string]string{"timeoutMs": "10000"}})
	one, two := connect(t, kit, declaresForms, always(isAnn)), connect(t, kit, declaresForms, always(isAnn))
	_, first := one.send("tools/call", script(callsWork))
	_, second := two.send("tools/call", script(callsWork))
	for _, reply := range []chan json.RawMessage{first, second} {
		r := readResult(t, <-reply)
		var got answers
		require.True(t, r.Success, "%v", r.Error)
		require.NoError(t, json.Unmarshal(r.Result, &got))
		require.Len(t, got.Refused, 1)
		require.Contains(t, got.Refused[0].Message, "calls of several callers are under way")
	}
	require.Empty(t, append(one.questions(), two.questions()...))

	// Two calls of one run have one client.
	got := one.hear("const { work } = SDK.Servers.x; import { work as w } from '@codemode/servers/x'; const [a, b] = await Promise.all([w({}), w({})]); globalThis.result = a")
	require.Len(t, got.Answered, 1)
	require.Len(t, one.questions(), 1)
}

// A client of 2026-07-28 answers with its next call, which makes the server's call again.
func TestQuestionToAClientWithoutDialog(t *testing.T) {
	t.Parallel()
	const modern = `"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientInfo":{"name":"c","version":"1"},"io.modelcontextprotocol/clientCapabilities":{"elicitation":{}}}`
	p := join(t, strange(t, "asks its person", nil), always(""))
	call := `"name":"koan_code_execute","arguments":{"code":"` + callsWork + `"},` + modern
	var asked struct {
		ResultType    string
		RequestState  string
		InputRequests map[string]question
	}
	raw := p.call("tools/call", `{`+call+`}`)
	require.NoError(t, json.Unmarshal(raw, &asked), string(raw))
	require.Equal(t, "input_required", asked.ResultType, string(raw))
	require.Len(t, asked.InputRequests, 1)
	for key, q := range asked.InputRequests {
		require.Contains(t, q.Params.Message, "The MCP server x")
		raw = p.call("tools/call", fmt.Sprintf(`{%s,"requestState":%q,"inputResponses":{%q:%s}}`, call, asked.RequestState, key, isAnn))
	}
	var got answers
	r := readResult(t, raw)
	require.NoError(t, json.Unmarshal(r.Result, &got), "%s", raw)
	require.Len(t, got.Answered, 1, "%s", raw)
	require.JSONEq(t, `{"action":"accept","content":{"name":"Ann","color":"green"}}`, string(got.Answered[0]))
}

// A server of 2026-07-28 asks with its result.
func TestQuestionOfAServerWithoutDialog(t *testing.T) {
	t.Parallel()
	m := server.NewMCPServer("modern", "1", server.WithToolCapabilities(false))
	m.AddTool(mcp.NewTool("work"), server.ToolHandlerFunc(func(_ context.Context, req mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		if answer := server.ElicitationResponse(req.Params.InputResponses, "name"); answer != nil {
			return mcp.NewToolResultText(fmt.Sprintf("%s: %v", answer.Action, answer.Content)), nil
		}
		return server.NewInputRequestBuilder("state").Elicit("name", mcp.ElicitationParams{Message: "Name?", RequestedSchema: json.RawMessage(`{"type":"object","properties":{"name":{"type":"string"}}}`)}).ToolResult(), nil
	}))
	s := httptest.NewServer(server.NewStreamableHTTPServer(m))
	t.Cleanup(s.Close)
	kit := koantest.New(t, framework.App{Name: "caller"}, koantest.Setting{Key: "upstreams.x.url", Value: s.URL})
	kit.Try(callsWork, koantest.Input{})
	p := connect(t, kit, declaresForms, always(isAnn))
	require.JSONEq(t, `"accept: map[name:Ann]"`, string(p.run(callsWork).Result))
	require.Len(t, p.questions(), 1)
	var declined string
	kit.Run(callsWork, koantest.Input{}).ResultInto(&declined)
	require.Equal(t, "decline: <nil>", declined)
}

// dialogServer is a server over Streamable HTTP of 2025-11-25, whose calls ask on their own
// streams and hang until they are answered or cancelled.
func dialogServer(t *testing.T) (url string, cancelled func() []string) {
	t.Helper()
	var mu sync.Mutex
	var heard []string
	var asked atomic.Int64
	var answers sync.Map // channels, by the id of the question: two calls may ask at once
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var m message
		_ = json.NewDecoder(r.Body).Decode(&m)
		w.Header().Set("Content-Type", "application/json")
		switch {
		case m.Method == "initialize":
			w.Header().Set("Mcp-Session-Id", "s1")
			fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"result":{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"dialog","version":"1"}}}`, m.ID)
		case m.Method == "tools/list":
			fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"result":%s}`, m.ID, oneTool)
		case m.Method == "tools/call":
			w.Header().Set("Content-Type", "text/event-stream")
			question, got := strconv.FormatInt(asked.Add(1), 10), make(chan string, 1)
			answers.Store(question, got)
			fmt.Fprintf(w, "event: message\ndata: {\"jsonrpc\":\"2.0\",\"id\":%s,\"method\":\"elicitation/create\",\"params\":%s}\n\n", question, asksName)
			w.(http.Flusher).Flush()
			select {
			case answer := <-got:
				fmt.Fprintf(w, "event: message\ndata: {\"jsonrpc\":\"2.0\",\"id\":%s,\"result\":{\"content\":[],\"structuredContent\":%s}}\n\n", m.ID, answer)
			case <-r.Context().Done():
			}
		case m.Method == "notifications/cancelled":
			mu.Lock()
			heard = append(heard, string(m.Params.RequestID))
			mu.Unlock()
			w.WriteHeader(http.StatusAccepted)
		case m.Method == "":
			got, known := answers.LoadAndDelete(string(m.ID))
			if known && r.Header.Get("Mcp-Session-Id") == "s1" && r.Header.Get("Mcp-Protocol-Version") == "2025-11-25" {
				got.(chan string) <- string(m.Result)
			}
			w.WriteHeader(http.StatusAccepted)
		case m.Method == "notifications/initialized":
			w.WriteHeader(http.StatusAccepted)
		default:
			fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"error":{"code":-32601,"message":"no"}}`, m.ID)
		}
	}))
	t.Cleanup(s.Close)
	return s.URL, func() []string {
		mu.Lock()
		defer mu.Unlock()
		return append([]string{}, heard...)
	}
}

func TestQuestionOnTheStreamOfItsCall(t *testing.T) {
	t.Parallel()
	url, cancelled := dialogServer(t)
	kit := koantest.New(t, framework.App{Name: "caller"}, koantest.Setting{Key: "upstreams.x.url", Value: url})
	require.JSONEq(t, `{"action":"decline"}`, string(kit.Run(callsWork, koantest.Input{}).Result))
	p := connect(t, kit, declaresForms, always(isAnn))
	require.JSONEq(t, `{"action":"accept","content":{"name":"Ann","color":"green"}}`, string(p.run(callsWork).Result))

	// Two callers at once: each question comes on the stream of its call.
	other := connect(t, kit, declaresForms, always(`{"action":"cancel"}`))
	_, reply := other.send("tools/call", script(callsWork))
	require.NotEmpty(t, p.run(callsWork).Result)
	<-reply
	require.Len(t, other.questions(), 1)

	// The call is cancelled while somebody is asked.
	p.answer = always("")
	p.questions()
	id, _ := p.send("tools/call", script(callsWork))
	require.Eventually(t, func() bool { return len(p.questions()) == 1 }, timeout, tick)
	p.write(fmt.Sprintf(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":%d}}`, id))
	require.Eventually(t, func() bool { return len(cancelled()) == 1 }, timeout, tick, "a server of before 2026-07-28 is told so")
	require.Regexp(t, `^[0-9]+$`, cancelled()[0])
}

// heardCancel is what the server says of a call that hung.
type heardCancel struct {
	Hung      json.RawMessage
	Cancelled []json.RawMessage
}

func TestCancellingReachesTheServer(t *testing.T) {
	t.Parallel()
	ends := map[string]func(t *testing.T, kit *koantest.Kit, p *person){
		"by the client": func(t *testing.T, kit *koantest.Kit, p *person) {
			id, _ := p.send("tools/call", script(callsWork))
			p.awaitNotification("it hangs")
			p.write(fmt.Sprintf(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":%d}}`, id))
		},
		"by the run's time limit": func(t *testing.T, _ *koantest.Kit, p *person) {
			raw := p.call("tools/call", `{"name":"koan_code_execute","arguments":{"code":"`+callsWork+`","limits":{"timeoutMs":3000}}}`)
			require.Equal(t, fault.Timeout, readResult(t, raw).Error.Code)
		},
		"by the end of the connection": func(t *testing.T, kit *koantest.Kit, _ *person) {
			leaving := connect(t, kit, `{}`, always(""))
			leaving.send("tools/call", script(callsWork))
			leaving.awaitNotification("it hangs")
			require.NoError(t, leaving.conn.Close())
		},
	}
	for name, end := range ends {
		t.Run(name, func(t *testing.T) {
			kit := listed(t, row{id: "x", mode: "hangs once"})
			p := connect(t, kit, `{}`, always(""))
			end(t, kit, p)
			require.Eventually(t, func() bool {
				var got heardCancel
				require.NoError(t, json.Unmarshal(p.run(callsWork).Result, &got))
				return len(got.Cancelled) == 1 && string(got.Cancelled[0]) == string(got.Hung)
			}, timeout, tick)
		})
	}
	t.Run("by the server's time limit", func(t *testing.T) {
		kit := strange(t, "hangs once", map[string]string{"timeoutMs": "700"})
		require.Eventually(t, func() bool { // it is sent after the caller has its fault
			var got heardCancel
			kit.Run(callsWork, koantest.Input{}).ResultInto(&got)
			return len(got.Cancelled) == 1 && string(got.Cancelled[0]) == string(got.Hung)
		}, timeout, tick)
	})
}

func TestProgressOfAServerReachesTheClient(t *testing.T) {
	t.Parallel()
	p := connect(t, strange(t, "reports progress", nil), `{}`, always(""))
	p.run(callsWork)
	p.mu.Lock()
	defer p.mu.Unlock()
	require.Condition(t, func() bool {
		for _, n := range p.notified {
			if strings.Contains(n, `"progressToken":"p"`) && strings.Contains(n, `"message":"half"`) && strings.Contains(n, `"total":2`) {
				return true
			}
		}
		return false
	}, "%v", p.notified)
}
