package codemode_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/koan-go/koan/tests/pytypes"
)

// Scripts that are right and wrong, of which type checkers say the same.
var (
	rightTypes = []string{
		"page = SDK.Entities.Note.collection(filter={'text': 'a'}, sort='-text', page_size=10)\nreveal: int = page.totalCount",
		"for n in SDK.Entities.Note.each(filter={'text': 'a'}):\n    text: str = n.text",
		"row = SDK.Entities.Note.upsert(model={'text': 'x'})\nprint(row['text'], row.id)",
		"SDK.Entities.Note.upsert({'id': '1', 'text': 'x'}, set='default')",
		"row = SDK.Entities.Note.find_by_id('1')\nif row is not None:\n    SDK.Entities.Note.upsert(row)",
		"n: int = len(SDK.Entities.Note.all('default'))",
		"SDK.Mail.send(to='x')",
		"SDK.Mail.send({'to': 'x'})",
		"SDK.Out.answer({'set': SDK.run.set, 'dry': SDK.run.dry_run})",
		"try:\n    SDK.Entities.Note.get_by_id('1')\nexcept KoanError as e:\n    code: str = e.code",
	}
	wrongTypes = []string{
		"SDK.Entities.Nota.all()",
		"SDK.Entities.Note.colection()",
		"SDK.Entities.Note.collection(pagesize=10)",
		"SDK.Entities.Note.collection(page_size='10')",
		"SDK.Entities.Note.upsert({'txt': 'x'})",
		"n: str = SDK.Entities.Note.get_by_id('1')",
		"SDK.Entities.Note.getById('1').txt",
		"SDK.Mail.send(towards='x')",
		"SDK.Mail.sent(to='x')",
		"SDK.Out.answr(1)",
	}
)

func TestStubHoldsUnderTypeCheckersOfPython(t *testing.T) {
	t.Parallel()
	h := newPythonHouse(t, nil)
	files := map[string]string{}
	for i, code := range rightTypes {
		files[fmt.Sprintf("right%d.py", i)] = "from koan import SDK, KoanError\n" + code + "\n"
	}
	for i, code := range wrongTypes {
		files[fmt.Sprintf("wrong%d.py", i)] = "from koan import SDK, KoanError\n" + code + "\n"
	}
	mypy, pyright := pytypes.Check(t, pytypes.Stub(t, h.view), files)
	for name, found := range map[string]pytypes.Found{"mypy": mypy, "pyright": pyright} {
		assert.Empty(t, found["koan/__init__.pyi"], name)
		for i, code := range rightTypes {
			assert.Empty(t, found[fmt.Sprintf("right%d.py", i)], "%s: %s", name, code)
		}
		for i, code := range wrongTypes {
			assert.NotEmpty(t, found[fmt.Sprintf("wrong%d.py", i)], "%s accepts %s", name, code)
		}
	}
}

// A folder of stubs declares the modules of servers, the errors, and what a script has without an import.
func TestFolderOfStubs(t *testing.T) {
	t.Parallel()
	h := newPythonHouse(t, nil)
	files := pytypes.Folder(t, h.view)
	stubs := slices.Collect(maps.Keys(files))
	right := []string{
		"from servers import mail\nasync def f() -> None:\n    await mail.send(to='x')\n    await mail.send({'to': 'x'})\n    await mail.raw.send(to='x')\n    print(mail.__meta__['serverId'])",
		"import servers.koan as app\nasync def f() -> None:\n    await app.note_collection(page_size=2)\n    await app.note_get_by_id({'id': '1'})",
		"import servers\nasync def f() -> None:\n    await servers.mail.send(to='x')",
		"from koan import SDK\nfrom koan.errors import KoanError, ToolCallError\ntry:\n    SDK.Entities.Note.get_by_id('1')\nexcept ToolCallError as e:\n    error: KoanError = e\n    code: str = e.code",
		"from client import call_tool\nasync def f() -> None:\n    await call_tool('mail', 'send', {'to': 'x'})",
	}
	wrong := []string{
		"from servers import male",
		"from servers import mail\nasync def f() -> None:\n    await mail.sent(to='x')",
		"from servers import mail\nasync def f() -> None:\n    await mail.send(towards='x')",
		"import servers.koan as app\nasync def f() -> None:\n    await app.nota_collection()",
		"from koan.errors import ToolCalError",
	}
	for i, code := range right {
		files[fmt.Sprintf("right%d.py", i)] = code + "\n"
	}
	for i, code := range wrong {
		files[fmt.Sprintf("wrong%d.py", i)] = code + "\n"
	}
	files["bare.py"] = "n: int = len(SDK.Entities.Note.all())\nasync def f() -> None:\n    await asyncio.gather(servers.mail.send(to='x'))\n"
	mypy, pyright := pytypes.CheckAll(t, files)
	assert.Empty(t, pyright["bare.py"], "what a script has without an import")
	for name, found := range map[string]pytypes.Found{"mypy": mypy, "pyright": pyright} {
		for _, stub := range stubs {
			assert.Empty(t, found[stub], "%s: %s", name, stub)
		}
		for i, code := range right {
			assert.Empty(t, found[fmt.Sprintf("right%d.py", i)], "%s: %s", name, code)
		}
		for i, code := range wrong {
			assert.NotEmpty(t, found[fmt.Sprintf("wrong%d.py", i)], "%s accepts %s", name, code)
		}
	}
}

var coroutine = regexp.MustCompile(`(?m)^async def ([^(]+)\(`)

// The stubs of servers' modules declare the functions that scripts find there, under their names.
func TestStubsOfServersAreTheRuntimes(t *testing.T) {
	t.Parallel()
	h := newPythonHouse(t, nil)
	want := map[string][]string{}
	for path, text := range pytypes.Folder(t, h.view) {
		name, ok := strings.CutPrefix(path, "servers/")
		if name = strings.TrimSuffix(name, ".pyi"); !ok || name == "__init__" {
			continue
		}
		want[name] = []string{}
		for _, m := range coroutine.FindAllStringSubmatch(text, -1) {
			want[name] = append(want[name], m[1])
		}
		slices.Sort(want[name])
	}
	require.NotEmpty(t, want["koan"])
	require.NotEmpty(t, want["mail"])
	r := h.run("import importlib\nimport servers\nresult = {m: sorted(importlib.import_module('servers.' + m).__all__) for m in servers.__all__}", in{"language": "python"})
	require.NoError(t, r.err)
	var got map[string][]string
	require.NoError(t, json.Unmarshal(r.Result, &got))
	require.Equal(t, got, want)
}
