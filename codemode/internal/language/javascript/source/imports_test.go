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
