package docs

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/koan-go/koan/framework/auth"
	"github.com/koan-go/koan/framework/exposure"
	"github.com/koan-go/koan/framework/koantest"
	"github.com/koan-go/koan/tests/fixture"
	"github.com/koan-go/koan/tests/typescript"
)

// orders are what scripts in the documentation use that the fixture does not have.
const orders = `declare namespace SDK {
  namespace Entities {
    interface Customer { id: string; name: string }
    interface Order { id: string; status: "pending" | "cancelled" | "open" | "paid"; customer?: Customer | null; note: string | null; at: SDK.Time }
    interface Todo { meta: unknown }
    interface Shop { id: string; name: string; kind: "grocer" | "hardware" | "other" }
    const Shop: SDK.Entity<Shop, never, "default">;
    const Order: SDK.Entity<Order, never, "default">;
  }
  namespace Actions { type CancelOrderInput = { orderId: string; reason: "mistake" | "not needed" } }
  const Servers: { [server: string]: { [tool: string]: (input?: any) => any } };
}
declare module "@codemode/servers/koan" { export function pantry_item_get_by_id(input: { id: string }): Promise<{ id: string }>; }
declare module "@codemode/servers/vision" { export function detect(input: { photo: string }): Promise<{ labels: string[] }>; }
`

// Scripts in the documentation have no type error in a strict editor, as an app's own jsconfig.json
// makes it; filters are filters of Todo.
func TestScriptsPassStrictTypes(t *testing.T) {
	k := koantest.New(t, fixture.App(), koantest.Setting{Key: "journal.expose", Value: "true"})
	files := map[string]string{"koan.d.ts": typescript.Declarations(t, k.Instance().View(auth.Local(), exposure.Understands)), "orders.d.ts": orders}
	scripts := 0
	for _, page := range pages(t) {
		text, err := os.ReadFile(page)
		require.NoError(t, err)
		for _, block := range snippet.FindAllSubmatch(text, -1) {
			code := string(block[1])
			switch {
			case strings.HasPrefix(code, "{"):
				code = "const filter: SDK.Filter<SDK.Entities.Todo> = " + code
			case strings.Contains(code, "EventSource"): // of a browser
				continue
			}
			scripts++
			files[strings.ReplaceAll(filepath.Base(page), ".", "_")+"_"+strings.Repeat("x", scripts)+".ts"] = code
		}
	}
	require.GreaterOrEqual(t, scripts, 10)
	require.Empty(t, typescript.Check(t, files))
}

// pages are the pages of the documentation.
func pages(t *testing.T) []string {
	t.Helper()
	out := []string{"../../README.md", "../../CHANGELOG.md"}
	for _, in := range []string{"../../docs/*.md", "../../docs/*/*.md"} {
		found, err := filepath.Glob(in)
		require.NoError(t, err)
		out = append(out, found...)
	}
	return out
}
