package mcpserver

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"runtime"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/koan-go/koan/framework/auth"
	"github.com/koan-go/koan/framework/catalog"
	"github.com/koan-go/koan/framework/run"
)

// FuzzLines compares the reader with cutting the whole input at its line ends.
func FuzzLines(f *testing.F) {
	f.Add([]byte("a\nbb\r\n\n  \nccc"), 2)
	f.Add([]byte(strings.Repeat("x", 200_000)+`,"id":7}`+"\nnext\n"), 100)
	f.Add([]byte("\xff\x00\n"), 1)
	f.Fuzz(func(t *testing.T, input []byte, limit int) {
		if limit < 1 || limit > 1<<20 {
			return
		}
		r := newLineReader(bytes.NewReader(input), limit)
		for _, l := range bytes.Split(input, []byte("\n")) {
			l = bytes.TrimSuffix(l, []byte("\r"))
			switch {
			case len(l) > limit:
				require.True(t, r.next().tooLong)
			case len(bytes.TrimSpace(l)) > 0:
				require.Equal(t, string(l), string(r.next().text))
			}
		}
		require.ErrorIs(t, r.next().err, io.EOF)
		require.ErrorIs(t, r.next().err, io.EOF)
	})
}

// FuzzIDOf checks that an id found in a cut line is the one that the whole message
// has.
func FuzzIDOf(f *testing.F) {
	f.Add(`{"method":"a","id":7}`, 5)
	f.Add(`{"id":1,"params":{"id":2}}`, 100)
	f.Add(`{"id":"x\"}","a":{"id":3} }`, 0)
	f.Add(`{"id":12,"method":"a","params":{"id":2}}`, 7)
	f.Add(`{"id":12,"method":"a","params":{"id":2}}`, 30)
	f.Fuzz(func(t *testing.T, text string, head int) {
		id := idOf([]byte(text[:max(0, min(head, len(text)))]), keepTail(nil, []byte(text)))
		if id == nil || !json.Valid([]byte(text)) {
			return
		}
		var ids []string // a message may have several, though none should
		members([]byte(text), func(name []byte, value json.RawMessage) {
			if string(name) == "id" {
				ids = append(ids, string(value))
			}
		})
		require.Contains(t, ids, string(id))
	})
}

// collector is a sink that keeps everything.
type collector struct {
	mu  sync.Mutex
	got [][]byte
}

func (c *collector) put(m outgoing) {
	if m.taken != nil {
		m.taken()
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(m.text) > 0 {
		c.got = append(c.got, m.text)
	}
}

func (c *collector) offer(m outgoing) bool { c.put(m); return true }

func echoServer(t testing.TB) *Server {
	quiet := slog.New(slog.NewTextHandler(io.Discard, nil))
	snap, err := catalog.NewSnapshot(catalog.Offer{Operations: []*catalog.Operation{{
		ID:       catalog.PluginID("Echo", "say"),
		Contract: catalog.Contract{Input: json.RawMessage(`{"type":"object"}`), Output: json.RawMessage(`{}`)},
		Listing:  catalog.Listing{Reach: catalog.Everywhere},
		Work: catalog.Work{
			Handler: func(_ context.Context, c catalog.Call) (json.RawMessage, error) { return c.Input(), nil },
		},
	}}})
	require.NoError(t, err)
	s, err := New(Options{Name: "echo", Version: "1", Principal: auth.Local(), Engine: run.NewEngine(run.Options{Log: quiet}), Catalog: func() *catalog.Snapshot { return snap }, Log: quiet})
	require.NoError(t, err)
	return s
}

// A batch of many messages costs no more than a message of its length.
func TestLongBatchesAreRejected(t *testing.T) {
	text := []byte("[" + strings.Repeat("1,", 4<<20) + "1]")
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	items, batch := parse(text)
	runtime.ReadMemStats(&after)
	require.False(t, batch)
	require.Len(t, items, 1)
	require.NotNil(t, items[0].problem)
	require.Less(t, after.TotalAlloc-before.TotalAlloc, uint64(1<<20))
}

// FuzzSession sends whatever comes: no panic, and each message that wants an
// answer gets exactly one, in valid JSON, with a code where it is an error.
func FuzzSession(f *testing.F) {
	for _, seed := range []string{
		`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-03-26","capabilities":{}}}`,
		`{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{"cursor":"eA"}}`,
		`{"jsonrpc":"2.0","id":"a","method":"tools/call","params":{"name":"echo.say","arguments":{"x":[1,"<>"]},"_meta":{"progressToken":1}}}`,
		`{"jsonrpc":"2.0","id":1.0,"method":"tools/call","params":{"name":"echo_say","_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}}}`,
		`{"jsonrpc":"2.0","id":1,"method":"resources/read","params":{"uri":"koan://x"}}`,
		`{"jsonrpc":"2.0","id":1,"method":"server/discover","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{"experimental":{"koan":false}}}}}`,
		`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}`,
		`{"jsonrpc":"2.0","id":1,"method":"logging/setLevel","params":{"level":5}}`,
		`{"jsonrpc":"2.0","id":1,"method":"completion/complete"}`,
		`{"jsonrpc":"2.0","id":1,"method":"completion/complete","params":{"ref":{"type":"ref/resource","uri":"x://{a}"},"argument":{"name":"a","value":"b"}}}`,
		`{"jsonrpc":"2.0","id":1,"method":"prompts/get","params":{"name":"a","arguments":{"b":"c","d":1}}}`,
		`{"jsonrpc":"2.0","id":1,"method":"resources/subscribe","params":{"uri":"koan://x"}}`,
		`[1,{"jsonrpc":"2.0","id":1,"method":"ping"}]`, `{`, `[]`, "\xff", `null`, `{"jsonrpc":"2.0","id":1e999999999,"method":"ping"}`,
	} {
		f.Add([]byte(seed))
	}
	server := echoServer(f)
	f.Fuzz(func(t *testing.T, text []byte) {
		items, batch := parse(text)
		var out collector
		s := newSession(server, &out)
		if ctx := auth.With(context.Background(), auth.Local()); batch {
			s.handleBatch(ctx, items, &out)
		} else {
			s.handle(ctx, items[0], &out)
		}
		<-s.drain()
		if batch {
			require.LessOrEqual(t, len(out.got), 1)
			return
		}
		answers := 0
		for _, raw := range out.got {
			require.True(t, json.Valid(raw), "%q", raw)
			require.NotContains(t, string(raw), "\n")
			var r struct {
				ID     json.RawMessage
				Method string
				Error  *struct {
					Code int
					Data struct{ Code string }
				}
			}
			require.NoError(t, json.Unmarshal(raw, &r))
			if r.Method != "" {
				continue
			}
			answers++
			if r.Error != nil {
				require.NotEmpty(t, r.Error.Data.Code, "%s", raw)
				require.NotZero(t, r.Error.Code)
			}
			if items[0].id != nil {
				require.Equal(t, string(items[0].id), string(r.ID))
			}
		}
		want := 0
		if items[0].problem != nil || items[0].id != nil && !items[0].answer {
			want = 1
		}
		require.Equal(t, want, answers, "%q -> %q", text, out.got)
	})
}
