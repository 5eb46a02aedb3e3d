package source

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestImports(t *testing.T) {
	for code, want := range map[string][]bool{ // whether it may import one and two; nil for a script without imports
		`SDK.run`:                   nil,
		`import "@codemode/errors"`: {false, false},
		`import * as a from "@codemode/servers/one"`:              {true, false},
		`await import("@codemode/servers/two")`:                   {false, true},
		"const n = 'one'; await import(`@codemode/servers/${n}`)": {true, true},
		`const n = 'one'; await import("@codemode/servers/" + n)`: {true, true},
		`await import("./x"); // of nothing that there is`:        {false, false},
	} {
		may := JavaScript{}.Imports(code)
		if want == nil {
			require.Nil(t, may, code)
			continue
		}
		require.Equal(t, want, []bool{may("@codemode/servers/one"), may("@codemode/servers/two")}, code)
	}
}

func TestFilesOfActions(t *testing.T) {
	for file, want := range map[string][2]string{
		"a.ts": {"a", "typescript"}, "b-c.js": {"b-c", "javascript"}, "a.d.ts": {}, "a.test.ts": {}, "a.test.js": {}, ".x.ts": {}, "a.py": {}, "README": {},
	} {
		action, language, ok := JavaScript{}.ActionOf(file)
		require.Equal(t, want, [2]string{action, language}, file)
		require.Equal(t, want[0] != "", ok, file)
	}
}
