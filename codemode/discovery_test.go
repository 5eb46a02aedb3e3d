package codemode_test

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/koan-go/koan/framework/auth"
	"github.com/koan-go/koan/framework/catalog"
	"github.com/koan-go/koan/framework/exposure"
	"github.com/koan-go/koan/framework/fault"
)

const discovery = `import * as d from "@codemode/discovery"; globalThis.__codemode_result__ = `

func TestDiscovery(t *testing.T) {
	m := newModules(t, nil)
	for code, want := range map[string]string{
		`await d.listServers()`: `[{"serverId":"koan","serverName":"house","capabilities":["tools"]},{"serverId":"mail","serverName":"mail","capabilities":["tools"]},{"serverId":"square","serverName":"square","capabilities":["tools"]}]`,
		`(({ tools, ...rest }) => rest)(await d.describeServer("koan"))`:                                       `{"serverId":"koan","serverName":"house","capabilities":["tools"],"description":"The entities of house.","version":"test","toolCount":3,"page":1,"pageSize":50}`,
		`(await d.describeServer("square")).tools`:                                                             `[{"toolName":"of","exportName":"of","description":"Squares a number after some milliseconds."}]`,
		`(await d.describeServer("koan", { pageSize: 2, page: 2, detail: "name" })).tools`:                     `[{"toolName":"note.upsert","exportName":"note_upsert"}]`,
		`(await d.describeServer("koan", { page: 9 })).tools`:                                                  `[]`,
		`(await d.describeServer("square", { detail: "full" })).tools[0].declaration.includes("function of(")`: `true`,
		`(await d.listTools("koan", { pageSize: 1, page: 2, detail: "name" })).map((t) => t.toolName)`:         `["note.get-by-id"]`,
		`await d.listTools("square", { detail: "name" })`:                                                      `[{"toolName":"of","exportName":"of"}]`,
		`await d.listTools("square")`:                                                                          `[{"toolName":"of","exportName":"of","description":"Squares a number after some milliseconds.","annotations":{"readOnlyHint":true,"destructiveHint":false,"idempotentHint":true,"openWorldHint":false}}]`,
		`Object.keys((await d.listTools("square", { detail: "full" }))[0])`:                                    `["toolName","exportName","description","annotations","inputSchema","outputSchema","declaration"]`,
		`(await d.listTools("koan", { detail: "name" })).map((t) => t.exportName)`:                             `["note_collection","note_get_by_id","note_upsert"]`,
		`(await d.getTool("koan", "note.get-by-id")).inputSchema.properties.id.type`:                           `"string"`,
		`(await d.getTool("koan", "note_get_by_id")).toolName`:                                                 `"note.get-by-id"`,
		`(await d.searchTools("square number")).results.map((r) => [r.serverId, r.toolName, r.exportName])[0]`: `["square","of","of"]`,
		`(await d.searchTools("note", { serverId: "koan", limit: 2, detail: "name" })).results.length`:         `2`,
		`Object.keys((await d.searchTools("square", { detail: "name" })).results[0])`:                          `["serverId","toolName","exportName"]`,
		`(await d.searchTools("square", { LIMIT: -5, limit: 1 })).results.length`:                              `1`,
		`(await d.searchTools("zzzz")).results`:                                                                `[]`,
		`(await d.searchTools("x")).query`:                                                                     `"x"`,
		`d.listServers() instanceof Promise`:                                                                   `true`,
		`typeof d.specVersion`:                                                                                 `"string"`,
	} {
		require.JSONEq(t, want, m.gives(discovery+code), code)
	}
	require.Empty(t, m.module(discovery+`await d.listServers()`).ToolTrace, "it is no tool call")
}

func TestDiscoveryFails(t *testing.T) {
	m := newModules(t, map[string]any{"codeMode.maxSdkCalls": 3})
	for code, class := range map[string]string{
		`await d.describeServer("sqare")`:                    "ServerNotFoundError",
		`await d.listTools("x")`:                             "ServerNotFoundError",
		`await d.searchTools("x", { serverId: "nope" })`:     "ServerNotFoundError",
		`await d.getTool("square", "off")`:                   "ToolNotFoundError",
		`await d.getTool("square")`:                          "SchemaValidationError",
		`await d.listTools()`:                                "SchemaValidationError",
		`await d.listTools("koan", { detail: "all" })`:       "SchemaValidationError",
		`await d.listTools("koan", 1)`:                       "SchemaValidationError",
		`await d.describeServer("koan", { pageSize: 500 })`:  "SchemaValidationError",
		`await d.describeServer("koan", { page: 0 })`:        "SchemaValidationError",
		`await d.searchTools(1)`:                             "SchemaValidationError",
		`await d.searchTools("x", { limit: 0 })`:             "SchemaValidationError",
		`await d.searchTools("x", { limit: 1.5 })`:           "SchemaValidationError",
		`await d.searchTools({})`:                            "SchemaValidationError",
		`await Promise.all([1, 2, 3, 4].map(d.listServers))`: "SandboxLimitError",
	} {
		e := m.module(discovery + code)
		require.Len(t, e.errors(), 1, code)
		require.Equal(t, class, e.Diagnostics[0].ErrorClass, "%s: %+v", code, e.Diagnostics)
		require.Equal(t, 2, len(e.Diagnostics[0].Path[:2]))
	}
	got := m.gives(discovery + `await d.getTool("square", "off").catch((e) => [e.name, e.hint.length > 0, e.code])`)
	require.JSONEq(t, `["ToolNotFoundError",true,"tool_not_found"]`, got)
	require.Contains(t, m.module(discovery + `await d.describeServer("sqare")`).Diagnostics[0].Message, `did you mean "square"`)
}

// Discovery shows what the caller may call, and nothing else.
func TestDiscoveryKnowsRights(t *testing.T) {
	m := newModules(t, nil)
	hidden := &catalog.Operation{
		ID: catalog.PluginID("vault", "open"),
		Contract: catalog.Contract{
			Scopes: []string{"vault"},
			Input:  schema(""), Output: json.RawMessage(`{}`),
		},
		Listing: catalog.Listing{Summary: "Opens the vault.", Reach: catalog.Everywhere},
		Work: catalog.Work{
			Handler: func(context.Context, catalog.Call) (json.RawMessage, error) { return json.RawMessage(`{}`), nil },
		},
	}
	snapshot, err := catalog.NewSnapshot(m.library.offer(), catalog.Offer{Operations: []*catalog.Operation{hidden}}, m.provider.Offer())
	require.NoError(t, err)
	p := auth.Local()
	m.view = snapshot.View(p, exposure.Full, false)
	require.Contains(t, m.gives(discovery+`await d.listServers()`), "vault")

	p.Scopes = []string{"none"}
	m.view = snapshot.View(p, exposure.Full, false)
	require.NotContains(t, m.gives(discovery+`await d.listServers()`), "vault")
	require.JSONEq(t, `[]`, m.gives(discovery+`(await d.searchTools("vault")).results`))
	e := m.module(`import { open } from "@codemode/servers/vault"; await open()`)
	require.Equal(t, []string{"IMPORT_FAILURE"}, e.errors())
}

// Violations of a schema are reported so that the next try can succeed.
func TestSchemaValidationError(t *testing.T) {
	m := newModules(t, nil)
	require.JSONEq(t, `["SchemaValidationError","of","of","square","/n",true,true,"invalid_payload"]`, m.gives(`
import { SchemaValidationError } from "@codemode/errors";
import { of } from "@codemode/servers/square";
try { await of({ n: "three" }) } catch (e) {
  if (e instanceof SchemaValidationError)
    globalThis.__codemode_result__ = [e.name, e.toolName, e.exportName, e.serverId, e.path, e.hint.includes('{"n":3}'), (e.expected + e.received).length > 0, e.code];
}`))
}

// Whatever is wrong with an input, the error has a path, what was expected, and what
// was there (codemode-run-spec section 7.2).
func TestEveryBadInputIsExplained(t *testing.T) {
	m := newModules(t, nil)
	require.JSONEq(t, `[["/m","one of ms, n, together","number 1"],["/n","number","nothing"],["","object","string"],["/n","JSON data","number"]]`, m.gives(`
import { of } from "@codemode/servers/square";
const got = [];
for (const input of [{ m: 1, n: 2 }, {}, "x", { n: NaN }]) {
  try { await of(input) } catch (e) { got.push([e.path, e.expected, e.received]) }
}
globalThis.__codemode_result__ = got;`))
}

func TestModulesInTheOtherFace(t *testing.T) {
	m := newModules(t, nil)
	r := m.run(`import { note_get_by_id } from "@codemode/servers/koan";
const before = SDK.Entities.Note.getById("1").text;
SDK.Entities.Note.upsert({ id: "1", text: "second" });
const after = (await note_get_by_id({ id: "1" })).text;
SDK.Out.answer([before, after]);`)
	require.NoError(t, r.err)
	require.JSONEq(t, `["first","second"]`, string(r.Answer))
	r = m.run(`import * as k from "@codemode/servers/koam"`)
	f := r.fails(t, fault.ServerNotFound)
	require.Equal(t, 1, f.Line)
	require.Equal(t, fault.Fix, f.Retry)
}

// What describeServer answers is bounded however many tools a server has, and
// however much they say of themselves.
func TestDescribeServerIsBounded(t *testing.T) {
	m := newModules(t, nil)
	offer := catalog.Offer{}
	for i := range 3000 {
		offer.Operations = append(offer.Operations, &catalog.Operation{
			ID: catalog.PluginID("crowd", fmt.Sprintf("op%04d", i)),
			Contract: catalog.Contract{
				Input: schema(`"a":{"type":"string"}`), Output: json.RawMessage(`{}`),
			},
			Listing: catalog.Listing{Summary: strings.Repeat("Says a lot. ", 200) + "\nAnd more.", Reach: catalog.Everywhere},
			Work: catalog.Work{
				Handler: func(context.Context, catalog.Call) (json.RawMessage, error) { return json.RawMessage(`{}`), nil },
			},
		})
	}
	snapshot, err := catalog.NewSnapshot(m.library.offer(), offer, m.provider.Offer())
	require.NoError(t, err)
	m.view = snapshot.View(auth.Local(), exposure.Full, false)
	got := m.gives(discovery + `await d.describeServer("crowd")`)
	require.Less(t, len(got), 16_000)
	var page struct {
		ToolCount, Page, PageSize int
		Tools                     []struct{ ToolName, Description string }
	}
	require.NoError(t, json.Unmarshal([]byte(got), &page))
	require.Equal(t, []int{3000, 1, 50, 50}, []int{page.ToolCount, page.Page, page.PageSize, len(page.Tools)})
	require.True(t, strings.HasSuffix(page.Tools[0].Description, "…"))
	require.JSONEq(t, `["op2999"]`, m.gives(discovery+`(await d.describeServer("crowd", { pageSize: 200, page: 15, detail: "name" })).tools.slice(-1).map((t) => t.toolName)`))
	require.Less(t, len(m.gives(discovery+`await d.describeServer("crowd", { detail: "full" })`)), 64_000)
}

// A run's `only` narrows what the script can name, not only what it can call.
func TestOnlyNarrowsNames(t *testing.T) {
	m := newModules(t, nil)
	names := `import * as d from "@codemode/discovery";
({ entities: Object.keys(SDK.Entities), sdk: Object.keys(SDK), servers: (await d.listServers()).map((s) => s.serverId),
  found: (await d.searchTools("note square")).results.map((t) => t.toolName) })`
	for only, want := range map[string]string{
		`["Note"]`:                  `{"entities":["Note"],"sdk":["Entities","Out","args","run"],"servers":["koan"],"found":["note.collection","note.get-by-id","note.upsert"]}`,
		`["plugin:square"]`:         `{"entities":[],"sdk":["Entities","Out","Square","args","run"],"servers":["square"],"found":["of"]}`,
		`["plugin:square", "Note"]`: `{"entities":["Note"],"sdk":["Entities","Out","Square","args","run"],"servers":["koan","square"],"found":["note.collection","note.get-by-id","note.upsert","of"]}`,
		`[]`:                        `{"entities":[],"sdk":["Entities","Out","args","run"],"servers":[],"found":[]}`,
	} {
		r := m.call(t.Context(), "execute", `{"code":`+quoted(names)+`,"only":`+only+`}`)
		require.NoError(t, r.err)
		var got map[string][]string
		require.NoError(t, json.Unmarshal(r.Result, &got))
		slices.Sort(got["found"])
		text, err := json.Marshal(got)
		require.NoError(t, err)
		require.JSONEq(t, want, string(text), only)
	}
	f := m.run(`SDK.Entities.Note.collection()`, in{"only": []string{"plugin:square"}}).fails(t, fault.JavaScriptError)
	require.Contains(t, f.Message, "there is no entity `Note`")
	m.run(`import { of } from "@codemode/servers/square"; await of({ n: 1 })`, in{"only": []string{"Note"}}).fails(t, fault.ServerNotFound)
}

func quoted(s string) string {
	b, _ := json.Marshal(s)
	return string(b)
}
