package upstream_test

import (
	"cmp"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/koan-go/koan/framework/fault"
)

// oddWays are the ways to misbehave, by name.
var oddWays = map[string]func(*oddServer, *message) string{
	// What is written for a call.
	"its id is a string":             call(`{"jsonrpc":"2.0","id":"$id","result":{"content":[{"type":"text","text":"done"}]}}`),
	"its id is a fraction":           call(`{"jsonrpc":"2.0","id":$id.0,"result":{"content":[{"type":"text","text":"done"}]}}`),
	"all ids are strings":            asksAll,
	"no version of JSON-RPC":         call(`{"id":$id,"result":{"content":[{"type":"text","text":"done"}]}}`),
	"an error that is null":          call(`{"jsonrpc":"2.0","id":$id,"error":null,"result":{"content":[{"type":"text","text":"done"}]}}`),
	"words before a message":         call("2026-01-01 INFO sending " + fine),
	"a bracket before a message":     call(`[INFO] {"level": "debug"} ` + fine),
	"colours before a message":       call("\x1b[2K\x1b[1G" + fine),
	"words behind a message":         call(fine + " sent."),
	"a mark of byte order":           call("\ufeff" + fine),
	"a message on several lines":     call("{\n  \"jsonrpc\": \"2.0\",\n  \"id\": $id,\n  \"result\": {\n    \"content\": [\n      {\"type\": \"text\",\n       \"text\": \"done\"}\n    ]\n  }\n}"),
	"lines of another system":        call(fine + "\r\n"),
	"a line feed in a string":        call("{\"jsonrpc\":\"2.0\",\"id\":$id,\"result\":{\"content\":[{\"type\":\"text\",\"text\":\"one\ntwo\"}]}}"),
	"a batch":                        call(`[` + notice + `,` + fine + `]`),
	"two messages on a line":         call(notice + fine),
	"a header before a message":      call("Content-Length: 90\r\n\r\n" + fine),
	"a log in JSON":                  call(`{"level":"info","id":$id,"msg":"called"}` + "\n" + fine),
	"half a message":                 call(`{"jsonrpc":"2.0","id":$id,"result":{"con` + "\n" + fine),
	"half a message and another":     call(`{"jsonrpc":"2.0","id":$id,"result":{"con` + "\n" + notice),
	"an error without an id":         call(`{"jsonrpc":"2.0","id":null,"error":{"code":-32001,"message":"Invalid API key"}}`),
	"the id of somebody else":        call(strings.Replace(fine, "$id", "987654", 1)),
	"the id of somebody as a text":   call(strings.Replace(fine, "$id", `"session-7"`, 1)),
	"the id of somebody as an event": call("data: " + strings.Replace(fine, "$id", "987654", 1) + "\n\n"),
	"a negative id":                  call(strings.Replace(fine, "$id", "-1", 1)),
	"an error of another number":     call(`{"jsonrpc":"2.0","id":0,"error":{"code":-32600,"message":"Invalid API key"}}`),
	"an error of another id":         call(`{"jsonrpc":"2.0","id":"server-error","error":{"code":-32600,"message":"Invalid API key"}}`),
	"an error that is a string":      call(`{"jsonrpc":"2.0","id":$id,"error":"Invalid API key"}`),
	"an error with a code in words":  call(`{"jsonrpc":"2.0","id":$id,"error":{"code":"UNAUTHORIZED","message":"Invalid API key"}}`),
	"an error without a message":     call(`{"jsonrpc":"2.0","id":$id,"error":{"code":401,"error":"Invalid API key"}}`),
	"an answer that answers nothing": call(`{"jsonrpc":"2.0","id":$id}`),
	"a result that is null":          call(`{"jsonrpc":"2.0","id":$id,"result":null}`),
	"no JSON":                        call(`{"jsonrpc":"2.0","id":$id,"result":{"structuredContent":{"mean":NaN}}}`),
	"a page of HTML":                 call(status + "200 text/html <h1>Sign in</h1>"),
	"a refusal in plain JSON":        call(status + `200 application/json {"error":"Invalid API key"}`),
	"JSON as text":                   call(status + "200 text/plain " + fine),
	"JSON without a type":            call(status + "200 - " + fine),
	"nothing":                        call(status + "200 application/json "),
	"an event with a BOM":            call("data: \ufeff" + fine + "\n\n"),
	"an event without an end":        call("data: " + fine),
	"an event in lines":              call("event: message\ndata: {\"jsonrpc\":\"2.0\",\ndata: \"id\":$id,\ndata: \"result\":{\"content\":[{\"type\":\"text\",\"text\":\"done\"}]}}\n\n"),
	"an event with a string as id":   call("data: {\"jsonrpc\":\"2.0\",\"id\":\"$id\",\"result\":{\"content\":[{\"type\":\"text\",\"text\":\"done\"}]}}\n\n"),
	"a refusal with a reason":        call(status + `422 application/json {"detail":"a must be positive"}`),
	"a refusal of JSON-RPC":          call(status + `400 application/json {"jsonrpc":"2.0","id":null,"error":{"code":-32602,"message":"a must be positive"}}`),

	// What is written for a call of a tool with schemas.
	"a result that misses its schema": structured(`{"type":"object","properties":{"n":{"type":"integer"}}}`, `"content":[{"type":"text","text":"five"}],"structuredContent":{"n":"five"}`),
	"structure as text alone":         structured(`{"type":"object","properties":{"n":{"type":"integer"}}}`, `"content":[{"type":"text","text":"{\"n\":5}"}]`),
	"null where it is nullable":       structured(`{"type":"object","properties":{"n":{"type":"integer","nullable":true}},"required":["n"]}`, `"content":[],"structuredContent":{"n":null}`),
	"a tuple without a version":       structured(`{"type":"object","properties":{"p":{"type":"array","items":[{"type":"string"},{"type":"integer"}]}}}`, `"content":[],"structuredContent":{"p":["a",1]}`),
	"a tuple that is wrong":           structured(`{"type":"object","properties":{"p":{"type":"array","items":[{"type":"string"},{"type":"integer"}]}}}`, `"content":[],"structuredContent":{"p":[1,"a"]}`),
	"an exclusive bound of OpenAPI":   structured(`{"type":"object","properties":{"n":{"type":"number","minimum":0,"exclusiveMinimum":true}}}`, `"content":[],"structuredContent":{"n":0}`),
	"its arguments":                   echoes,
	"a tool that says it only reads":  list(`{"tools":[{"name":"work","title":"Work hard","inputSchema":{"type":"object"},"annotations":{"readOnlyHint":true,"destructiveHint":false}}]}`),
	"a text that looks like a number": call(`{"jsonrpc":"2.0","id":$id,"result":{"content":[{"type":"text","text":"0.10"}]}}`),

	// What is written for the list of tools.
	"a tool with odd annotations":  list(`{"tools":[{"name":"work","title":5,"description":["x"],"annotations":"none","inputSchema":{"type":"object"}}]}`),
	"a tool with odd hints":        list(`{"tools":[{"name":"work","annotations":{"readOnlyHint":"yes"},"inputSchema":{"type":"object"}}]}`),
	"a tool without a name":        list(`{"tools":[{"description":"x"},null,{"name":"work","inputSchema":{"type":"object"}}]}`),
	"no schema":                    list(`{"tools":[{"name":"work","inputSchema":null}]}`),
	"a schema of PHP":              list(`{"tools":[{"name":"work","inputSchema":[]}]}`),
	"a schema too large":           list(`{"tools":[{"name":"work","inputSchema":{"type":"object","description":"` + strings.Repeat("x", 300_000) + `"}}]}`),
	asWritten:                      list(oneTool),
	"properties of PHP":            list(`{"tools":[{"name":"work","inputSchema":{"type":"object","properties":[],"required":null}}]}`),
	"a cursor that is null":        list(`{"tools":[{"name":"work","inputSchema":{"type":"object"}}],"nextCursor":null}`),
	"a cursor that is empty":       list(`{"tools":[{"name":"work","inputSchema":{"type":"object"}}],"nextCursor":""}`),
	"a cursor that is a number":    pages(`{"jsonrpc":"2.0","id":$id,"result":{"tools":[{"name":"other","inputSchema":{"type":"object"}}],"nextCursor":2}}`, `{"jsonrpc":"2.0","id":$id,"result":`+oneTool+`}`),
	"a second page that fails":     pages(firstPage, rpcError(-32603, "database is locked")),
	"a second page without method": pages(firstPage, unknown),
	"a second page that is odd":    pages(firstPage, `{"jsonrpc":"2.0","id":$id,"result":{"tools":"none"}}`),
	"a second page of HTML":        pages(firstPage, status+"502 text/html <h1>Bad gateway</h1>"),
	"a list that is refused":       on("tools/list", rpcError(-32000, "Invalid API key")),

	// What is written at the start.
	"PHP at the start":                  on("initialize", `{"jsonrpc":"2.0","id":$id,"result":{"protocolVersion":"2025-06-18","capabilities":{"tools":[],"logging":[],"prompts":null},"serverInfo":[]}}`),
	"a version that never was":          on("initialize", `{"jsonrpc":"2.0","id":$id,"result":{"protocolVersion":"2024-10-07","capabilities":{"tools":{"listChanged":"no"}},"serverInfo":{"name":5}}}`),
	"a version of the future":           on("initialize", `{"jsonrpc":"2.0","id":$id,"result":{"protocolVersion":"2199-01-01","capabilities":{"tools":{}},"serverInfo":{"name":"odd"}}}`),
	"nothing of itself":                 on("initialize", `{"jsonrpc":"2.0","id":$id,"result":{"protocolVersion":"2025-06-18","instructions":null}}`),
	"tools that are not declared":       on("initialize", `{"jsonrpc":"2.0","id":$id,"result":{"protocolVersion":"2025-06-18","capabilities":{},"serverInfo":{"name":"odd","version":"1"}}}`),
	"only what is declared is asked":    strict,
	"an end at the prompts":             endsAtPrompts,
	"a refusal of the notification":     on("notifications/initialized", status+`400 application/json {"error":"no id"}`),
	"an end at the first question":      asksFirst(exits + "expected initialize request, got server/discover"),
	"an end at every first question":    beginsWithInitialize(exits + "Error: expect initialized request"),
	"silence unless asked as expected":  onlyOnce,
	"silence at the first question":     asksFirst(silence),
	"an error without an id at first":   asksFirst(`{"jsonrpc":"2.0","id":null,"error":{"code":-32600,"message":"Not initialized"}}`),
	"an error of its own at first":      asksFirst(rpcError(-32600, "Server not initialized")),
	"an empty result at first":          asksFirst(`{"jsonrpc":"2.0","id":$id,"result":{}}`),
	"a result that is null at first":    asksFirst(`{"jsonrpc":"2.0","id":$id,"result":null}`),
	"old versions at first":             asksFirst(`{"jsonrpc":"2.0","id":$id,"result":{"supportedVersions":["2025-06-18"],"capabilities":{}}}`),
	"an empty object at first":          asksFirst(`{}`),
	"an empty line at first":            asksFirst("\n"),
	"words at first":                    asksFirst("unknown method server/discover"),
	"a status 400 at first":             asksFirst(status + `400 application/json {"jsonrpc":"2.0","id":null,"error":{"code":-32000,"message":"Bad Request: Server not initialized"}}`),
	"a status 404 at first":             asksFirst(status + "404 text/plain not found"),
	"a status 405 at first":             asksFirst(status + "405 - "),
	"a status 406 at first":             asksFirst(status + "406 text/plain no"),
	"a status 415 at first":             asksFirst(status + "415 text/plain no"),
	"a status 422 at first":             asksFirst(status + "422 text/plain Unexpected message, expect initialize request"),
	"a status 500 at first":             asksFirst(status + "500 text/html <h1>Oops</h1>"),
	"a status 501 at first":             asksFirst(status + "501 - "),
	"a status 503 at first":             asksFirst(status + "503 - "),
	"a status 202 at first":             asksFirst(status + "202 - "),
	"a status 204 at first":             asksFirst(status + "204 - "),
	"a page of HTML at first":           asksFirst(status + "200 text/html <h1>Hello</h1>"),
	"a cut at first":                    asksFirst(exits),
	"an empty stream at first":          asksFirst("data:\n\n"),
	"a key that is refused":             on("initialize", rpcError(-32001, "Invalid API key")),
	"a key that is refused as text":     on("initialize", `{"jsonrpc":"2.0","id":null,"error":"Invalid API key"}`),
	"a key that is refused by a status": on("initialize", status+`400 application/json {"error":{"message":"Invalid API key"}}`),
	"a key that is missing":             writesOnly(exits + "Error: API_KEY is required"),
	"starts once it may":                startsSlowly,

	// What is asked in the middle of a call, under the id of the call.
	"a ping while it is called":           asksBack("ping", `{}`),
	"a question for roots":                asksBack("roots/list", `{}`),
	"a question that nobody knows":        asksBack("tasks/beg", `{}`),
	"a question for a person who is away": asksBack("elicitation/create", asksName),
	"a question for no model":             asksBack("sampling/createMessage", asksModel),

	// A session that is gone.
	"forgotten with 400":              forgets(status + `400 application/json {"jsonrpc":"2.0","error":{"code":-32000,"message":"Bad Request: No valid session ID provided"},"id":null}`),
	"forgotten with 400 and no words": forgets(status + "400 - "),
	"forgotten with 404":              forgets(status + "404 text/plain gone"),
	"forgotten with 404 in JSON":      forgets(status + `404 application/json {"jsonrpc":"2.0","error":{"code":-32001,"message":"Session not found"},"id":null}`),
	"forgotten with 410":              forgets(status + "410 - "),
	"forgotten with 401":              forgets(status + "401 text/plain Unauthorized: Session not found"),
	"forgotten with 403":              forgets(status + `403 application/json {"error":"invalid session"}`),
	"forgotten with 409":              forgets(status + `409 application/json {"message":"session expired"}`),
	"forgotten with 422":              forgets(status + "422 text/plain Unexpected message, expect initialize request"),
	"forgotten with 500":              forgets(status + `500 application/json {"error":"Session terminated"}`),
	"forgotten in a result":           forgets(rpcError(-32001, "Session not found")),
	"forgotten in a stream":           forgets("event: message\ndata: {\"jsonrpc\":\"2.0\",\"id\":$id,\"error\":{\"code\":-32600,\"message\":\"Session has expired\"}}\n\n"),
	"not initialized any more":        forgets(`{"jsonrpc":"2.0","id":"server-error","error":{"code":-32600,"message":"Bad Request: Server not initialized"}}`),
}

// asksBack makes a way of a server that asks while it is called, and returns what it was told.
func asksBack(method, params string) func(*oddServer, *message) string {
	return func(_ *oddServer, m *message) string {
		switch m.Method {
		case "tools/call":
			return `{"jsonrpc":"2.0","id":$id,"method":"` + method + `","params":` + params + `}`
		case "":
			return `{"jsonrpc":"2.0","id":$id,"result":{"structuredContent":{"result":` + cmp.Or(string(m.Result), "null") + `,"error":` + cmp.Or(string(m.Error), "null") + `}}}`
		}
		return asUsual
	}
}

// structured makes a way of a tool with a schema of its output, and its result.
func structured(schema, result string) func(*oddServer, *message) string {
	return func(_ *oddServer, m *message) string {
		switch m.Method {
		case "tools/list":
			return `{"jsonrpc":"2.0","id":$id,"result":{"tools":[{"name":"work","inputSchema":{"type":"object"},"outputSchema":` + schema + `}]}}`
		case "tools/call":
			return `{"jsonrpc":"2.0","id":$id,"result":{` + result + `}}`
		}
		return asUsual
	}
}

const firstPage = `{"jsonrpc":"2.0","id":$id,"result":{"tools":[{"name":"work","inputSchema":{"type":"object"}}],"nextCursor":"2"}}`

// pages makes a way of the pages of a list of tools.
func pages(first, second string) func(*oddServer, *message) string {
	return func(_ *oddServer, m *message) string {
		switch {
		case m.Method != "tools/list":
			return asUsual
		case m.Params.Cursor == "":
			return first
		}
		return second
	}
}

func writesOnly(text string) func(*oddServer, *message) string {
	return func(*oddServer, *message) string { return text }
}

// asksAll answers all requests with their ids as strings.
func asksAll(_ *oddServer, m *message) string {
	const head = `{"jsonrpc":"2.0","id":"$id",`
	switch m.Method {
	case "initialize":
		return head + welcome[len(`{"jsonrpc":"2.0","id":$id,`):]
	case "tools/list":
		return head + `"result":` + oneTool + `}`
	case "tools/call":
		return head + fine[len(`{"jsonrpc":"2.0","id":$id,`):]
	case "server/discover":
		return head + unknown[len(`{"jsonrpc":"2.0","id":$id,`):]
	}
	return silence
}

// beginsWithInitialize makes a way of a server that writes a text unless initialize comes first.
func beginsWithInitialize(text string) func(*oddServer, *message) string {
	return func(s *oddServer, m *message) string {
		if !s.begun && m.Method != "initialize" {
			return text
		}
		return asUsual
	}
}

// onlyOnce says nothing any more once something else than initialize came first.
func onlyOnce(s *oddServer, m *message) string {
	if !s.begun && (s.first || m.Method != "initialize") {
		return silence
	}
	return asUsual
}

// strict ends at everything that it has not declared.
func strict(_ *oddServer, m *message) string {
	switch m.Method {
	case "initialize", "notifications/initialized", "tools/list", "tools/call":
		return asUsual
	}
	return exits + "unknown method " + m.Method
}

// endsAtPrompts declares prompts, and ends where they are asked for.
func endsAtPrompts(_ *oddServer, m *message) string {
	switch m.Method {
	case "initialize":
		return `{"jsonrpc":"2.0","id":$id,"result":{"protocolVersion":"2025-06-18","capabilities":{"tools":{},"prompts":{}},"serverInfo":{"name":"odd","version":"1"}}}`
	case "prompts/list":
		return exits + "TypeError: prompts is not iterable"
	}
	return asUsual
}

func startsSlowly(s *oddServer, m *message) string {
	if !s.first {
		f, err := os.OpenFile(os.Getenv("STARTS"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
		if err != nil {
			panic(err)
		}
		defer f.Close()
		fmt.Fprintln(f, "started")
		for { // the test lets it go on
			if _, err := os.Stat(os.Getenv("STARTS") + ".on"); err == nil {
				break
			}
			time.Sleep(10 * time.Millisecond)
		}
	}
	return asUsual
}

const done = `"done"`

// asWritten is the way of a server that does as the protocol says.
const asWritten = "nothing is odd"

var (
	onlyStdio = []string{stdio}
	onlyHTTP  = []string{stream}
	webs      = []string{stream, events}
	lineBased = []string{stdio, stream}
	bothWays  = []string{stdio, events} // on which both sides ask
)

var oddRows = []oddRow{
	{way: "its id is a string", over: everywhere, result: done},
	{way: "its id is a fraction", over: everywhere, result: done},
	{way: "all ids are strings", over: everywhere, result: done},
	{way: "no version of JSON-RPC", over: everywhere, result: done},
	{way: "an error that is null", over: everywhere, result: done},
	{way: "words before a message", over: everywhere, result: done},
	{way: "a bracket before a message", over: everywhere, result: done},
	{way: "colours before a message", over: everywhere, result: done},
	{way: "words behind a message", over: everywhere, result: done},
	{way: "a mark of byte order", over: everywhere, result: done},
	{way: "a message on several lines", over: everywhere, result: done},
	{way: "lines of another system", over: lineBased, result: done},
	{way: "a line feed in a string", over: onlyStdio, result: `"one\ntwo"`},
	{way: "a batch", over: everywhere, result: done},
	{way: "two messages on a line", over: everywhere, result: done},
	{way: "a header before a message", over: onlyStdio, result: done},
	{way: "a log in JSON", over: onlyStdio, result: done},
	{way: "half a message", over: onlyStdio, result: done},
	{way: "half a message and another", over: onlyStdio, code: fault.UpstreamError, says: "not JSON"},
	{way: "an error without an id", over: everywhere, code: fault.UpstreamError, says: "Invalid API key"},
	{way: "the id of somebody else", over: everywhere, code: fault.UpstreamError, says: "it sent an answer with the id 987654, but was asked with the id "},
	{way: "the id of somebody as a text", over: everywhere, code: fault.UpstreamError, says: `it sent an answer with the id "session-7", but was asked with the id `},
	{way: "the id of somebody as an event", over: onlyHTTP, code: fault.UpstreamError, says: "it sent an answer with the id 987654, but was asked with the id "},
	{way: "a negative id", over: everywhere, code: fault.UpstreamError, says: "it sent an answer with the id -1, but was asked with the id "},
	{way: "an error of another number", over: everywhere, code: fault.UpstreamError, says: "Invalid API key"},
	{way: "an error of another id", over: everywhere, code: fault.UpstreamError, says: "Invalid API key"},
	{way: "an error that is a string", over: everywhere, code: fault.UpstreamError, says: "Invalid API key"},
	{way: "an error with a code in words", over: everywhere, code: fault.UpstreamError, says: "Invalid API key"},
	{way: "an error without a message", over: everywhere, code: fault.UpstreamError, says: "Invalid API key"},
	{way: "an answer that answers nothing", over: everywhere, code: fault.UpstreamError, says: "neither a result nor an error"},
	{way: "a result that is null", over: everywhere, result: `null`},
	{way: "no JSON", over: everywhere, code: fault.UpstreamError, says: "not JSON"},
	{way: "a page of HTML", over: onlyHTTP, code: fault.UpstreamError, says: "text/html"},
	{way: "a refusal in plain JSON", over: onlyHTTP, code: fault.UpstreamError, says: "Invalid API key"},
	{way: "JSON as text", over: onlyHTTP, result: done},
	{way: "JSON without a type", over: onlyHTTP, result: done},
	{way: "nothing", over: onlyHTTP, code: fault.UpstreamError, says: "nothing else"},
	{way: "an event with a BOM", over: onlyHTTP, result: done},
	{way: "an event without an end", over: onlyHTTP, result: done},
	{way: "an event in lines", over: onlyHTTP, result: done},
	{way: "an event with a string as id", over: onlyHTTP, result: done},
	{way: "a refusal with a reason", over: webs, code: fault.UpstreamError, says: "a must be positive"},
	{way: "a refusal of JSON-RPC", over: webs, code: fault.UpstreamError, says: "a must be positive"},

	{way: "a result that misses its schema", over: onlyStdio, code: fault.UpstreamError, says: "/n: must be integer, not string"},
	{way: "structure as text alone", over: onlyStdio, result: `{"n":5}`},
	{way: "null where it is nullable", over: onlyStdio, result: `{"n":null}`},
	{way: "a tuple without a version", over: onlyStdio, result: `{"p":["a",1]}`},
	{way: "a tuple that is wrong", over: onlyStdio, code: fault.UpstreamError, says: "/p/0: must be string, not number"},
	{way: "an exclusive bound of OpenAPI", over: onlyStdio, code: fault.UpstreamError, says: "must be more than 0"},
	{way: "a text that looks like a number", over: onlyStdio, result: `"0.10"`},

	{way: "a tool with odd annotations", over: everywhere, result: done, person: "its annotations and its description and its title cannot be read"},
	{way: "a tool with odd hints", over: onlyStdio, result: done, person: "its annotations cannot be read"},
	{way: "a tool without a name", over: onlyStdio, result: done, person: "tool 1 of its list has no name", refused: true},
	{way: "no schema", over: onlyStdio, result: done},
	{way: "a schema of PHP", over: onlyStdio, result: done, person: "its schema cannot be used"},
	{way: "a schema too large", over: onlyStdio, result: done, person: "its schema cannot be used: it has"},
	{way: "properties of PHP", over: onlyStdio, result: done, person: "/properties"},
	{way: "a cursor that is null", over: onlyStdio, result: done},
	{way: "a cursor that is empty", over: onlyStdio, result: done},
	{way: "a cursor that is a number", over: onlyStdio, result: done},
	{way: "a second page that fails", over: everywhere, result: done, person: "page 2 of its list of tools is missing, and all behind it: it refused to list its tools: database is locked"},
	{way: "a second page without method", over: onlyStdio, result: done, person: "page 2"},
	{way: "a second page that is odd", over: onlyStdio, result: done, person: "page 2"},
	{way: "a second page of HTML", over: webs, result: done, person: "502"},
	{way: "a list that is refused", over: everywhere, code: fault.ServiceUnavailable, says: "Invalid API key", person: "Invalid API key", refused: true},

	{way: "PHP at the start", over: everywhere, result: done},
	{way: "a version that never was", over: everywhere, result: done},
	{way: "a version of the future", over: everywhere, result: done},
	{way: "nothing of itself", over: everywhere, result: done},
	{way: "tools that are not declared", over: onlyStdio, result: done},
	{way: "only what is declared is asked", over: onlyStdio, result: done},
	{way: "an end at the prompts", over: onlyStdio, result: done},
	{way: "a refusal of the notification", over: onlyHTTP, result: done},
	{way: "an end at the first question", over: lineBased, result: done},
	{way: "an end at every first question", over: lineBased, result: done},
	{way: "silence at the first question", over: everywhere, result: done},
	{way: "an error without an id at first", over: everywhere, result: done},
	{way: "an error of its own at first", over: everywhere, result: done},
	{way: "an empty result at first", over: everywhere, result: done},
	{way: "a result that is null at first", over: everywhere, result: done},
	{way: "old versions at first", over: everywhere, result: done},
	{way: "an empty object at first", over: lineBased, result: done},
	{way: "an empty line at first", over: lineBased, result: done},
	{way: "words at first", over: lineBased, result: done},
	{way: "a status 400 at first", over: onlyHTTP, result: done},
	{way: "a status 404 at first", over: onlyHTTP, result: done},
	{way: "a status 405 at first", over: onlyHTTP, result: done},
	{way: "a status 406 at first", over: onlyHTTP, result: done},
	{way: "a status 415 at first", over: onlyHTTP, result: done},
	{way: "a status 422 at first", over: onlyHTTP, result: done},
	{way: "a status 500 at first", over: onlyHTTP, result: done},
	{way: "a status 501 at first", over: onlyHTTP, result: done},
	{way: "a status 503 at first", over: onlyHTTP, result: done},
	{way: "a status 202 at first", over: onlyHTTP, result: done},
	{way: "a status 204 at first", over: onlyHTTP, result: done},
	{way: "a page of HTML at first", over: onlyHTTP, result: done},
	{way: "a cut at first", over: onlyHTTP, result: done},
	{way: "an empty stream at first", over: onlyHTTP, result: done},
	{way: "a key that is refused", over: everywhere, code: fault.ServiceUnavailable, says: "Invalid API key", person: "Invalid API key", refused: true},
	{way: "a key that is refused as text", over: everywhere, code: fault.ServiceUnavailable, says: "Invalid API key", person: "Invalid API key", refused: true},
	{way: "a key that is refused by a status", over: onlyHTTP, code: fault.ServiceUnavailable, says: "Invalid API key", person: "Invalid API key", refused: true},
	{way: "a key that is missing", over: onlyStdio, code: fault.ServiceUnavailable, says: "API_KEY is required", person: "API_KEY is required", refused: true},

	{way: "a ping while it is called", over: bothWays, result: `{"result":{},"error":null}`},
	{way: "a question for roots", over: bothWays, result: `{"result":null,"error":{"code":-32601,"message":"this client has not declared roots/list"}}`},
	{way: "a question that nobody knows", over: bothWays, result: `{"result":null,"error":{"code":-32601,"message":"this client has not declared tasks/beg"}}`},
	{way: "a question for a person who is away", over: bothWays, result: `{"result":{"action":"decline"},"error":null}`},
	{way: "a question for no model", over: bothWays, result: `{"result":null,"error":{"code":-32600,"message":"the caller's client did not declare support for sampling/createMessage"}}`},

	{way: "forgotten with 400", over: onlyHTTP, calls: 2, result: done},
	{way: "forgotten with 400 and no words", over: onlyHTTP, calls: 2, result: done},
	{way: "forgotten with 404", over: onlyHTTP, calls: 2, result: done},
	{way: "forgotten with 404 in JSON", over: onlyHTTP, calls: 2, result: done},
	{way: "forgotten with 410", over: onlyHTTP, calls: 2, result: done},
	{way: "forgotten with 401", over: onlyHTTP, calls: 2, result: done},
	{way: "forgotten with 403", over: onlyHTTP, calls: 2, result: done},
	{way: "forgotten with 409", over: onlyHTTP, calls: 2, result: done},
	{way: "forgotten with 422", over: onlyHTTP, calls: 2, result: done},
	{way: "forgotten with 500", over: onlyHTTP, calls: 2, result: done},
	{way: "forgotten in a result", over: onlyHTTP, calls: 2, result: done},
	{way: "forgotten in a stream", over: onlyHTTP, calls: 2, result: done},
	{way: "not initialized any more", over: onlyHTTP, calls: 2, result: done},
}
