package source_test

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/koan-go/koan/codemode/internal/language"
	"github.com/koan-go/koan/codemode/internal/language/node/source"
	"github.com/koan-go/koan/codemode/internal/wire"
)

func TestScriptImportsServersByTheirFiles(t *testing.T) {
	all := []string{"files", "my-notes"}
	for code, want := range map[string][]string{
		`import * as n from "./servers/my_notes/index.js"`:                                        {"my-notes"},
		`const n = await import("./servers/my_notes/index.js")`:                                   {"my-notes"},
		`import { add } from "@codemode/servers/my-notes"`:                                        {"my-notes"},
		`import { callTool } from "./client/mcp_client.js"; callTool({serverId: "files"})`:        all,
		`SDK.Entities.Todo.all()`:                                                                 nil,
		`import { callTool } from "../../client/mcp_client.js"; await callTool(JSON.parse(text))`: all,
	} {
		may := source.Node{}.Imports(code)
		var got []string
		for _, s := range all {
			if may != nil && may(wire.ModuleServers+s) {
				got = append(got, s)
			}
			require.Equal(t, len(want) > 0 && (len(want) > 1 || want[0] == s), source.Node{}.References(code, nil).Imports(s), code)
		}
		require.Equal(t, want, got, code)
		require.ElementsMatch(t, want, source.Node{}.References(code, nil).Names(all), code)
	}
}

func TestActionOfScriptIsJavaScript(t *testing.T) {
	file, text, in := source.Node{}.ActionFile(language.Action{Name: "count", Code: "return 1", Language: source.Name, Input: json.RawMessage(`{}`)})
	require.Equal(t, "count.js", file)
	require.Equal(t, "javascript", in)
	require.Contains(t, text, "export default async (input)")
	_, _, ok := source.Node{}.ActionOf("count.mjs")
	require.False(t, ok)
}
