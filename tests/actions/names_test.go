package actions

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/koan-go/koan/framework/koantest"
)

// oddNames are names of actions that mean something to JavaScript.
var oddNames = []string{"then", "catch", "constructor", "to-string", "value-of", "to-json", "has-own-property", "default", "await", "class", "delete", "new", "arguments", "eval", "name", "length", "prototype", "call", "apply"}

// module has the exports that are not the names in snake_case.
var module = map[string]string{"then": "then_", "catch": "catch_", "await": "await_", "class": "class_", "delete": "delete_", "new": "new_", "default": "default_"}

// An action may have any name: nothing calls it by accident, and everything that there is calls it.
func TestActionsWithNamesOfTheLanguage(t *testing.T) {
	t.Parallel()
	files := map[string]string{}
	for _, name := range oddNames {
		files[name+".js"] = fmt.Sprintf(`export const action = { description: "Returns its name." }; export default () => %q;`, name)
	}
	kit := start(t, files)
	for _, name := range oddNames {
		camel := name
		for i := strings.IndexByte(camel, '-'); i >= 0; i = strings.IndexByte(camel, '-') {
			camel = camel[:i] + strings.ToUpper(camel[i+1:i+2]) + camel[i+2:]
		}
		if slices.Contains([]string{"then", "toString", "valueOf"}, camel) { // which JavaScript calls itself
			camel += "_"
		}
		snake := module[name]
		if snake == "" {
			snake = strings.ReplaceAll(name, "-", "_")
		}
		for way, code := range map[string]string{
			"member":  `SDK.Actions.` + camel + `({})`,
			"index":   `SDK.Actions[` + "`" + camel + "`" + `]({})`,
			"import":  `import * as koan from "@codemode/servers/koan"; globalThis.result = await koan.` + snake + `({});`,
			"dynamic": `const koan = await import("@codemode/servers/koan"); globalThis.result = await koan.` + snake + `({});`,
			"await":   `const a = await SDK.Actions; globalThis.result = a.` + camel + `({});`,
		} {
			r := kit.Try(code, koantest.Input{Include: []string{"calls"}})
			require.True(t, r.Success, "%s of %s: %v", way, name, r.Error)
			require.JSONEq(t, fmt.Sprintf("%q", name), string(r.Result), "%s of %s", way, name)
			require.Len(t, r.Calls, 1, "%s of %s", way, name)
		}
		var out string
		kit.Action(name, map[string]any{}, &out)
		require.Equal(t, name, out)
	}
	r := kit.Run("`${typeof SDK.Actions.toString} ${JSON.stringify(SDK.Actions).length > 0}`", koantest.Input{Include: []string{"calls"}})
	require.Empty(t, r.Calls)
	var said string
	require.NoError(t, json.Unmarshal(r.Result, &said))
	require.Equal(t, "function true", said)
}
