package mcpserver_test

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/koan-go/koan/framework/auth"
	"github.com/koan-go/koan/framework/catalog"
	"github.com/koan-go/koan/framework/exposure"
	"github.com/koan-go/koan/framework/fault"
	"github.com/koan-go/koan/framework/internal/mcpserver"
	"github.com/koan-go/koan/framework/run"
)

// garden is a provider with operations of several kinds: an entity's, a slow
// one, failing ones, one of a plugin, one of code mode.
type garden struct {
	started chan struct{}      // one for each call of slow that began
	stopped chan error         // why the context of a call of slow ended
	release chan struct{}      // lets calls of slow and stuck end
	extra   *catalog.Operation // offered as well
	page    *catalog.Document  // and this
}

func newGarden() *garden {
	return &garden{started: make(chan struct{}, 1000), stopped: make(chan error, 1000), release: make(chan struct{})}
}

func object(s string) json.RawMessage { return json.RawMessage(`{"type":"object",` + s + `}`) }

func (g *garden) offer() catalog.Offer {
	anything := object(`"properties":{}`)
	ops := []*catalog.Operation{
		{
			ID: catalog.EntityID("Plant", "get-by-id"), Resource: "Plant",
			Contract: catalog.Contract{
				Input:   object(`"properties":{"id":{"type":"string"},"set":{"type":"string"}},"required":["id"],"additionalProperties":false`),
				Output:  object(`"$schema":"https://json-schema.org/draft/2020-12/schema","$defs":{"Id":{"type":"string"}},"properties":{"id":{"$ref":"#/$defs/Id"},"name":{"type":"string"},"beside":{"$ref":"#"}},"required":["id","name"],"additionalProperties":false`),
				Example: json.RawMessage(`{"id": "p1"}`), Effects: catalog.Effects{ReadOnly: true},
			},
			Listing: catalog.Listing{Title: "Get a plant", Summary: "Gives one plant by its id.", Reach: catalog.Everywhere},
			Work: catalog.Work{
				Serial: true,
				Handler: func(_ context.Context, c catalog.Call) (json.RawMessage, error) {
					var in struct{ ID string }
					if err := json.Unmarshal(c.Input(), &in); err != nil {
						return nil, err
					}
					if in.ID != "p1" {
						return nil, fault.Newf(fault.NotFound, "there is no plant %q", in.ID).WithPath("/id")
					}
					return json.RawMessage(`{ "id": "p1", "name": "Basil <green>" }`), nil
				},
			},
		},
		{
			ID: catalog.EntityID("Plant", "delete"), Resource: "Plant",
			Contract: catalog.Contract{
				Input: object(`"properties":{"id":{"type":"string"},"force":{"type":"boolean"}},"required":["id"]`), Output: object(`"properties":{"deleted":{"type":"integer"}}`),
				Effects: catalog.Effects{Destructive: true, Idempotent: true},
			},
			Listing: catalog.Listing{Title: "Delete a plant", Summary: "Deletes one plant.", Reach: catalog.Everywhere},
			Work: catalog.Work{
				Serial: true,
				Handler: func(context.Context, catalog.Call) (json.RawMessage, error) {
					return json.RawMessage(`{"deleted":1}`), nil
				},
			},
		},
		{
			ID: catalog.EntityID("Note", "count"), Resource: "Note",
			Contract: catalog.Contract{
				Input: anything, Output: object(`"properties":{"count":{"type":"integer"}}`), Effects: catalog.Effects{ReadOnly: true},
			},
			Listing: catalog.Listing{Title: "Count notes", Summary: "Counts notes.", Exposure: exposure.Tools, Reach: catalog.Everywhere},
			Work: catalog.Work{
				Handler: func(context.Context, catalog.Call) (json.RawMessage, error) {
					return json.RawMessage(`{"count":2}`), nil
				},
			},
		},
		{
			ID: catalog.PluginID("Lab", "slow"),
			Contract: catalog.Contract{
				Input: anything, Output: anything,
				Effects: catalog.Effects{Outside: true, ReadOnly: true},
			},
			Listing: catalog.Listing{Summary: "Takes until it is released.", Reach: catalog.Everywhere},
			Work: catalog.Work{
				Handler: func(ctx context.Context, c catalog.Call) (json.RawMessage, error) {
					g.started <- struct{}{}
					select {
					case <-g.release:
						return json.RawMessage(`{"slow":true}`), nil
					case <-ctx.Done():
						g.stopped <- context.Cause(ctx)
						return nil, ctx.Err()
					}
				},
			},
		},
		{
			ID:       catalog.PluginID("Lab", "steps"),
			Contract: catalog.Contract{Input: anything, Output: anything, Effects: catalog.Effects{ReadOnly: true}},
			Listing: catalog.Listing{
				Summary: "Reports its progress.",
				Reach:   catalog.Everywhere,
			},
			Work: catalog.Work{
				Handler: func(_ context.Context, c catalog.Call) (json.RawMessage, error) {
					for i := range 50 {
						c.Progress(float64(i+1), 50, fmt.Sprintf("step %d", i+1))
						c.Progress(float64(i), 50, "backwards")
						time.Sleep(5 * time.Millisecond)
					}
					go func() { time.Sleep(20 * time.Millisecond); c.Progress(1000, 0, "too late") }()
					return json.RawMessage(`{"steps":50}`), nil
				},
			},
		},
		{
			ID:       catalog.PluginID("Lab", "fail"),
			Contract: catalog.Contract{Input: object(`"properties":{"how":{"type":"string"}}`), Output: anything},
			Listing: catalog.Listing{
				Summary: "Fails in many ways.",
				Reach:   catalog.Everywhere,
			},
			Work: catalog.Work{
				Handler: func(_ context.Context, c catalog.Call) (json.RawMessage, error) {
					var in struct{ How string }
					_ = json.Unmarshal(c.Input(), &in)
					switch in.How {
					case "panic":
						panic("greenhouse")
					case "plain":
						return nil, errors.New("the password is hunter2")
					case "broken":
						return json.RawMessage(`{"broken":`), nil
					case "number":
						return json.RawMessage(`42`), nil
					case "unknown id":
						return nil, fault.New(fault.ToolNotFound, "there is no such operation").WithPath("/how")
					}
					return nil, fault.New(fault.Conflict, "somebody was faster")
				},
			},
		},
		{
			ID: catalog.CodeID("koan", "execute"),
			Contract: catalog.Contract{
				Input:  object(`"properties":{"code":{"type":"string"}},"required":["code"]`),
				Output: object(`"properties":{"success":{"const":true}}`), Effects: catalog.Effects{Destructive: true},
			},
			Listing: catalog.Listing{
				Title: "Run a script", Summary: "Runs a script.", Reach: catalog.ReachTools,
				Describe: func(v *catalog.View) string { return "Runs a script. Mode " + string(v.Mode()) + "." },
			},
			Work: catalog.Work{
				Handler: func(ctx context.Context, c catalog.Call) (json.RawMessage, error) {
					r, err := run.Open(ctx, run.Spec{Atomic: true})
					if err != nil {
						return nil, err
					}
					r.Annotate("cpuMs", 3)
					r.Annotate("peakMemoryBytes", 1<<20)
					var in struct{ Code string }
					_ = json.Unmarshal(c.Input(), &in)
					_, err = r.Execute(ctx, func(ctx context.Context, a *run.Attempt) (run.Return, error) {
						_, err := a.Invoke(ctx, a.Next(), catalog.EntityID("Plant", "get-by-id"), json.RawMessage(in.Code))
						return run.Return{}, err
					})
					if err != nil {
						f := fault.From(err)
						body, _ := json.Marshal(map[string]any{"success": false, "error": f, "committed": false, "calls": []any{}, "logs": []any{}, "outsideEffects": []any{}})
						return body, f
					}
					return json.RawMessage(`{"success":true,"answer":"ok"}`), nil
				},
			},
		},
		{
			ID:       catalog.CodeID("gateway", "search"),
			Contract: catalog.Contract{Input: anything, Output: anything},
			Listing:  catalog.Listing{Summary: "Is switched off.", Reach: 0},
			Work: catalog.Work{
				Decode: func(catalog.Input) (catalog.Decoded, error) {
					return catalog.Decoded{}, fault.New(fault.CodeModeDisabled, "")
				},
				Handler: func(context.Context, catalog.Call) (json.RawMessage, error) { return nil, nil },
			},
		},
	}
	if g.extra != nil {
		ops = append(ops, g.extra)
	}
	var pages []*catalog.Document
	if g.page != nil {
		pages = append(pages, g.page)
	}
	return catalog.Offer{
		Operations: ops,
		Resources: []*catalog.Resource{
			{Name: "Plant", Description: "A plant.", Key: catalog.Field{Name: "id", Type: catalog.TypeID}, Operations: []string{"get-by-id", "delete"}},
			{Name: "Note", Description: "A note.", Key: catalog.Field{Name: "id", Type: catalog.TypeID}, Operations: []string{"count"}},
		},
		Documents: append(pages, []*catalog.Document{
			{
				URI: "koan://sdk/koan.d.ts", Name: "SDK", Description: "All declarations.", MIME: "text/x-typescript",
				Read: func(_ context.Context, v *catalog.View, _ string) ([]byte, error) {
					return []byte("declare namespace SDK {} // " + string(v.Mode())), nil
				},
			},
			{
				URI: "koan://sdk/{entity}.d.ts", Name: "Entity", Description: "One entity.", MIME: "text/x-typescript", Template: true,
				List: func(v *catalog.View) []string {
					var out []string
					for _, r := range v.Resources() {
						out = append(out, r.Name)
					}
					return out
				},
				Read: func(_ context.Context, _ *catalog.View, name string) ([]byte, error) {
					return []byte("interface " + name + " {}"), nil
				},
			},
		}...),
	}
}

func (g *garden) snapshot(t testing.TB) *catalog.Snapshot {
	t.Helper()
	s, err := catalog.NewSnapshot(g.offer())
	require.NoError(t, err)
	return s
}

func options(t testing.TB, g *garden) mcpserver.Options {
	t.Helper()
	snap := g.snapshot(t)
	quiet := slog.New(slog.NewTextHandler(io.Discard, nil))
	return mcpserver.Options{
		Name: "garden", Version: "1.2.3", Instructions: "Water daily.", Engine: run.NewEngine(run.Options{Log: quiet}),
		Catalog: func() *catalog.Snapshot { return snap }, Principal: auth.Local(), Log: quiet,
		CodeMode: mcpserver.CodeMode{Runtime: "goja", Faces: []string{"koan"}, CodeInstructions: "Or by script."},
	}
}

// wire is a raw client on the other end of two pipes.
type wire struct {
	t      testing.TB
	server *mcpserver.Server
	in     io.Writer
	lines  chan []byte // what the server wrote; closed when it ended
	done   chan error  // what ServeStdio returned
	cancel context.CancelFunc
	close  func()
}

func dial(t testing.TB, o mcpserver.Options) *wire {
	t.Helper()
	s, err := mcpserver.New(o)
	require.NoError(t, err)
	inR, inW := io.Pipe()
	outR, outW := io.Pipe()
	ctx, cancel := context.WithCancel(context.Background())
	w := &wire{t: t, server: s, in: inW, lines: make(chan []byte, 10000), done: make(chan error, 1), cancel: cancel}
	w.close = sync.OnceFunc(func() { _ = inW.Close() })
	go func() {
		w.done <- s.ServeStdio(ctx, inR, outW)
		_ = outW.Close()
	}()
	go func() {
		defer close(w.lines)
		sc := bufio.NewScanner(outR)
		sc.Buffer(nil, 64<<20)
		for sc.Scan() {
			w.lines <- append([]byte{}, sc.Bytes()...)
		}
	}()
	t.Cleanup(func() { cancel(); w.close(); _ = outR.Close() })
	return w
}

func (w *wire) send(lines ...string) {
	w.t.Helper()
	for _, l := range lines {
		_, err := io.WriteString(w.in, l+"\n")
		require.NoError(w.t, err)
	}
}

// reply is any message from the server.
type reply struct {
	ID     json.RawMessage `json:"id"`
	Method string          `json:"method"`
	Params json.RawMessage `json:"params"`
	Result json.RawMessage `json:"result"`
	Error  *struct {
		Code    int    `json:"code"`
		Message string `json:"message"`
		Data    struct {
			Code    string          `json:"code"`
			Hint    string          `json:"hint"`
			Path    string          `json:"path"`
			Details json.RawMessage `json:"details"`
		} `json:"data"`
	} `json:"error"`
	raw []byte
}

func (w *wire) next() reply {
	w.t.Helper()
	select {
	case l, ok := <-w.lines:
		require.True(w.t, ok, "the server ended")
		return decode(w.t, l)
	case <-time.After(10 * time.Second):
		require.FailNow(w.t, "no answer")
	}
	return reply{}
}

func decode(t testing.TB, l []byte) reply {
	t.Helper()
	var r reply
	require.NoError(t, json.Unmarshal(l, &r), "%s", l)
	r.raw = l
	if r.Error != nil {
		require.NotEmpty(t, r.Error.Data.Code, "an error without data.code: %s", l)
	}
	return r
}

// silent checks that the server says nothing for a while.
func (w *wire) silent(d time.Duration) {
	w.t.Helper()
	select {
	case l, ok := <-w.lines:
		if ok {
			require.FailNow(w.t, "unexpected: "+string(l))
		}
	case <-time.After(d):
	}
}

func (w *wire) call(line string) reply {
	w.t.Helper()
	w.send(line)
	return w.next()
}

// hello makes the handshake of the older era.
func (w *wire) hello(version, capabilities string) reply {
	w.t.Helper()
	if capabilities == "" {
		capabilities = "{}"
	}
	r := w.call(`{"jsonrpc":"2.0","id":"hello","method":"initialize","params":{"protocolVersion":"` + version + `","capabilities":` + capabilities + `,"clientInfo":{"name":"wire","version":"0"}}}`)
	require.Nil(w.t, r.Error)
	w.send(`{"jsonrpc":"2.0","method":"notifications/initialized"}`)
	return r
}

// modern is the `_meta` of a request of the newer era.
func modern(capabilities string) string {
	return `"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientInfo":{"name":"wire","version":"0"},"io.modelcontextprotocol/clientCapabilities":` + capabilities + `}`
}

type toolResult struct {
	Content []struct{ Type, Text string } `json:"content"`
	Data    json.RawMessage               `json:"structuredContent"`
	IsError bool                          `json:"isError"`
	Meta    map[string]json.RawMessage    `json:"_meta"`
}

func (r reply) tool(t testing.TB) toolResult {
	t.Helper()
	require.Nil(t, r.Error, "%s", r.raw)
	var out toolResult
	require.NoError(t, json.Unmarshal(r.Result, &out))
	require.Len(t, out.Content, 1)
	require.Equal(t, "text", out.Content[0].Type)
	require.JSONEq(t, string(out.Data), out.Content[0].Text)
	return out
}

type failure struct {
	Success   *bool        `json:"success"`
	Error     *fault.Fault `json:"error"`
	TimeoutMs int          `json:"timeoutMs"`
}

func (r toolResult) failure(t testing.TB) failure {
	t.Helper()
	require.True(t, r.IsError, "%s", r.Data)
	var f failure
	require.NoError(t, json.Unmarshal(r.Data, &f))
	require.NotNil(t, f.Success)
	require.False(t, *f.Success)
	require.NotEmpty(t, f.Error.Hint)
	return f
}

func names(t testing.TB, r reply) []string {
	t.Helper()
	require.Nil(t, r.Error, "%s", r.raw)
	var out struct{ Tools []struct{ Name string } }
	require.NoError(t, json.Unmarshal(r.Result, &out))
	got := []string{}
	for _, tool := range out.Tools {
		got = append(got, tool.Name)
	}
	return got
}
