package codemode_test

import (
	"context"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/koan-go/koan/framework/fault"
	"github.com/koan-go/koan/tests/needs"
)

// newNodeHouse returns an app whose scripts may be in Node too.
func newNodeHouse(t *testing.T, changed map[string]any) *house {
	t.Helper()
	all := map[string]any{"confined": true, "codeMode.node": needs.ScriptNode(t), "codeMode.languages": []string{"javascript", "node"}}
	for k, v := range changed {
		all[k] = v
	}
	return newHouse(t, all)
}

func TestNodeRunsAsOneTransaction(t *testing.T) {
	t.Parallel()
	h := newNodeHouse(t, nil)
	node := in{"language": "node"}

	r := h.run("import { join } from 'node:path';\nconsole.log('hello', join('a', 'b'));\nfor (const id of ['2', '3']) SDK.Entities.Note.upsert({ id, text: 'from ' + id });\nSDK.Out.answer(SDK.Entities.Note.all().length);\nglobalThis.result = { set: SDK.run.set };", node, in{"include": []string{"changes", "calls"}})
	require.NoError(t, r.err)
	require.Equal(t, "3", string(r.Answer))
	require.JSONEq(t, `{"set":"default"}`, string(r.Result))
	require.Equal(t, "hello a/b", r.Logs[0].Message)
	require.Len(t, r.Changes, 2)
	require.Len(t, r.Calls, 3)
	require.Equal(t, "from 3", h.text("3"))

	r = h.run("SDK.Entities.Note.upsert({ id: '4', text: 'lost' });\nthrow new Error('stop');", node)
	f := r.fails(t, fault.ScriptError)
	require.Equal(t, "Error: stop", f.Message)
	require.Equal(t, 2, f.Line)
	require.False(t, *r.Committed)
	require.Empty(t, h.text("4"))

	r = h.run("SDK.Entities.Note.upsert({ id: '5', text: 'dry' })", node, in{"dryRun": true})
	require.NoError(t, r.err)
	require.Len(t, r.Changes, 1)
	require.Empty(t, h.text("5"))

	r = h.run("```node\nimport * as mail from './servers/mail/index.js';\nawait mail.send({ to: 'x' })\n```")
	require.NoError(t, r.err)
	require.JSONEq(t, `{"sent":true}`, string(r.Result))

	r = h.run("for (let i = 0; i < 20; i++) SDK.Entities.Note.all()", node, in{"limits": map[string]any{"maxToolCalls": 5}})
	require.Equal(t, 1, r.fails(t, fault.SDKCallsExceeded).Line)

	r = h.run("globalThis.result = 6 * 7") // the other language is there as before
	require.Equal(t, "42", string(r.Result))
}

func TestNodeIsValidated(t *testing.T) {
	t.Parallel()
	h := newNodeHouse(t, nil)
	for name, c := range map[string]struct{ code, diagnostic string }{
		"valid":              {"import fs from 'node:fs';\nSDK.Entities.Note.collection({ filter: { text: 'a' } })", ""},
		"syntax":             {"const x = (", "parse"},
		"an unknown entity":  {"SDK.Entities.Nota.all()", "unknown_entity"},
		"an unknown method":  {"SDK.Entities.Note.colection()", "unknown_method"},
		"an unknown option":  {"SDK.Entities.Note.collection({ pagesize: 3 })", "unknown_option"},
		"an unknown server":  {"import x from './servers/nobody/index.js'", "unknown_module"},
		"no such function":   {"import { sent } from './servers/mail/index.js'", "unknown_export"},
		"an unknown package": {"import _ from 'lodash'", "unknown_module"},
	} {
		t.Run(name, func(t *testing.T) {
			r := h.call(context.Background(), "validate", in{"code": c.code, "language": "node"})
			require.NoError(t, r.err)
			got := string(r.raw["diagnostics"])
			if c.diagnostic == "" {
				require.Equal(t, "true", string(r.raw["valid"]), got)
				return
			}
			require.Equal(t, "false", string(r.raw["valid"]), got)
			require.Contains(t, got, `"code":"`+c.diagnostic+`"`)
		})
	}
}

func TestNodeThatIsNotThere(t *testing.T) {
	t.Parallel()
	r := newHouse(t, nil).run("1", in{"language": "node"})
	require.Contains(t, r.fails(t, fault.CapabilityUnsupported).Hint, "codeMode.languages")

	_, err := start(t, map[string]any{"codeMode.languages": []string{"node"}, "codeMode.node": "no-such-node"})
	require.Equal(t, fault.CapabilityUnsupported, fault.CodeOf(err))
	require.ErrorContains(t, err, `no program "no-such-node"`)

	old := filepath.Join(t.TempDir(), "node")
	require.NoError(t, os.WriteFile(old, []byte("#!/bin/sh\necho '{\"path\":\"/usr/bin/node\",\"version\":\"18.19.0\",\"major\":18}'\n"), 0o755))
	_, err = start(t, map[string]any{"codeMode.languages": []string{"node"}, "codeMode.node": old})
	require.ErrorContains(t, err, "is 18.19.0: scripts need 20 or newer")

	_, err = start(t, map[string]any{"codeMode.languages": []string{"node"}, "codeMode.node": needs.ScriptNode(t), "codeMode.nodeModules": "no-such-folder"})
	require.ErrorContains(t, err, "no-such-folder")
}

func TestNodeIsTheDefault(t *testing.T) {
	t.Parallel()
	packages := t.TempDir()
	require.NoError(t, os.MkdirAll(filepath.Join(packages, "node_modules", "six"), 0o755))
	require.NoError(t, os.WriteFile(filepath.Join(packages, "node_modules", "six", "index.js"), []byte("module.exports = 6;"), 0o644))
	h := newNodeHouse(t, map[string]any{"codeMode.languages": []string{"node", "javascript"}, "codeMode.nodeModules": packages})
	require.Equal(t, "42", string(h.run("import six from 'six';\nsix * 7").Result))
	require.Equal(t, `"function"`, string(h.run("```js\ntypeof process.cwd\n```").Result))
	require.Equal(t, `"undefined"`, string(h.run("typeof process", in{"language": "javascript"}).Result))
}
