package e2e

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/mark3labs/mcp-go/client"
	"github.com/mark3labs/mcp-go/client/transport"
	"github.com/mark3labs/mcp-go/mcp"
	"github.com/stretchr/testify/require"

	"github.com/koan-go/koan/tests/pgtest"
)

// balancer is a load balancer that knows nothing of what it carries: each request
// goes to the next server, and to the one after it where that cannot be reached.
type balancer struct {
	servers []*web
	next    atomic.Int64
	last    atomic.Int64 // the server that answered last
	served  sync.Map     // server -> *atomic.Int64
}

func (b *balancer) RoundTrip(r *http.Request) (*http.Response, error) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return nil, err
	}
	for range b.servers {
		i := int(b.next.Add(1)) % len(b.servers)
		to, _ := url.Parse(b.servers[i].url) // as the server said it
		out := r.Clone(r.Context())
		out.URL, out.Host, out.Body = to, to.Host, io.NopCloser(bytes.NewReader(body))
		var resp *http.Response
		if resp, err = http.DefaultTransport.RoundTrip(out); err == nil {
			b.last.Store(int64(i))
			n, _ := b.served.LoadOrStore(i, new(atomic.Int64))
			n.(*atomic.Int64).Add(1)
			return resp, nil
		}
	}
	return nil, err
}

// replicas are three servers of one app on one PostgreSQL behind a balancer, whose
// address it returns. Every write needs approval.
func replicas(t *testing.T) (*balancer, string) {
	t.Helper()
	b := &balancer{}
	place, secret := pgtest.Place(t), strings.Repeat("shared secret ", 3)
	for range 3 {
		a := newApp(t)
		a.env = append(a.env, "KOAN_DATABASE="+place, "KOAN_SERVER_SECRET="+secret)
		b.servers = append(b.servers, a.web("--server.replicas", "3", "--approval.mode", "writes"))
	}
	proxy := httptest.NewServer(&httputil.ReverseProxy{Rewrite: func(*httputil.ProxyRequest) {}, Transport: b, FlushInterval: -1})
	t.Cleanup(proxy.Close)
	return b, proxy.URL + "/mcp"
}

// person answers what a client is asked.
type person func(message string) bool

func (p person) Elicit(_ context.Context, r mcp.ElicitationRequest) (*mcp.ElicitationResult, error) {
	return &mcp.ElicitationResult{ElicitationResponse: mcp.ElicitationResponse{
		Action: mcp.ElicitationResponseActionAccept, Content: map[string]any{"approve": p(r.Params.Message)},
	}}, nil
}

// modernClient is a client of 2026-07-28 whose user is p.
func modernClient(t *testing.T, address string, p person) *client.Client {
	t.Helper()
	over, err := transport.NewStreamableHTTP(address)
	require.NoError(t, err)
	c := client.NewClient(over, client.WithElicitationHandler(p), client.WithProtocolVersion(mcp.LATEST_PROTOCOL_VERSION))
	require.NoError(t, c.Start(t.Context()))
	t.Cleanup(func() { _ = c.Close() })
	hello := mcp.InitializeRequest{}
	hello.Params.ClientInfo = mcp.Implementation{Name: "e2e", Version: "1"}
	_, err = c.Initialize(t.Context(), hello)
	require.NoError(t, err)
	return c
}

func callTool(c *client.Client, tool string, arguments any) (*mcp.CallToolResult, error) {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	r := mcp.CallToolRequest{}
	r.Params.Name, r.Params.Arguments = tool, arguments
	return c.CallTool(ctx, r)
}

// count is how many todos have a title.
func count(t *testing.T, c *client.Client, title string) float64 {
	t.Helper()
	r, err := callTool(c, "todo.count", input{"filter": input{"title": title}})
	require.NoError(t, err)
	require.False(t, r.IsError, "%v", r.Content)
	return r.StructuredContent.(map[string]any)["count"].(float64)
}

// A call is planned by one replica and approved by another; nothing of it is in the
// memory of either.
func TestAnyReplicaContinues(t *testing.T) {
	t.Parallel()
	b, address := replicas(t)
	var group sync.WaitGroup
	var asked atomic.Int64
	const clients, calls = 4, 3
	for n := range clients {
		c := modernClient(t, address, func(message string) bool {
			asked.Add(1)
			return !strings.Contains(message, "unwanted")
		})
		group.Go(func() {
			for i := range calls {
				r, err := callTool(c, "koan.code.execute", input{"code": fmt.Sprintf(`SDK.Entities.Todo.upsert({title: "client %d"}); %d`, n, i)})
				if err != nil || r.IsError {
					t.Errorf("client %d: %v %v", n, err, r)
				}
				r, err = callTool(c, "todo.upsert", input{"model": input{"title": "unwanted"}})
				if err != nil || !r.IsError {
					t.Errorf("client %d: %v %v", n, err, r)
				}
			}
		})
	}
	group.Wait()
	c := modernClient(t, address, nil)
	for n := range clients {
		require.EqualValues(t, calls, count(t, c, fmt.Sprintf("client %d", n)))
	}
	require.Zero(t, count(t, c, "unwanted"))
	require.EqualValues(t, clients*calls*2, asked.Load())
	for i := range b.servers {
		n, ok := b.served.Load(i)
		require.True(t, ok)
		require.Greater(t, n.(*atomic.Int64).Load(), int64(clients*calls))
	}
}

// The replica that made a plan is killed while the person thinks: another one
// finishes it, once.
func TestKilledReplicaLosesNoPlan(t *testing.T) {
	t.Parallel()
	b, address := replicas(t)
	killed := 0
	c := modernClient(t, address, func(string) bool {
		if killed < 2 { // of three
			victim := b.servers[b.last.Load()]
			if err := victim.cmd.Process.Kill(); err != nil {
				t.Error(err)
			}
			_ = victim.cmd.Wait()
			killed++
		}
		return true
	})
	for n := range 3 {
		title := fmt.Sprintf("plan %d", n)
		r, err := callTool(c, "koan.code.execute", input{"code": `SDK.Entities.Todo.upsert({title: SDK.args.title}); SDK.Out.answer("kept")`, "args": input{"title": title}})
		require.NoError(t, err)
		require.False(t, r.IsError, "%v", r.Content)
		require.Equal(t, "kept", r.StructuredContent.(map[string]any)["answer"])
		require.EqualValues(t, 1, count(t, c, title))
	}
	require.Equal(t, 2, killed)
}
