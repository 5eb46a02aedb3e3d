package python_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/koan-go/koan/codemode/internal/language"
	"github.com/koan-go/koan/codemode/internal/language/python/source"
	"github.com/koan-go/koan/codemode/internal/wire"
	"github.com/koan-go/koan/framework/fault"
)

func TestResults(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ code, result string }{
		"an assigned result":         {`result = {"a": 1}`, `{"a":1}`},
		"the last expression":        {"x = 2\nx * 21", `42`},
		"an awaited last expression": {"import asyncio\nasync def f():\n    await asyncio.sleep(0)\n    return 5\nawait f()", `5`},
		"a top-level return":         {"for i in range(5):\n    if i == 3:\n        return i", `3`},
		"a function main":            {"def main():\n    return 'm'", `"m"`},
		"a coroutine run with args":  {"async def run(args):\n    return args.name", `"Koan"`},
		"a main that is called":      {"def main():\n    global result\n    result = 1\nmain()", `1`},
		"asyncio.run":                {"import asyncio\nasync def main():\n    global result\n    await asyncio.sleep(0.01)\n    result = 'done'\nasyncio.run(main())", `"done"`},
		"a code fence":               {"```python\n1 + 1\n```", `2`},
		"nothing":                    {"x = 1", ``},
		"None as the last value":     {"x = {'a': None}\nx['a']", `null`},
		"None that a method returns": {"{}.get('a')", `null`},
		"None that is assigned":      {"result = None\n5", `null`},
		"None that is returned":      {"if True:\n    return None", `null`},
		"None of a function":         {"def main(args):\n    if args.name == 'x':\n        return 1\n    return None", `null`},
		"None of a called function":  {"async def main():\n    return None\nasyncio.run(main())", `null`},
		"None of a lambda":           {"lambda: None", `null`},
		"None of a call of SDK":      {"SDK.Entities.Todo.find_by_id('9')", `null`},
		"a lone return":              {"1\nreturn", ``},
		"print":                      {"print(1)", ``},
		"an answer":                  {"SDK.Out.answer(1)", ``},
		"a function without a value": {"async def main():\n    def f():\n        return 1\n    f()\n    return", ``},
		"its call":                   {"def f():\n    print(1)\nf()", ``},
		"a lambda that prints":       {"lambda: print(1)", ``},
		"exact integers":             {"[2**53, 2**53 + 1, -1]", `[9007199254740992,"9007199254740993",-1]`},
		"decimals and times":         {"from decimal import Decimal\nfrom datetime import datetime, date, timezone\n[Decimal('1.10'), date(2026,1,2), datetime(2026,1,2,3,4,5,tzinfo=timezone.utc)]", `["1.10","2026-01-02","2026-01-02T03:04:05Z"]`},
		"tuples, sets, dataclasses":  {"from dataclasses import dataclass\n@dataclass\nclass P:\n    x: int\n[(1, 2), {3}, P(4)]", `[[1,2],[3],{"x":4}]`},
		"numbers that are none":      {"[float('nan'), float('inf')]", `[null,null]`},
		"a time that is none":        {"import datetime\nclass NaT(datetime.datetime):  # as that of pandas\n    def __ne__(self, other): return True\n[NaT(1, 1, 1)]", `[null]`},
		"tables of others":           {"class Table:\n    def to_dicts(self): return [{'a': 1}]\nclass Column:\n    def to_pylist(self): return [1, 2]\n[Table(), Column()]", `[[{"a":1}],[1,2]]`},
		"sys.exit(0)":                {"import sys\nresult = 1\nsys.exit(0)", `1`},
		"arguments":                  {"[SDK.args.name, SDK.args['list'][0].a, SDK.run.set, SDK.run.dry_run]", `["Koan",1,"default",false]`},
		"a lambda":                   {"lambda: 7", `7`},
		"the clock":                  {"from datetime import datetime\nimport time\n[datetime.now().isoformat()[:19], int(time.time())]", `["2023-11-14T22:13:20",1700000000]`},
		"a file":                     {"open('/workspace/x', 'w').write('hi')\nopen('x').read()", `"hi"`},
		"a thread":                   {"import threading\nout = []\nt = threading.Thread(target=lambda: out.append(1))\nt.start(); t.join()\nout", `[1]`},
		"executors":                  {"import asyncio\nawait asyncio.to_thread(lambda: 3)", `3`},
		"an absent module":           {"try:\n    import numpy\nexcept ImportError:\n    result = 'none'", `"none"`},
		"hasattr":                    {"hasattr(SDK.Entities, 'Nothing')", `false`},
		"SDK by an import":           {"from koan import SDK as sdk, KoanError\nsdk is SDK and issubclass(KoanError, Exception)", `true`},
		"integers of any size":       {"len(str(10 ** 5000)), len((10 ** 5000,)), 10 ** 20", `[5001,1,"100000000000000000000"]`},
		"paths, deques, namespaces":  {"from pathlib import Path\nfrom collections import deque\nfrom types import SimpleNamespace\n[Path('/a'), deque([1]), SimpleNamespace(a=1)]", `["/a",[1],{"a":1}]`},
		"keys with slashes":          {"{'/'.join('a' * 300): {'~': [1]}}", `{"` + strings.Repeat("a/", 299) + `a":{"~":[1]}}`},
		"a deep result":              {"x = 1\nfor _ in range(190): x = [x]\nx", strings.Repeat("[", 190) + "1" + strings.Repeat("]", 190)},
		"exit()":                     {"result = 1\nexit()", `1`},
		"changed modules of ours":    {"import json, os, struct, builtins\njson.dumps = json.loads = os.write = os.read = struct.pack = None\njson.JSONEncoder.encode = json.JSONDecoder.decode = None\nbuiltins.len = lambda x: 0\nSDK.Entities.Todo.count()", `2`},
		"bytes on standard output":   {"import sys\nsys.stdout.reconfigure(encoding='utf-8')\n[sys.stdout.buffer.write('ä\\n'.encode()), sys.stdout.fileno()]", `[3,1]`},
		"a descriptor to write to":   {"import os, faulthandler\nfaulthandler.enable()\nos.write(1, b'x\\n') + os.write(2, b'yy\\n')", `5`},
		"a circle for json":          {"import json\nx = []\nx.append(x)\ntry:\n    json.dumps(x)\nexcept ValueError as e:\n    result = str(e)", `"Circular reference detected"`},
		"copies of rows":             {"r = SDK.Entities.Todo.first_page(1)\n[(r | {'page': 9}).page, r.copy().page]", `[9,1]`},
		"a group of errors":          {"from servers.github import search, fail\nr = await asyncio.gather(search(q='x'), fail(), return_exceptions=True)\n[type(x).__name__ for x in r]", `["Row","ToolCallError"]`},
		"the guide's client":         {"from client.mcp_client import call_tool\nawait call_tool(server_id='github', name='list-issues', arguments={'state': 'open'})", `[{"number":1}]`},
		"options of koan's tools":    {"import servers.koan as koan\n(await koan.todo_collection(page_size=2)).totalCount", `2`},
		"modules of the library":     {"import sqlite3, xml.etree.ElementTree, statistics\nstatistics.mean([1, 3])", `2`},
	} {
		t.Run(name, func(t *testing.T) {
			r, _ := execute(t, job(c.code))
			require.Nil(t, r.Fault, "%+v", r.Fault)
			require.Equal(t, c.result, string(r.Result))
		})
	}
}

func TestCalls(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		code, result string
		calls        []string
	}{
		"keywords":          {`SDK.Entities.Todo.collection(filter={"done": False}, sort="-title", page_size=10).items[0].title`, `"milk"`, []string{`koan::Todo.collection {"filter":{"done":false},"sort":"-title","pageSize":10}`}},
		"a dict":            {`SDK.Entities.Todo.collection({"pageSize": 3})["totalCount"]`, `2`, []string{`koan::Todo.collection {"pageSize":3}`}},
		"members as such":   {`import json` + "\n" + `p = SDK.Entities.Todo.collection(with_="tags")` + "\n" + `[p.items[1].items, len(json.dumps(p)) > 10, dict(p.items[0])]`, `[4,true,{"id":"1","title":"milk","items":3}]`, []string{`koan::Todo.collection {"with":"tags"}`}},
		"a number":          {`SDK.Entities.Todo.count({"done": True})`, `2`, []string{`koan::Todo.count {"filter":{"done":true}}`}},
		"a lone set":        {`SDK.Entities.Todo.count("other")`, `2`, []string{`koan::Todo.count {"set":"other"}`}},
		"patch":             {`SDK.Entities.Todo.patch("1", {"title": "x"}, if_version=2).big`, `"9007199254740993"`, []string{`koan::Todo.patch {"id":"1","changes":{"title":"x"},"ifVersion":2}`}},
		"first page":        {`len(SDK.Entities.Todo.first_page(2).items)`, `2`, []string{`koan::Todo.collection {"page":1,"pageSize":2}`}},
		"all":               {`[t.id for t in SDK.Entities.Todo.all(filter={"a": 1})]`, `["1","2"]`, []string{`koan::Todo.collection {"filter":{"a":1},"pageSize":200,"page":1,"count":true}`}},
		"each":              {`[t.id for t in SDK.Entities.Todo.each()]`, `["1","2"]`, []string{`koan::Todo.collection {"pageSize":200,"page":1,"count":false}`}},
		"findById":          {`SDK.Entities.Todo.find_by_id("9") is None`, `true`, []string{`koan::Todo.get-by-id {"id":"9"}`}},
		"a caught fault":    {"from koan.errors import KoanError\ntry:\n    SDK.Entities.Todo.getById('9')\nexcept KoanError as e:\n    result = [e.code, e.retry, 'findById' in e.hint]", `["not_found","fix",true]`, []string{`koan::Todo.get-by-id {"id":"9"}`}},
		"servers":           {"import servers.github as github\na, b = await asyncio.gather(github.list_issues({'state': 'open'}), github.search(q='x'))\n[a, b.total]", `[[{"number":1}],"12345678901234567890"]`, []string{`start upstream::github::list-issues {"state":"open"}`, `start upstream::github::search {"q":"x"}`}},
		"a failed wrapper":  {"from servers.github import fail\nfrom koan.errors import ToolCallError\ntry:\n    await fail()\nexcept ToolCallError as e:\n    result = [e.code, e.server_id, e.tool_name]", `["upstream_error","github","fail"]`, []string{`start upstream::github::fail {}`}},
		"upstreams":         {`SDK.Servers.github.list_issues(state="all")[0].number`, `1`, []string{`upstream::github::list-issues {"state":"all"}`}},
		"meta":              {`import servers.github` + "\n" + `[servers.github.__meta__["serverId"], servers.github.__meta__["tools"][0]["exportName"]]`, `["github","list_issues"]`, nil},
		"whole results":     {"SDK.Servers.github.call('list-issues', state='open')\nSDK.Servers.github.call('listIssues', {'state': 'all'})['content'][0].text", `"whole"`, []string{`whole:upstream::github::list-issues {"state":"open"}`, `whole:upstream::github::list-issues {"state":"all"}`}},
		"names of keywords": {"import servers.github as github\nawait github.search(from_='a', q_='b')\nSDK.Servers.github.list_issues(in_='x')[0].number", `1`, []string{`start upstream::github::search {"from":"a","q_":"b"}`, `upstream::github::list-issues {"in":"x"}`}},
	} {
		t.Run(name, func(t *testing.T) {
			r, h := execute(t, job(c.code))
			require.Nil(t, r.Fault, "%+v", r.Fault)
			require.Equal(t, c.result, string(r.Result))
			require.Equal(t, c.calls, h.calls)
		})
	}
}

func TestFaults(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		code, message string
		of            fault.Code
		line, column  int
	}{
		"an exception":                    {"def f():\n    raise ValueError('no')\nx = 1\nf()", "ValueError: no", fault.ScriptError, 2, 5},
		"a syntax error":                  {"x = 1\ny = (", "SyntaxError: '(' was never closed", fault.SyntaxError, 2, 5},
		"an uncaught fault":               {"\nSDK.Entities.Todo.get_by_id('9')", `no Todo has the id "9"`, fault.NotFound, 2, 1},
		"an absent module":                {"import numpy", "No module named 'numpy'; scripts can import the standard library, servers, koan.errors", fault.CapabilityUnsupported, 1, 1},
		"an unknown entity":               {"SDK.Entities.Tudo.all()", "AttributeError: SDK.Entities has no 'Tudo'; did you mean 'Todo'? It has Todo, Log", fault.ScriptError, 1, 1},
		"an unknown method":               {"SDK.Entities.Log.get_by_idd('9')", "AttributeError: SDK.Entities.Log has no 'get_by_idd'; did you mean 'get_by_id'? It has get_by_id, find_by_id, count", fault.ScriptError, 1, 1},
		"a write of a read-only entity":   {"SDK.Entities.Log.updateByQuery({}, {})", "AttributeError: Log is read-only: it has no updateByQuery", fault.ScriptError, 1, 1},
		"an unknown member of Out":        {"SDK.Out.answr(1)", "AttributeError: SDK.Out has no 'answr'; did you mean 'answer'? It has answer, emit, error, file, info, progress, warn, warning", fault.ScriptError, 1, 1},
		"a limit, even caught":            {"try:\n    SDK.Entities.Todo.create({})\nexcept BaseException:\n    pass\nresult = 1", "too many calls", fault.SDKCallsExceeded, 2, 5},
		"a status":                        {"import sys\nsys.exit(3)", "the script ended with the status 3", fault.ScriptError, 0, 0},
		"bytes":                           {"b'x'", "the result is not JSON: bytes are not JSON", fault.ScriptError, 0, 0},
		"recursion":                       {"def f(): return f()\nf()", "RecursionError: maximum recursion depth exceeded", fault.ScriptError, 1, 0},
		"an endless loop":                 {"while True:\n    try:\n        pass\n    except BaseException:\n        pass", "", fault.Timeout, 0, 0},
		"memory":                          {"x = []\nwhile True:\n    x.append(bytearray(1 << 20))", "", fault.MemoryExceeded, 0, 0},
		"one large allocation":            {"x = bytearray(1 << 30)", "", fault.MemoryExceeded, 0, 0},
		"a task's error that nothing saw": {"from servers.github import fail\nt = asyncio.create_task(fail())\nawait asyncio.sleep(0.01)\nresult = 1", "it failed", fault.UpstreamError, 2, 0},
		"a group of faults":               {"from servers.github import fail\nasync with asyncio.TaskGroup() as g:\n    g.create_task(fail())", "it failed", fault.UpstreamError, 3, 0},
		"a status with a text":            {"import sys\nsys.exit('out of milk')", "the script ended with the status 1: out of milk", fault.ScriptError, 2, 1},
		"a note":                          {"e = ValueError('x')\ne.add_note('look here')\nraise e", "ValueError: x\nlook here", fault.ScriptError, 3, 1},
		"half a character":                {"SDK.Entities.Todo.count({'title': 'a\\ud800'})", "the text is not valid Unicode: it has half of a surrogate pair, or bytes that are not UTF-8", fault.InvalidPayload, 1, 1},
		"keys that are the same":          {"{1: 'a', '1': 'b'}", "the result is not JSON: the keys 1 and '1' of a dict are the same in JSON", fault.ScriptError, 0, 0},
		"keys that are the same, inside":  {"SDK.Entities.Todo.count({'a': {None: 1, 'null': 2}})", "the keys None and 'null' of a dict are the same in JSON", fault.InvalidPayload, 1, 1},
		"a function as a module":          {"from servers.github.search import search", "servers.github.search is a function, not a module", fault.ToolNotFound, 1, 1},
		"no whole result":                 {"await servers.github.raw.nope()", "AttributeError: module 'servers.github.raw' has no function 'nope'; it has list_issues, search, fail", fault.ScriptError, 1, 7},
		"a tool that is absent":           {"SDK.Servers.github.call('list-issue')", "the server github has no tool 'list-issue'; did you mean 'list-issues'?", fault.ToolNotFound, 1, 1},
		"a deep input":                    {"x = {}\nfor _ in range(500): x = {'a': x}\nSDK.Entities.Todo.count(x)", "the input is nested deeper than 200 levels", fault.InvalidPayload, 3, 1},
		"a wait without an end":           {"await asyncio.Future()", "", fault.NeverSettled, 1, 0},
	} {
		t.Run(name, func(t *testing.T) {
			j := job(c.code)
			if c.of == fault.Timeout {
				j.Limits.CPUMs = 500
			}
			r, _ := execute(t, j)
			require.NotNil(t, r.Fault)
			require.Equal(t, c.of, r.Fault.Code, "%+v", r.Fault)
			if c.message != "" {
				require.Equal(t, c.message, r.Fault.Message)
			}
			if c.line > 0 {
				require.Equal(t, c.line, r.Fault.Line, "%+v", r.Fault)
			}
			if c.column > 0 {
				require.Equal(t, c.column, r.Fault.Column, "%+v", r.Fault)
			}
		})
	}
}

// What a script leaves for its end runs as part of it, the last first, however it ends.
func TestFunctionsAtExit(t *testing.T) {
	t.Parallel()
	const later = "import atexit, sys\natexit.register(lambda: print('last', SDK.Entities.Todo.count()))\natexit.register(print, 'first')\n"
	for name, c := range map[string]struct {
		code, result, fault string
		logs                []string
	}{
		"a value":          {later + "1", "1", "", []string{"info: first", "info: last 2"}},
		"sys.exit(0)":      {later + "result = 1\nsys.exit(0)", "1", "", []string{"info: first", "info: last 2"}},
		"another status":   {later + "sys.exit(3)", "", "the script ended with the status 3", []string{"info: first", "info: last 2"}},
		"an exception":     {later + "1 / 0", "", "ZeroDivisionError: division by zero", []string{"info: first", "info: last 2"}},
		"one that fails":   {later + "@atexit.register\ndef fails():\n    return 1 / 0\n1", "1", "", []string{"warn: An exception was ignored in line 6: ZeroDivisionError: division by zero", "info: first", "info: last 2"}},
		"taken back":       {"import atexit\nf = atexit.register(lambda: print('no'))\natexit.unregister(f)\n1", "1", "", nil},
		"one without end":  {"import atexit\n@atexit.register\ndef loop():\n    while True: pass\n1", "", "300 ms of CPU time", nil},
		"weakref.finalize": {"import weakref\nclass A: pass\na = A()\nweakref.finalize(a, print, 'gone')\n1", "1", "", []string{"info: gone"}},
	} {
		t.Run(name, func(t *testing.T) {
			j := job(c.code)
			if name == "one without end" {
				j.Limits = wire.Limits{CPUMs: 300}
			}
			r, h := execute(t, j)
			if c.fault == "" {
				require.Nil(t, r.Fault, "%+v", r.Fault)
			} else {
				require.NotNil(t, r.Fault)
				require.Contains(t, r.Fault.Message, c.fault)
			}
			require.Equal(t, c.result, string(r.Result))
			require.Equal(t, c.logs, h.logs)
		})
	}
}

// A file that is not there may be on the machine, which scripts do not see.
func TestFilesOfTheMachine(t *testing.T) {
	t.Parallel()
	for code, confined := range map[string]bool{"open('/etc/none')": true, "open('/workspace/none')": false, "open('none')": false} {
		r, _ := execute(t, job(code))
		require.NotNil(t, r.Fault, code)
		require.Equal(t, confined, strings.Contains(r.Fault.Hint, "no file outside /workspace"), "%s: %+v", code, r.Fault)
	}
}

// A script's logs say what it has left behind without a word.
func TestWhatIsLeftBehindIsLogged(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ code, log string }{
		"a call that is not awaited":   {"import servers.github as github\ngithub.search(q='x')\nresult = 1", "warn: Nothing has awaited the coroutine of search(...) in line 2, so the call was not made. Write await before it."},
		"a call that is kept":          {"import servers.github as github\nx = github.search(q='x')\nresult = 1", "warn: Nothing has awaited the coroutine of search(...) in line 2, so the call was not made. Write await before it."},
		"a coroutine of the script":    {"async def f(): pass\nf()\nresult = 1", "warn: Nothing has awaited the coroutine of f(...) in line 2, so the call was not made. Write await before it."},
		"a task that has not ended":    {"async def f(): await asyncio.sleep(9)\nt = asyncio.create_task(f())\nawait asyncio.sleep(0)\nresult = 1", "warn: The task f had not ended when the script did, and is cancelled. Await it before the end."},
		"an error in a thread":         {"import threading\ndef f(): raise ValueError('no')\nt = threading.Thread(target=f)\nt.start(); t.join()", "warn: Exception in Thread-1 (f) in line 2: ValueError: no"},
		"an error in a destructor":     {"class D:\n    def __del__(self): 1/0\nD()\nresult = 1", "warn: An exception was ignored in line 2: ZeroDivisionError: division by zero"},
		"a result with half a letter":  {"['a\\ud800']", `warn: in the result, at "/0": the text is not valid Unicode: it has half of a surrogate pair, or bytes that are not UTF-8. U+FFFD takes its place.`},
		"bytes of a standard output":   {"import sys\nsys.stdout.buffer.write(b'h\\xc3'); sys.stdout.buffer.write(b'\\xa4')", "info: hä"},
		"what a descriptor is written": {"import os\nos.write(2, b'x\\n')", "warn: x"},
	} {
		t.Run(name, func(t *testing.T) {
			r, h := execute(t, job(c.code))
			require.Nil(t, r.Fault, "%+v", r.Fault)
			require.Equal(t, []string{c.log}, h.logs)
		})
	}
}

// The file that a script becomes as an action gives what the script gave, however it is written.
func TestScriptsAsActions(t *testing.T) {
	t.Parallel()
	for _, code := range []string{
		"SDK.args.name + '!'",
		"x = SDK.args['name']\nresult = {'n': x}",
		"for a in SDK.args.list:\n    if a.a == 1:\n        return a.a",
		"def main():\n    return SDK.args.name",
		"def main(args):\n    return args.name",
		"async def run(args):\n    return args.name",
		"import asyncio\nawait asyncio.sleep(0)\nSDK.Entities.Todo.count()",
		"from __future__ import annotations\ndef f(x: Unknown) -> str:\n    global seen\n    seen = x\n    return x\n\nf('''a\n  b''') + seen",
		"\"Says what it does.\"\nn = 0\ndef add():\n    global n\n    n += 1\nadd(); add()\nn",
		"```python\n[1, 2]\n```",
	} {
		_, file, _ := source.Python{}.ActionFile(language.Action{Name: "a", Description: "A.", Code: code, Input: json.RawMessage(`{"type":"object"}`)})
		declared := job(file)
		declared.Task = wire.Declare
		r, _ := execute(t, declared)
		require.Nil(t, r.Fault, "%s: %+v", file, r.Fault)
		want, _ := execute(t, job(code))
		require.Nil(t, want.Fault, code)
		require.NotEmpty(t, want.Result, code)
		as := job(file)
		as.Action = true
		got, _ := execute(t, as)
		require.Nil(t, got.Fault, "%s: %+v", file, got.Fault)
		require.Equal(t, string(want.Result), string(got.Result), file)
	}
	for _, work := range []string{"", "def Run(input):\n    return 1", "import json\nLIMIT = 1\n"} {
		declared := job("action = {'description': 'A.', 'input': {}}\n" + work)
		declared.Task = wire.Declare
		r, _ := execute(t, declared)
		require.NotNil(t, r.Fault, work)
		require.Contains(t, r.Fault.Message, "no function run")
	}
}
