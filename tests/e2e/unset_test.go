package e2e

import (
	"encoding/json"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/koan-go/koan/framework/fault"
)

// Some models send every member that a schema has. An optional one that is null is as absent
// (CONTRACT section 2), and so is an empty text where an operation of entities takes a text.
func TestUnsetMembersAreAsAbsent(t *testing.T) {
	ofEntities := regexp.MustCompile(`^(todo_|entities_[^d])`)
	for _, style := range []string{"generic", "perEntity"} {
		p := newApp(t).serve("--exposure", "full", "--tools.style", style)
		var list struct {
			Tools []struct {
				Name        string
				InputSchema struct {
					Properties map[string]json.RawMessage
					Required   []string
					Examples   []map[string]any
				}
			}
		}
		require.NoError(t, json.Unmarshal(p.call("tools/list", map[string]any{}).Result, &list))
		tried := 0
		for _, tool := range list.Tools {
			if len(tool.InputSchema.Examples) == 0 || tool.Name == "koan_code_undo" {
				continue
			}
			example := tool.InputSchema.Examples[0]
			if p.tool(tool.Name, example).IsError { // its row is not there
				continue
			}
			for _, unset := range []any{nil, ""} {
				args := input{}
				for name, schema := range tool.InputSchema.Properties {
					ofText := ofEntities.MatchString(tool.Name) && strings.Contains(string(schema), `"type":"string"`)
					if !slices.Contains(tool.InputSchema.Required, name) && (unset == nil || ofText) {
						args[name] = unset
					}
				}
				for name, value := range example {
					args[name] = value
				}
				r := p.tool(tool.Name, args)
				require.NotContains(t, string(r.Structured), fault.InvalidPayload, "%s %v", tool.Name, args)
				tried++
			}
		}
		require.Greater(t, tried, 12, style)
	}
	p := newApp(t).serve()
	for _, tool := range []string{"todo.count", "entities_count"} {
		twice := `{"entity":"Todo","filter":{"title":"x"},"filter":null}`
		if tool == "todo.count" {
			twice = `{"filter":{"title":"x"},"filter":null}`
		}
		require.Contains(t, string(p.tool(tool, json.RawMessage(twice)).Structured), "twice", tool)
	}
	require.JSONEq(t, `{"count":1}`, string(p.tool("todo.count", input{"filter": nil, "set": ""}).Structured))
	require.Contains(t, string(p.tool("todo.patch", input{"id": nil, "changes": input{}}).Structured), `"path":"/id"`, "what is needed is missing")
	require.Contains(t, string(p.tool("todo.delete-by-query", input{"filter": nil, "all": true}).Structured), `"path":"/filter"`, "what is to be deleted must be said")
	require.Contains(t, string(p.tool("todo.patch", input{"id": "1", "changes": input{}, "ifVersion": ""}).Structured), `"path":"/ifVersion"`, "a check that was lost")
	require.Contains(t, string(p.execute(`return SDK.Entities.Todo.count({ filter: null })`).Error.Message), "filter", "a condition that a script has lost")
}
