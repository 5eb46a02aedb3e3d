package codemode_test

import (
	"context"
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/koan-go/koan/codemode/internal/wire"
)

// What imports and is compiled before it is checked: names and lines are the
// user's.
func TestValidateOfModules(t *testing.T) {
	h := newHouse(t, nil)
	for name, tt := range map[string]struct {
		code, diagnostic, says string
		line                   int
	}{
		"server":              {"import * as koan from '@codemode/servers/koan';\nconst page = await koan.note_collection({});\nSDK.Out.answer(page.items);", "", "", 0},
		"by name":             {"import { send } from '@codemode/servers/mail';\nimport { KoanError } from '@codemode/errors';\ntry { await send({ to: 'x' }) } catch (e) { if (e instanceof KoanError) console.log(e.code) }", "", "", 0},
		"discovery":           {"import { listServers, searchTools } from '@codemode/discovery';\n[await listServers(), await searchTools('note')]", "", "", 0},
		"both kinds":          {"import * as mail from '@codemode/servers/mail';\nconst { Note } = SDK.Entities;\nconst [a] = await Promise.all([mail.send({})]);\nSDK.Out.answer([a, Note.collection()])", "", "", 0},
		"shadowed import":     {"import { send as SDK } from '@codemode/servers/mail';\nSDK.whatever", "", "", 0},
		"typescript":          {"import * as mail from '@codemode/servers/mail';\nconst n: number = 1;\nenum E { A }\nexport default async () => mail.send({ to: `${n} ${E.A}` });", "", "", 0},
		"unknown server":      {"import * as x from '@codemode/servers/mial';\nx.send()", wire.DiagnosticUnknownModule, "mail", 1},
		"unknown export":      {"\nimport { sned } from '@codemode/servers/mail';\nsned()", wire.DiagnosticUnknownExport, "send", 3},
		"package":             {"import fs from 'fs';\nfs.x()", wire.DiagnosticUnknownModule, "no packages", 1},
		"unknown entity":      {"import { send } from '@codemode/servers/mail';\n\nawait send({});\nSDK.Entities.Nte.collection()", wire.DiagnosticUnknownEntity, "Note", 4},
		"method of an alias":  {"import { send } from '@codemode/servers/mail';\nconst { Note } = SDK.Entities;\nawait send({});\nNote.nope();", wire.DiagnosticUnknownMethod, "nope", 4},
		"literal in a module": {"import { send } from '@codemode/servers/mail';\nawait send({});\nconst filter = { txet: 'x' };\nSDK.Entities.Note.collection({ filter });", wire.DiagnosticUnknownField, "text", 3},
		"alias in typescript": {"const a: string = 'x';\nlet { Note } = SDK.Entities;\nNote.collection({ filter: { txet: a } });", wire.DiagnosticUnknownField, "text", 3},
		"name and namespace":  {"import koan, { note_upsert } from '@codemode/servers/koan';\nimport * as k from '@codemode/servers/koan';\nawait note_upsert({ model: { text: 'a' } });\n[k.__meta__, koan, k.note_collection, k.maybe?.()]", "", "", 0},
		"of a namespace":      {"import * as koan from '@codemode/servers/koan';\nawait koan.note_colection({})", wire.DiagnosticUnknownExport, "note_collection", 2},
		"filter of a tool":    {"import * as koan from '@codemode/servers/koan';\nconst filter = {\n  txet: 'x' };\nawait koan.note_collection({ filter })", wire.DiagnosticUnknownField, "text", 3},
		"option of a tool":    {"import { note_collection as list } from '@codemode/servers/koan';\nawait list({ where: {} })", wire.DiagnosticUnknownOption, "filter", 2},
		"model of a tool":     {"import * as koan from '@codemode/servers/koan';\nawait koan.note_upsert({ model: { txet: 'x' } })", wire.DiagnosticUnknownField, "text", 2},
		"set of a tool":       {"import * as koan from '@codemode/servers/koan';\nawait koan.note_get_by_id({ id: '1', set: 'cellar' })", wire.DiagnosticUnknownSet, "attic", 2},
		"forbidden global":    {"import { send } from '@codemode/servers/mail';\nawait send(await fetch('x'))", wire.DiagnosticForbiddenGlobal, "fetch", 2},
	} {
		t.Run(name, func(t *testing.T) {
			r := h.call(context.Background(), "validate", in{"code": tt.code})
			require.NoError(t, r.err)
			if tt.diagnostic == "" {
				require.JSONEq(t, `true`, string(r.raw["valid"]), string(r.raw["diagnostics"]))
				return
			}
			var found []struct {
				Code, Message, Hint string
				Line                int
			}
			require.NoError(t, json.Unmarshal(r.raw["diagnostics"], &found))
			require.Len(t, found, 1, string(r.raw["diagnostics"]))
			require.Equal(t, tt.diagnostic, found[0].Code)
			require.Contains(t, found[0].Message+found[0].Hint, tt.says)
			require.Equal(t, tt.line, found[0].Line)
			require.NotEmpty(t, found[0].Hint)
		})
	}
}
