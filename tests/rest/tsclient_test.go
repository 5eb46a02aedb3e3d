package rest

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/koan-go/koan/framework"
	"github.com/koan-go/koan/tests/soak"
)

// A client in TypeScript that hey-api makes of the document passes tsc --strict with a program that
// writes filters, `with` and `having`, and reads relationships and JSON fields, as long as the
// program makes no mistake; and what it sends and receives is what the types say.
func TestOpenAPITypeScriptClient(t *testing.T) {
	t.Parallel()
	for name, said := range soak.Part(1, map[string]string{
		"fixture":   `{"steps": [[["Take the bag", "Buy milk"]]], "groups": [{"priority": "high", "count": 1}]}`,
		"pantrypal": `{"homes": true, "items": [["Sourdough starter", 2, null]], "places": [{"place": "fridge", "count": 1}]}`,
		"shop": `{
			"products": [{
				"name": "TEA", "price": "  3.50", "serial": "9007199254740993", "width": 10, "origin": "assam", "tags": "hot", "blend": 2, "parent": "Drinks", "pots": ["pot"], "buyers": ["Ann"]
			}],
			"total": 1, "groups": [[1, 2]], "titles": ["Drinks", "Drinks"], "problem": "not_found"
		}`,
	}) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := serve(t, described[name](), framework.HTTPOptions{})
			dir := t.TempDir()
			for from, to := range map[string]string{name + ".ts": "main.ts", "tsconfig.json": "tsconfig.json"} {
				text, err := os.ReadFile(filepath.Join("testdata", "tsclient", from))
				require.NoError(t, err)
				require.NoError(t, os.WriteFile(filepath.Join(dir, to), text, 0o600))
			}
			npm(t, "openapi.mjs", "client", fileOf(t, s), filepath.Join(dir, "api"))
			cmd := exec.Command("node", "node_modules/typescript/bin/tsc", "--project", dir)
			cmd.Dir = "../npm"
			out, err := cmd.CombinedOutput()
			require.NoError(t, err, "%s", out)
			require.JSONEq(t, said, string(npm(t, filepath.Join(dir, "out", "main.js"), s.url)))
		})
	}
}
