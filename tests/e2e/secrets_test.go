package e2e

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"
)

// No response repeats a secret of its request, even if no run was opened.
func TestRefusalsContainNoSecrets(t *testing.T) {
	t.Parallel()
	const token = "ghp_abcdefghijklmnopqrstuvwxyz0123456789"
	w := newApp(t).web("--codeMode.faces", "[koan, codemode]")
	quoted := func(v any) string {
		raw, err := json.Marshal(v)
		require.NoError(t, err)
		return string(raw)
	}
	for name, c := range map[string]struct {
		tool string
		in   input
		want string // what is said nevertheless
	}{
		"a tool":                  {token, input{}, "tool_not_found"},
		"a member":                {"koan.code.execute", input{"code": "1", token: 1}, "there is no member"},
		"a member of a tool":      {"todo.count", input{token: 1}, "unknown input"},
		"only":                    {"koan.code.execute", input{"code": "1", "only": []string{token}}, "/only/0"},
		"a set":                   {"koan.code.execute", input{"code": "1", "set": token}, "unknown_set"},
		"a choice":                {"koan.code.execute", input{"code": "1", "language": token}, "/language"},
		"a plan":                  {"koan.code.execute", input{"planId": token}, "not_found"},
		"a field":                 {"koan.code.execute", input{"code": "SDK.Entities.Todo.count({" + token + ": 1})"}, "unknown field"},
		"a cause":                 {"koan.code.execute", input{"code": `throw new Error("x", { cause: new Error('secret: "` + token + `"') })`}, "causes"},
		"a check":                 {"koan.code.validate", input{"code": "SDK.Entities.Todo.count({" + token + ": 1})"}, "has no field"},
		"a module's request":      {"codemode.run", input{"code": "1", token: 1}, "INVALID_REQUEST"},
		"a search":                {"koan.code.search", input{"query": "x", "detail": token}, "/detail"},
		"a sensitive field's own": {"koan.code.execute", input{"code": `throw new Error("x", { cause: new Error('secret: "abc"') })`}, `secret: \"[redacted]\"`},
	} {
		status, out := w.call(c.tool, quoted(c.in))
		require.NotZero(t, status)
		require.NotContains(t, quoted(out), token, name)
		require.Contains(t, quoted(out), c.want, name)
	}
	for method, params := range map[string]string{
		token:            `{`,
		"prompts/get":    `{"name":"` + token + `",`,
		"resources/read": `{"uri":"koan://` + token + `",`,
	} {
		body := `{"jsonrpc":"2.0","id":1,"method":"` + method + `","params":` + params + `"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}}}`
		header := []string{"Mcp-Protocol-Version", "2026-07-28", "Mcp-Method", method}
		switch method {
		case "prompts/get":
			header = append(header, "Mcp-Name", token)
		case "resources/read":
			header = append(header, "Mcp-Name", "koan://"+token)
		}
		_, _, raw := w.post(body, header...)
		require.Contains(t, string(raw), `"error"`, method)
		require.NotContains(t, string(raw), token, method)
	}
}
