package upstream_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/koan-go/koan/framework"
	"github.com/koan-go/koan/framework/koantest"
)

// A result that does not fit its schema is not lost: a script finds it in the fault's details.
func TestResultsThatMissTheirSchemaAreKept(t *testing.T) {
	t.Parallel()
	mode := oddMode + "a result that misses its schema"
	settings := settingsOf(t, []row{{id: "writes", mode: mode}, {id: "reads", mode: mode, settings: map[string]string{"effects.*": "read"}}})
	kit := koantest.New(t, framework.App{Name: "misfits"}, settings...)
	for id, retry := range map[string]string{"writes": "never", "reads": "fix"} {
		got := kit.Run(`
			import * as module from "@codemode/servers/`+id+`";
			const failed = [];
			try { SDK.Servers.`+id+`.work({}) } catch (e) { failed.push(e) }
			await module.work({}).catch((e) => failed.push(e));
			globalThis.result = failed.map((e) => [e.code, e.retry, e.details.structuredContent, e.details.content, e.details.problems[0].path, e.hint.includes("details")]);`, koantest.Input{})
		one := `["upstream_error","` + retry + `",{"n":"five"},[{"type":"text","text":"five"}],"/n",true]`
		require.JSONEq(t, `[`+one+`,`+one+`]`, string(got.Result))
	}
}
