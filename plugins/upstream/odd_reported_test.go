package upstream_test

import (
	"maps"

	"github.com/koan-go/koan/framework/fault"
)

// reportedWays are ways to misbehave that users have reported of servers, each with the report.
var reportedWays = map[string]func(*oddServer, *message) string{
	// https://github.com/Wynelson94/longhand/issues/10
	"an output that is a list": structured(`{"type":"array","items":{"type":"integer"}}`, `"content":[{"type":"text","text":"[1,2]"}],"structuredContent":[1,2]`),
	// https://github.com/kenn-io/msgvault/issues/626
	"an output that is a list or null": structured(`{"type":["null","array"]}`, `"content":[],"structuredContent":null`),
	// https://github.com/anthropics/claude-code/issues/10030
	"an output of several kinds": structured(`{"anyOf":[{"type":"object","required":["a"]},{"type":"object","required":["b"]}]}`, `"content":[],"structuredContent":{"b":1}`),
	// https://github.com/ThinkInAIXYZ/deepchat/pull/2075
	"a schema of its output that is none": structured(`{"type":"object","properties":{"n":{"type":"date"}}}`, `"content":[],"structuredContent":{"n":1}`),
	// https://github.com/anthropics/claude-code/issues/14465
	"no structure in spite of a schema": structured(`{"type":"object","properties":{"n":{"type":"integer"}}}`, `"content":[{"type":"text","text":"five"}],"structuredContent":null`),
	// https://github.com/anthropics/claude-code/issues/88049
	"an input of several kinds": list(`{"tools":[{"name":"work","inputSchema":{"anyOf":[{"type":"object"},{"type":"object","required":["n"]}]}}]}`),
	// https://github.com/zereight/gitlab-mcp/issues/286
	"an input without a type": list(`{"tools":[{"name":"work","inputSchema":{}}]}`),
	// https://github.com/openai/openai-agents-python/pull/3561
	"two tools of one name": list(`{"tools":[{"name":"work","inputSchema":{"type":"object"}},{"name":"work","description":"Other work.","inputSchema":{"type":"object"}}]}`),
	// https://github.com/cloudflare/mcp-server-cloudflare/issues/12
	"a result within a result": call(`{"jsonrpc":"2.0","id":$id,"result":{"toolResult":{"content":[{"type":"text","text":"done"}]}}}`),
	// https://github.com/ElliotPadfield/unpaywall-mcp/issues/4
	"a block of JSON": call(`{"jsonrpc":"2.0","id":$id,"result":{"content":[{"type":"json","json":{"n":1}}]}}`),
	// https://github.com/zereight/gitlab-mcp/issues/393
	"a text without text": call(`{"jsonrpc":"2.0","id":$id,"result":{"content":[{"type":"text"}]}}`),
	// https://github.com/knowsuchagency/mcp2cli/issues/89
	"a link to a resource": call(`{"jsonrpc":"2.0","id":$id,"result":{"content":[{"type":"text","text":"see:"},{"type":"resource_link","uri":"probe://linked","name":"linked"}]}}`),
	// https://github.com/PhilflowIO/dav-mcp/issues/31
	"heartbeats in JSON": call("data: {\"type\":\"heartbeat\",\"timestamp\":\"2026-01-01\"}\n\ndata: " + fine + "\n\n"),
	// https://github.com/IBM/mcp-context-forge/issues/689
	"an event to stay alive": call("event: keepalive\ndata: {}\n\nevent: message\ndata: " + fine + "\n\n"),
	// https://github.com/modelcontextprotocol/python-sdk/issues/1146
	"a ping that is an event": call("event: ping\ndata:\n\n: ping - 2026-01-01\n\ndata: " + fine + "\n\n"),
	// https://github.com/mcp-use/mcp-use/issues/114
	"a notification of an editor": call(`{"jsonrpc":"2.0","method":"window/logMessage","params":["x"]}` + "\n" + fine),
	// https://github.com/HKUDS/nanobot/pull/4372
	"progress of nothing": call(`{"jsonrpc":"2.0","method":"notifications/progress","params":{"progress":1}}` + "\n" + fine),
	// https://github.com/anthropics/claude-code/issues/64475
	"progress of something else": call(`{"jsonrpc":"2.0","method":"notifications/progress","params":{"progress":"5","total":8,"progressToken":2}}` + "\n" + fine),
	// https://github.com/shaun0927/openchrome/issues/144
	"an answer to the notification": on("notifications/initialized", `{"jsonrpc":"2.0","id":null,"error":{"code":-32601,"message":"Method not found"}}`),
	// https://github.com/just-every/code/issues/611
	"nothing at the start": on("initialize", `{"jsonrpc":"2.0","id":$id,"result":{}}`),
	// https://github.com/awslabs/mcp/issues/3295
	"null for the notification": on("notifications/initialized", status+"200 application/json null"),
	// https://github.com/openai/codex/issues/20982
	"nothing in JSON for the notification": on("notifications/initialized", status+"200 application/json "),
	// https://github.com/egoist/chatwise-releases/issues/1360
	"204 for the notification": on("notifications/initialized", status+"204 - "),
	// https://github.com/drhelius/Geargrafx/issues/134
	"a result for the notification": on("notifications/initialized", status+`200 application/json {"jsonrpc":"2.0","result":{}}`),
	// https://github.com/anthropics/claude-ai-mcp/issues/154
	"JSON that is called HTML": call(status + "200 text/html " + fine),
	// https://github.com/samihalawa/mcp-server-smtp/pull/4
	"an object in place of content": call(`{"jsonrpc":"2.0","id":$id,"result":{"success":true,"configs":[{"id":"default"}]}}`),
	// https://github.com/GopherSecurity/gopher-mcp/issues/202
	"a text in place of content":  call(`{"jsonrpc":"2.0","id":$id,"result":{"content":"Hello, World!","isError":false}}`),
	"texts in place of content":   call(`{"jsonrpc":"2.0","id":$id,"result":{"content":["one","two"]}}`),
	"a block in place of content": call(`{"jsonrpc":"2.0","id":$id,"result":{"content":{"type":"text","text":"done"}}}`),
	"a failure without content":   call(`{"jsonrpc":"2.0","id":$id,"result":{"isError":true,"error":"The mail server is away"}}`),
	// https://github.com/NovasPlace/CSM/pull/28
	"a list without a schema": call(`{"jsonrpc":"2.0","id":$id,"result":{"content":[],"structuredContent":[{"id":"1"}]}}`),
	// https://github.com/DeusData/codebase-memory-mcp/issues/1247
	"a page that comes after itself": list(`{"tools":[{"name":"work","inputSchema":{"type":"object"}},{"name":"rest","inputSchema":{"type":"object"}}],"nextCursor":"8"}`),
	// https://github.com/gensecaihq/Wazuh-MCP-Server/issues/75
	"a last page that is null": list(`{"tools":[{"name":"work","inputSchema":{"type":"object"}}],"nextCursor":null}`),
	// https://github.com/tale-project/tale/issues/1512
	"an address of something else": func(*oddServer, *message) string {
		return status + `406 application/json {"message":"Must accept 'application/json'","documentation_url":"https://docs.github.com/rest"}`
	},
	// https://github.com/cursor/cursor/issues/2995
	"tools that nobody has asked for": on("initialize", `{"jsonrpc":"2.0","method":"mcp/hello","params":{"capabilities":{"tools":{"listChanged":true}}}}`+"\n"+`{"jsonrpc":"2.0","method":"tools/list","params":{"tools":[]}}`+"\n"+welcome),
	// https://github.com/ramimbo/mergework/pull/848
	"no start at all": on("initialize", unknown),
}

func init() { maps.Copy(oddWays, reportedWays) }

var reportedRows = []oddRow{
	{way: "an output that is a list", over: onlyStdio, result: `[1,2]`},
	{way: "an output that is a list or null", over: onlyStdio, result: `null`},
	{way: "an output of several kinds", over: onlyStdio, result: `{"b":1}`},
	{way: "a schema of its output that is none", over: onlyStdio, result: `{"n":1}`},
	{way: "no structure in spite of a schema", over: onlyStdio, code: fault.UpstreamError, says: "has no structuredContent"},
	{way: "an input of several kinds", over: onlyStdio, result: done},
	{way: "an input without a type", over: onlyStdio, result: done},
	{way: "two tools of one name", over: everywhere, result: done, person: "work (listed again in another form; the first counts)"},
	{way: "a result within a result", over: everywhere, result: done},
	{way: "a block of JSON", over: everywhere, result: `{"type":"json","json":{"n":1}}`},
	{way: "a text without text", over: everywhere, result: `""`},
	{way: "a link to a resource", over: everywhere, result: `["see:",{"type":"resource_link","uri":"probe://linked","name":"linked"}]`},
	{way: "heartbeats in JSON", over: onlyHTTP, result: done},
	{way: "an event to stay alive", over: onlyHTTP, result: done},
	{way: "a ping that is an event", over: onlyHTTP, result: done},
	{way: "a notification of an editor", over: onlyStdio, result: done},
	{way: "progress of nothing", over: onlyStdio, result: done},
	{way: "progress of something else", over: onlyStdio, result: done},
	{way: "an answer to the notification", over: everywhere, result: done},
	{way: "nothing at the start", over: everywhere, result: done},
	{way: "null for the notification", over: onlyHTTP, result: done},
	{way: "nothing in JSON for the notification", over: onlyHTTP, result: done},
	{way: "204 for the notification", over: onlyHTTP, result: done},
	{way: "a result for the notification", over: onlyHTTP, result: done},
	{way: "JSON that is called HTML", over: onlyHTTP, result: done},
	{way: "an object in place of content", over: everywhere, result: `{"success":true,"configs":[{"id":"default"}]}`},
	{way: "a text in place of content", over: everywhere, result: `"Hello, World!"`},
	{way: "texts in place of content", over: onlyStdio, result: `["one","two"]`},
	{way: "a block in place of content", over: onlyStdio, result: done},
	{way: "a failure without content", over: everywhere, code: fault.UpstreamError, says: "The mail server is away"},
	{way: "a list without a schema", over: everywhere, result: `[{"id":"1"}]`},
	{way: "a page that comes after itself", over: everywhere, result: done, person: "its pages go in circles"},
	{way: "a last page that is null", over: everywhere, result: done},
	{way: "an address of something else", over: onlyHTTP, code: fault.ServiceUnavailable, says: "Must accept 'application/json'", person: "Must accept 'application/json'", refused: true},
	{way: "tools that nobody has asked for", over: []string{stdio}, result: done},
	{way: "no start at all", over: everywhere, code: fault.ServiceUnavailable, says: "no such method", person: "no such method", refused: true},
}
