package mcpserver_test

import (
	"bytes"
	"context"
	"encoding/json"
	"flag"
	"os"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/koan-go/koan/framework/auth"
	"github.com/koan-go/koan/framework/catalog"
	"github.com/koan-go/koan/framework/exposure"
	"github.com/koan-go/koan/framework/fault"
	"github.com/koan-go/koan/framework/internal/mcpserver"
	"github.com/koan-go/koan/framework/internal/toolset"
)

var update = flag.Bool("update", false, "write golden files anew")

var (
	codeTools = []string{"koan_code_execute"}
	labTools  = []string{"lab_fail", "lab_slow", "lab_steps"}
	always    = []string{"note_count"} // annotated tools
	plants    = []string{"plant_delete", "plant_get-by-id"}
)

func join(lists ...[]string) []string {
	out := []string{}
	for _, l := range lists {
		out = append(out, l...)
	}
	return out
}

func TestListByModeAndDeclaration(t *testing.T) {
	const (
		nothing    = `{}`
		experiment = `{"experimental":{"koan":{}}}`
		extension  = `{"extensions":{"dev.koan/code-mode":{"version":"1"}}}`
		legacy     = `{"experimental":{"koan":{"codeMode":false}}}`
		both       = `{"experimental":{"koan":{}},"extensions":{"dev.koan/code-mode":{"codeMode":false}}}`
	)
	code, full, tools := join(codeTools, always), join(codeTools, always, plants, labTools), join(always, plants, labTools)
	for _, c := range []struct {
		mode exposure.Mode
		caps string
		want []string
		is   exposure.Mode
	}{
		{exposure.Auto, nothing, full, exposure.Full},
		{exposure.Auto, experiment, code, exposure.Code},
		{exposure.Auto, extension, code, exposure.Code},
		{exposure.Auto, legacy, tools, exposure.Tools},
		{exposure.Auto, both, tools, exposure.Tools},
		{exposure.Code, nothing, code, exposure.Code},
		{exposure.Code, legacy, code, exposure.Code},
		{exposure.Tools, experiment, tools, exposure.Tools},
		{exposure.Full, experiment, full, exposure.Full},
	} {
		o := options(t, newGarden())
		o.Exposure = c.mode
		check := func(t *testing.T, w *wire, hello, list reply) {
			require.Equal(t, c.want, names(t, list))
			var r struct {
				Capabilities struct {
					Experimental map[string]map[string]any
					Extensions   map[string]map[string]any
				}
				Instructions string
			}
			require.NoError(t, json.Unmarshal(hello.Result, &r))
			want := map[string]any{"schemaVersion": catalog.SchemaVersion, "toolVersion": "1.2.3", "mode": string(c.is), "runtime": "goja", "faces": []any{"koan"}}
			require.Equal(t, want, r.Capabilities.Experimental["koan"])
			require.Equal(t, want, r.Capabilities.Extensions["dev.koan/code-mode"])
			if c.is == exposure.Tools {
				require.Equal(t, "Water daily.", r.Instructions)
			} else {
				require.Equal(t, "Water daily.\n\nOr by script.", r.Instructions)
			}
		}
		t.Run("2025-11-25 "+string(c.mode)+" "+c.caps, func(t *testing.T) {
			w := dial(t, o)
			hello := w.hello("2025-11-25", c.caps)
			check(t, w, hello, w.call(`{"jsonrpc":"2.0","id":1,"method":"tools/list"}`))
		})
		t.Run("2026-07-28 "+string(c.mode)+" "+c.caps, func(t *testing.T) {
			w := dial(t, o)
			hello := w.call(`{"jsonrpc":"2.0","id":0,"method":"server/discover","params":{` + modern(c.caps) + `}}`)
			check(t, w, hello, w.call(`{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{`+modern(c.caps)+`}}`))
		})
	}
}

func TestModernRequestsAreStateless(t *testing.T) {
	w := dial(t, options(t, newGarden()))
	w.hello("2025-11-25", `{"experimental":{"koan":{}}}`)
	require.Equal(t, join(always, plants, labTools), names(t, w.call(`{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{`+modern(`{"experimental":{"koan":{"codeMode":false}}}`)+`}}`)))
	require.Equal(t, join(codeTools, always), names(t, w.call(`{"jsonrpc":"2.0","id":2,"method":"tools/list"}`)), "the handshake's client is another")

	r := w.call(`{"jsonrpc":"2.0","id":3,"method":"tools/list","params":{` + modern(`{}`) + `}}`)
	var got struct {
		ResultType string
		TTLMs      *int64
		CacheScope string
		Meta       map[string]any `json:"_meta"`
	}
	require.NoError(t, json.Unmarshal(r.Result, &got))
	require.Equal(t, "complete", got.ResultType)
	require.NotNil(t, got.TTLMs)
	require.Equal(t, "private", got.CacheScope)
	require.Equal(t, map[string]any{"name": "garden", "version": "1.2.3"}, got.Meta["io.modelcontextprotocol/serverInfo"])

	for name, c := range map[string]struct {
		line string
		rpc  int
		code fault.Code
	}{
		"no capabilities":           {`{"jsonrpc":"2.0","id":4,"method":"tools/list","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28"}}}`, -32602, fault.InvalidPayload},
		"a future version":          {`{"jsonrpc":"2.0","id":4,"method":"tools/list","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"2031-01-01","io.modelcontextprotocol/clientCapabilities":{}}}}`, -32022, fault.CapabilityUnsupported},
		"initialize":                {`{"jsonrpc":"2.0","id":4,"method":"initialize","params":{` + modern(`{}`) + `}}`, -32601, fault.MethodNotFound},
		"discover in the older era": {`{"jsonrpc":"2.0","id":4,"method":"server/discover"}`, -32601, fault.MethodNotFound},
		"listen in the older era":   {`{"jsonrpc":"2.0","id":4,"method":"subscriptions/listen","params":{"notifications":{}}}`, -32601, fault.MethodNotFound},
	} {
		t.Run(name, func(t *testing.T) {
			r := w.call(c.line)
			require.NotNil(t, r.Error)
			require.Equal(t, c.rpc, r.Error.Code)
			require.Equal(t, string(c.code), r.Error.Data.Code)
		})
	}
}

// Before any handshake, who names a version speaks of the newer era.
func TestUnsupportedProtocolVersions(t *testing.T) {
	list := func(version string) string {
		return `{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":` + version + `}}}`
	}
	w := dial(t, options(t, newGarden()))
	for _, version := range []string{`"1999-01-01"`, `"2025-11-26"`, `""`, `"tomorrow"`} {
		r := w.call(list(version))
		require.NotNil(t, r.Error, "%s", r.raw)
		require.Equal(t, -32022, r.Error.Code, version)
		require.Equal(t, string(fault.CapabilityUnsupported), r.Error.Data.Code)
	}
	for _, version := range []string{`5`, `null`, `{"a":1}`} {
		require.Equal(t, string(fault.InvalidPayload), w.call(list(version)).Error.Data.Code, version)
	}
	w.hello("2025-11-25", "")
	require.NotEmpty(t, names(t, w.call(list(`"1999-01-01"`))), "the older era knows no version there")
}

func TestMalformedInitialize(t *testing.T) {
	w := dial(t, options(t, newGarden()))
	for params, path := range map[string]string{
		`{}`: "/protocolVersion", `null`: "/protocolVersion", `{"protocolVersion":""}`: "/protocolVersion", `{"protocolVersion":7}`: "/protocolVersion", `{"protocolVersion":"2025-11-25","capabilities":[]}`: "/capabilities",
		`{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":{}}}`: "/clientInfo/name",
	} {
		r := w.call(`{"jsonrpc":"2.0","id":1,"method":"initialize","params":` + params + `}`)
		require.NotNil(t, r.Error, "%s", r.raw)
		require.Equal(t, -32602, r.Error.Code)
		require.Contains(t, string(r.raw), `"path":"`+path+`"`)
		require.NotContains(t, string(r.raw), "Go ")
	}
	r := w.call(`{"jsonrpc":"2.0","id":2,"method":"initialize"}`)
	require.NotNil(t, r.Error, "%s", r.raw)
	require.Equal(t, -32602, r.Error.Code)
	require.Equal(t, string(fault.InvalidPayload), r.Error.Data.Code)
	w.hello("2025-11-25", "")
}

func TestInitializeNegotiates(t *testing.T) {
	for asked, want := range map[string]string{
		"2024-11-05": "2024-11-05", "2025-03-26": "2025-03-26", "2025-06-18": "2025-06-18", "2025-11-25": "2025-11-25",
		"2026-07-28": "2025-11-25", "1999-01-01": "2025-11-25",
	} {
		w := dial(t, options(t, newGarden()))
		var r struct{ ProtocolVersion string }
		require.NoError(t, json.Unmarshal(w.hello(asked, "").Result, &r))
		require.Equal(t, want, r.ProtocolVersion, asked)
	}
}

// Lists spell names as configured, for every client alike; both spellings are called.
func TestToolNames(t *testing.T) {
	for spelling, listed := range map[toolset.Names]string{"": "plant_get-by-id", toolset.Underscore: "plant_get-by-id", toolset.Dotted: "plant.get-by-id"} {
		o := options(t, newGarden())
		o.Tools.Names = spelling
		for _, client := range []string{"claude-ai", "other"} {
			w := dial(t, o)
			w.call(`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"` + client + `","version":"1"}}}`)
			require.Contains(t, names(t, w.call(`{"jsonrpc":"2.0","id":2,"method":"tools/list"}`)), listed)
			for _, name := range []string{"plant_get-by-id", "plant.get-by-id"} {
				r := w.call(`{"jsonrpc":"2.0","id":3,"method":"tools/call","params":{"name":"` + name + `","arguments":{"id":"p1"}}}`)
				require.False(t, r.tool(t).IsError, "%s", r.raw)
			}
		}
	}
}

func TestToolListGolden(t *testing.T) {
	snap := newGarden().snapshot(t)
	v := snap.View(auth.Local(), exposure.Full, false)
	raw := toolset.JSON(v, toolset.Options{})
	again := toolset.JSON(newGarden().snapshot(t).View(auth.Local(), exposure.Full, false), toolset.Options{})
	require.Equal(t, string(raw), string(again), "byte-stable")

	w := dial(t, options(t, newGarden()))
	require.Equal(t, string(raw), string(w.call(`{"jsonrpc":"2.0","id":2,"method":"tools/list"}`).Result), "the same as on the wire")

	var pretty bytes.Buffer
	require.NoError(t, json.Indent(&pretty, raw, "", "  "))
	pretty.WriteByte('\n')
	const file = "testdata/tools.json"
	if *update {
		require.NoError(t, os.MkdirAll("testdata", 0o755))
		require.NoError(t, os.WriteFile(file, pretty.Bytes(), 0o644))
	}
	want, err := os.ReadFile(file)
	require.NoError(t, err)
	require.Equal(t, string(want), pretty.String(), "run with -update, and move catalog.SchemaVersion where the contract changed")
}

func TestPages(t *testing.T) {
	o := options(t, newGarden())
	o.PageSize = 3
	w := dial(t, o)
	var got []string
	cursor := ""
	for range 10 {
		r := w.call(`{"jsonrpc":"2.0","id":2,"method":"tools/list","params":{` + cursor + `}}`)
		got = append(got, names(t, r)...)
		var next struct{ NextCursor string }
		require.NoError(t, json.Unmarshal(r.Result, &next))
		if next.NextCursor == "" {
			break
		}
		cursor = `"cursor":"` + next.NextCursor + `"`
	}
	require.Equal(t, join(codeTools, always, plants, labTools), got)
	for _, bad := range []string{`"!!"`, `""`, `7`} {
		r := w.call(`{"jsonrpc":"2.0","id":2,"method":"tools/list","params":{"cursor":` + bad + `}}`)
		require.NotNil(t, r.Error, bad)
		require.Equal(t, string(fault.InvalidPayload), r.Error.Data.Code)
	}
}

func TestResources(t *testing.T) {
	w := dial(t, options(t, newGarden()))
	r := w.call(`{"jsonrpc":"2.0","id":1,"method":"resources/list"}`)
	require.JSONEq(t, `{"resources":[
		{"uri":"koan://sdk/Plant.d.ts","name":"Entity: Plant","description":"One entity.","mimeType":"text/x-typescript"},
		{"uri":"koan://sdk/koan.d.ts","name":"SDK","description":"All declarations.","mimeType":"text/x-typescript"}]}`, string(r.Result),
		"an entity that is annotated tools is in no declaration")
	r = w.call(`{"jsonrpc":"2.0","id":1,"method":"resources/templates/list"}`)
	require.JSONEq(t, `{"resourceTemplates":[{"uriTemplate":"koan://sdk/{entity}.d.ts","name":"Entity","description":"One entity.","mimeType":"text/x-typescript"}]}`, string(r.Result))
	r = w.call(`{"jsonrpc":"2.0","id":1,"method":"resources/read","params":{"uri":"koan://sdk/koan.d.ts"}}`)
	require.JSONEq(t, `{"contents":[{"uri":"koan://sdk/koan.d.ts","mimeType":"text/x-typescript","text":"declare namespace SDK {} // full"}]}`, string(r.Result))
	r = w.call(`{"jsonrpc":"2.0","id":1,"method":"resources/read","params":{"uri":"koan://sdk/Plant.d.ts"}}`)
	require.Contains(t, string(r.Result), "interface Plant {}")
	for _, uri := range []string{"koan://sdk/Note.d.ts", "koan://sdk/Nothing.d.ts", "file:///etc/passwd", ""} {
		r = w.call(`{"jsonrpc":"2.0","id":1,"method":"resources/read","params":{"uri":"` + uri + `"}}`)
		require.Equal(t, -32002, r.Error.Code)
		require.Equal(t, string(fault.NotFound), r.Error.Data.Code)
		r = w.call(`{"jsonrpc":"2.0","id":1,"method":"resources/read","params":{"uri":"` + uri + `",` + modern("{}") + `}}`)
		require.Equal(t, -32602, r.Error.Code)
		require.Equal(t, string(fault.NotFound), r.Error.Data.Code)
	}
	require.Equal(t, string(fault.InvalidPayload), w.call(`{"jsonrpc":"2.0","id":1,"method":"resources/read","params":{}}`).Error.Data.Code)
}

// What a request names may be missing, or may be no text: the fault says which, and where.
func TestNamesThatAreNoText(t *testing.T) {
	w := dial(t, options(t, newGarden()))
	for params, want := range map[string]struct{ method, path, message string }{
		`{}`:                             {"tools/call", "/name", "the tool's name is missing"},
		`{"name":null}`:                  {"tools/call", "/name", "the tool's name is missing"},
		`{"name":5}`:                     {"tools/call", "/name", "the tool's name must be a string"},
		`{"uri":null}`:                   {"resources/read", "/uri", "the resource's uri is missing"},
		`{"uri":["koan://x"]}`:           {"resources/read", "/uri", "the resource's uri must be a string"},
		`{"arguments":{}}`:               {"prompts/get", "/name", "the prompt's name is missing"},
		`{"name":true}`:                  {"prompts/get", "/name", "the prompt's name must be a string"},
		`{"name":"x","arguments":["a"]}`: {"prompts/get", "/arguments", "the prompt's arguments must be an object"},
		`{"name":"x","arguments":"{}"}`:  {"prompts/get", "/arguments", "the prompt's arguments must be an object"},
	} {
		r := w.call(`{"jsonrpc":"2.0","id":1,"method":"` + want.method + `","params":` + params + `}`)
		require.Equal(t, -32602, r.Error.Code, params)
		require.Equal(t, want.message, r.Error.Message, params)
		require.Equal(t, want.path, r.Error.Data.Path, params)
	}
}

// TestUnlistedTemplate: what stands in its place is the document's own
// business.
func TestUnlistedTemplate(t *testing.T) {
	g := newGarden()
	g.page = &catalog.Document{
		URI: "koan://runs/{id}", Name: "run", Template: true,
		Read: func(ctx context.Context, _ *catalog.View, name string) ([]byte, error) {
			if name != "r-1" {
				return nil, fault.New(fault.NotFound, "none")
			}
			return []byte(auth.From(ctx).Subject), nil
		},
		Complete: func(ctx context.Context, _ *catalog.View, typed string) []string {
			return []string{typed + "1", auth.From(ctx).Subject}
		},
	}
	w := dial(t, options(t, g))
	require.NotContains(t, string(w.call(`{"jsonrpc":"2.0","id":1,"method":"resources/list"}`).Result), "koan://runs")
	require.Contains(t, string(w.call(`{"jsonrpc":"2.0","id":1,"method":"resources/templates/list"}`).Result), "koan://runs/{id}")
	r := w.call(`{"jsonrpc":"2.0","id":1,"method":"resources/read","params":{"uri":"koan://runs/r-1"}}`)
	require.Contains(t, string(r.Result), `"text":"local"`)
	for _, uri := range []string{"koan://runs/r-2", "koan://runs/", "koan://runs/r-1/x", "koan://runs", "xkoan://runs/r-1"} {
		r = w.call(`{"jsonrpc":"2.0","id":1,"method":"resources/read","params":{"uri":"` + uri + `"}}`)
		require.Equal(t, string(fault.NotFound), r.Error.Data.Code, uri)
	}
	r = w.call(`{"jsonrpc":"2.0","id":1,"method":"completion/complete","params":{"ref":{"type":"ref/resource","uri":"koan://runs/{id}"},"argument":{"name":"id","value":"r-"}}}`)
	require.Contains(t, string(r.Result), `"values":["r-1","local"]`)
	r = w.call(`{"jsonrpc":"2.0","id":1,"method":"resources/read","params":{"uri":"koan://sdk/Plant.d.ts"}}`)
	require.Contains(t, string(r.Result), "interface Plant {}", "what is listed comes first")
}

func TestListsChanged(t *testing.T) {
	t.Run("the older era, once the client is ready", func(t *testing.T) {
		w := dial(t, options(t, newGarden()))
		w.server.CatalogChanged()
		w.hello("2025-11-25", "")
		require.Nil(t, w.call(`{"jsonrpc":"2.0","id":1,"method":"ping"}`).Error)
		w.server.CatalogChanged()
		require.Equal(t, "notifications/tools/list_changed", w.next().Method)
		require.Equal(t, "notifications/resources/list_changed", w.next().Method)
		require.Equal(t, "notifications/prompts/list_changed", w.next().Method)
	})
	t.Run("the newer era, where asked for", func(t *testing.T) {
		w := dial(t, options(t, newGarden()))
		ack := w.call(`{"jsonrpc":"2.0","id":"sub","method":"subscriptions/listen","params":{"notifications":{"toolsListChanged":true,"somethingElse":true},` + modern("{}") + `}}`)
		require.Equal(t, "notifications/subscriptions/acknowledged", ack.Method)
		require.JSONEq(t, `{"_meta":{"io.modelcontextprotocol/subscriptionId":"sub"},"notifications":{"toolsListChanged":true}}`, string(ack.Params))
		w.server.CatalogChanged()
		r := w.next()
		require.Equal(t, "notifications/tools/list_changed", r.Method)
		require.JSONEq(t, `{"_meta":{"io.modelcontextprotocol/subscriptionId":"sub"}}`, string(r.Params))
		w.silent(20 * time.Millisecond)
		w.close()
		r = w.next()
		require.Equal(t, `"sub"`, string(r.ID))
		require.Contains(t, string(r.Result), `"io.modelcontextprotocol/subscriptionId":"sub"`)
		require.NoError(t, <-w.done)
	})
	t.Run("a cancelled subscription is silent", func(t *testing.T) {
		w := dial(t, options(t, newGarden()))
		w.call(`{"jsonrpc":"2.0","id":1,"method":"subscriptions/listen","params":{"notifications":{"resourcesListChanged":true},` + modern("{}") + `}}`)
		w.send(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}`)
		require.Nil(t, w.call(`{"jsonrpc":"2.0","id":1,"method":"ping"}`).Error)
		w.server.CatalogChanged()
		w.silent(20 * time.Millisecond)
	})
	t.Run("an empty one ends at once", func(t *testing.T) {
		w := dial(t, options(t, newGarden()))
		w.call(`{"jsonrpc":"2.0","id":1,"method":"subscriptions/listen","params":{"notifications":{},` + modern("{}") + `}}`)
		require.Equal(t, `1`, string(w.next().ID))
	})
}

func TestNewReportsAllProblems(t *testing.T) {
	_, err := mcpserver.New(mcpserver.Options{Live: mcpserver.Live{Exposure: "loud", Tools: toolset.Options{Names: "shouting"}, QueueMax: -1}})
	for _, part := range []string{"Engine", "Catalog", "Name", "Principal", "loud", "shouting", "negative"} {
		require.ErrorContains(t, err, part)
	}
}

func TestPrincipalsSeeTheirOwnTools(t *testing.T) {
	g := newGarden()
	g.extra = &catalog.Operation{
		ID:       catalog.PluginID("Vault", "open"),
		Contract: catalog.Contract{Input: object(`"properties":{}`), Output: json.RawMessage(`{"type":"array"}`), Scopes: []string{"vault"}},
		Listing: catalog.Listing{
			Summary: "Opens the vault.",
			Reach:   catalog.Everywhere,
		},
		Work: catalog.Work{Handler: func(context.Context, catalog.Call) (json.RawMessage, error) { return json.RawMessage(`[1]`), nil }},
	}
	o := options(t, g)
	w := dial(t, o)
	require.Contains(t, names(t, w.call(`{"jsonrpc":"2.0","id":1,"method":"tools/list"}`)), "vault_open")
	require.JSONEq(t, `{"result":[1]}`, string(w.call(callLine(`1`, "vault.open", `{}`)).tool(t).Data))
	o.Principal = auth.Principal{Subject: "guest", Sets: []string{"default"}}
	w = dial(t, o)
	require.NotContains(t, names(t, w.call(`{"jsonrpc":"2.0","id":1,"method":"tools/list"}`)), "vault_open")
	require.Equal(t, string(fault.ToolNotFound), w.call(callLine(`1`, "vault.open", `{}`)).Error.Data.Code)
}
