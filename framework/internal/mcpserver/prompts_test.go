package mcpserver_test

import (
	"context"
	"encoding/json"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/koan-go/koan/framework/catalog"
	"github.com/koan-go/koan/framework/fault"
	"github.com/koan-go/koan/framework/internal/mcpserver"
)

// stage is a garden with prompts, and with a tool that says things and shows a
// picture.
func stage(t *testing.T) mcpserver.Options {
	t.Helper()
	offer := newGarden().offer()
	offer.Prompts = []*catalog.Prompt{
		{
			Name: "greet", Title: "Greet", Description: "Greets somebody.",
			Arguments: []catalog.Argument{
				{Name: "who", Required: true, Complete: func(_ *catalog.View, typed string) []string {
					return catalog.Beginning([]string{"Bob", "Ann", "Anna", "Joann"}, typed)
				}},
				{Name: "how"},
			},
			Render: func(_ context.Context, _ *catalog.View, a map[string]string) ([]catalog.Message, error) {
				if a["who"] == "nobody" {
					return nil, fault.New(fault.NotFound, "there is nobody")
				}
				return []catalog.Message{
					{Content: catalog.Content{Text: "Greet " + a["who"] + a["how"]}},
					{Assistant: true, Content: catalog.Content{Data: []byte{1, 2}, MIME: "audio/wav"}},
				}, nil
			},
		},
		{
			Name: "hidden", Shown: func(*catalog.View) bool { return false },
			Render: func(context.Context, *catalog.View, map[string]string) ([]catalog.Message, error) { return nil, nil },
		},
	}
	show := func(out json.RawMessage) []catalog.Content {
		if strings.Contains(string(out), "odd") {
			return []catalog.Content{{Data: []byte{1}, MIME: "model/gltf"}}
		}
		return []catalog.Content{{Data: []byte{0xff}, MIME: "image/png"}, {URI: "x://y", Data: []byte{0xff}, MIME: "a/b"}}
	}
	offer.Operations = append(offer.Operations, &catalog.Operation{
		ID:       catalog.PluginID("Lab", "show"),
		Contract: catalog.Contract{Input: object(`"properties":{"odd":{"type":"boolean"}}`), Output: object(`"properties":{}`)},
		Listing: catalog.Listing{
			Summary: "Shows.",
			Reach:   catalog.Everywhere,
		},
		Work: catalog.Work{
			Present: show,
			Handler: func(_ context.Context, c catalog.Call) (json.RawMessage, error) {
				c.Log(slog.LevelDebug, "looking")
				c.Log(slog.LevelWarn, "found \xff")
				go func() { time.Sleep(20 * time.Millisecond); c.Log(slog.LevelError, "too late") }()
				return c.Input(), nil
			},
		},
	})
	snap, err := catalog.NewSnapshot(offer)
	require.NoError(t, err)
	o := options(t, newGarden())
	o.Catalog = func() *catalog.Snapshot { return snap }
	return o
}

func TestPrompts(t *testing.T) {
	w := dial(t, stage(t))
	w.hello("2025-11-25", "")
	r := w.call(`{"jsonrpc":"2.0","id":1,"method":"prompts/list"}`)
	require.JSONEq(t, `{"prompts":[{"name":"greet","title":"Greet","description":"Greets somebody.","arguments":[{"name":"who","required":true},{"name":"how"}]}]}`, string(r.Result))
	r = w.call(`{"jsonrpc":"2.0","id":1,"method":"prompts/get","params":{"name":"greet","arguments":{"who":"Ann"}}}`)
	require.JSONEq(t, `{"description":"Greets somebody.","messages":[{"role":"user","content":{"type":"text","text":"Greet Ann"}},{"role":"assistant","content":{"type":"audio","data":"AQI=","mimeType":"audio/wav"}}]}`, string(r.Result))
	for _, c := range []struct{ params, code, path string }{
		{`{}`, "invalid_payload", "/name"},
		{`{"name":"hidden"}`, "invalid_payload", "/name"},
		{`{"name":"great","arguments":{"who":"x"}}`, "invalid_payload", "did you mean"},
		{`{"name":"greet"}`, "invalid_payload", "/arguments/who"},
		{`{"name":"greet","arguments":{"who":7,"a/b":"x"}}`, "invalid_payload", "/arguments/a~1b"},
		{`{"name":"greet","arguments":[]}`, "invalid_payload", `"path":"/arguments"`},
		{`{"name":"greet","arguments":{"who":"nobody"}}`, "not_found", ""},
	} {
		r := w.call(`{"jsonrpc":"2.0","id":1,"method":"prompts/get","params":` + c.params + `}`)
		require.NotNil(t, r.Error, c.params)
		require.Equal(t, c.code, r.Error.Data.Code, c.params)
		require.Contains(t, string(r.raw), c.path, c.params)
	}
	w = dial(t, stage(t))
	w.hello("2024-11-05", "")
	r = w.call(`{"jsonrpc":"2.0","id":1,"method":"prompts/get","params":{"name":"greet","arguments":{"who":"Ann"}}}`)
	require.Contains(t, string(r.Result), `{"type":"text","text":"(audio/wav, 2 bytes)"}`, "that version has no sounds")
}

func TestCompletion(t *testing.T) {
	w := dial(t, stage(t))
	complete := func(ref, argument string) reply {
		return w.call(`{"jsonrpc":"2.0","id":1,"method":"completion/complete","params":{"ref":` + ref + `,"argument":` + argument + `,` + modern("{}") + `}}`)
	}
	for _, c := range []struct{ ref, argument, values string }{
		{`{"type":"ref/prompt","name":"greet"}`, `{"name":"who","value":"an"}`, `{"values":["Ann","Anna","Joann"],"total":3,"hasMore":false}`},
		{`{"type":"ref/prompt","name":"greet"}`, `{"name":"how","value":""}`, `{"values":[],"total":0,"hasMore":false}`},
		{`{"type":"ref/prompt","name":"greet"}`, `{"name":"who","value":"` + strings.Repeat("a", 1<<10+1) + `"}`, `{"values":[],"total":0,"hasMore":false}`},
		{`{"type":"ref/resource","uri":"koan://sdk/{entity}.d.ts"}`, `{"name":"entity","value":"pl"}`, `{"values":["Plant"],"total":1,"hasMore":false}`},
	} {
		var got struct {
			ResultType string
			Completion json.RawMessage
		}
		r := complete(c.ref, c.argument)
		require.Nil(t, r.Error, "%s", r.raw)
		require.NoError(t, json.Unmarshal(r.Result, &got))
		require.Equal(t, "complete", got.ResultType)
		require.JSONEq(t, c.values, string(got.Completion))
	}
	for _, c := range [][2]string{
		{`{"type":"ref/prompt","name":"hidden"}`, `{"name":"who","value":""}`},
		{`{"type":"ref/prompt","name":"greet"}`, `{"name":"whom","value":""}`},
		{`{"type":"ref/resource","uri":"koan://sdk/koan.d.ts"}`, `{"name":"entity","value":""}`},
		{`{"type":"ref/resource","uri":"koan://sdk/{entity}.d.ts"}`, `{"name":"x","value":""}`},
		{`{"type":"ref/else"}`, `{"name":"x","value":""}`},
		{`{}`, `{"name":"x"}`},
		{`7`, `[]`},
	} {
		r := complete(c[0], c[1])
		require.NotNil(t, r.Error, "%v", c)
		require.Equal(t, string(fault.InvalidPayload), r.Error.Data.Code)
		require.Equal(t, -32602, r.Error.Code)
	}
}

func TestPresentation(t *testing.T) {
	w := dial(t, stage(t))
	w.hello("2025-11-25", "")
	r := w.call(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"lab.show"}}`)
	var got struct {
		Content           json.RawMessage
		StructuredContent json.RawMessage
		IsError           bool
	}
	require.NoError(t, json.Unmarshal(r.Result, &got))
	require.JSONEq(t, `{}`, string(got.StructuredContent))
	require.JSONEq(t, `[{"type":"image","data":"/w==","mimeType":"image/png"},{"type":"resource","resource":{"uri":"x://y","mimeType":"a/b","blob":"/w=="}}]`, string(got.Content))
	r = w.call(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"lab.show","arguments":{"odd":true}}}`)
	require.NoError(t, json.Unmarshal(r.Result, &got))
	require.True(t, got.IsError, "what no client can read is no success")
}

func TestLogMessages(t *testing.T) {
	const call = `{"jsonrpc":"2.0","id":5,"method":"tools/call","params":{"name":"lab.show"`
	w := dial(t, stage(t))
	w.hello("2025-11-25", "")
	require.NotEmpty(t, w.call(call+`}}`).ID, "nobody asked")
	r := w.call(`{"jsonrpc":"2.0","id":1,"method":"logging/setLevel","params":{"level":"wanring"}}`)
	require.Contains(t, string(r.raw), "did you mean")
	require.JSONEq(t, `{}`, string(w.call(`{"jsonrpc":"2.0","id":1,"method":"logging/setLevel","params":{"level":"info"}}`).Result))
	r = w.call(call + `}}`)
	require.Equal(t, "notifications/message", r.Method)
	require.JSONEq(t, `{"level":"warning","logger":"garden","data":"found \ufffd"}`, string(r.Params))
	require.NotEmpty(t, w.next().ID)
	w.silent(40 * time.Millisecond)

	w = dial(t, stage(t)) // the newer era asks with each request
	require.NotEmpty(t, w.call(call+`,`+modern("{}")+`}}`).ID)
	asking := strings.TrimSuffix(modern("{}"), "}") + `,"io.modelcontextprotocol/logLevel":"debug"}`
	require.Contains(t, string(w.call(call+`,`+asking+`}}`).Params), "looking")
	require.Contains(t, string(w.next().Params), "found")
	require.NotEmpty(t, w.next().ID)
	for _, method := range []string{"logging/setLevel", "resources/subscribe"} {
		r := w.call(`{"jsonrpc":"2.0","id":1,"method":"` + method + `","params":{"level":"info","uri":"koan://sdk/koan.d.ts",` + modern("{}") + `}}`)
		require.Equal(t, string(fault.MethodNotFound), r.Error.Data.Code)
	}
}

func TestResourceSubscriptions(t *testing.T) {
	w := dial(t, stage(t))
	w.hello("2025-11-25", "")
	ask := func(method, uri string) reply {
		return w.call(`{"jsonrpc":"2.0","id":1,"method":"resources/` + method + `","params":{"uri":"` + uri + `"}}`)
	}
	require.Equal(t, string(fault.NotFound), ask("subscribe", "koan://sdk/Nothing.d.ts").Error.Data.Code)
	require.JSONEq(t, `{}`, string(ask("subscribe", "koan://sdk/Plant.d.ts").Result))
	require.JSONEq(t, `{}`, string(ask("subscribe", "koan://sdk/Plant.d.ts").Result))
	w.server.CatalogChanged()
	for range 3 {
		require.Contains(t, w.next().Method, "list_changed")
	}
	r := w.next()
	require.Equal(t, "notifications/resources/updated", r.Method)
	require.JSONEq(t, `{"uri":"koan://sdk/Plant.d.ts"}`, string(r.Params))
	require.JSONEq(t, `{}`, string(ask("unsubscribe", "koan://sdk/Plant.d.ts").Result))
	w.server.CatalogChanged()
	for range 3 {
		require.Contains(t, w.next().Method, "list_changed")
	}
	w.silent(20 * time.Millisecond)

	w = dial(t, stage(t))
	ack := w.call(`{"jsonrpc":"2.0","id":"s","method":"subscriptions/listen","params":{"notifications":{"resourceSubscriptions":["koan://sdk/Plant.d.ts","koan://no","koan://sdk/Plant.d.ts"]},` + modern("{}") + `}}`)
	require.Contains(t, string(ack.Params), `"resourceSubscriptions":["koan://sdk/Plant.d.ts"]`)
	w.server.CatalogChanged()
	require.Contains(t, string(w.next().Params), `"uri":"koan://sdk/Plant.d.ts"`)
}
