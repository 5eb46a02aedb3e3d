package typegen_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/koan-go/koan/codemode/internal/bind"
	"github.com/koan-go/koan/codemode/internal/language/javascript/typegen"
	"github.com/koan-go/koan/framework/catalog"
	"github.com/koan-go/koan/tests/typescript"
)

// Tools may be called like words of JavaScript and TypeScript, and like what is global: the declarations
// of their server hold, and scripts import them.
func TestToolsMayBeCalledLikeWords(t *testing.T) {
	t.Parallel()
	words := strings.Fields(`abstract any arguments as asserts async await bigint boolean break case catch class const constructor continue debugger declare default delete do else enum eval
		exports export extends false finally for from function get global globalThis if implements import in infer instanceof interface is keyof let module namespace never new null number object of
		out override package private protected prototype public readonly require return satisfies set static string super switch symbol this throw true try type typeof undefined unique unknown using
		var void while with yield Array Error Function Infinity JSON Map NaN Object Promise Symbol Types Integer console name length process self window document SDK callTool`)
	var o catalog.Offer
	for _, word := range words {
		o.Operations = append(o.Operations, operation(catalog.ID{Kind: catalog.KindUpstream, Owner: "x", Op: word}, `{"type":"object","properties":{"n":{"type":"integer"}}}`, `{"type":"object","properties":{"n":{"type":"integer"}}}`))
	}
	v := view(t, o)
	use := "import * as x from \"@codemode/servers/x\";\n"
	for i, export := range catalog.Exports(words) {
		use += "x." + export + "({ n: 1 }).then((r) => r.n);\n"
		if words[i] == export || words[i]+"_" == export {
			use += "SDK.Servers.x." + export + "({ n: 1 }).n;\n"
		}
	}
	use += "import { enum_, package_, eval as evaluate } from \"@codemode/servers/x\";\nenum_(); package_(); evaluate();\n"
	found := typescript.Check(t, map[string]string{"koan.d.ts": typegen.TypeScript{}.Declarations(v), "modules.d.ts": typegen.TypeScript{}.Modules(v, bind.App{Name: "app", Version: "1"}), "use.ts": use + "export {};\n"})
	require.Empty(t, found)
}
