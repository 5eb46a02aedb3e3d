package upstream

import (
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
	"github.com/mark3labs/mcp-go/client/transport"
	"github.com/mark3labs/mcp-go/mcp"

	"github.com/koan-go/koan/plugins/upstream/internal/signin"
)

// connection is one session with a server.
type connection struct {
	client  *client.Client
	process *process // nil over HTTP
	about   about
	secrets secrets

	mu       sync.Mutex
	progress map[string]func(done, total float64, message string) // by token
	tokens   int
	waiting  map[string]context.CancelCauseFunc // requests without a response, by id
	inflight map[*inflight]struct{}             // calls without a result
	listed   []json.RawMessage                  // tools, as the server listed them last
	changes  int                                // how often the server has said that its lists have changed
	listedAt int                                // changes when listed was asked for
	begun    int                                // calls so far
	sending  sync.WaitGroup                     // notifications on their way
}

// about is a server's description of itself.
type about struct {
	Name        string `json:"name"`
	Version     string `json:"version,omitempty"`
	Description string `json:"description,omitempty"`
	Protocol    string `json:"protocol"`
	// Resources and Prompts say what it has besides tools.
	Resources bool `json:"resources,omitempty"`
	Prompts   bool `json:"prompts,omitempty"`

	tools bool // it declares tools
	lists bool // it says when its lists of tools or prompts change
}

// offered is what of it reaches the catalog.
func (a about) offered() about {
	a.Protocol, a.tools, a.lists = "", false, false
	return a
}

// probe bounds the request by which servers of 2026-07-28 are distinguished from older
// ones, which may not respond to it.
const probe = 2 * time.Second

// connect opens a session, within ctx; life is the context of the session. Requests over
// HTTP have the token of the credentials; nil sends none. changed is called when the server
// notifies that its list of tools has changed; it must not block.
func connect(ctx, life context.Context, c *Config, credentials *signin.Credentials, version string, changed func()) (*connection, error) {
	r, err := c.resolve()
	if err != nil {
		return nil, err
	}
	r.secrets.tokens = credentials
	conn, err := open(ctx, life, c, r, version, false, changed)
	if err == nil && conn.process == nil && c.Transport == "" && conn.about.lists && !mcp.IsModernProtocol(conn.about.Protocol) {
		// Servers before 2026-07-28 send notifications over a second connection, which
		// the client library opens at the start or never.
		conn.close()
		conn, err = open(ctx, life, c, r, version, true, changed)
	}
	if err != nil {
		return nil, &explained{text: r.secrets.redact(reasonOf(err)), err: err}
	}
	return conn, nil
}

func open(ctx, life context.Context, c *Config, r *resolved, version string, listen bool, changed func()) (*connection, error) {
	conn := &connection{secrets: r.secrets, progress: map[string]func(float64, float64, string){}, inflight: map[*inflight]struct{}{}, waiting: map[string]context.CancelCauseFunc{}}
	t, err := conn.dial(c, r, listen)
	if err != nil {
		return nil, err
	}
	opts := []client.ClientOption{client.WithDiscoverTimeout(probe)}
	if c.Transport != "sse" { // on which the client library reads no requests
		opts = append(opts, client.WithElicitationHandler(asker{conn}), client.WithSamplingHandler(asker{conn}))
	}
	conn.client = client.NewClient(t, opts...)
	conn.client.OnNotification(func(n mcp.JSONRPCNotification) { conn.notified(n, changed) })
	if err := conn.client.Start(life); err != nil {
		conn.close()
		return nil, err
	}
	var req mcp.InitializeRequest
	req.Params.ClientInfo = mcp.Implementation{Name: "koan", Version: version}
	result, err := conn.client.Initialize(ctx, req)
	if err != nil {
		if ctx.Err() != nil && conn.process != nil {
			err = conn.process.late(context.Cause(ctx))
		} else {
			err = conn.why(ctx, err)
		}
		conn.close()
		return nil, err
	}
	conn.about = about{
		Name: plainText(result.ServerInfo.Name, 100), Version: plainText(result.ServerInfo.Version, 50), Protocol: conn.client.ProtocolVersion(),
		Description: plainText(firstSentence(result.Instructions), 300), tools: result.Capabilities.Tools != nil, lists: announcesChanges(&result.Capabilities),
		Resources: result.Capabilities.Resources != nil, Prompts: result.Capabilities.Prompts != nil,
	}
	if conn.about.lists && mcp.IsModernProtocol(conn.about.Protocol) {
		_, _ = conn.client.ListenAsync(life, mcp.SubscriptionFilter{ToolsListChanged: true, PromptsListChanged: conn.about.Prompts}, nil) // a server that refuses is asked at the next connection
	}
	return conn, nil
}

// announcesChanges reports whether a server says when its tools or its prompts change.
func announcesChanges(c *mcp.ServerCapabilities) bool {
	return c.Tools != nil && c.Tools.ListChanged || c.Prompts != nil && c.Prompts.ListChanged
}

// silent is the log of the client library: what matters of it becomes an error here.
var silent = slog.New(slog.DiscardHandler)

// dial makes the transport.
func (conn *connection) dial(c *Config, r *resolved, listen bool) (transport.Interface, error) {
	if len(c.Command) > 0 {
		p, err := startProcess(r)
		if err != nil {
			return nil, err
		}
		conn.process = p
		p.out.unread = conn.unreadable
		return recorder{p.transport(), conn}, nil
	}
	httpClient := newHTTPClient(r.headers, r.secrets)
	if c.Transport == "sse" {
		t, err := transport.NewSSE(r.url, transport.WithHTTPClient(httpClient), transport.WithEndpointTimeout(c.Start), transport.WithSSELogger(silent))
		return recorder{t, conn}, err
	}
	opts := []transport.StreamableHTTPCOption{transport.WithHTTPBasicClient(httpClient), transport.WithHTTPLogger(silent)}
	if listen {
		//lint:ignore SA1019 servers before 2026-07-28 have no other way to send notifications
		opts = append(opts, transport.WithContinuousListening())
	}
	t, err := transport.NewStreamableHTTP(r.url, opts...)
	return &httpRecorder{recorder: recorder{t, conn}, stream: t, url: r.url, client: httpClient}, err
}

// notified handles a notification. It must not block, since the client library reads
// nothing else meanwhile.
func (conn *connection) notified(n mcp.JSONRPCNotification, changed func()) {
	switch n.Method {
	case string(mcp.MethodNotificationToolsListChanged), string(mcp.MethodNotificationPromptsListChanged):
		conn.mu.Lock()
		conn.changes++
		conn.mu.Unlock()
		changed()
	case "notifications/progress":
		fields := n.Params.AdditionalFields
		token, _ := fields["progressToken"].(string)
		done, _ := fields["progress"].(float64)
		total, _ := fields["total"].(float64)
		message, _ := fields["message"].(string)
		conn.mu.Lock()
		report := conn.progress[token]
		conn.mu.Unlock()
		if report != nil {
			report(done, total, plainText(conn.secrets.redact(message), 300))
		}
	}
}

// call calls a tool. It returns the server's result, or its error.
func (conn *connection) call(ctx context.Context, c *inflight, input json.RawMessage, report func(done, total float64, message string)) (json.RawMessage, *mcp.JSONRPCErrorDetails, error) {
	ctx, end := conn.begin(ctx, c)
	defer end()
	conn.mu.Lock()
	conn.tokens++
	token := fmt.Sprintf("call-%d", conn.tokens)
	conn.progress[token] = report
	conn.mu.Unlock()
	defer func() {
		conn.mu.Lock()
		delete(conn.progress, token)
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

// Bounds of a list of tools.
const (
	maxPages = 200
	maxTools = 5000
)

// tools lists the server's tools, each as the server describes it, and what is wrong with the
// list.
func (conn *connection) tools(ctx context.Context) (tools []json.RawMessage, wrong []string, err error) {
	if !conn.about.tools && mcp.IsModernProtocol(conn.about.Protocol) {
		return nil, nil, nil // older servers may have forgotten to declare them
	}
	list := toolList{seen: map[string]bool{}}
	cursors := map[string]bool{}
	cursor, size := "", 0
	for range maxPages {
		raw, next, err := conn.toolPage(ctx, cursor)
		switch {
		case err != nil:
			return nil, nil, err
		case raw == nil && next == "":
			return list.tools, list.wrong(), nil
		}
		for _, t := range raw {
			size += len(t)
		}
		if size > maxListing {
			return nil, nil, fmt.Errorf("its list of tools has more than %d bytes", maxListing)
		}
		list.add(raw)
		if next == "" || len(list.tools) > maxTools {
			break
		}
		if list.circular = cursors[next]; list.circular {
			break
		}
		cursors[next], cursor = true, next
	}
	if len(list.tools) > maxTools {
		list.tools = list.tools[:maxTools]
	}
	return list.tools, list.wrong(), nil
}

// toolPage lists one page of the tools, and where the next begins. It is empty if the server
// has no tools.
func (conn *connection) toolPage(ctx context.Context, cursor string) (tools []json.RawMessage, next string, err error) {
	var req mcp.ListToolsRequest
	req.Params.Cursor = mcp.Cursor(cursor)
	listed, a := withAnswer(ctx)
	_, err = conn.client.ListToolsByPage(listed, req)
	raw, refusal, err := a.take(err)
	switch {
	case refusal != nil && refusal.Code == mcp.METHOD_NOT_FOUND:
		return nil, "", nil
	case refusal != nil:
		return nil, "", fmt.Errorf("it refused to list its tools: %s", plainText(refusal.Message, 300))
	case err != nil:
		return nil, "", conn.why(ctx, err)
	}
	var page struct {
		Tools      []json.RawMessage `json:"tools"`
		NextCursor string            `json:"nextCursor"`
	}
	if err := json.Unmarshal(raw, &page); err != nil {
		return nil, "", fmt.Errorf("its list of tools cannot be read: %w", misread(err))
	}
	return compact(page.Tools), page.NextCursor, nil
}

// toolList joins the pages of a list of tools.
type toolList struct {
	tools    []json.RawMessage
	seen     map[string]bool // tools, as they are described
	equal    int             // how many were there already
	circular bool            // a page is said to come after itself
}

func (l *toolList) add(page []json.RawMessage) {
	for _, t := range page {
		if l.seen[string(t)] {
			l.equal++
			continue
		}
		l.seen[string(t)] = true
		l.tools = append(l.tools, t)
	}
}

// wrong says what is wrong with the list.
func (l *toolList) wrong() (out []string) {
	if l.circular {
		out = append(out, "its pages go in circles: the reading ended where one came again")
	}
	if l.equal > 0 {
		out = append(out, count(l.equal, "tool")+" that it lists again")
	}
	return out
}

// contentType is what the client library says of an answer that is neither JSON nor a stream
// of events.
var contentType = regexp.MustCompile(`^unexpected content type: *(.*)$`)

// reasonOf is the reason of a failure over HTTP, in place of the client library's words.
func reasonOf(err error) string {
	if status := (*statusError)(nil); errors.As(err, &status) {
		return status.Error()
	}
	if errors.Is(err, transport.ErrLegacySSEServer) {
		return "it answered the request for a session with an HTTP status from 400 to 499"
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
	return len(conn.progress) == 0
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
func (conn *connection) lost() bool { return conn.process != nil && conn.process.out.failure() != nil }

// close ends the session.
func (conn *connection) close() {
	conn.sending.Wait()
	if conn.client != nil {
		_ = conn.client.Close()
	}
	if conn.process != nil {
		conn.process.terminate()
	}
}
