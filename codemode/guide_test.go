package codemode_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/koan-go/koan/framework/fault"
)

// A script that is written to the guide's contract runs in the embedded engine as it does in Node.
func TestTheEmbeddedEngineTakesTheGuidesLayout(t *testing.T) {
	t.Parallel()
	h := newHouse(t, nil)
	for name, c := range map[string]struct{ code, result string }{
		"a module":         {"import * as mail from './servers/mail/index.js';\nglobalThis.result = await mail.send({ to: 'x' });", `{"sent":true}`},
		"a name":           {"import { send } from \"./servers/mail/index.js\";\nglobalThis.result = await send({ to: 'x' });", `{"sent":true}`},
		"one by both":      {"import { note_upsert, noteUpsert } from './servers/koan/index.js';\nglobalThis.result = [typeof note_upsert, note_upsert === noteUpsert];", `["function",true]`},
		"an import()":      {"const mail = await import('./servers/mail/index.js');\nglobalThis.result = typeof mail.send;", `"function"`},
		"a good status":    {"globalThis.result = 1;\nprocess.exitCode = 0;", `1`},
		"no other process": {"globalThis.result = typeof process;", `"undefined"`},
	} {
		t.Run(name, func(t *testing.T) {
			r := h.run(c.code)
			require.NoError(t, r.err)
			require.JSONEq(t, c.result, string(r.Result))
			checked := h.call(context.Background(), "validate", in{"code": c.code})
			require.Equal(t, "true", string(checked.raw["valid"]), string(checked.raw["diagnostics"]))
		})
	}
	require.Equal(t, "the script ended with the status 3", h.run("globalThis.result = 1;\nprocess.exitCode = 3;").fails(t, fault.JavaScriptError).Message)
	f := h.run("import { send } from './servers/male/index.js'").fails(t, fault.ServerNotFound)
	require.Contains(t, f.Message, "./servers/male/index.js")
	require.Contains(t, h.run("import { sent } from './servers/mail/index.js'").fails(t, fault.ToolNotFound).Message, `has no export "sent"`)
}
