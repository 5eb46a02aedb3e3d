package mcpserver

import (
	"bufio"
	"context"
	"encoding/json"
	"io"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/koan-go/koan/framework/auth"
	"github.com/koan-go/koan/framework/catalog"
	"github.com/koan-go/koan/framework/run"
)

// within serves one operation over pipes inside a bubble of fake time.
func within(t *testing.T, o Options, handler catalog.Handler, f func(send func(string), next func() string, quit func())) {
	synctest.Test(t, func(t *testing.T) {
		snap, err := catalog.NewSnapshot(catalog.Offer{Operations: []*catalog.Operation{{
			ID:       catalog.PluginID("Lab", "work"),
			Contract: catalog.Contract{Input: json.RawMessage(`{"type":"object"}`), Output: json.RawMessage(`{}`)},
			Listing:  catalog.Listing{Reach: catalog.Everywhere},
			Work:     catalog.Work{Handler: handler},
		}}})
		require.NoError(t, err)
		o.Name, o.Version, o.Engine, o.Principal = "lab", "1", run.NewEngine(run.Options{}), auth.Local()
		o.Catalog = func() *catalog.Snapshot { return snap }
		s, err := New(o)
		require.NoError(t, err)
		inR, inW := io.Pipe()
		outR, outW := io.Pipe()
		done := make(chan error, 1)
		go func() { done <- s.ServeStdio(t.Context(), inR, outW); _ = outW.Close() }()
		lines := bufio.NewReader(outR)
		f(func(l string) {
			_, err := io.WriteString(inW, l+"\n")
			require.NoError(t, err)
		}, func() string {
			l, err := lines.ReadString('\n')
			require.NoError(t, err)
			return l
		}, func() { _ = inW.Close(); require.NoError(t, <-done) })
	})
}

func workLine(id, extra string) string {
	return `{"jsonrpc":"2.0","id":` + id + `,"method":"tools/call","params":{"name":"lab.work"` + extra + `}}`
}

// A handler that ignores its context cannot keep a client waiting, but it keeps
// its place among the running calls.
func TestStuckHandlerKeepsItsSlot(t *testing.T) {
	within(t, Options{Live: Live{QueueMax: 1, ToolTimeout: time.Second}}, func(ctx context.Context, c catalog.Call) (json.RawMessage, error) {
		time.Sleep(time.Hour)
		return nil, ctx.Err()
	}, func(send func(string), next func() string, quit func()) {
		begun := time.Now()
		send(workLine("1", ""))
		require.Contains(t, next(), "tool_timeout")
		require.Equal(t, time.Second+settle, time.Since(begun))
		send(workLine("2", ""))
		require.Contains(t, next(), "queue_overloaded")
		time.Sleep(2 * time.Hour)
		send(workLine("3", ""))
		require.Contains(t, next(), "tool_timeout", "the place is free again")
		time.Sleep(2 * time.Hour)
		quit()
	})
}

func TestProgressIsThrottledAndFlushed(t *testing.T) {
	within(t, Options{}, func(_ context.Context, c catalog.Call) (json.RawMessage, error) {
		for i := range 10 { // ten reports in 90 ms, then silence
			c.Progress(float64(i+1), 0, "")
			time.Sleep(10 * time.Millisecond)
		}
		time.Sleep(time.Second)
		c.Progress(5, 0, "backwards")
		c.Progress(20, 0, "")
		c.Progress(25, 0, "overtaken")
		c.Progress(30, 0, "the last step")
		return json.RawMessage(`{}`), nil
	}, func(send func(string), next func() string, quit func()) {
		begun := time.Now()
		send(workLine("1", `,"_meta":{"progressToken":"p"}`))
		at := func(l, progress string, when time.Duration) {
			require.Contains(t, l, `"progress":`+progress+`,`)
			require.NotContains(t, l, "backwards")
			require.Equal(t, when, time.Since(begun), l)
		}
		at(next(), "1", 0)
		at(next(), "10", 100*time.Millisecond)
		at(next(), "20", 1100*time.Millisecond)
		at(next(), "30", 1100*time.Millisecond)
		require.Contains(t, next(), `"result"`)
		require.Equal(t, 1100*time.Millisecond+progressGap, time.Since(begun), "apart from the last progress")
		quit()
	})
}

func TestNoProgressAfterACancel(t *testing.T) {
	within(t, Options{}, func(ctx context.Context, c catalog.Call) (json.RawMessage, error) {
		c.Progress(1, 0, "")
		c.Progress(2, 0, "waits for its time")
		<-ctx.Done()
		time.Sleep(time.Second)
		c.Progress(3, 0, "")
		return nil, ctx.Err()
	}, func(send func(string), next func() string, quit func()) {
		send(workLine("1", `,"_meta":{"progressToken":"p"}`))
		require.Contains(t, next(), `"progress":1,`)
		send(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}`)
		time.Sleep(5 * time.Second)
		send(`{"jsonrpc":"2.0","id":2,"method":"ping"}`)
		require.Contains(t, next(), `"id":2`)
		quit()
	})
}

// At the end of the input, running calls have Options.Grace to finish.
func TestGrace(t *testing.T) {
	within(t, Options{Limits: Limits{Grace: 3 * time.Second}}, func(ctx context.Context, _ catalog.Call) (json.RawMessage, error) {
		<-ctx.Done()
		return nil, ctx.Err()
	}, func(send func(string), next func() string, quit func()) {
		begun := time.Now()
		send(workLine("1", ""))
		go quit()
		require.Contains(t, next(), `cancelled`)
		require.Equal(t, 3*time.Second, time.Since(begun))
	})
}

// A client that stops reading cannot keep the server from ending.
func TestClientThatNeverReads(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := echoServer(t)
		_, outW := io.Pipe()
		begun := time.Now()
		err := s.ServeStdio(t.Context(), strings.NewReader(`{"jsonrpc":"2.0","id":1,"method":"ping"}`), outW)
		require.ErrorIs(t, err, errAbandoned)
		require.Equal(t, s.opts.Grace, time.Since(begun))
		_ = outW.Close()
	})
}

func BenchmarkCall(b *testing.B) {
	s := echoServer(b)
	input := json.RawMessage(`{"x":1}`)
	b.Run("engine", func(b *testing.B) {
		v := peer{principal: auth.Local()}.view(s)
		for b.Loop() {
			if _, _, err := s.opts.Engine.Invoke(context.Background(), run.Request{View: v, Principal: auth.Local(), ID: catalog.PluginID("Echo", "say"), Input: input}); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("stdio", func(b *testing.B) {
		inR, inW := io.Pipe()
		outR, outW := io.Pipe()
		go func() { _ = s.ServeStdio(context.Background(), inR, outW) }()
		lines := bufio.NewReader(outR)
		line := []byte(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"echo.say","arguments":{"x":1}}}` + "\n")
		for b.Loop() {
			_, _ = inW.Write(line)
			if _, err := lines.ReadSlice('\n'); err != nil {
				b.Fatal(err)
			}
		}
		_ = inW.Close()
	})
}
