package upstream_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/koan-go/koan/framework"
	"github.com/koan-go/koan/framework/koantest"
)

// A server's own annotations are shown where they do not count, since nobody vouches for it, and so is
// the title of its tool.
func TestDeclaredAnnotationsAreShown(t *testing.T) {
	t.Parallel()
	mode := oddMode + "a tool that says it only reads"
	settings := settingsOf(t, []row{{id: "x", mode: mode}, {id: "trusted", mode: mode, settings: map[string]string{"trust": "true"}}})
	kit := koantest.New(t, framework.App{Name: "declared"}, settings...)
	got := kit.Run(`
		import { getTool } from "@codemode/discovery";
		import { work } from "@codemode/servers/x";
		import { work as other } from "@codemode/servers/trusted";
		await work({}); await other({});
		globalThis.result = [];
		for (const id of ["x", "trusted"]) {
			const t = await getTool(id, "work");
			globalThis.result.push([t.title, t.annotations.readOnlyHint, t.declaredAnnotations?.readOnlyHint ?? null, t.declaration.includes("its server says: ")]);
		}`, koantest.Input{})
	require.JSONEq(t, `[["Work hard",false,true,true],["Work hard",true,null,false]]`, string(got.Result))
}
