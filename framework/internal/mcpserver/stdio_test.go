package mcpserver_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/koan-go/koan/framework/fault"
)

func TestBrokenMessagesAreAnswered(t *testing.T) {
	for _, c := range []struct {
		name, line string
		rpc        int
		code       fault.Code
		id         string
	}{
		{"no JSON", `{"jsonrpc":`, -32700, fault.ParseError, `null`},
		{"garbage", `hello`, -32700, fault.ParseError, `null`},
		{"not UTF-8", "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"\xff\"}", -32700, fault.ParseError, `null`},
		{"a number", `42`, -32600, fault.InvalidRequest, `null`},
		{"null", `null`, -32600, fault.InvalidRequest, `null`},
		{"no version", `{"id":1,"method":"ping"}`, -32600, fault.InvalidRequest, `1`},
		{"another version", `{"jsonrpc":"1.0","id":1,"method":"ping"}`, -32600, fault.InvalidRequest, `1`},
		{"no method", `{"jsonrpc":"2.0","id":"x"}`, -32600, fault.InvalidRequest, `"x"`},
		{"a method that is no string", `{"jsonrpc":"2.0","id":1,"method":5}`, -32600, fault.InvalidRequest, `1`},
		{"an id of null", `{"jsonrpc":"2.0","id":null,"method":"ping"}`, -32600, fault.InvalidRequest, `null`},
		{"an id that is an object", `{"jsonrpc":"2.0","id":{},"method":"ping"}`, -32600, fault.InvalidRequest, `null`},
		{"params that are a list", `{"jsonrpc":"2.0","id":1,"method":"ping","params":[1]}`, -32600, fault.InvalidRequest, `1`},
		{"request and answer at once", `{"jsonrpc":"2.0","id":1,"method":"ping","result":{}}`, -32600, fault.InvalidRequest, `1`},
		{"an unknown method", `{"jsonrpc":"2.0","id":1,"method":"tools/dance"}`, -32601, fault.MethodNotFound, `1`},
		{"a method of a capability we lack", `{"jsonrpc":"2.0","id":1,"method":"tasks/list"}`, -32601, fault.MethodNotFound, `1`},
		{"a name in other letters", `{"jsonrpc":"2.0","id":1,"METHOD":"ping"}`, -32600, fault.InvalidRequest, `1`},
		{"a batch where there is none", `[{"jsonrpc":"2.0","id":1,"method":"ping"}]`, -32600, fault.InvalidRequest, `null`},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := dial(t, options(t, newGarden()))
			r := w.call(c.line)
			require.NotNil(t, r.Error, "%s", r.raw)
			require.Equal(t, c.rpc, r.Error.Code)
			require.Equal(t, string(c.code), r.Error.Data.Code)
			require.NotEmpty(t, r.Error.Data.Hint)
			require.Equal(t, c.id, string(r.ID))
			require.Nil(t, w.call(`{"jsonrpc":"2.0","id":2,"method":"ping"}`).Error, "the loop goes on")
		})
	}
}

func TestNotificationsGetNoResponse(t *testing.T) {
	w := dial(t, options(t, newGarden()))
	w.send(``, "\r", `{"jsonrpc":"2.0","method":"notifications/unknown"}`, `{"jsonrpc":"2.0","id":5,"result":{}}`, `{"jsonrpc":"2.0","id":5,"error":{}}`)
	w.silent(30 * time.Millisecond)
}

func TestLongLines(t *testing.T) {
	o := options(t, newGarden())
	o.MaxBufferBytes = 2000
	w := dial(t, o)
	long := strings.Repeat("x", 100_000)
	for _, c := range []struct{ line, id string }{
		{`{"method":"ping","params":{"x":"` + long + `"},"jsonrpc":"2.0","id":17}`, `17`},
		{`{"method":"ping","params":{"x":"` + long + `"},"jsonrpc":"2.0", "id" : "a-b" }`, `"a-b"`},
		{`{"jsonrpc":"2.0","id":18,"method":"ping","params":{"x":"` + long + `"}}`, `18`},
		{`{"id":"c","params":{"id":9,"method":"x"},"method":"ping","jsonrpc":"2.0","x":"` + long + `"}`, `"c"`},
		{`{"jsonrpc":"2.0","id":19,"result":{"x":"` + long + `"}}`, `null`},
		{`{"result":{"x":"` + long + `"},"jsonrpc":"2.0","id":19}`, `null`},
		{`{"jsonrpc":"2.0","id":19,"params":{"x":"` + long + `"},"method":"ping"}`, `null`},
		{long, `null`},
	} {
		r := w.call(c.line)
		require.Equal(t, -32600, r.Error.Code)
		require.Equal(t, string(fault.InvalidRequest), r.Error.Data.Code)
		require.JSONEq(t, `{"maxBufferBytes":2000}`, string(r.Error.Data.Details))
		require.Equal(t, c.id, string(r.ID))
		require.Nil(t, w.call(`{"jsonrpc":"2.0","id":2,"method":"ping"}`).Error, "the loop goes on")
	}
	exact := `{"jsonrpc":"2.0","id":3,"method":"ping","params":{"x":"` + strings.Repeat("x", 2000-58) + `"}}`
	require.Len(t, exact, 2000)
	require.Nil(t, w.call(exact).Error, "the limit itself is allowed")
	require.NotNil(t, w.call(exact[:60]+"x"+exact[60:]).Error)
}

func TestRequestIDsAreEchoedVerbatim(t *testing.T) {
	w := dial(t, options(t, newGarden()))
	for _, id := range []string{`0`, `-1`, `9007199254740993`, `""`, `"ü\n"`, `1.5`} {
		require.Equal(t, id, string(w.call(`{"jsonrpc":"2.0","id":`+id+`,"method":"ping"}`).ID))
		require.Equal(t, id, string(w.call(callLine(id, "plant.get-by-id", `{"id":"p1"}`)).ID))
	}
}

func TestQuickResponsesKeepOrder(t *testing.T) {
	w := dial(t, options(t, newGarden()))
	var lines []string
	for i := range 200 {
		lines = append(lines, fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"%s"}`, i, []string{"ping", "tools/list", "resources/list"}[i%3]))
	}
	go w.send(lines...)
	for i := range 200 {
		require.Equal(t, fmt.Sprint(i), string(w.next().ID))
	}
}

func TestOverload(t *testing.T) {
	g := newGarden()
	o := options(t, g)
	o.QueueMax = 20
	w := dial(t, o)
	w.hello("2025-11-25", "")
	for i := range 20 {
		w.send(callLine(fmt.Sprint(i), "lab.slow", `{}`))
	}
	for i := 20; i < 30; i++ {
		r := w.call(callLine(fmt.Sprint(i), "plant.get-by-id", `{"id":"p1"}`))
		require.Equal(t, -32001, r.Error.Code)
		require.Equal(t, string(fault.QueueOverloaded), r.Error.Data.Code)
		require.JSONEq(t, `{"queue":{"max":20,"size":20}}`, string(r.Error.Data.Details))
	}
	require.Nil(t, w.call(`{"jsonrpc":"2.0","id":"p","method":"ping"}`).Error, "only calls queue")
	require.NotEmpty(t, names(t, w.call(`{"jsonrpc":"2.0","id":"l","method":"tools/list"}`)))
	close(g.release)
	for range 20 {
		require.Contains(t, string(w.next().tool(t).Data), "slow")
	}
	for i := range 100 { // one at a time never meets the limit
		require.False(t, w.call(callLine(fmt.Sprint(i), "plant.get-by-id", `{"id":"p1"}`)).tool(t).IsError)
	}
}

// What calls in flight brought is bounded as their number is.
func TestLargeCallsAreBounded(t *testing.T) {
	g := newGarden()
	o := options(t, g)
	o.MaxBufferBytes = 10_000
	w := dial(t, o)
	w.hello("2025-11-25", "")
	large := `{"x":"` + strings.Repeat("x", 9_000) + `"}`
	for i := range 4 {
		w.send(callLine(fmt.Sprint(i), "lab.slow", large))
		<-g.started
	}
	r := w.call(callLine("9", "lab.slow", large))
	require.Equal(t, -32001, r.Error.Code)
	require.Equal(t, string(fault.QueueOverloaded), r.Error.Data.Code)
	require.Contains(t, string(r.Error.Data.Details), `"maxBytes":40000,"queue":{"max":64,"size":4}`)
	require.False(t, w.call(callLine("10", "plant.get-by-id", `{"id":"p1"}`)).tool(t).IsError, "small ones have room")
	close(g.release)
	for range 4 {
		require.False(t, w.next().tool(t).IsError)
	}
	require.Eventually(t, func() bool {
		w.send(callLine("11", "lab.slow", large))
		return w.next().Error == nil
	}, 5*time.Second, time.Millisecond)
}

func TestSlowCallsDoNotBlockOthers(t *testing.T) {
	g := newGarden()
	w := dial(t, options(t, g))
	for i := range 60 {
		w.send(callLine(fmt.Sprint(i), "lab.slow", `{}`))
	}
	require.Equal(t, `"quick"`, string(w.call(callLine(`"quick"`, "plant.get-by-id", `{"id":"p1"}`)).ID))
	close(g.release)
}

func TestDuplicateRequestIDIsRejected(t *testing.T) {
	g := newGarden()
	w := dial(t, options(t, g))
	w.send(callLine(`1`, "lab.slow", `{}`))
	<-g.started
	r := w.call(callLine(`1.0`, "lab.slow", `{}`))
	require.Equal(t, string(fault.InvalidRequest), r.Error.Data.Code)
	close(g.release)
	require.False(t, w.next().tool(t).IsError)
}

func TestEndOfInput(t *testing.T) {
	t.Run("answers in flight still come", func(t *testing.T) {
		g := newGarden()
		w := dial(t, options(t, g))
		for i := range 20 {
			w.send(callLine(fmt.Sprint(i), "lab.slow", `{}`))
		}
		w.close()
		time.AfterFunc(20*time.Millisecond, func() { close(g.release) })
		for range 20 {
			require.False(t, w.next().tool(t).IsError)
		}
		require.NoError(t, <-w.done)
	})
	t.Run("a last line without an end counts", func(t *testing.T) {
		w := dial(t, options(t, newGarden()))
		go func() { _, _ = io.WriteString(w.in, callLine(`1`, "plant.get-by-id", `{"id":"p1"}`)); w.close() }()
		require.False(t, w.next().tool(t).IsError)
		require.NoError(t, <-w.done)
	})
	t.Run("what takes too long is cancelled and answered", func(t *testing.T) {
		g := newGarden()
		o := options(t, g)
		o.Grace = 20 * time.Millisecond
		w := dial(t, o)
		w.send(callLine(`1`, "lab.slow", `{}`))
		<-g.started
		w.close()
		require.Equal(t, fault.Cancelled, w.next().tool(t).failure(t).Error.Code)
		require.NoError(t, <-w.done)
	})
	t.Run("an idle server ends at once", func(t *testing.T) {
		w := dial(t, options(t, newGarden()))
		w.close()
		select {
		case err := <-w.done:
			require.NoError(t, err)
		case <-time.After(time.Second):
			require.FailNow(t, "it does not end")
		}
	})
}

func TestShutdownCancelsAtOnce(t *testing.T) {
	g := newGarden()
	w := dial(t, options(t, g))
	w.send(callLine(`1`, "lab.slow", `{}`))
	<-g.started
	w.cancel()
	require.Equal(t, fault.Cancelled, w.next().tool(t).failure(t).Error.Code)
	require.NoError(t, <-w.done)
}

func TestClientDisconnect(t *testing.T) {
	g := newGarden()
	o := options(t, g)
	s := dial(t, o).server
	inR, inW := io.Pipe()
	outR, outW := io.Pipe()
	done := make(chan error, 1)
	go func() { done <- s.ServeStdio(context.Background(), inR, outW) }()
	_, err := io.WriteString(inW, callLine(`1`, "lab.slow", `{}`)+"\n"+`{"jsonrpc":"2.0","id":2,"method":"ping"}`+"\n")
	require.NoError(t, err)
	<-g.started
	require.NoError(t, outR.Close())
	require.Error(t, <-done)
	require.Error(t, <-g.stopped, "the run is stopped")
}

func TestLateReader(t *testing.T) {
	s := dial(t, options(t, newGarden())).server
	var in bytes.Buffer
	for i := range 300 {
		fmt.Fprintln(&in, callLine(fmt.Sprint(i), "plant.get-by-id", `{"id":"p1"}`))
	}
	outR, outW := io.Pipe()
	done := make(chan error, 1)
	go func() { done <- s.ServeStdio(context.Background(), &in, outW); _ = outW.Close() }()
	time.Sleep(50 * time.Millisecond)
	raw, err := io.ReadAll(outR)
	require.NoError(t, err)
	require.NoError(t, <-done)
	seen := map[string]bool{}
	for _, l := range bytes.Split(bytes.TrimSpace(raw), []byte("\n")) {
		r := decode(t, l)
		if r.Error != nil {
			require.Equal(t, string(fault.QueueOverloaded), r.Error.Data.Code)
		}
		seen[string(r.ID)] = true
	}
	require.Len(t, seen, 300, "each request has its one answer")
}

func TestBatches(t *testing.T) {
	decodeAll := func(t *testing.T, w *wire) []reply {
		var raws []json.RawMessage
		require.NoError(t, json.Unmarshal(<-w.lines, &raws))
		var out []reply
		for _, r := range raws {
			out = append(out, decode(t, r))
		}
		return out
	}
	t.Run("2025-03-26 has them", func(t *testing.T) {
		g := newGarden()
		w := dial(t, options(t, g))
		w.hello("2025-03-26", "")
		w.send(`[` + callLine(`1`, "plant.get-by-id", `{"id":"p1"}`) + `,{"jsonrpc":"2.0","method":"notifications/x"},{"jsonrpc":"2.0","id":2,"method":"ping"},17,` +
			`{"jsonrpc":"2.0","id":3,"method":"initialize","params":{}},` + callLine(`4`, "lab.slow", `{}`) + `,{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":4}}]`)
		got := decodeAll(t, w)
		ids := []string{}
		for _, r := range got {
			ids = append(ids, string(r.ID))
		}
		require.ElementsMatch(t, []string{`1`, `2`, `null`, `3`}, ids)
		w.send(`[{"jsonrpc":"2.0","method":"notifications/x"}]`)
		w.silent(20 * time.Millisecond)
		require.Equal(t, string(fault.InvalidRequest), w.call(`[]`).Error.Data.Code)
		require.Equal(t, string(fault.ParseError), w.call(`[1,`).Error.Data.Code)
		require.Equal(t, string(fault.ParseError), w.call(`[1,]`).Error.Data.Code)
		w.send(`[` + strings.Repeat(`1,`, 99) + `1]`)
		require.Len(t, decodeAll(t, w), 100)
		require.Contains(t, w.call(`[`+strings.Repeat(`1 , `, 100)+`1]`).Error.Message, "at most 100")
	})
	for _, version := range []string{"2024-11-05", "2025-06-18", "2025-11-25"} {
		t.Run(version+" has none", func(t *testing.T) {
			w := dial(t, options(t, newGarden()))
			w.hello(version, "")
			require.Equal(t, string(fault.InvalidRequest), w.call(`[{"jsonrpc":"2.0","id":2,"method":"ping"}]`).Error.Data.Code)
		})
	}
}

func TestProgress(t *testing.T) {
	w := dial(t, options(t, newGarden()))
	w.hello("2025-11-25", "")
	w.send(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"lab.steps","_meta":{"progressToken":9007199254740993}}}`)
	last, n := 0.0, 0
	for {
		r := w.next()
		if r.Method == "" {
			require.False(t, r.tool(t).IsError)
			break
		}
		require.Equal(t, "notifications/progress", r.Method)
		var p struct {
			Token    json.RawMessage `json:"progressToken"`
			Progress float64
			Total    float64
			Message  string
		}
		require.NoError(t, json.Unmarshal(r.Params, &p))
		require.Equal(t, "9007199254740993", string(p.Token))
		require.Greater(t, p.Progress, last)
		require.EqualValues(t, 50, p.Total)
		require.Equal(t, fmt.Sprintf("step %.0f", p.Progress), p.Message)
		last, n = p.Progress, n+1
	}
	require.GreaterOrEqual(t, n, 2)
	require.LessOrEqual(t, n, 10, "rate-limited")
	w.silent(50 * time.Millisecond)

	w.send(callLine(`2`, "lab.steps", `{}`))
	require.Empty(t, w.next().Method, "nobody asked")
}

func TestDocumentPanicsAreRecovered(t *testing.T) {
	g := newGarden()
	o := options(t, g)
	snap := o.Catalog()
	snap.Documents()[0].Read = nil
	w := dial(t, o)
	r := w.call(`{"jsonrpc":"2.0","id":1,"method":"resources/read","params":{"uri":"koan://sdk/koan.d.ts"}}`)
	require.Equal(t, string(fault.Internal), r.Error.Data.Code)
	require.Nil(t, w.call(`{"jsonrpc":"2.0","id":2,"method":"ping"}`).Error)
}
