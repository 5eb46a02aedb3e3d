package upstream

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"regexp"
	"strings"
	"sync"
	"time"

	"github.com/mark3labs/mcp-go/client"
	"github.com/mark3labs/mcp-go/mcp"
)

// connection is one session with a server.
type connection struct {
	dialer  *dialer
	way     way
	client  *client.Client
	process *process // nil over HTTP
	about   about
	secrets secrets

	stop context.CancelFunc // what outlives the start

	mu       sync.Mutex
	progress progress
	ended    bool // the server does not know the session any more
	// requested handles the requests that come on a stream of events of the older HTTP transport.
	requested func(ctx context.Context, raw []byte)
	sending   sync.WaitGroup // notifications on their way

	requests requests
	calls    calls
	listed   listed
}

// progress is who is called with the progress of calls, by token.
type progress struct {
	report map[string]func(done, total float64, message string)
	tokens int // so far
}

func newConnection(d *dialer, hidden secrets, w way) *connection {
	return &connection{dialer: d, way: w, secrets: hidden, progress: progress{report: map[string]func(float64, float64, string){}}, calls: calls{inflight: map[*inflight]struct{}{}}, requests: requests{waiting: map[string]context.CancelCauseFunc{}}}
}

// about is a server's description of itself.
type about struct {
	Name        string `json:"name"`
	Version     string `json:"version,omitempty"`
	Description string `json:"description,omitempty"`
	// Protocol and Transport are how it was reached.
	Protocol  string `json:"protocol"`
	Transport string `json:"transport,omitempty"` // "sse" for the older one over HTTP
	// Resources and Prompts say what it has besides tools.
	Resources bool `json:"resources,omitempty"`
	Prompts   bool `json:"prompts,omitempty"`

	tools bool // it declares tools, or nothing at all, as if it had forgotten to
	lists bool // it says when its lists of tools or prompts change
}

// offered is what of it reaches the catalog.
func (a about) offered() about {
	a.Protocol, a.Transport, a.tools, a.lists = "", "", false, false
	return a
}

// probe bounds the request by which servers of 2026-07-28 are distinguished from older
// ones, which may not respond to it.
const probe = 2 * time.Second

// start begins the session.
func (conn *connection) start(ctx, life context.Context, r *resolved, listen bool) error {
	t, err := conn.transport(r, listen)
	if err != nil {
		return err
	}
	opts := []client.ClientOption{client.WithDiscoverTimeout(probe)}
	if conn.way.legacy {
		opts = append(opts, client.WithProtocolVersion(mcp.LATEST_LEGACY_PROTOCOL_VERSION))
	}
	opts = append(opts, client.WithElicitationHandler(asker{conn}), client.WithSamplingHandler(asker{conn}))
	conn.client = client.NewClient(t, opts...)
	conn.client.OnNotification(func(n mcp.JSONRPCNotification) { conn.notified(n, conn.dialer.changed) })
	life, conn.stop = context.WithCancel(life)
	unhook := context.AfterFunc(ctx, conn.stop)
	if err := conn.client.Start(life); !unhook() || err != nil {
		return cmp.Or(context.Cause(ctx), err)
	}
	var req mcp.InitializeRequest
	req.Params.ClientInfo = mcp.Implementation{Name: "koan", Version: conn.dialer.version}
	initializing, a := withAnswer(ctx)
	result, err := conn.client.Initialize(initializing, req)
	if err != nil {
		return a.why(err)
	}
	conn.about = describe(result)
	if conn.about.Protocol = conn.client.ProtocolVersion(); conn.way.events {
		conn.about.Transport = "sse"
	}
	if conn.about.lists && mcp.IsModernProtocol(conn.about.Protocol) {
		_, _ = conn.client.ListenAsync(life, mcp.SubscriptionFilter{ToolsListChanged: true, PromptsListChanged: conn.about.Prompts}, nil) // a server that refuses is asked at the next connection
	}
	return nil
}

// describe returns what a server says of itself.
func describe(r *mcp.InitializeResult) about {
	c := &r.Capabilities
	a := about{
		Name: plainText(r.ServerInfo.Name, 100), Version: plainText(r.ServerInfo.Version, 50), Description: plainText(firstSentence(r.Instructions), 300),
		Resources: c.Resources != nil, Prompts: c.Prompts != nil, lists: announcesChanges(c),
	}
	a.tools = c.Tools != nil || !a.Resources && !a.Prompts && c.Completions == nil && c.Logging == nil && c.Experimental == nil && c.Extensions == nil
	return a
}

// announcesChanges reports whether a server says when its tools or its prompts change.
func announcesChanges(c *mcp.ServerCapabilities) bool {
	return c.Tools != nil && c.Tools.ListChanged || c.Prompts != nil && c.Prompts.ListChanged
}

// silent is the log of the client library: what matters of it becomes an error here.
var silent = slog.New(slog.DiscardHandler)

// notified handles a notification. It must not block, since the client library reads
// nothing else meanwhile.
func (conn *connection) notified(n mcp.JSONRPCNotification, changed func()) {
	switch n.Method {
	case string(mcp.MethodNotificationToolsListChanged), string(mcp.MethodNotificationPromptsListChanged):
		conn.listed.announce()
		changed()
	case mcp.MethodNotificationSubscriptionsAcknowledged:
		conn.subscribed()
	case "notifications/progress":
		fields := n.Params.AdditionalFields
		token, _ := fields["progressToken"].(string)
		done, _ := fields["progress"].(float64)
		total, _ := fields["total"].(float64)
		message, _ := fields["message"].(string)
		conn.mu.Lock()
		report := conn.progress.report[token]
		conn.mu.Unlock()
		if report != nil {
			report(done, total, plainText(conn.secrets.redact(message), 300))
		}
	}
}

// subscribed lists again what may have changed before the server began to say so.
func (conn *connection) subscribed() {
	if conn.listed.subscribe() {
		conn.dialer.changed()
	}
}

// call calls a tool. It returns the server's result, or its error.
func (conn *connection) call(ctx context.Context, c *inflight, input json.RawMessage, report func(done, total float64, message string)) (json.RawMessage, *mcp.JSONRPCErrorDetails, error) {
	ctx, end := conn.calls.begin(ctx, c)
	defer end()
	conn.mu.Lock()
	conn.progress.tokens++
	token := fmt.Sprintf("call-%d", conn.progress.tokens)
	conn.progress.report[token] = report
	conn.mu.Unlock()
	defer func() {
		conn.mu.Lock()
		delete(conn.progress.report, token)
		conn.mu.Unlock()
	}()
	var req mcp.CallToolRequest
	req.Params.Name, req.Params.Arguments = c.tool, input
	req.Params.Meta = &mcp.Meta{ProgressToken: token}
	ctx, a := withAnswer(ctx)
	_, err := conn.client.CallTool(ctx, req)
	result, refusal, err := a.take(err)
	if err != nil {
		err = conn.why(ctx, err)
	}
	return result, refusal, err
}

// contentType is what the client library says of an answer that is neither JSON nor a stream
// of events.
var contentType = regexp.MustCompile(`^unexpected content type: *(.*)$`)

// reasonOf is the reason of a failure over HTTP, in place of the client library's words.
func reasonOf(err error) string {
	if status := (*statusError)(nil); errors.As(err, &status) {
		return status.Error()
	}
	text := withoutPrefixes(err.Error())
	m := contentType.FindStringSubmatch(text)
	switch {
	case m == nil:
		return text
	case m[1] == "":
		return "it answered without a content type, in place of JSON or a stream of events"
	}
	return "it answered with " + plainText(m[1], 100) + ", in place of JSON or a stream of events"
}

// withoutPrefixes removes what the client library puts before the reason of a failure.
func withoutPrefixes(text string) string {
	for _, prefix := range []string{"transport error: ", "failed to send request: "} {
		if rest, ok := strings.CutPrefix(text, prefix); ok {
			return withoutPrefixes(rest)
		}
	}
	return text
}

// why adds to a failure what the process knows about it.
func (conn *connection) why(ctx context.Context, err error) error {
	if conn.process == nil || ctx.Err() != nil {
		return err
	}
	err = conn.process.why(err)
	return &explained{text: conn.secrets.redact(err.Error()), err: err}
}

// idle reports whether no call is in flight.
func (conn *connection) idle() bool {
	conn.mu.Lock()
	defer conn.mu.Unlock()
	return len(conn.progress.report) == 0
}

// retire closes the session when the calls in flight have ended, and those that have just
// got it.
func (conn *connection) retire() {
	const pause = 100 * time.Millisecond
	for time.Sleep(pause); !conn.idle(); {
		time.Sleep(pause)
	}
	conn.close()
}

// lost reports whether the session is known to have ended.
func (conn *connection) lost() bool {
	conn.mu.Lock()
	defer conn.mu.Unlock()
	return conn.ended || conn.process != nil && conn.process.out.failure() != nil
}

// end notes that the server does not know the session any more.
func (conn *connection) end() {
	conn.mu.Lock()
	conn.ended = true
	conn.mu.Unlock()
	conn.listed.end()
}

// cut ends the session, and all requests that have no response.
func (conn *connection) cut() {
	conn.end()
	conn.requests.fail(errResponseCut)
}

// close ends the session.
func (conn *connection) close() {
	conn.sending.Wait()
	if conn.client != nil {
		_ = conn.client.Close()
		conn.stop()
	}
	if conn.process != nil {
		conn.process.terminate()
	}
}
