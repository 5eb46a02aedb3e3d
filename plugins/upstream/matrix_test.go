package upstream_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"regexp"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/koan-go/koan/framework"
	"github.com/koan-go/koan/framework/fault"
	"github.com/koan-go/koan/framework/koantest"
)

// row is a server that misbehaves, and what a script sees of a call.
type row struct {
	id, mode string
	url      string // of one over HTTP
	settings map[string]string
	code     fault.Code // "" for a call that succeeds
	retry    fault.Retry
	says     string // part of the message
	result   string // JSON
}

func settingsOf(t *testing.T, rows []row) []koantest.Setting {
	t.Helper()
	self, err := os.Executable()
	require.NoError(t, err)
	command, err := json.Marshal([]string{self})
	require.NoError(t, err)
	var out []koantest.Setting
	for _, r := range rows {
		key := "upstreams." + r.id + "."
		if r.url != "" {
			out = append(out, koantest.Setting{Key: key + "url", Value: r.url})
		} else {
			out = append(out, koantest.Setting{Key: key + "command", Value: string(command)}, koantest.Setting{Key: key + "env." + modeVariable, Value: r.mode})
		}
		for name, value := range r.settings {
			out = append(out, koantest.Setting{Key: key + name, Value: value})
		}
	}
	return out
}

// refusing is a server over HTTP whose calls all end in a status.
func refusing(t *testing.T, status int, header http.Header) string {
	t.Helper()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var m message
		_ = json.NewDecoder(r.Body).Decode(&m)
		w.Header().Set("Content-Type", "application/json")
		switch m.Method {
		case "initialize":
			fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"result":{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"refusing","version":"1"}}}`, m.ID)
		case "tools/list":
			fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"result":%s}`, m.ID, oneTool)
		case "tools/call":
			for name, values := range header {
				w.Header()[name] = values
			}
			w.WriteHeader(status)
			fmt.Fprint(w, "go away")
		case "notifications/initialized":
			w.WriteHeader(http.StatusAccepted)
		default:
			fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"error":{"code":-32601,"message":"no"}}`, m.ID)
		}
	}))
	t.Cleanup(s.Close)
	return s.URL
}

// closedPort is an address where nobody listens.
func closedPort(t *testing.T) string {
	t.Helper()
	s := httptest.NewServer(http.NotFoundHandler())
	s.Close()
	return s.URL
}

func matrix(t *testing.T) []row {
	short := map[string]string{"timeoutMs": "700"}
	return []row{
		{id: "absent", settings: map[string]string{"command": "[/does/not/exist]"}, code: fault.ServiceUnavailable, retry: fault.Safe, says: "the server absent cannot be reached"},
		{id: "slow", mode: "starts slowly", settings: map[string]string{"startMs": "700"}, code: fault.ServiceUnavailable, retry: fault.Safe, says: "it did not start in 700ms"},
		{id: "orphaning", mode: "is killed, and a child keeps its output open", code: fault.OutcomeUnknown, retry: fault.Never, says: "killed"},
		{id: "mortal", mode: "dies in the middle of a call", code: fault.OutcomeUnknown, retry: fault.Never, says: "out of ideas"},
		{id: "reader", mode: "dies in the middle of a call", settings: map[string]string{"effects.w*": "read"}, code: fault.ServiceUnavailable, retry: fault.Safe, says: "exit status 3"},
		{id: "departing", mode: "dies after a call", result: `"done"`},
		{id: "hanging", mode: "hangs", settings: short, code: fault.ToolTimeout, retry: fault.Never, says: "work of the server hanging did not answer in 700ms"},
		{id: "large", mode: "sends too much", code: fault.UpstreamError, retry: fault.Never, says: "more than 16777216 bytes"},
		{id: "garbled", mode: "sends broken JSON first", result: `"done"`},
		{id: "confused", mode: "answers somebody else", code: fault.UpstreamError, retry: fault.Never, says: "it sent an answer with the id 987654, but was asked with the id "},
		{id: "twice", mode: "answers twice", result: `"done"`},
		{id: "wrong", mode: "does not keep to its output schema", code: fault.UpstreamError, retry: fault.Never, says: "does not fit its own schema: /n: must be integer, not string"},
		{id: "bare", mode: "leaves out its structured content", code: fault.UpstreamError, says: "has no structuredContent"},
		{id: "failing", mode: "fails with structure", settings: map[string]string{"env.TOKEN": "${env:KOAN_TEST_SECRET}"}, code: fault.UpstreamError, retry: fault.Fix, says: "the printer is on fire"},
		{id: "strict", mode: "refuses the input", code: fault.UpstreamError, retry: fault.Fix, says: "a must be positive"},
		{id: "odd-result", mode: "sends a result that is none", code: fault.UpstreamError, says: "its result cannot be read"},
		{id: "unknown", mode: "sends unknown content", result: `[{"type":"hologram","data":1},{"a":1}]`},
		{id: "picture", mode: "sends a picture", result: `["look",{"$file":"file_","name":"work","type":"text/plain; charset=utf-8","size":2}]`},
		{id: "progress", mode: "reports progress", result: `"done"`},
		{id: "pages", mode: "pages forever", result: `"done"`},
		{id: "hostile", mode: "says hostile things", result: `"done"`},
		{id: "schemas", mode: "has odd schemas", result: `"done"`},
		{id: "texts", mode: "answers with its id as a text", result: `"done"`},
		{id: "flooding", mode: "floods with notifications", result: `"done"`},
		{id: "mute", mode: "closes its output", code: fault.OutcomeUnknown, retry: fault.Never, says: "the connection to the server mute ended"},
		{id: "logging", mode: "writes its log to standard output", result: `"done"`},
		{id: "rooted", mode: "wants roots", result: `"done"`},
		{id: "wordless", mode: "fails without a word", code: fault.UpstreamError, retry: fault.Fix, says: "work of the server wordless failed: it gave no reason"},
		{id: "empty", mode: "answers with nothing", result: `null`},
		{id: "links", mode: "links", result: `[{"type":"resource_link","uri":"file:///a","name":"a"},{"$file":"file_","name":"b","type":"text/plain; charset=utf-8","size":2}]`},
		{id: "twenty", mode: "sends 20 MB", code: fault.UpstreamError, retry: fault.Never, says: "more than 16777216 bytes"},
		{id: "restless", mode: "changes its list with each answer", result: `"done"`},
		{id: "hard", mode: "has hard schemas", result: `"done"`},
		{id: "closed", url: closedPort(t), code: fault.ServiceUnavailable, retry: fault.Safe, says: "connection refused"},
		{id: "unauthorized", url: refusing(t, http.StatusUnauthorized, nil), code: fault.Unauthorized, says: "401"},
		{id: "forbidden", url: refusing(t, http.StatusForbidden, nil), code: fault.Forbidden, says: "403"},
		{id: "busy", url: refusing(t, http.StatusTooManyRequests, http.Header{"Retry-After": {"7"}}), code: fault.RateLimited, says: "429"},
		{id: "crashing", url: refusing(t, http.StatusInternalServerError, nil), code: fault.OutcomeUnknown, says: "500"},
	}
}

// One run calls all of them at once: what one server does touches none of the others.
func TestMisbehavingServers(t *testing.T) {
	t.Setenv("KOAN_TEST_SECRET", "blue-parrot-77")
	rows := matrix(t)
	kit := koantest.New(t, framework.App{Name: "matrix"}, append(settingsOf(t, rows), koantest.Setting{Key: "files.dir", Value: t.TempDir()})...)
	var ids []string
	for _, r := range rows {
		ids = append(ids, r.id)
	}
	var seen map[string]struct {
		Result json.RawMessage
		Fault  *fault.Fault
	}
	// The first run finds no tools yet, so that its calls wait for them.
	kit.Run(`
		const out = {};
		for (const id of SDK.args) {
			try { out[id] = { result: SDK.Servers[id].work({}) } }
			catch (e) { out[id] = { fault: { code: e.code, message: e.message, hint: e.hint, retry: e.retry, details: e.details } } }
		}
		out`, koantest.Input{Args: ids}).ResultInto(&seen)
	for _, r := range rows {
		t.Run(r.id, func(t *testing.T) {
			got := seen[r.id]
			if r.code == "" {
				require.Nil(t, got.Fault)
				require.JSONEq(t, r.result, fileID.ReplaceAllString(string(got.Result), "file_"))
				return
			}
			require.NotNil(t, got.Fault, "it succeeded: %s", got.Result)
			require.Equal(t, r.code, got.Fault.Code, got.Fault.Message)
			require.Contains(t, got.Fault.Message, r.says)
			require.NotEmpty(t, got.Fault.Hint)
			if r.retry != "" {
				require.Equal(t, r.retry, got.Fault.Retry)
			}
		})
	}
	require.Contains(t, seen["busy"].Fault.Hint, "7s")
	details, err := json.Marshal(seen["failing"].Fault.Details)
	require.NoError(t, err)
	require.Contains(t, string(details), `"structuredContent":{"reason":"fire"}`)
	require.NotContains(t, string(details)+seen["failing"].Fault.Message, "blue-parrot-77", "what a reference stood for is shown nowhere")
	require.Contains(t, seen["failing"].Fault.Message, "[redacted]")
	for _, id := range []string{"failing", "strict"} { // a token that nobody here knew
		text, err := json.Marshal(seen[id].Fault)
		require.NoError(t, err)
		require.NotContains(t, string(text), "ghp_", id)
	}
}

const (
	timeout = 20 * time.Second
	tick    = 20 * time.Millisecond
)

func strange(t *testing.T, mode string, settings map[string]string) *koantest.Kit {
	t.Helper()
	kit := koantest.New(t, framework.App{Name: "strange"}, settingsOf(t, []row{{id: "x", mode: mode, settings: settings}})...)
	kit.Try(`SDK.Servers.x.work({})`, koantest.Input{}) // its tools are known afterwards
	return kit
}

func TestServerReconnects(t *testing.T) {
	t.Parallel()
	kit := strange(t, "dies after a call", map[string]string{"effects.work": "read"})
	for range 3 {
		require.Eventually(t, func() bool { // a call that reaches a dying server can be made again
			got := kit.Try(`SDK.Servers.x.work({})`, koantest.Input{})
			require.True(t, got.Success || got.Error.Code == fault.ServiceUnavailable && got.Error.Retry == fault.Safe, "%v", got.Error)
			return got.Success
		}, timeout, tick)
	}
}

func TestToolListChangesForTheNextRun(t *testing.T) {
	t.Parallel()
	kit := strange(t, "changes its list", nil)
	require.Eventually(t, func() bool {
		var names []string
		kit.Run(`Object.keys(SDK.Servers.x)`, koantest.Input{}).ResultInto(&names)
		return len(names) == 2
	}, timeout, tick)
	require.JSONEq(t, `"done"`, string(kit.Run(`SDK.Servers.x.later({})`, koantest.Input{}).Result))
}

func TestToolsAreListedInPages(t *testing.T) {
	t.Parallel()
	kit := strange(t, "has a thousand tools", nil)
	var n int
	kit.Run(`Object.keys(SDK.Servers.x).length`, koantest.Input{}).ResultInto(&n)
	require.Equal(t, 1000, n)
	require.JSONEq(t, `"done"`, string(kit.Run(`SDK.Servers.x.tool_999({n: 1})`, koantest.Input{}).Result))
	require.Equal(t, fault.InvalidPayload, kit.Try(`SDK.Servers.x.tool_999({n: "one"})`, koantest.Input{}).Error.Code)
}

func TestOddNamesBecomeIdentifiers(t *testing.T) {
	t.Parallel()
	kit := strange(t, "has odd names", nil)
	var names []string
	kit.Run(`Object.keys(SDK.Servers.x)`, koantest.Input{}).ResultInto(&names)
	require.ElementsMatch(t, []string{"_1st", "_", "a__b", "a__b__2", "class_", strings.Repeat("long_", 25) + "xyz", "größe", "with_blank", "work", "获取用户", "获取订单", "検索する"}, names)
	for _, name := range names {
		require.JSONEq(t, `"done"`, string(kit.Run(`SDK.Servers.x[SDK.args]({})`, koantest.Input{Args: name}).Result), name)
	}
	require.JSONEq(t, `"done"`, string(kit.Run("import { 获取用户 as get } from '@codemode/servers/x';\nglobalThis.result = await get({});", koantest.Input{}).Result))
	require.JSONEq(t, `"done"`, string(kit.Run("import { 検索する } from '@codemode/servers/x';\nglobalThis.result = await 検索する({});", koantest.Input{}).Result))
	for query, want := range map[string]string{"订单": "获取订单", "获取用户信息": "获取用户", "検索": "検索する", "größe": "größe"} {
		var found struct{ Results []struct{ Name string } }
		out, err := kit.Call("code::koan.search", map[string]any{"query": query})
		require.NoError(t, err)
		require.NoError(t, json.Unmarshal(out, &found))
		require.NotEmpty(t, found.Results, query)
		require.Contains(t, found.Results[0].Name, want)
	}
	require.JSONEq(t, `"done"`, string(kit.Run("import { class_ } from '@codemode/servers/x';\nglobalThis.result = await class_({});", koantest.Input{}).Result))
}

func TestToolsAreAllowedAndDenied(t *testing.T) {
	t.Parallel()
	kit := strange(t, "has a thousand tools", map[string]string{"tools.allow": "[tool_1*]", "tools.deny": "[tool_1, tool_19*]"})
	var names []string
	kit.Run(`Object.keys(SDK.Servers.x)`, koantest.Input{}).ResultInto(&names)
	require.Len(t, names, 99, "tool_10 to tool_18 and tool_100 to tool_189")
	require.Equal(t, fault.JavaScriptError, kit.Try(`SDK.Servers.x.tool_2({})`, koantest.Input{}).Error.Code)
}

func TestConfiguredEffects(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		mode     string
		settings map[string]string
		dry      fault.Code
	}{
		"a stranger's word counts for nothing": {"says hostile things", nil, fault.DryRunBlocked},
		"a trusted server is believed":         {"says hostile things", map[string]string{"trust": "true"}, ""},
		"patterns come first":                  {"", map[string]string{"effects.w*": "read", "effects.*": "destructive"}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			kit := strange(t, c.mode+" ", c.settings)
			if c.mode != "" {
				kit = strange(t, c.mode, c.settings)
			}
			got := kit.Try(`SDK.Servers.x.work({})`, koantest.Input{DryRun: true})
			if c.dry == "" {
				require.True(t, got.Success, got.Error)
				return
			}
			require.Equal(t, c.dry, got.Error.Code)
		})
	}
}

// A session that the server has forgotten is opened again, and nothing is called twice.
func TestExpiredSessionIsReopened(t *testing.T) {
	t.Parallel()
	var sessions, calls atomic.Int64
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var m message
		_ = json.NewDecoder(r.Body).Decode(&m)
		w.Header().Set("Content-Type", "application/json")
		switch {
		case m.Method == "initialize":
			w.Header().Set("Mcp-Session-Id", fmt.Sprint(sessions.Add(1)))
			fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"result":{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"forgetful","version":"1"}}}`, m.ID)
		case m.Method == "tools/list":
			fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"result":%s}`, m.ID, oneTool)
		case m.Method == "tools/call" && calls.Load() == 1 && r.Header.Get("Mcp-Session-Id") == "1":
			w.WriteHeader(http.StatusNotFound)
		case m.Method == "tools/call":
			fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"result":{"structuredContent":{"call":%d}}}`, m.ID, calls.Add(1))
		case m.Method == "notifications/initialized":
			w.WriteHeader(http.StatusAccepted)
		default:
			fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"error":{"code":-32601,"message":"no"}}`, m.ID)
		}
	}))
	t.Cleanup(s.Close)
	kit := koantest.New(t, framework.App{Name: "forgetful"}, koantest.Setting{Key: "upstreams.x.url", Value: s.URL})
	for n := 1; n <= 3; n++ {
		require.JSONEq(t, fmt.Sprintf(`{"call":%d}`, n), string(kit.Run(`SDK.Servers.x.work({})`, koantest.Input{}).Result))
	}
	require.EqualValues(t, 2, sessions.Load())
}

// A schema that is not one of an object is kept to as well (codemode-run-spec 5.3.1).
func TestInputsThatAreNoObjects(t *testing.T) {
	t.Parallel()
	kit := strange(t, "has odd schemas", nil)
	require.JSONEq(t, `["done","done"]`, string(kit.Run("import { text } from '@codemode/servers/x';\nglobalThis.result = [SDK.Servers.x.text('hi'), await text('hi')];", koantest.Input{}).Result))
	require.Equal(t, fault.InvalidPayload, kit.Try(`SDK.Servers.x.text({})`, koantest.Input{}).Error.Code)
	require.Equal(t, fault.InvalidPayload, kit.Try(`SDK.Servers.x.text()`, koantest.Input{}).Error.Code)
}

func TestStructuredContentComesBeforeText(t *testing.T) {
	t.Parallel()
	kit := strange(t, "sends text and structure", nil)
	require.JSONEq(t, `{"n":1}`, string(kit.Run("import { work } from '@codemode/servers/x';\nglobalThis.result = await work({});", koantest.Input{}).Result))
}

// Both kinds of script get the same of a result in text.
func TestTextResults(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ blocks, result string }{
		"one text":         {`[{"type":"text","text":"hello"}]`, `"hello"`},
		"JSON in one text": {`[{"type":"text","text":"{\"n\":[1]}"}]`, `{"n":[1]}`},
		"a number":         {`[{"type":"text","text":"12"}]`, `"12"`},
		"a decimal":        {`[{"type":"text","text":"0.10"}]`, `"0.10"`},
		"an exponent":      {`[{"type":"text","text":"7e8"}]`, `"7e8"`},
		"no value":         {`[{"type":"text","text":"null"}]`, `"null"`},
		"a word":           {`[{"type":"text","text":" true "}]`, `" true "`},
		"a quoted text":    {`[{"type":"text","text":"\"a\""}]`, `"\"a\""`},
		"an empty text":    {`[{"type":"text","text":""}]`, `""`},
		"a list":           {`[{"type":"text","text":" [0.10] "}]`, `[0.10]`},
		"a large number":   {`[{"type":"text","text":"{\"id\":12345678901234567890,\"n\":9007199254740991}"}]`, `{"id":"12345678901234567890","n":9007199254740991}`},
		"several texts":    {`[{"type":"text","text":"a"},{"type":"text","text":"{\"n\":1}"},{"type":"text","text":"007"}]`, `["a",{"n":1},"007"]`},
		"nothing":          {`[]`, `null`},
	} {
		t.Run(name, func(t *testing.T) {
			kit := strange(t, "says in blocks", map[string]string{"env." + saysVariable: c.blocks})
			require.JSONEq(t, c.result, string(kit.Run(`SDK.Servers.x.work({})`, koantest.Input{}).Result))
			require.JSONEq(t, c.result, string(kit.Run("import { work } from '@codemode/servers/x';\nglobalThis.result = await work({});", koantest.Input{}).Result))
		})
	}
}

// A file that is too large stays in place; one that is a call too many ends the run, whose effect is
// listed.
func TestMediaThatCannotBeKept(t *testing.T) {
	t.Parallel()
	with := func(key, value string) *koantest.Kit {
		rows := []row{{id: "x", mode: "sends a picture"}}
		return koantest.New(t, framework.App{Name: "strange"}, append(settingsOf(t, rows), koantest.Setting{Key: "files.dir", Value: t.TempDir()}, koantest.Setting{Key: key, Value: value})...)
	}
	require.JSONEq(t, `["look",{"type":"image","data":"aGk=","mimeType":"image/png"}]`, string(with("files.maxBytes", "1").Run(`SDK.Servers.x.work({})`, koantest.Input{}).Result))
	got := with("codeMode.maxSdkCalls", "1").Try(`try { SDK.Servers.x.work({}) } catch {} 1`, koantest.Input{})
	require.False(t, got.Success)
	require.Equal(t, fault.SDKCallsExceeded, got.Error.Code)
	require.Len(t, got.OutsideEffects, 1)
}

// Functions of modules return a result with other blocks than texts whole (codemode-run-spec section 5.3.2).
func TestResultsWithPicturesComeWhole(t *testing.T) {
	t.Parallel()
	rows := []row{{id: "x", mode: "sends a picture"}}
	kit := koantest.New(t, framework.App{Name: "strange"}, append(settingsOf(t, rows), koantest.Setting{Key: "files.dir", Value: t.TempDir()})...)
	require.JSONEq(t, `[{"content":[{"type":"text","text":"look"},{"type":"image","data":"aGk=","mimeType":"image/png"}]},["look",{"$file":"file_","name":"work","type":"text/plain; charset=utf-8","size":2}]]`,
		fileID.ReplaceAllString(string(kit.Run("import { work } from '@codemode/servers/x';\nglobalThis.result = [await work({}), SDK.Servers.x.work({})];", koantest.Input{}).Result), "file_"))
}

// What stands beside structured content reaches scripts that ask for it: as $raw of what a module's
// function returns, and as the result of $call, where pictures are files.
func TestWholeResults(t *testing.T) {
	t.Parallel()
	rows := []row{{id: "x", mode: "sends a picture and structure"}}
	kit := koantest.New(t, framework.App{Name: "strange"}, append(settingsOf(t, rows), koantest.Setting{Key: "files.dir", Value: t.TempDir()})...)
	whole := `{"content":[{"type":"text","text":"look"},{"type":"image","data":"aGk=","mimeType":"image/png"}],"structuredContent":{"n":1}}`
	kept := `{"content":[{"type":"text","text":"look"},{"type":"image","mimeType":"image/png","file":{"$file":"file_","name":"work","type":"text/plain; charset=utf-8","size":2}}],"structuredContent":{"n":1}}`
	run := func(code string) string {
		return fileID.ReplaceAllString(string(kit.Run(code, koantest.Input{}).Result), "file_")
	}
	call := `SDK.Servers.x.$call("work", {})`
	require.JSONEq(t, kept, run(call), "it also knows the tools by now, or not yet")
	require.JSONEq(t, kept, run(`const done = `+call+`; SDK.Files.text(done.content[1].file.$file) === "hi" ? done : null`))
	module := "import { work } from '@codemode/servers/x';\n"
	require.JSONEq(t, `[{"n":1},`+whole+`,["n"]]`, run(module+"const r = await work({}); globalThis.result = [r, r.$raw, Object.keys(r)];"))
	require.JSONEq(t, `{"n":1}`, run(module+"globalThis.result = await work({});"))
	got := kit.Try(`SDK.Servers.x.$call("wrok", {})`, koantest.Input{})
	require.Equal(t, fault.ToolNotFound, got.Error.Code)
	require.Contains(t, got.Error.Message, `did you mean "work"?`)
	require.Equal(t, fault.InvalidPayload, kit.Try(`SDK.Servers.x.$call({})`, koantest.Input{}).Error.Code)
	require.Len(t, kit.Try(call+`; throw new Error("no")`, koantest.Input{}).OutsideEffects, 1, "it is the tool's call")
}

// fileID is what differs in the handles of files.
var fileID = regexp.MustCompile(`file_[0-9a-f]{32}`)

// What a server shows or plays is a file of the app, which scripts read and pass on.
func TestMediaBecomeFiles(t *testing.T) {
	t.Parallel()
	blocks := `[{"type":"audio","data":"aGk=","mimeType":"audio/wav"},{"type":"resource","resource":{"uri":"file:///notes/a.txt","mimeType":"text/plain","text":"hello"}},{"type":"image","data":"no base64!","mimeType":"image/png"}]`
	rows := []row{{id: "x", mode: "says in blocks", settings: map[string]string{"env." + saysVariable: blocks}}}
	kit := koantest.New(t, framework.App{Name: "strange"}, append(settingsOf(t, rows), koantest.Setting{Key: "files.dir", Value: t.TempDir()})...)
	got := kit.Run(`const all = SDK.Servers.x.work({}); SDK.Out.file(all[1].$file); [all, SDK.Files.text(all[1].$file), SDK.Files.get(all[0].$file).size]`, koantest.Input{})
	require.JSONEq(t, `[[{"$file":"file_","name":"work","type":"text/plain; charset=utf-8","size":2},{"$file":"file_","name":"a.txt","type":"text/plain","size":5},{"type":"image","data":"no base64!","mimeType":"image/png"}],"hello",2]`,
		fileID.ReplaceAllString(string(got.Result), "file_"))
	// Not where the app keeps none.
	bare := strange(t, "sends a picture", nil)
	require.JSONEq(t, `["look",{"type":"image","data":"aGk=","mimeType":"image/png"}]`, string(bare.Run(`SDK.Servers.x.work({})`, koantest.Input{}).Result))
}
