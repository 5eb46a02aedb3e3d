package source

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"
)

// What a script refers to is waited for, and what it only says is not.
func TestReferences(t *testing.T) {
	all := []string{"files", "memory", "my-notes", "获取"}
	for code, want := range map[string][]string{
		"SDK.Servers.memory.read({})":                                                            {"memory"},
		"SDK . Servers\n\t. memory.read({})":                                                     {"memory"},
		"SDK.Servers?.memory?.read({})":                                                          {"memory"},
		`SDK.Servers["my-notes"].add({})`:                                                        {"my-notes"},
		`SDK.Servers?.['my-notes'].add({})`:                                                      {"my-notes"},
		"SDK.Servers[`my-notes`].add({})":                                                        {"my-notes"},
		"SDK.Servers.获取.read({})":                                                                {"获取"},
		`SDK["Servers"].memory.read({})`:                                                         {"memory"},
		`const { memory, files: f } = SDK.Servers;`:                                              {"files", "memory"},
		`const { Servers } = SDK; Servers.memory.read({})`:                                       {"memory"},
		`const s = SDK.Servers; s.memory.read({})`:                                               {"memory"},
		`const s = SDK.Servers; s["my-notes"].add({})`:                                           {"my-notes"},
		`const name = "memory"; SDK.Servers[name].read()`:                                        {"memory"},
		"for (const n of ['memory', 'files']) SDK.Servers[n].read()":                             {"files", "memory"},
		`import { add } from "@codemode/servers/my-notes";`:                                      {"my-notes"},
		`const m = await import('@codemode/servers/memory');`:                                    {"memory"},
		`const m = await import("@codemode/servers/" + "memory");`:                               {"memory"},
		`import { getTool } from "@codemode/discovery"; await getTool("memory", "read")`:         {"memory"},
		`callTool("upstream::memory::read", {})`:                                                 {"memory"},
		"`${SDK.Servers.memory.read({}).text} and ${ { a: SDK.Servers.files.list({}) } } of it`": {"files", "memory"},
		"```js\nSDK.Servers.memory.read({})\n```":                                                {"memory"},
		`const r = /["'` + "`" + `]/; SDK.Servers.memory.read({}) / 2 / 3`:                       {"memory"},
		`SDK.Servers[a + b].read({})`:                                                            all,
		"callTool(`upstream::${n}::read`, {})":                                                   all,
		`await import(path)`:                                                                     all,
		`// SDK.Servers.memory is not needed: "memory"`:                                          nil,
		`/* import "@codemode/servers/memory" */ 1`:                                              nil,
		`const memory = 1, files = []; files.push(memory)`:                                       nil,
		`"the memory of files"`:                                                                  nil,
		`SDK.Servers.other.read({ memory: "files" })`:                                            nil,
		`SDK.Entities.Todo.collection({ filter: { title: "memory" } })`:                          nil,
		"`memory ${1 + 1} files`":                                                                nil,
		`x.replace(/files/g, "memory")`:                                                          nil,
		`SDK.Out.answer("import(memory) from SDK.Servers[x]")`:                                   nil,
		`const s = Object.keys(SDK.Servers).length`:                                              nil,
		`// don't` + "\n" + `SDK.Servers.memory.read({ text: "it's" })`:                          {"memory"},
		`SDK.Servers.my_notes`:                                                                   nil,
	} {
		require.ElementsMatch(t, want, referencesOf(code, nil).Names(all), code)
	}
	args := json.RawMessage(`{"name": "memory", "text": "of files"}`)
	for code, want := range map[string][]string{
		`SDK.Servers[SDK.args.name].read({})`:                {"memory"},
		`const s = SDK.Servers; s[SDK.args.name].read({})`:   {"memory"},
		`SDK[SDK.args.where][SDK.args.name].read({})`:        {"memory"},
		`SDK.Entities.Todo.upsert({ title: SDK.args.name })`: nil,
	} {
		require.ElementsMatch(t, want, referencesOf(code, args).Names(all), code)
	}
}

// Any text has references, and finding them takes no longer than reading it.
func FuzzReferences(f *testing.F) {
	for _, code := range []string{"`${`${'}'}`}`", "/[/]/ / 2", "SDK.Servers?.[", "`${{}}`", "\xff'", "```", "'\\", "import(", "callTool"} {
		f.Add(code)
	}
	f.Fuzz(func(t *testing.T, code string) {
		r := referencesOf(code, nil)
		require.Subset(t, []string{"a", "b"}, r.Names([]string{"a", "b"}))
		_ = r.Imports("a")
	})
}
