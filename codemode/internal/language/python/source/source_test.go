package source_test

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/koan-go/koan/codemode/internal/language"
	"github.com/koan-go/koan/codemode/internal/language/python/source"
)

func TestModule(t *testing.T) {
	t.Parallel()
	for id, module := range map[string]string{"google-drive": "google_drive", "linear": "linear", "2fa.service": "_2fa_service", "camelCase": "camel_case", "--": "server"} {
		require.Equal(t, module, source.Module(id))
	}
}

func TestImports(t *testing.T) {
	t.Parallel()
	var p source.Python
	require.Nil(t, p.Imports("SDK.Entities.Todo.all()"))
	may := p.Imports("import servers.google_drive as drive")
	require.True(t, may("@codemode/servers/google-drive"))
	require.False(t, may("@codemode/servers/linear"))
	require.True(t, p.Imports("import importlib\nimportlib.import_module('servers.' + name)")("@codemode/servers/linear"))
	require.Equal(t, []string{"google-drive"}, p.References("import servers.google_drive", nil).Names([]string{"google-drive", "linear"}))
}

func TestActionOf(t *testing.T) {
	t.Parallel()
	for file, action := range map[string]string{"cancel-order.py": "cancel-order", "x.js": "", "_lib.py": "", "test_x.py": "", ".x.py": ""} {
		name, in, ok := source.Python{}.ActionOf(file)
		require.Equal(t, action != "", ok, file)
		require.Equal(t, action, name)
		if ok {
			require.Equal(t, "python", in)
		}
	}
}

func TestActionFile(t *testing.T) {
	t.Parallel()
	file, text, _ := source.Python{}.ActionFile(language.Action{
		Name: "tidy-up", Description: "It's true.", Code: "x = 1\n\nreturn x\n", Input: json.RawMessage(`{"type":"object","additionalProperties":false}`), Example: json.RawMessage(`{"a":null,"b":"true"}`),
	})
	require.Equal(t, "tidy-up.py", file)
	require.Equal(t, `action = {
    "description": "It's true.",
    "input": {"type":"object","additionalProperties":False},
    "rights": "caller",
    "examples": [{"a":None,"b":"true"}],
}

x = 1

return x
`, text)
	_, text, _ = source.Python{}.ActionFile(language.Action{Name: "a", Description: "A.", Code: "```python\n\"Says it.\"\nfrom __future__ import annotations\n\n1\n```", Input: json.RawMessage(`{}`)})
	require.Equal(t, "\"Says it.\"\nfrom __future__ import annotations\n\naction = {\n    \"description\": \"A.\",\n    \"input\": {},\n    \"rights\": \"caller\",\n}\n\n1\n", text)
}

func FuzzActionFile(f *testing.F) {
	f.Add(`{"a":"\"true\\","b":[true,null]}`, "x = 1")
	f.Fuzz(func(t *testing.T, example, code string) {
		_, text, _ := source.Python{}.ActionFile(language.Action{Name: "a", Code: code, Input: json.RawMessage(`{}`), Example: json.RawMessage(example)})
		require.Contains(t, text, "action = {\n")
		source.Python{}.Imports(code)
	})
}
