package toolset_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/tiktoken-go/tokenizer"

	"github.com/koan-go/koan/framework/auth"
	"github.com/koan-go/koan/framework/catalog"
	"github.com/koan-go/koan/framework/exposure"
	"github.com/koan-go/koan/framework/fault"
	"github.com/koan-go/koan/framework/internal/toolset"
	"github.com/koan-go/koan/framework/run"
	"github.com/koan-go/koan/tests/portable"
)

func TestStyles(t *testing.T) {
	// Three entities and a code tool are 37 tools, four are 49.
	few, many := view(t, exposure.Full, append(entities(3), code(100))...), view(t, exposure.Full, append(entities(4), code(100))...)
	generic := []string{"entities_aggregate", "entities_collection", "entities_count", "entities_delete", "entities_delete-by-query", "entities_delete-many", "entities_describe", "entities_get-by-id", "entities_new", "entities_patch", "entities_update-by-query", "entities_upsert", "entities_upsert-many", "koan_code_execute"}
	perEntity := func(tools []portable.Tool) bool { return slices.Contains(namesOf(tools), "entity000_collection") }
	for _, c := range []struct {
		view  *catalog.View
		style toolset.Style
		count int
		each  bool
	}{
		{few, toolset.Auto, 37, true},
		{few, "", 37, true},
		{few, toolset.Generic, 14, false},
		{many, toolset.Auto, 14, false},
		{many, toolset.PerEntity, 49, true},
	} {
		tools, _ := listed(t, c.view, toolset.Options{Style: c.style})
		require.Len(t, tools, c.count, "%s", c.style)
		require.Equal(t, c.each, perEntity(tools))
		if !c.each {
			require.ElementsMatch(t, generic, namesOf(tools))
		}
	}
	require.True(t, slices.IsSortedFunc(toolset.List(many, toolset.Options{}), func(a, b toolset.Row) int { return strings.Compare(a.Key, b.Key) }), "cursors name keys")
	require.Equal(t, toolset.JSON(many, toolset.Options{}), toolset.JSON(view(t, exposure.Full, append(entities(4), code(100))...), toolset.Options{}), "byte-stable")
	require.Error(t, toolset.Options{Style: "x", Outputs: "y", Names: "z"}.Check())
	require.NoError(t, toolset.Options{}.Check())
}

// Whatever an app has, a client that asks for nothing gets a list that it can take.
func TestListsAreBounded(t *testing.T) {
	const large = `{"type":"object","properties":{"a":{"type":"string","description":"%s"}}}`
	functions := func(n, size int) []catalog.Offer {
		var out []catalog.Offer
		for i := range n {
			out = append(out, function(fmt.Sprintf("Plug%d", i%7), fmt.Sprintf("do-%03d", i), catalog.Effects{Outside: true}, fmt.Sprintf(large, strings.Repeat("x", size))))
		}
		return out
	}
	actions := func(n, size int) []catalog.Offer {
		var out []catalog.Offer
		for i := range n {
			offer := function("Plug", "", catalog.Effects{Outside: true}, fmt.Sprintf(large, strings.Repeat("x", size)))
			offer.Operations[0].ID = catalog.ActionID(fmt.Sprintf("act-%03d", i))
			offer.Operations[0].ListedInCode = i%9 == 8
			out = append(out, offer)
		}
		return out
	}
	wide := entity("Wide", all, "")
	for i := range 400 {
		wide.Resources[0].Fields = append(wide.Resources[0].Fields, catalog.Field{Name: fmt.Sprintf("field%03d", i), Type: catalog.TypeString, Description: strings.Repeat("About it. ", 30)})
	}
	for name, offers := range map[string][]catalog.Offer{
		"nothing":                   {},
		"one entity":                entities(1),
		"a wide entity":             {wide},
		"many entities":             entities(300),
		"few functions":             functions(5, 100),
		"many functions":            append(functions(60, 10), entities(2)...),
		"large functions":           append(functions(20, 5000), entities(20)...),
		"many actions":              append(actions(70, 10), entities(2)...),
		"large actions":             append(actions(20, 5000), entities(20)...),
		"actions and functions":     append(actions(60, 300), append(functions(60, 300), code(30_000))...),
		"much code":                 append(entities(3), code(38_000)),
		"much code and functions":   append(functions(25, 400), append(entities(20), code(30_000))...),
		"much of everything":        append(append(functions(90, 3000), actions(90, 3000)...), append(entities(300), code(60_000), wide)...),
		"few entities and a screed": append(entities(3), code(16_000)),
	} {
		for _, mode := range []exposure.Mode{exposure.Code, exposure.Tools, exposure.Full} {
			for _, style := range []toolset.Style{toolset.Auto, toolset.Generic} {
				tools, raw := listed(t, view(t, mode, offers...), toolset.Options{Style: style})
				require.LessOrEqual(t, len(tools), 40, "%s, %s, %s", name, mode, style)
				require.LessOrEqual(t, len(raw), 39_100, "%s, %s, %s: %v", name, mode, style, namesOf(tools))
			}
		}
	}
	tools, _ := listed(t, view(t, exposure.Full, append(entities(3), code(38_000))...), toolset.Options{})
	require.Len(t, tools, 37, "up to 40 tools there is one for each entity and operation")
	for _, one := range tools {
		require.LessOrEqual(t, len(one.Description), 2000)
	}
	tools, _ = listed(t, view(t, exposure.Full, append(entities(3), code(16_000))...), toolset.Options{})
	require.Greater(t, len(tools[slices.Index(namesOf(tools), "koan_code_execute")].Description), 15_000, "what has room is not cut")
	require.NotContains(t, tools[0].Description, "koan.code.execute", "texts name tools as the list does")

	short := code(38_000)
	short.Operations[0].Abridge = func(*catalog.View) string { return "In a few words." }
	tools, _ = listed(t, view(t, exposure.Full, append(entities(3), short)...), toolset.Options{})
	require.Equal(t, "In a few words.", tools[slices.Index(namesOf(tools), "koan_code_execute")].Description)
}

// Names of entities stand in every tool: in an enum while that is short.
func TestGenericToolsCostTheSameForAnyNumberOfEntities(t *testing.T) {
	codec, err := tokenizer.Get(tokenizer.O200kBase)
	require.NoError(t, err)
	for _, c := range []struct {
		names []string
		enum  bool
	}{
		{[]string{"Todo", "Person"}, true},
		{numbered("Entity%02d", 10), true},
		{numbered("Entity%02d", 11), false},
		{numbered("HouseholdProfile%d", 7), true},
		{numbered("HouseholdProfile%d", 8), false},
		{numbered("X%d", 90), false},
		{numbered("Entity%03d", 200), false},
	} {
		var offers []catalog.Offer
		for _, name := range c.names {
			offers = append(offers, entity(name, all, ""))
		}
		tools, raw := listed(t, view(t, exposure.Tools, offers...), toolset.Options{Style: toolset.Generic})
		n, err := codec.Count(raw)
		require.NoError(t, err)
		require.LessOrEqual(t, n, 3000, "%d entities", len(offers))
		collection := tools[slices.Index(namesOf(tools), "entities_collection")]
		one := collection.InputSchema["properties"].(map[string]any)["entity"].(map[string]any)
		require.Equal(t, c.enum, one["enum"] != nil, c.names)
	}
}

func numbered(format string, n int) []string {
	var out []string
	for i := range n {
		out = append(out, fmt.Sprintf(format, i))
	}
	return out
}

// What a generic tool offers is what its caller sees.
func TestGenericToolsFollowTheView(t *testing.T) {
	secret := entity("Secret", all, "")
	for _, op := range secret.Operations {
		op.Scopes = []string{"secrets"}
	}
	s, err := catalog.NewSnapshot(entity("Todo", all, ""), entity("Log", reading, ""), secret, catalog.Offer{Operations: toolset.Operations()})
	require.NoError(t, err)
	enum := func(v *catalog.View, op string) []any {
		tools, _ := listed(t, v, toolset.Options{Style: toolset.Generic})
		i := slices.Index(namesOf(tools), "entities_"+op)
		if i < 0 {
			return nil
		}
		return tools[i].InputSchema["properties"].(map[string]any)["entity"].(map[string]any)["enum"].([]any)
	}
	everybody, guest := s.View(auth.Local(), exposure.Tools, false), s.View(auth.Principal{Subject: "guest", Sets: []string{"*"}}, exposure.Tools, false)
	require.Equal(t, []any{"Log", "Secret", "Todo"}, enum(everybody, "collection"))
	require.Equal(t, []any{"Secret", "Todo"}, enum(everybody, "upsert"), "nothing is written to what is read-only")
	require.Equal(t, []any{"Log", "Todo"}, enum(guest, "collection"))

	v := view(t, exposure.Code, entity("Todo", all, ""), entity("Open", all, exposure.Tools), entity("Both", reading, exposure.Full), code(10))
	require.Equal(t, []any{"Both", "Open"}, enum(v, "collection"), "annotated entities have tools where the server says code")
	require.Equal(t, []any{"Open"}, enum(v, "upsert"))
	tools, _ := listed(t, view(t, exposure.Code, entity("Todo", all, ""), code(10)), toolset.Options{Style: toolset.Generic})
	require.Equal(t, []string{"koan_code_execute"}, namesOf(tools), "no entity has tools, and nothing describes any")
}

func TestResolve(t *testing.T) {
	v := view(t, exposure.Full, entity("Todo", all, ""), entity("Log", reading, ""), function("Mail", "send", catalog.Effects{Outside: true}, `{"type":"object","properties":{"to":{"type":"string"}},"required":["to"]}`))
	for _, c := range []struct{ tool, arguments, operation, input string }{
		{"entities_collection", `{"entity":"Todo","filter":{"n":12345678901234567890.10}}`, "koan::Todo.collection", `{"filter":{"n":12345678901234567890.10}}`},
		{"entities.collection", `{"entity":"Log"}`, "koan::Log.collection", `{}`},
		{"todo_collection", `{"pageSize":1}`, "koan::Todo.collection", `{"pageSize":1}`},
		{"todo.collection", `{"pageSize":1}`, "koan::Todo.collection", `{"pageSize":1}`},
		{"tools_call", `{"name":"mail.send","input":{"to":"x"}}`, "plugin::Mail.send", `{"to":"x"}`},
		{"tools.call", `{"name":"mail_send"}`, "plugin::Mail.send", `{}`},
		{"entities_describe", `{}`, "code::entities.describe", `{}`},
	} {
		got, known, err := toolset.Resolve(v, c.tool, json.RawMessage(c.arguments))
		require.NoError(t, err, c.tool)
		require.True(t, known)
		require.Equal(t, c.operation, got.Operation.ID.String())
		require.Equal(t, c.input, string(got.Input))
	}
	for _, c := range []struct {
		tool, arguments, path, says string
		code                        fault.Code
	}{
		{"entities_collection", `{}`, "/entity", `"entity" is missing`, fault.InvalidPayload},
		{"entities_collection", `{"entity":7}`, "/entity", "must be a string", fault.InvalidPayload},
		{"entities_collection", `{"entity":null}`, "/entity", "must be a string", fault.InvalidPayload},
		{"entities_collection", `[]`, "", "must be an object", fault.InvalidPayload},
		{"entities_collection", `{"entity":"Tod"}`, "/entity", `did you mean "Todo"?`, fault.InvalidPayload},
		{"entities_upsert", `{"entity":"Log"}`, "/entity", "Log is read-only: it has no upsert", fault.ReadOnly},
		{"tools_call", `{"input":{}}`, "/name", `"name" is missing`, fault.InvalidPayload},
		{"tools_call", `{"name":"mail.sent"}`, "/name", `did you mean "mail.send"?`, fault.InvalidPayload},
		{"tools_call", `{"name":"todo.collection"}`, "/name", "there is no tool", fault.InvalidPayload},
		{"tools_call", `{"name":"mail.send","inputs":{}}`, "/inputs", `did you mean "input"?`, fault.InvalidPayload},
	} {
		_, known, err := toolset.Resolve(v, c.tool, json.RawMessage(c.arguments))
		require.True(t, known, c.tool)
		require.Equal(t, c.code, fault.CodeOf(err), c.arguments)
		require.Equal(t, c.path, fault.From(err).Path, c.arguments)
		require.ErrorContains(t, err, c.says)
		require.NotEmpty(t, fault.From(err).Hint)
	}
	none := view(t, exposure.Code, entity("Todo", all, ""), function("Mail", "send", catalog.Effects{}, `{"type":"object"}`))
	for _, tool := range []string{"entities_collection", "entities_describe", "tools_call", "tools_describe", "todo_collection", "entities_fly", ""} {
		_, known, err := toolset.Resolve(none, tool, json.RawMessage(`{"entity":"Todo"}`))
		require.False(t, known, tool)
		require.NoError(t, err)
	}
	call, _, err := toolset.Resolve(v, "tools_call", json.RawMessage(`{"name":"mail.send"}`))
	require.NoError(t, err)
	moved := call.Fault(fault.Invalid(fault.Detail{Path: "/to", Message: "x"}, fault.Detail{Path: "", Message: "y"}))
	require.Equal(t, "/input/to", moved.Details.([]fault.Detail)[0].Path)
	require.Equal(t, "/input", moved.Details.([]fault.Detail)[1].Path)
	require.Equal(t, "/input/to", call.Fault(fault.Invalid(fault.Detail{Path: "/to", Message: "x"})).Path)
}

// Actions that have no place are called through the same tool, as few of them as there have to be,
// and those last that are listed in every mode.
func TestActionsOverBudgetAreFolded(t *testing.T) {
	offers := entities(1)
	for i := range 60 {
		offer := function("Plug", "", catalog.Effects{}, `{"type":"object"}`)
		offer.Operations[0].ID = catalog.ActionID(fmt.Sprintf("act-%02d", i))
		offer.Operations[0].ListedInCode = i == 59
		offers = append(offers, offer)
	}
	v := view(t, exposure.Tools, offers...)
	tools, _ := listed(t, v, toolset.Options{})
	require.Len(t, tools, toolset.MaxTools)
	require.Subset(t, namesOf(tools), []string{"tools_call", "tools_describe", "act-00", "act-59"})
	require.NotContains(t, namesOf(tools), "act-58")
	call, known, err := toolset.Resolve(v, "tools_call", json.RawMessage(`{"name":"act-58","input":{"a":1}}`))
	require.NoError(t, err)
	require.True(t, known)
	require.Equal(t, catalog.ActionID("act-58"), call.Operation.ID)
	require.JSONEq(t, `{"a":1}`, string(call.Input))
}

// Functions that have no place are called through one tool, whose hints are those of
// the worst of them.
func TestFunctionsOverBudgetAreFolded(t *testing.T) {
	offers := entities(1)
	for i := range 60 {
		effects := catalog.Effects{ReadOnly: true}
		if i == 30 {
			effects = catalog.Effects{Destructive: true, Outside: true}
		}
		offers = append(offers, function("Mail", fmt.Sprintf("do%02d", i), effects, `{"type":"object","properties":{"to":{"type":["string","null"]}},"required":["to"]}`))
	}
	v := view(t, exposure.Tools, offers...)
	tools, raw := listed(t, v, toolset.Options{})
	require.Contains(t, namesOf(tools), "tools_call")
	require.Contains(t, namesOf(tools), "tools_describe")
	require.NotContains(t, raw, "mail_do30")
	require.Contains(t, raw, `"annotations":{"readOnlyHint":false,"destructiveHint":true,"idempotentHint":false,"openWorldHint":true}`)

	engine := run.NewEngine(run.Options{})
	call := func(id catalog.ID, input string) (string, error) {
		out, _, err := engine.Invoke(t.Context(), run.Request{View: v, Principal: auth.Local(), ID: id, Input: json.RawMessage(input), Surface: "app", Via: catalog.SurfaceTools})
		return string(out), err
	}
	out, err := call(catalog.ToolsID("describe"), `{}`)
	require.NoError(t, err)
	require.Equal(t, 60, strings.Count(out, `"name":"mail.do`))
	out, err = call(catalog.ToolsID("describe"), `{"names":["mail.do30","mail_do31"]}`)
	require.NoError(t, err)
	require.Contains(t, out, `"inputSchema":{"type":"object","properties":{"to":{"type":["string","null"]}},"required":["to"]}`)
	require.Contains(t, out, `"destructiveHint":true`)
	_, err = call(catalog.ToolsID("describe"), `{"names":["mail.do30","mail.none"]}`)
	require.Equal(t, "/names/1", fault.From(err).Path)
	for _, bad := range []string{`{"names":"x"}`, `{"name":["mail.do30"]}`, `{"names":[` + strings.Repeat(`"mail.do30",`, 20) + `"mail.do30"]}`} {
		_, err = call(catalog.ToolsID("describe"), bad)
		require.Equal(t, fault.InvalidPayload, fault.CodeOf(err), bad)
	}

	tools, _ = listed(t, view(t, exposure.Tools, offers[:20]...), toolset.Options{})
	require.NotContains(t, namesOf(tools), "tools_call", "what fits has its own tools")
	require.Contains(t, namesOf(tools), "mail_do05")
}

func TestEntitiesAreDescribed(t *testing.T) {
	todo := entity("Todo", all, "")
	r := todo.Resources[0]
	r.Sets = []string{"default", "tenant-*"}
	r.Edges = []catalog.Edge{{Name: "log", Target: "Log", Description: "What was done."}, {Name: "logs", Target: "Log", Many: true, ReadOnly: true}}
	r.Fields = append(r.Fields,
		catalog.Field{Name: "state", Type: catalog.TypeEnum, Enum: []string{"open", "done"}, Default: json.RawMessage(`"open"`)},
		catalog.Field{Name: "due", Type: catalog.TypeTime, Nullable: true},
		catalog.Field{Name: "tags", Type: catalog.TypeJSON, Schema: json.RawMessage(`{"type":"array","items":{"type":"string"}}`)},
		catalog.Field{Name: "box", Type: catalog.TypeJSON, Schema: json.RawMessage(`{"oneOf":[{"type":"string"},{"type":"object"}]}`)},
		catalog.Field{Name: "version", Type: catalog.TypeInt, ReadOnly: true},
		catalog.Field{Name: "secret", Type: catalog.TypeString, Sensitive: true, Description: "Ends the comment */ not."},
	)
	v := view(t, exposure.Full, todo, entity("Log", reading, ""), entity("Hidden", all, exposure.Code))
	engine := run.NewEngine(run.Options{})
	describe := func(input string) (map[string]any, error) {
		out, _, err := engine.Invoke(t.Context(), run.Request{View: v, Principal: auth.Local(), ID: catalog.Generic("describe"), Input: json.RawMessage(input), Surface: "app", Via: catalog.SurfaceTools})
		var r map[string]any
		if err == nil {
			require.NoError(t, json.Unmarshal(out, &r))
		}
		return r, err
	}
	got, err := describe(`{"entities":["Todo","Log"]}`)
	require.NoError(t, err)
	require.Contains(t, got["filter"], "$startsWith")
	described := got["entities"].([]any)
	require.Len(t, described, 2)
	one := described[0].(map[string]any)
	require.Equal(t, `interface Todo {
id?: string
name: string // at most 10 characters
weight?: number | null // In kilograms
state?: "open" | "done" // default "open"
due?: string | null // RFC 3339 UTC
tags?: string[]
box?: unknown
readonly version: number
secret?: string // Ends the comment *\/ not; never read
log?: Log | null // What was done
logs?: Log[] // read-only
}`, one["declaration"])
	require.Equal(t, map[string]any{"log": "Log", "logs": "Log"}, one["relationships"])
	require.Equal(t, []any{"default", "tenant-*"}, one["sets"])
	require.Len(t, one["operations"], len(all))
	require.Contains(t, one["schemas"], "box")
	require.NotContains(t, one["schemas"], "tags")

	got, err = describe(`{}`)
	require.NoError(t, err)
	require.Equal(t, []any{map[string]any{"name": "Log", "description": "What a Log is."}, map[string]any{"name": "Todo", "description": "What a Todo is."}}, got["entities"])
	got, err = describe(`{"entity":"Log"}`)
	require.NoError(t, err)
	require.Len(t, got["entities"], 1)
	_, err = describe(`{"entities":["Todo","Hidden","Tod"]}`)
	details := fault.From(err).Details.([]fault.Detail)
	require.Len(t, details, 2, "what has no tools is not there")
	require.Equal(t, "/entities/1", details[0].Path)
	require.Contains(t, details[1].Message, `did you mean "Todo"`)
	for _, bad := range []string{`{"entities":"Todo"}`, `{"entitys":["Todo"]}`, `{"entities":[7]}`} {
		_, err = describe(bad)
		require.Equal(t, fault.InvalidPayload, fault.CodeOf(err), bad)
	}
}

// An entity is declared once, where its rows are listed; one that is too wide for that
// is described by a tool.
func TestEntitiesAreDeclaredOnce(t *testing.T) {
	tools, raw := listed(t, view(t, exposure.Tools, entities(2)...), toolset.Options{Style: toolset.PerEntity})
	require.Equal(t, 1, strings.Count(raw, "interface Entity000 {"))
	collection := tools[slices.Index(namesOf(tools), "entity000_collection")]
	require.Contains(t, collection.Description, "What a Entity000 is.\ninterface Entity000 {\nname: string // at most 10 characters\nweight?: number | null // In kilograms\n}")
	require.Contains(t, raw, "Without id, the one with the same name is changed")
	require.NotContains(t, namesOf(tools), "entities_describe")

	wide := entity("Wide", all, "")
	for i := range 150 {
		wide.Resources[0].Fields = append(wide.Resources[0].Fields, catalog.Field{Name: fmt.Sprintf("field%03d", i), Type: catalog.TypeString})
	}
	tools, raw = listed(t, view(t, exposure.Tools, wide), toolset.Options{Style: toolset.PerEntity})
	require.NotContains(t, raw, "interface")
	require.Contains(t, raw, "entities_describe returns its fields")
	require.Contains(t, namesOf(tools), "entities_describe")

	tools, _ = listed(t, view(t, exposure.Tools, entity("Less", []string{"delete", "patch"}, "")), toolset.Options{Style: toolset.PerEntity})
	require.Contains(t, tools[0].Description, "interface Less {", "the first tool, where none lists rows")
}

func TestOutputSchemas(t *testing.T) {
	v := view(t, exposure.Tools, entity("Todo", all, ""), function("Mail", "send", catalog.Effects{}, `{"type":"object"}`))
	for _, style := range []toolset.Style{toolset.PerEntity, toolset.Generic} {
		has := func(o toolset.Outputs) []string {
			tools, _ := listed(t, v, toolset.Options{Style: style, Outputs: o})
			var out []string
			for _, one := range tools {
				if one.OutputSchema != nil {
					out = append(out, one.Name[strings.LastIndexByte(one.Name, '_')+1:])
				}
			}
			slices.Sort(out)
			return out
		}
		auto := []string{"count", "delete", "delete-by-query", "delete-many", "send", "update-by-query"}
		if style == toolset.Generic {
			auto = append(auto, "describe")
			slices.Sort(auto)
		}
		require.Equal(t, auto, has(toolset.OutputsAuto), "where it says more than the entity")
		require.Empty(t, has(toolset.OutputsNever))
		require.Greater(t, len(has(toolset.OutputsAlways)), 12)
	}
}

// Names are the same in every catalog with the same tools, whatever an app calls its
// entities and plugins.
func TestNamesUnderCollisions(t *testing.T) {
	v := view(t, exposure.Full, entity("Entities", all, ""), entity("Tools", all, ""), function("Tools", "describe", catalog.Effects{}, `{"type":"object"}`), function("Entities", "collection", catalog.Effects{}, `{"type":"object"}`), entity("Todo", all, ""))
	tools, _ := listed(t, v, toolset.Options{Style: toolset.Generic})
	for _, name := range []string{"entities_collection", "entities_describe", "entities_collection-3", "tools_describe-2"} {
		require.Contains(t, namesOf(tools), name)
	}
	got, _, err := toolset.Resolve(v, "entities_collection", json.RawMessage(`{"entity":"Entities"}`))
	require.NoError(t, err)
	require.Equal(t, "koan::Entities.collection", got.Operation.ID.String())
	got, _, err = toolset.Resolve(v, "entities.collection-3", json.RawMessage(`{}`))
	require.NoError(t, err)
	require.Equal(t, "plugin::Entities.collection", got.Operation.ID.String())

	long := entity(strings.Repeat("Long", 20), all, "")
	prefixed := entity("Todo", all, "")
	prefixed.Resources[0].ToolPrefix, long.Resources[0].ToolPrefix = "crm", "crm"
	for _, op := range append(slices.Clone(prefixed.Operations), long.Operations...) {
		op.ToolPrefix = "crm"
	}
	tools, _ = listed(t, view(t, exposure.Full, prefixed, long), toolset.Options{Style: toolset.Generic})
	require.Contains(t, namesOf(tools), "crm_entities_collection")
	require.Contains(t, namesOf(tools), "crm_entities_describe")
	tools, _ = listed(t, view(t, exposure.Full, prefixed, long), toolset.Options{Style: toolset.Auto})
	require.Contains(t, namesOf(tools), "crm_todo_collection")
	for _, one := range tools {
		require.LessOrEqual(t, len(one.Name), 64)
	}
}
