package upstream_test

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/koan-go/koan/framework"
	"github.com/koan-go/koan/framework/auth"
	"github.com/koan-go/koan/framework/catalog"
	"github.com/koan-go/koan/framework/exposure"
	"github.com/koan-go/koan/framework/fault"
	"github.com/koan-go/koan/framework/koantest"
)

// code_schema shows no schema that a server did not give: of a tool without one, or with one of which
// nothing can be used, it says so, and code_search does (gateway-code-mode-contract).
func TestSchemasThatAreNotAvailable(t *testing.T) {
	t.Parallel()
	for way, says := range map[string]string{
		"no schema":          "its server gives none",
		"a schema of PHP":    "it is not an object",
		"a schema too large": "262144 are the most",
		"properties of PHP":  "",
		asWritten:            "",
	} {
		t.Run(way, func(t *testing.T) {
			t.Parallel()
			kit := koantest.New(t, framework.App{Name: "schemaless"}, append(settingsOf(t, []row{{id: "x", mode: oddMode + way}}), koantest.Setting{Key: "codeMode.faces", Value: "[gateway]"})...)
			out, err := kit.Call("code::gateway.search", map[string]any{"query": "work"})
			require.NoError(t, err)
			var found struct {
				Results []struct {
					ID        string
					Available bool `json:"schema_available"`
				}
			}
			require.NoError(t, json.Unmarshal(out, &found))
			require.Len(t, found.Results, 1)
			require.Equal(t, workID, found.Results[0].ID)
			require.Equal(t, says == "", found.Results[0].Available)
			_, err = kit.Call("code::gateway.schema", map[string]any{"id": workID})
			if says == "" {
				require.NoError(t, err)
				return
			}
			f := fault.From(err)
			require.Equal(t, fault.SchemaUnavailable, f.Code)
			require.Contains(t, f.Message, says)
			require.Equal(t, map[string]any{"kind": "schema_unavailable"}, f.Details)
			require.Equal(t, fault.Never, f.Retry)
			_, err = kit.Call("code::gateway.execute", map[string]any{"code": `callTool("` + workID + `", {})`})
			require.NoError(t, err, "it can be called all the same")
		})
	}
}

// A list of tools that is asked for while a server connects says so, and how its declarations are found.
func TestServersThatAreConnectingAreNamed(t *testing.T) {
	t.Parallel()
	kit := fresh(t, "behaves", map[string]string{"env." + delayVariable: "1s"}, koantest.Setting{Key: "codeMode.faces", Value: "[koan, codemode]"})
	for _, id := range []string{"code::koan.execute", "code::codemode.run"} {
		v := kit.Instance().Snapshot().View(auth.Local(), exposure.Full, false)
		text := v.At(catalog.SurfaceTools).Operation(parse(t, id)).Description(v)
		require.Contains(t, text, "still connecting", id)
		require.Contains(t, text, "search", id)
	}
	out, err := kit.Call("code::koan.search", map[string]any{"query": "work", "detail": "full"})
	require.NoError(t, err)
	require.Contains(t, string(out), "work(input", "a search waits for it")
}
