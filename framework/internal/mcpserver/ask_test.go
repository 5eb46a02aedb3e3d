package mcpserver_test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/mark3labs/mcp-go/mcp"
	"github.com/stretchr/testify/require"

	"github.com/koan-go/koan/framework/ask"
	"github.com/koan-go/koan/framework/auth"
	"github.com/koan-go/koan/framework/catalog"
	"github.com/koan-go/koan/framework/fault"
	"github.com/koan-go/koan/framework/internal/mcpserver"
	"github.com/koan-go/koan/framework/seal"
)

const (
	askTool = "lab.ask"
	forms   = `{"elicitation":{}}`
)

// asking is a server whose tool lab.ask asks the user for a colour, and then for a
// size where the input wants one. Where the input says long, the answer may take a
// minute, whatever clients are given elsewhere.
func asking(t testing.TB, change func(*mcpserver.Options)) mcpserver.Options {
	g := newGarden()
	form := func(field string) json.RawMessage {
		return object(fmt.Sprintf(`"properties":{%q:{"type":"string"}},"required":[%q]`, field, field))
	}
	g.extra = &catalog.Operation{
		ID:       catalog.PluginID("Lab", "ask"),
		Contract: catalog.Contract{Input: object(`"properties":{"size":{"type":"boolean"},"long":{"type":"boolean"}}`), Output: object(`"properties":{}`)},
		Listing: catalog.Listing{
			Summary: "Asks.",
			Reach:   catalog.Everywhere,
		},
		Work: catalog.Work{
			Handler: func(ctx context.Context, c catalog.Call) (json.RawMessage, error) {
				var in struct{ Size, Long bool }
				_ = json.Unmarshal(c.Input(), &in)
				if in.Long {
					q := ask.FormQuestion("colour", "Which colour?", form("colour"))
					q.Life = time.Minute
					got, err := ask.All(ctx, q)
					if err != nil {
						return nil, err
					}
					return got[0], nil
				}
				colour, err := ask.Elicit(ctx, "colour", "Which colour?", form("colour"))
				if err != nil || !in.Size {
					return json.RawMessage(`{"action":"` + string(colour.Action) + `","colour":` + rawOr(colour.Content) + `}`), err
				}
				size, err := ask.Elicit(ctx, "size", "Which size?", form("size"))
				return json.RawMessage(`{"colour":` + rawOr(colour.Content) + `,"size":` + rawOr(size.Content) + `}`), err
			},
		},
	}
	g.page = &catalog.Document{
		URI: "koan://asks", Name: "Asks", MIME: "text/plain",
		Read: func(ctx context.Context, _ *catalog.View, _ string) ([]byte, error) {
			f, err := ask.Elicit(ctx, "colour", "Which colour?", form("colour"))
			return f.Content, err
		},
	}
	o := options(t, g)
	if change != nil {
		change(&o)
	}
	return o
}

func rawOr(raw json.RawMessage) string {
	if len(raw) == 0 {
		return "null"
	}
	return string(raw)
}

func callAsk(id, arguments string) string {
	return `{"jsonrpc":"2.0","id":` + id + `,"method":"tools/call","params":{"name":"` + askTool + `","arguments":` + arguments + `}}`
}

func accept(field, value string) string {
	return fmt.Sprintf(`{"action":"accept","content":{%q:%q}}`, field, value)
}

func (r reply) question(t testing.TB, method string) {
	t.Helper()
	require.Equal(t, method, r.Method, "%s", r.raw)
	require.NotEmpty(t, r.ID)
}

func TestLegacyClientAnswersDuringCall(t *testing.T) {
	w := dial(t, asking(t, nil))
	w.hello("2025-11-25", forms)
	q := w.call(callAsk("7", `{"size":true}`))
	q.question(t, "elicitation/create")
	require.JSONEq(t, `{"message":"Which colour?","requestedSchema":{"type":"object","properties":{"colour":{"type":"string"}},"required":["colour"]}}`, string(q.Params))
	for _, nobodys := range []string{`99`, `"` + string(q.ID) + `"`, `7`, `1e999`} { // ids of no question
		w.send(`{"jsonrpc":"2.0","id":` + nobodys + `,"result":` + accept("colour", "wrong") + `}`)
	}
	w.silent(50 * time.Millisecond)
	q2 := w.call(`{"jsonrpc":"2.0","id":` + string(q.ID) + `,"result":` + accept("colour", "blue") + `}`)
	q2.question(t, "elicitation/create")
	require.NotEqual(t, string(q.ID), string(q2.ID))
	w.send(`{"jsonrpc":"2.0","id":` + string(q.ID) + `,"result":` + accept("colour", "late") + `}`)
	r := w.call(`{"jsonrpc":"2.0","id":` + string(q2.ID) + `,"result":` + accept("size", "m") + `}`)
	require.JSONEq(t, `{"colour":{"colour":"blue"},"size":{"size":"m"}}`, string(r.tool(t).Data))
}

func TestLegacyClientMayDecline(t *testing.T) {
	w := dial(t, asking(t, nil))
	w.hello("2025-06-18", forms)
	for answer, want := range map[string]string{
		`"result":{"action":"decline"}`:                                    `{"action":"decline","colour":null}`,
		`"result":{"action":"cancel","content":{}}`:                        `{"action":"cancel","colour":null}`,
		`"result":{"action":"accept","content":{"colour":3}}`:              string(fault.UpstreamError),
		`"result":{"action":"accept"}`:                                     string(fault.UpstreamError),
		`"result":{}`:                                                      string(fault.UpstreamError),
		`"result":17`:                                                      string(fault.UpstreamError),
		`"result":null`:                                                    string(fault.UpstreamError),
		`"error":{"code":-32601,"message":"Method not found"}`:             string(fault.UpstreamError),
		`"error":{"message":{}}`:                                           string(fault.UpstreamError),
		`"error":"` + strings.Repeat("ü", 3000) + `"`:                      string(fault.UpstreamError),
		`"result":{"action":"accept","content":{"colour":"a"}},"error":{}`: string(fault.UpstreamError),
	} {
		q := w.call(callAsk("1", `{}`))
		q.question(t, "elicitation/create")
		r := w.call(`{"jsonrpc":"2.0","id":` + string(q.ID) + `,` + answer + `}`).tool(t)
		if strings.HasPrefix(want, "{") {
			require.JSONEq(t, want, string(r.Data), answer)
			continue
		}
		f := r.failure(t)
		require.Equal(t, want, string(f.Error.Code), answer)
		require.Less(t, len(f.Error.Message), 500)
	}
}

func TestAskNeedsDeclaredCapability(t *testing.T) {
	for _, caps := range []string{`{}`, `{"sampling":{}}`, `{"elicitation":{"url":{}}}`} {
		w := dial(t, asking(t, nil))
		w.hello("2025-11-25", caps)
		f := w.call(callAsk("1", `{}`)).tool(t).failure(t)
		require.Equal(t, fault.CapabilityUnsupported, f.Error.Code)
		w.send(`{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"` + askTool + `",` + modern(caps) + `}}`)
		r := w.next()
		require.NotNil(t, r.Error, "%s", r.raw)
		require.Equal(t, mcp.MISSING_REQUIRED_CLIENT_CAPABILITY, r.Error.Code)
		require.Contains(t, string(r.raw), `"requiredCapabilities":{"elicitation":{}}`)
	}
}

func TestCancelWithdrawsQuestion(t *testing.T) {
	w := dial(t, asking(t, nil))
	w.hello("2025-11-25", forms)
	q := w.call(callAsk("1", `{}`))
	q.question(t, "elicitation/create")
	r := w.call(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}`)
	require.Equal(t, "notifications/cancelled", r.Method)
	require.Contains(t, string(r.Params), `"requestId":`+string(q.ID))
	w.send(`{"jsonrpc":"2.0","id":` + string(q.ID) + `,"result":` + accept("colour", "late") + `}`)
	w.silent(50 * time.Millisecond)
}

func TestAnswerTimeout(t *testing.T) {
	w := dial(t, asking(t, func(o *mcpserver.Options) { o.ToolTimeout, o.AskTimeout = time.Second, 3*time.Second }))
	w.hello("2025-11-25", forms)
	q := w.call(callAsk("1", `{}`))
	time.Sleep(1200 * time.Millisecond) // longer than the tool may take
	w.call(`{"jsonrpc":"2.0","id":` + string(q.ID) + `,"result":` + accept("colour", "blue") + `}`).tool(t)

	q = w.call(callAsk("2", `{}`))
	withdrawn := w.next()
	require.Equal(t, "notifications/cancelled", withdrawn.Method)
	require.Contains(t, string(withdrawn.Params), `"requestId":`+string(q.ID))
	f := w.next().tool(t).failure(t)
	require.Equal(t, fault.Timeout, f.Error.Code)
	require.Contains(t, f.Error.Message, "did not answer elicitation/create within 3000 ms")
}

// A question may have a longer timeout than the usual one, in both eras.
func TestQuestionHasItsOwnTimeout(t *testing.T) {
	w := dial(t, asking(t, func(o *mcpserver.Options) { o.AskTimeout = 20 * time.Millisecond }))
	first := w.call(again(`{"long":true}`, "")).round(t)
	time.Sleep(40 * time.Millisecond)
	yes := accept("colour", "blue")
	require.Contains(t, string(w.call(again(`{"long":true}`, withState(first.RequestState, `{"colour":`+yes+`}`))).tool(t).Data), "blue")

	w = dial(t, asking(t, func(o *mcpserver.Options) { o.AskTimeout = 20 * time.Millisecond }))
	w.hello("2025-11-25", forms)
	q := w.call(callAsk("2", `{"long":true}`))
	q.question(t, "elicitation/create")
	w.silent(40 * time.Millisecond)
	require.Contains(t, string(w.call(`{"jsonrpc":"2.0","id":`+string(q.ID)+`,"result":`+yes+`}`).tool(t).Data), "blue")
}

func TestOpenQuestionsAreBounded(t *testing.T) {
	w := dial(t, asking(t, func(o *mcpserver.Options) { o.QueueMax = 100 }))
	w.hello("2025-11-25", forms)
	for i := range 66 {
		w.send(callAsk(fmt.Sprint(i), `{}`))
	}
	var questions []reply
	refused := 0
	for range 66 {
		switch r := w.next(); {
		case r.Method != "":
			questions = append(questions, r)
		default:
			require.Equal(t, fault.QueueOverloaded, r.tool(t).failure(t).Error.Code)
			refused++
		}
	}
	require.Equal(t, 2, refused)
	for _, q := range questions {
		w.call(`{"jsonrpc":"2.0","id":` + string(q.ID) + `,"result":` + accept("colour", "blue") + `}`).tool(t)
	}
}

// asks opens a session over HTTP whose client takes forms.
func (w *web) asks(header ...string) []string {
	w.t.Helper()
	a := w.post(`{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":`+forms+`,"clientInfo":{"name":"web","version":"0"}}}`, header...)
	require.Equal(w.t, http.StatusOK, a.status, a.body)
	return append([]string{"Mcp-Session-Id", a.header.Get("Mcp-Session-Id"), "Mcp-Protocol-Version", "2025-11-25"}, header...)
}

func TestHTTPAnswersOnlyFromSameSession(t *testing.T) {
	who := func(r *http.Request) (auth.Principal, error) {
		return auth.Principal{Subject: r.Header.Get("X-Who"), Scopes: []string{auth.All}, Sets: []string{"*"}}, nil
	}
	w := serveWeb(t, asking(t, nil), mcpserver.HTTPOptions{Authenticate: who})
	ann, bob := w.asks("X-Who", "ann"), w.asks("X-Who", "bob")
	stream := func(session []string) (*bufio.Scanner, reply) {
		resp, err := http.DefaultClient.Do(w.request(t.Context(), http.MethodPost, callAsk("1", `{}`), session...))
		require.NoError(t, err)
		t.Cleanup(func() { _ = resp.Body.Close() })
		require.Equal(t, "text/event-stream", resp.Header.Get("Content-Type"))
		lines := bufio.NewScanner(resp.Body)
		return lines, event(t, lines)
	}
	ofAnn, q := stream(ann)
	ofBob, q2 := stream(bob)
	q.question(t, "elicitation/create")
	require.Equal(t, string(q.ID), string(q2.ID), "both have the same id")
	answer := `{"jsonrpc":"2.0","id":` + string(q.ID) + `,"result":` + accept("colour", "bob's") + `}`
	stolen := append([]string{}, ann...)
	stolen[len(stolen)-1] = "bob"
	require.Equal(t, http.StatusNotFound, w.post(answer, stolen...).status, "ann's session does not exist for bob")
	require.Equal(t, http.StatusAccepted, w.post(answer, bob...).status)
	require.JSONEq(t, `{"action":"accept","colour":{"colour":"bob's"}}`, string(event(t, ofBob).tool(t).Data))
	require.Equal(t, http.StatusAccepted, w.post(strings.Replace(answer, "bob's", "ann's", 1), ann...).status)
	require.JSONEq(t, `{"action":"accept","colour":{"colour":"ann's"}}`, string(event(t, ofAnn).tool(t).Data))
}

// event reads the next message of a stream.
func event(t testing.TB, lines *bufio.Scanner) reply {
	t.Helper()
	for lines.Scan() {
		if data, ok := strings.CutPrefix(lines.Text(), "data: "); ok {
			return decode(t, []byte(data))
		}
	}
	require.FailNow(t, "the stream ended")
	return reply{}
}

func TestAskNeedsOpenStream(t *testing.T) {
	w := serveWeb(t, asking(t, nil), mcpserver.HTTPOptions{})
	a := w.post(callAsk("1", `{}`), append(w.asks(), "Accept", "application/json")...)
	require.Equal(t, fault.ServiceUnavailable, a.one(t).tool(t).failure(t).Error.Code)
}

// round is the result of a request that wants answers.
type round struct {
	ResultType    string `json:"resultType"`
	InputRequests map[string]struct {
		Method string          `json:"method"`
		Params json.RawMessage `json:"params"`
	} `json:"inputRequests"`
	RequestState string `json:"requestState"`
}

func (r reply) round(t testing.TB) round {
	t.Helper()
	require.Nil(t, r.Error, "%s", r.raw)
	var out round
	require.NoError(t, json.Unmarshal(r.Result, &out))
	require.Equal(t, "input_required", out.ResultType)
	require.NotEmpty(t, out.RequestState)
	return out
}

// again calls lab.ask in the newer era.
func again(arguments, more string) string {
	return `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"` + askTool + `","arguments":` + arguments + `,` + more + modern(forms) + `}}`
}

func withState(state string, answers string) string {
	return fmt.Sprintf(`"requestState":%q,"inputResponses":%s,`, state, answers)
}

func TestModernClientResumesCall(t *testing.T) {
	secret := strings.Repeat("secret", 6)
	replica := func() *wire {
		return dial(t, asking(t, func(o *mcpserver.Options) {
			var err error
			o.Seal, err = seal.New(secret)
			require.NoError(t, err)
		}))
	}
	first := replica().call(again(`{"size":true,"x":1}`, "")).round(t)
	require.Len(t, first.InputRequests, 1)
	require.Equal(t, "elicitation/create", first.InputRequests["colour"].Method)
	second := replica().call(again(`{"x":1.5,"size":true}`, withState(first.RequestState, `{"colour":`+accept("colour", "blue")+`,"other":{}}`)))
	require.NotNil(t, second.Error, "another input")
	second = replica().call(again(`{"x":1.0, "size":true}`, withState(first.RequestState, `{"colour":`+accept("colour", "blue")+`,"size":`+accept("size", "early")+`}`)))
	next := second.round(t)
	require.Contains(t, next.InputRequests, "size", "what was not asked is not answered")
	require.Len(t, next.InputRequests, 1)
	require.NotEqual(t, first.RequestState, next.RequestState)
	r := replica().call(again(`{"size":true,"x":1}`, withState(next.RequestState, `{"size":`+accept("size", "m")+`}`)))
	require.JSONEq(t, `{"colour":{"colour":"blue"},"size":{"size":"m"}}`, string(r.tool(t).Data))

	r = replica().call(again(`{"size":true,"x":1}`, withState(next.RequestState, `{}`)))
	require.Contains(t, r.round(t).InputRequests, "size", "what is missing is asked again")
	r = replica().call(again(`{}`, `"inputResponses":{"colour":`+accept("colour", "blue")+`},`))
	require.Contains(t, r.round(t).InputRequests, "colour", "an answer to nothing is none")
}

func TestRequestStateIsBoundToCallAndCaller(t *testing.T) {
	who := func(r *http.Request) (auth.Principal, error) {
		return auth.Principal{Subject: r.Header.Get("X-Who"), Scopes: []string{auth.All}, Sets: []string{"*"}}, nil
	}
	same := seal.Random()
	server := func(limit time.Duration) *web {
		o := asking(t, func(o *mcpserver.Options) { o.AskTimeout, o.Seal = limit, same })
		return serveWeb(t, o, mcpserver.HTTPOptions{Authenticate: who})
	}
	w := server(time.Minute)
	post := func(subject, body string) answer {
		return w.post(body, modernHeader("tools/call", askTool, "X-Who", subject)...)
	}
	state := post("ann", again(`{}`, "")).one(t).round(t).RequestState
	yes := `{"colour":` + accept("colour", "blue") + `}`
	refused := func(a answer, path string) {
		t.Helper()
		require.Equal(t, http.StatusBadRequest, a.status, a.body)
		r := a.one(t)
		require.NotNil(t, r.Error, a.body)
		require.Equal(t, mcp.INVALID_PARAMS, r.Error.Code)
		require.Equal(t, string(fault.InvalidPayload), r.Error.Data.Code)
		require.Contains(t, a.body, `"path":"`+path)
	}
	refused(post("bob", again(`{}`, withState(state, yes))), "/requestState")
	refused(post("ann", again(`{"size":false}`, withState(state, yes))), "/requestState")
	refused(post("ann", again(`{}`, withState(state+"-TAMPERED", yes))), "/requestState")
	refused(post("ann", again(`{}`, withState("", yes))), "/requestState")
	refused(post("ann", again(`{}`, `"requestState":7,`)), "/requestState")
	refused(post("ann", again(`{}`, `"requestState":{"forged":true},`)), "/requestState")
	refused(post("ann", again(`{}`, withState(state, `[]`))), "/inputResponses")
	refused(post("ann", again(`{}`, withState(state, `{"colour":12,"a/b":null}`))), "/inputResponses/a~1b")
	f := post("ann", again(`{}`, withState(state, `{"colour":{"action":"accept","content":{"colour":1}}}`))).one(t).tool(t).failure(t)
	require.Equal(t, fault.UpstreamError, f.Error.Code)
	for range 2 { // it may be presented twice: what may happen once only says so itself
		post("ann", again(`{}`, withState(state, yes))).one(t).tool(t)
	}
	w = server(time.Millisecond) // another replica: post goes there now
	state = post("ann", again(`{}`, "")).one(t).round(t).RequestState
	time.Sleep(2 * time.Millisecond)
	late := post("ann", again(`{}`, withState(state, yes)))
	refused(late, "/requestState")
	require.Contains(t, late.body, "the time to answer has run out")
}

func TestDisconnectEndsQuestions(t *testing.T) {
	w := dial(t, asking(t, nil))
	w.hello("2025-11-25", forms)
	w.call(callAsk("1", `{}`)).question(t, "elicitation/create")
	w.close() // nobody can answer any more
	f := w.next().tool(t).failure(t)
	require.Equal(t, fault.Cancelled, f.Error.Code)
	require.NoError(t, <-w.done)
}

func TestDocumentMayAsk(t *testing.T) {
	w := dial(t, asking(t, nil))
	w.hello("2025-11-25", forms)
	q := w.call(`{"jsonrpc":"2.0","id":1,"method":"resources/read","params":{"uri":"koan://asks"}}`)
	q.question(t, "elicitation/create")
	r := w.call(`{"jsonrpc":"2.0","id":` + string(q.ID) + `,"result":` + accept("colour", "blue") + `}`)
	require.Contains(t, string(r.Result), `{\"colour\":\"blue\"}`)

	read := func(more string) reply {
		return w.call(`{"jsonrpc":"2.0","id":2,"method":"resources/read","params":{"uri":"koan://asks",` + more + modern(forms) + `}}`)
	}
	state := read("").round(t).RequestState
	r = read(withState(state, `{"colour":`+accept("colour", "red")+`}`))
	require.Contains(t, string(r.Result), `{\"colour\":\"red\"}`)
}
