package codemode

import (
	"encoding/json"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/koan-go/koan/framework/fault"
	"github.com/koan-go/koan/framework/koantest"
	"github.com/koan-go/koan/tests/fixture"
)

func gatewayKit(t *testing.T, settings ...koantest.Setting) *koantest.Kit {
	t.Helper()
	return koantest.New(t, fixture.App(), append([]koantest.Setting{{Key: "codeMode.faces", Value: "gateway"}}, settings...)...)
}

func gatewayCall(t *testing.T, k *koantest.Kit, op string, input map[string]any, into any) error {
	t.Helper()
	out, err := k.Call("code::gateway."+op, input)
	if err == nil {
		require.NoError(t, json.Unmarshal(out, into), "%s", out)
	}
	return err
}

type candidate struct {
	ID, Name, Upstream, Description string
	Score                           float64
	Available                       bool `json:"schema_available"`
}

func TestGatewayFindsReadsAndCalls(t *testing.T) {
	t.Parallel()
	k := gatewayKit(t)
	var found struct{ Results []candidate }
	require.NoError(t, gatewayCall(t, k, "search", map[string]any{"query": "create or replace a todo", "top_k": 3}, &found))
	require.Len(t, found.Results, 3)
	require.ElementsMatch(t, []string{"koan::Todo.create", "koan::Todo.upsert", "koan::Todo.upsert-many"}, []string{found.Results[0].ID, found.Results[1].ID, found.Results[2].ID})
	require.Equal(t, "Todo", found.Results[0].Upstream)
	require.True(t, found.Results[0].Available)
	require.GreaterOrEqual(t, found.Results[0].Score, found.Results[1].Score)

	require.NoError(t, gatewayCall(t, k, "search", map[string]any{"query": "", "upstream": "todo", "top_k": 50}, &found))
	require.NotEmpty(t, found.Results)
	for _, c := range found.Results {
		require.Equal(t, "Todo", c.Upstream)
	}

	var schema struct {
		Format string `json:"schema_format"`
		Schema struct {
			Properties map[string]any `json:"properties"`
		} `json:"schema"`
		Annotations map[string]bool
	}
	require.NoError(t, gatewayCall(t, k, "schema", map[string]any{"id": "koan::Todo.upsert"}, &schema))
	require.Equal(t, "json_schema", schema.Format)
	require.Contains(t, schema.Schema.Properties, "model")
	require.False(t, schema.Annotations["readOnlyHint"])

	var done struct{ Result json.RawMessage }
	require.NoError(t, gatewayCall(t, k, "execute", map[string]any{"code": `
		const made = callTool("koan::Todo.upsert", { model: { title: SDK.args.title } });
		const read = await callTool("koan::Todo.get-by-id", { id: made.id });
		return [read.title, SDK.Entities.Todo.count({ title: read.title })];`, "args": map[string]any{"title": "call by id"}}, &done))
	require.JSONEq(t, `["call by id",1]`, string(done.Result))
}

// What is checked of the inputs of SDK.Entities is checked of those of callTool.
func TestGatewayChecksInputsOfEntities(t *testing.T) {
	t.Parallel()
	k := gatewayKit(t)
	for code, path := range map[string]string{
		`const read = callTool("koan::Todo.get-by-id", {id: made.id, with: {labels: {limit: 1}}}); callTool("koan::Todo.upsert", {model: read})`:                        "/model/labels",
		`const read = SDK.Entities.Todo.getById(made.id, {with: {assignedUser: {filter: {name: "none"}}}}); callTool("koan::Todo.patch", {id: made.id, changes: read})`: "/changes/assignedUser",
		`callTool("koan::Todo.delete-by-query", {filter: {title: undefined}, all: true})`:                                                                               "/filter/title",
		`SDK.Entities.Label.delete(9007199254740993)`:                                                      "/id",
		`callTool("koan::Todo.update-by-query", {filter: {views: {$gt: 2 ** 53}}, changes: {title: "x"}})`: "/filter/views/$gt",
		`SDK.Entities.Todo.patch(made.id, {effort: 1, views: 1e18})`:                                       "/changes/views",
		`callTool("koan::Todo.count", {filter: {title: "\ud800"}})`:                                        "/filter/title",
	} {
		err := gatewayCall(t, k, "execute", map[string]any{"code": `const label = callTool("koan::Label.upsert", {model: {name: "l"}}), made = callTool("koan::Todo.upsert", {model: {title: "t", labels: [label.id]}}); ` + code}, &struct{}{})
		require.Equal(t, fault.InvalidPayload, fault.CodeOf(err), code)
		require.Equal(t, path, fault.From(err).Path, code)
	}
}

func TestGatewayFaultsHaveTheirKind(t *testing.T) {
	t.Parallel()
	k := gatewayKit(t, koantest.Setting{Key: "codeMode.maxSdkCalls", Value: "2"})
	for name, c := range map[string]struct {
		op    string
		input map[string]any
		code  fault.Code
		kind  string
	}{
		"malformed id":           {"schema", map[string]any{"id": "nonsense"}, fault.InvalidCodeModeID, "invalid_code_mode_id"},
		"unknown id":             {"schema", map[string]any{"id": "koan::Nothing.count"}, fault.ToolNotFound, "unknown_tool"},
		"code operation":         {"schema", map[string]any{"id": "code::gateway.execute"}, fault.ToolNotFound, "unknown_tool"},
		"unknown owner":          {"search", map[string]any{"query": "x", "upstream": "nope"}, fault.ServerNotFound, "not_found"},
		"malformed id in a call": {"execute", map[string]any{"code": `callTool("nonsense", {})`}, fault.InvalidCodeModeID, "invalid_code_mode_id"},
		"too many calls":         {"execute", map[string]any{"code": `for (;;) callTool("koan::Todo.count", {})`}, fault.SDKCallsExceeded, "tool_call_limit_exceeded"},
		"exception":              {"execute", map[string]any{"code": `throw new Error("no")`}, fault.JavaScriptError, "code_execution_failed"},
		"several problems":       {"execute", map[string]any{"code": `callTool("koan::Todo.upsert", {model: {title: 5, effort: "x"}})`}, fault.InvalidPayload, "code_execution_failed"},
		"one problem":            {"execute", map[string]any{"code": `callTool("koan::Todo.upsert", {model: {title: 5}})`}, fault.InvalidPayload, "code_execution_failed"},
		"a wrong request":        {"execute", map[string]any{"code": 5}, fault.InvalidPayload, "code_execution_failed"},
	} {
		t.Run(name, func(t *testing.T) {
			err := gatewayCall(t, k, c.op, c.input, &struct{}{})
			require.Equal(t, c.code, fault.CodeOf(err), "%v", err)
			details, encoding := json.Marshal(fault.From(err).Details)
			require.NoError(t, encoding)
			var has struct{ Kind string }
			require.NoError(t, json.Unmarshal(details, &has))
			require.Equal(t, c.kind, has.Kind)
		})
	}
	for id, meant := range map[string]string{"koan::Todo.coumt": "koan::Todo.count", "koan::Tood.count": "koan::Todo.count"} {
		require.Contains(t, fault.From(gatewayCall(t, k, "schema", map[string]any{"id": id}, &struct{}{})).Message, `did you mean "`+meant+`"`)
	}
	for _, input := range []map[string]any{{}, {"id": 5}, {"id": "koan::Todo.count", "more": 1}} {
		require.Equal(t, fault.InvalidPayload, fault.CodeOf(gatewayCall(t, k, "schema", input, &struct{}{})), "%v", input)
	}
	err := gatewayCall(t, k, "execute", map[string]any{"code": `callTool(5)`}, &struct{}{})
	require.Equal(t, fault.InvalidPayload, fault.CodeOf(err))
	require.Contains(t, fmt.Sprint(fault.From(err).Details), "number")
	checked, err := k.Call("code::koan.validate", map[string]any{"code": `callTool("koan::Todo.count", {})`})
	require.NoError(t, err)
	require.JSONEq(t, `{"valid":true}`, string(checked))
}

func TestGatewayIsHiddenWhereCodeModeIsDisabled(t *testing.T) {
	t.Parallel()
	k := gatewayKit(t, koantest.Setting{Key: "codeMode.enabled", Value: "false"})
	err := gatewayCall(t, k, "execute", map[string]any{"code": "1"}, &struct{}{})
	require.Equal(t, fault.CodeModeDisabled, fault.CodeOf(err))
	require.Equal(t, map[string]any{"kind": "code_mode_disabled"}, fault.From(err).Details)
}

func TestOtherFacesHaveNoCallTool(t *testing.T) {
	t.Parallel()
	k := koantest.New(t, fixture.App())
	require.JSONEq(t, `"undefined"`, string(k.Run(`typeof callTool`, koantest.Input{}).Result))
}
