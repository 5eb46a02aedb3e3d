package mcpserver_test

import (
	"bufio"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/koan-go/koan/framework/fault"
	"github.com/koan-go/koan/framework/internal/mcpserver"
)

// deep is JSON with so many objects or arrays in each other.
func deep(open, shut string, levels int) string {
	return strings.Repeat(open, levels) + "1" + strings.Repeat(shut, levels)
}

// hostile are messages that mean no good, by what is wrong with them; each is
// answered with a fault of its own, or not at all where no answer can be meant.
var hostile = map[string]string{
	"truncated":               `{"jsonrpc":"2.0","id":1,"method":"tools/ca`,
	"truncated in a string":   `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"plant.get`,
	"no JSON":                 `GET / HTTP/1.1`,
	"no UTF-8":                "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"\xff\xfe\"}",
	"two messages":            `{"jsonrpc":"2.0","id":1,"method":"ping"}{"jsonrpc":"2.0","id":2,"method":"ping"}`,
	"nested arrays":           deep("[", "]", 300_000),
	"nested objects":          deep(`{"a":`, "}", 100_000),
	"nested in arguments":     `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"plant.get-by-id","arguments":{"id":` + deep("[", "]", 200_000) + `}}}`,
	"nested just allowed":     `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"plant.get-by-id","arguments":{"id":` + deep("[", "]", 9_000) + `}}}`,
	"nested in answers":       again(`{}`, `"inputResponses":{"a":`+deep(`{"b":`, "}", 9_000)+`},`),
	"nested in capabilities":  `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"plant.get-by-id",` + modern(deep(`{"elicitation":`, "}", 9_000)) + `}}`,
	"oversized":               `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"` + strings.Repeat("x", 2<<20) + `"}}`,
	"a huge number":           `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"plant.get-by-id","arguments":{"id":1e999999999}}}`,
	"another JSON-RPC":        `{"jsonrpc":"1.0","id":1,"method":"ping"}`,
	"a version of tomorrow":   `{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"2030-01-01","io.modelcontextprotocol/clientCapabilities":{}}}}`,
	"a version of no kind":    `{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":{"a":1}}}}`,
	"an answer to nothing":    `{"jsonrpc":"2.0","id":1,"result":{"action":"accept","content":{"colour":"stolen"}}}`,
	"an error to nothing":     `{"jsonrpc":"2.0","id":1,"error":{"code":-1,"message":"stolen"}}`,
	"a cancel of another's":   `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":"bystander"}}`,
	"a cancel by the old way": `{"jsonrpc":"2.0","method":"$/cancelRequest","params":{"id":"bystander"}}`,
	"a forged state":          again(`{}`, withState("AQ"+strings.Repeat("A", 200), `{"colour":`+accept("colour", "stolen")+`}`)),
}

// Whatever one client sends, another's call goes on and hears only of itself.
func TestHostileMessagesAffectNoOtherClient(t *testing.T) {
	o := asking(t, func(o *mcpserver.Options) { o.MaxBufferBytes, o.QueueMax = 1<<20, 8 })
	w := serveWeb(t, o, mcpserver.HTTPOptions{})
	session := w.asks()
	var bystander answer
	var group sync.WaitGroup
	asked := make(chan reply, 1)
	group.Go(func() {
		resp, err := http.DefaultClient.Do(w.request(t.Context(), http.MethodPost, callAsk(`"bystander"`, `{}`), session...))
		if err != nil {
			t.Error(err)
			return
		}
		defer resp.Body.Close()
		lines := bufio.NewScanner(resp.Body)
		asked <- event(t, lines)
		last := event(t, lines)
		bystander.body = string(last.raw)
		for lines.Scan() {
			if strings.HasPrefix(lines.Text(), "data:") {
				t.Errorf("more than its own: %s", lines.Text())
			}
		}
	})
	question := <-asked
	for name, message := range hostile {
		t.Run(name, func(t *testing.T) {
			for kind, header := range map[string][]string{
				"new": modernHeader("tools/call", "plant.get-by-id"), "old": w.asks(), "none": nil,
				"foreign": {"Mcp-Session-Id", "not-a-session"}, "mixed": append(modernHeader("tools/list", ""), session[:2]...),
			} {
				a := w.post(message, header...)
				require.Less(t, a.status, 500, kind)
				require.NotContains(t, a.body, "bystander", kind)
				require.Less(t, len(a.body), 20_000, kind)
				if a.status == http.StatusOK {
					for _, r := range a.messages(t) {
						// An old session knows no version in _meta, and lists its tools; a forged answer has the
						// question asked.
						harmless := r.Error != nil || r.Method != "" || strings.Contains(string(r.raw), `"isError":true`) ||
							strings.Contains(string(r.raw), "input_required") || kind == "old" && name == "a version of no kind"
						require.True(t, harmless, "%s: %s", kind, r.raw)
					}
				}
			}
		})
	}
	t.Run("a flood", func(t *testing.T) {
		var flood sync.WaitGroup
		var mu sync.Mutex
		seen := map[int]int{}
		for i := range 64 {
			flood.Go(func() {
				a := w.post(modernBody(fmt.Sprint(i), "tools/call", `"name":"plant.get-by-id","arguments":{"id":"p1"}`), modernHeader("tools/call", "plant.get-by-id")...)
				mu.Lock()
				seen[a.status]++
				mu.Unlock()
			})
		}
		flood.Wait()
		require.Equal(t, 64, seen[http.StatusOK]+seen[http.StatusServiceUnavailable], "%v", seen)
	})
	require.Equal(t, http.StatusAccepted, w.post(`{"jsonrpc":"2.0","id":`+string(question.ID)+`,"result":`+accept("colour", "own")+`}`, session...).status)
	group.Wait()
	require.Contains(t, bystander.body, `"id":"bystander"`)
	require.Contains(t, bystander.body, `{"colour":"own"}`)
}

// The same over stdio, where the one client has only itself to harm: the connection
// lives, and the next request is answered.
func TestHostileMessagesDoNotEndStdio(t *testing.T) {
	w := dial(t, asking(t, func(o *mcpserver.Options) { o.MaxBufferBytes = 1 << 20 }))
	w.hello("2025-11-25", forms)
	for name, message := range hostile {
		w.send(message)
		w.send(`{"jsonrpc":"2.0","id":"after","method":"ping"}`)
		after := false
		for deadline := time.Now().Add(5 * time.Second); !after; {
			require.True(t, time.Now().Before(deadline), name)
			r := w.next()
			switch {
			case string(r.ID) == `"after"`:
				require.Nil(t, r.Error, name)
				after = true
			case r.Error != nil:
				require.NotEqual(t, string(fault.Internal), r.Error.Data.Code, name)
			}
		}
	}
}
