package codemode_test

import (
	"context"
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/koan-go/koan/codemode/internal/wire"
	"github.com/koan-go/koan/framework/fault"
	"github.com/koan-go/koan/tests/needs"
)

// pairs are the same work in all languages: answers, changes, calls and faults are the same. JavaScript runs in the
// embedded engine, in TypeScript's compiler and in Node.
var pairs = map[string]struct {
	javascript, python string
	with               in
	fails              fault.Code
}{
	"a result":               {javascript: "globalThis.result = {a: [1, 'x', null, true]}", python: "result = {'a': [1, 'x', None, True]}"},
	"an answer":              {javascript: "SDK.Out.answer({n: 1}); 2", python: "SDK.Out.answer({'n': 1})\n2"},
	"nothing":                {javascript: "let x = 1;", python: "x = 1"},
	"null":                   {javascript: "SDK.Out.answer(null)", python: "SDK.Out.answer(None)"},
	"arguments":              {javascript: "SDK.args.list.length + SDK.args['n']", python: "len(SDK.args.list) + SDK.args['n']", with: in{"args": map[string]any{"list": []int{1, 2}, "n": 3}}},
	"the run":                {javascript: "[SDK.run.set, SDK.run.dryRun]", python: "[SDK.run.set, SDK.run.dryRun]", with: in{"dryRun": true}},
	"another set":            {javascript: "SDK.Entities.Note.upsert({id: 'a', text: 't'})", python: "SDK.Entities.Note.upsert({'id': 'a', 'text': 't'})", with: in{"set": "attic"}},
	"an unknown set":         {javascript: "1", python: "1", with: in{"set": "cellar"}, fails: fault.UnknownSet},
	"reading":                {javascript: "SDK.Entities.Note.collection({page: 1}).items", python: "SDK.Entities.Note.collection(page=1).items"},
	"by position":            {javascript: "SDK.Entities.Note.page(1, 10).totalCount", python: "SDK.Entities.Note.page(1, 10).totalCount"},
	"all":                    {javascript: "SDK.Entities.Note.all().map((n) => n.id)", python: "[n.id for n in SDK.Entities.Note.all()]"},
	"each":                   {javascript: "let s = ''; for (const n of SDK.Entities.Note.each()) s += n.text; s", python: "s = ''\nfor n in SDK.Entities.Note.each():\n    s += n.text\ns"},
	"writing":                {javascript: "SDK.Entities.Note.upsert({id: '7', text: 'x'}).text", python: "SDK.Entities.Note.upsert({'id': '7', 'text': 'x'}).text"},
	"a dry run":              {javascript: "SDK.Entities.Note.upsert({id: '8', text: 'x'})", python: "SDK.Entities.Note.upsert({'id': '8', 'text': 'x'})", with: in{"dryRun": true}},
	"nothing found":          {javascript: "SDK.Entities.Note.findById('none')", python: "SDK.Entities.Note.find_by_id('none')"},
	"null as a result":       {javascript: "globalThis.result = null; 5", python: "result = None\n5"},
	"a returned null":        {javascript: "return null", python: "return None"},
	"a plugin's, whole":      {javascript: "import * as mail from '@codemode/servers/mail'; globalThis.result = (await mail.send({to: 'x'})).$raw", python: "import servers.mail as mail\nresult = await mail.raw.send(to='x')"},
	"a fault":                {javascript: "SDK.Entities.Note.getById('none')", python: "SDK.Entities.Note.getById('none')", fails: fault.NotFound},
	"a caught fault":         {javascript: "let c; try { SDK.Entities.Note.getById('none') } catch (e) { c = [e.code, e.retry, e.message] } c", python: "try:\n    SDK.Entities.Note.getById('none')\nexcept KoanError as e:\n    c = [e.code, e.retry, e.message]\nc"},
	"a wrong option":         {javascript: "SDK.Entities.Note.collection({pages: 1})", python: "SDK.Entities.Note.collection(pages=1)", fails: fault.InvalidPayload},
	"a plugin":               {javascript: "SDK.Mail.send({to: 'x'})", python: "SDK.Mail.send(to='x')"},
	"a plugin's wrong input": {javascript: "SDK.Mail.send({from: 'x'})", python: "SDK.Mail.send({'from': 'x'})", fails: fault.InvalidPayload},
	"in parallel":            {javascript: "import {send} from '@codemode/servers/mail'; globalThis.result = await Promise.all([send({to: 'a'}), send({to: 'b'})])", python: "from servers.mail import send\nresult = await asyncio.gather(send({'to': 'a'}), send(to='b'))"},
	"tools of entities":      {javascript: "import * as koan from '@codemode/servers/koan'; globalThis.result = Object.keys(koan).includes('note_upsert') || true", python: "import servers.koan as koan\nresult = hasattr(koan, 'note_upsert') or True"},
	"too many calls":         {javascript: "for (let i = 0; i < 9; i++) { try { SDK.Entities.Note.all() } catch {} }", python: "for i in range(9):\n    try:\n        SDK.Entities.Note.all()\n    except BaseException:\n        pass", with: in{"limits": map[string]any{"maxToolCalls": 3}}, fails: fault.SDKCallsExceeded},
	"an outside call, dry":   {javascript: "SDK.Mail.send({to: 'x'})", python: "SDK.Mail.send({'to': 'x'})", with: in{"dryRun": true}, fails: fault.DryRunBlocked},
	"narrowed":               {javascript: "typeof SDK.Mail", python: "'function' if hasattr(SDK, 'Mail') else 'undefined'", with: in{"only": []string{"Note"}}},
	"an entry function":      {javascript: "function work() { return 5 }", python: "def work():\n    return 5", with: in{"entryFunction": "work"}},
	"run":                    {javascript: "function run() { return 6 }", python: "def run():\n    return 6"},
	"a large result":         {javascript: "'x'.repeat(300000)", python: "'x' * 300000", fails: fault.ResultTooLarge},
	"empty":                  {javascript: " ", python: " ", fails: fault.InvalidCode},
	"logs":                   {javascript: "console.log('a', 1); console.warn('b'); SDK.Out.error('c')", python: "import sys\nprint('a', 1)\nprint('b', file=sys.stderr)\nSDK.Out.error('c')"},
	"a wait":                 {javascript: "await new Promise((r) => setTimeout(r, 20)); globalThis.result = 1", python: "await asyncio.sleep(0.02)\nresult = 1"},
	"no arguments":           {javascript: "SDK.args", python: "SDK.args"},
	"the guide's layout":     {javascript: "import * as mail from './servers/mail/index.js'; globalThis.result = await mail.send({to: 'x'})", python: "import servers.mail as mail\nresult = await mail.send({'to': 'x'})"},
	"the guide's names":      {javascript: "import {noteUpsert} from './servers/koan/index.js'; globalThis.result = (await noteUpsert({model: {id: '7', text: 'x'}})).text", python: "from servers.koan import note_upsert\nresult = (await note_upsert(model={'id': '7', 'text': 'x'})).text"},
	"a declared result":      {javascript: "const result = 5;", python: "result = 5"},
	"all of several":         {javascript: "import {send} from '@codemode/servers/mail'; await Promise.all([send({from: 'a'}), send({from: 'b'})])", python: "import servers.mail as mail\nawait asyncio.gather(mail.send({'from': 'a'}), mail.send({'from': 'b'}))", fails: fault.InvalidPayload},
	"a group of tasks":       {javascript: "import {send} from '@codemode/servers/mail'; await Promise.all([send({from: 'b'})])", python: "import servers.mail as mail\nasync with asyncio.TaskGroup() as g:\n    g.create_task(mail.send({'from': 'b'}))", fails: fault.InvalidPayload},
	"two problems":           {javascript: "import {send} from './servers/mail/index.js'; await send({from: 'a', of: 'b'})", python: "import servers.mail as mail\nawait mail.send({'from': 'a', 'of': 'b'})", fails: fault.InvalidPayload},
	"each of several":        {javascript: "import {send} from '@codemode/servers/mail'; (await Promise.allSettled([send({from: 'a'}), send({from: 'b'})])).map((s) => s.status === 'fulfilled')", python: "import servers.mail as mail\n[not isinstance(r, KoanError) for r in await asyncio.gather(mail.send({'from': 'a'}), mail.send({'from': 'b'}), return_exceptions=True)]"},
	"an error nothing saw":   {javascript: "import {send} from '@codemode/servers/mail'; send({from: 'b'}).then((x) => x); await new Promise((r) => setTimeout(r, 20)); globalThis.result = 1", python: "import servers.mail as mail\nt = asyncio.create_task(mail.send({'from': 'b'}))\nawait asyncio.sleep(0.02)\nresult = 1", fails: fault.InvalidPayload},
	"the class of an error":  {javascript: "let c; try { SDK.Entities.Note.getById('none') } catch (e) { c = e.constructor.name } c", python: "try:\n    SDK.Entities.Note.getById('none')\nexcept KoanError as e:\n    c = type(e).__name__\nc"},
	"a wrapper's error":      {javascript: "import {send} from '@codemode/servers/mail'; let c; try { await send({from: 'b'}) } catch (e) { c = [e.constructor.name, e.serverId, e.toolName, e.code] } globalThis.result = c", python: "import servers.mail as mail\ntry:\n    await mail.send({'from': 'b'})\nexcept KoanError as e:\n    result = [type(e).__name__, e.server_id, e.tool_name, e.code]"},
	"half of a character":    {javascript: "SDK.Entities.Note.upsert({id: 'a\\ud800', text: ''})", python: "SDK.Entities.Note.upsert({'id': 'a\\ud800', 'text': ''})", fails: fault.InvalidPayload},
	"half of it in a result": {javascript: "['a\\ud800']", python: "['a\\ud800']"},
	"a number that is none":  {javascript: "SDK.Entities.Note.collection({filter: {text: NaN}})", python: "SDK.Entities.Note.collection(filter={'text': float('nan')})", fails: fault.InvalidPayload},
	"a circle":               {javascript: "const a = {}; a.a = a; SDK.Entities.Note.collection({filter: a}).items.length", python: "a = {}\na['a'] = a\nSDK.Entities.Note.collection(filter=a).items", fails: fault.InvalidPayload},
	"keys with slashes":      {javascript: "({'a/b': {'~c': 1}})", python: "{'a/b': {'~c': 1}}"},
	"a changed json":         {javascript: "JSON.stringify = () => 'x'; JSON.parse = () => 'y'; globalThis.result = SDK.Entities.Note.page(1, 10).totalCount", python: "import json\njson.dumps = json.loads = lambda *a, **k: 'x'\nresult = SDK.Entities.Note.page(1, 10).totalCount"},
	"methods of each":        {javascript: "SDK.Entities.Note.each().map((n, i) => n.id + i).take(2).toArray()", python: "[n.id + str(i) for i, n in enumerate(SDK.Entities.Note.each())][:2]"},
	"an own fault":           {javascript: "import {KoanError} from '@codemode/errors'; throw new KoanError('m', {code: 'conflict', path: '/x', details: [1]})", python: "raise KoanError('m', code='conflict', path='/x', details=[1])", fails: fault.Conflict},
	"an own class of faults": {javascript: "import {CodemodeError} from '@codemode/errors'; class Mine extends CodemodeError {} throw new Mine('m', {code: 'not_found', retry: 'safe'})", python: "from koan.errors import CodemodeError\nclass Mine(CodemodeError): ...\nraise Mine('m', code='not_found', retry='safe')", fails: fault.NotFound},
	"large integers":         {javascript: "globalThis.result = [9007199254740993n]", python: "result = [9007199254740993]"},
}

func TestLanguagesAgree(t *testing.T) {
	t.Parallel()
	needs.Program(t, "python3")
	h := newHouse(t, map[string]any{"confined": true, "codeMode.node": needs.ScriptNode(t), "codeMode.languages": []string{"javascript", "python", "node"}})
	for name, c := range pairs {
		t.Run(name, func(t *testing.T) {
			of := func(language, code string) (*reply, map[string]map[string]note) {
				h.shelf.notes, h.shelf.version = map[string]map[string]note{"default": {"1": {"1", "first"}}}, map[string]int{}
				r := h.run(code, c.with, in{"language": language, "include": []string{"changes", "calls"}})
				return r, h.shelf.notes
			}
			js, one := of("javascript", c.javascript)
			for language, code := range map[string]string{"typescript": c.javascript, "python": c.python, "node": c.javascript} {
				other, notes := of(language, code)
				requireSameRun(t, language, js, other, c.fails)
				require.Equal(t, one, notes, language)
			}
		})
	}
}

// refusals are mistakes that each language says of in its own words, with the same code, path and class of retry.
var refusals = map[string]struct {
	javascript, python string
	code               fault.Code
}{
	"an argument and an option":    {"SDK.Entities.Note.firstPage(2, {pageSize: 3})", "SDK.Entities.Note.firstPage(2, {'pageSize': 3})", fault.InvalidPayload},
	"two arguments and an option":  {"SDK.Entities.Note.page(1, 2, {page: 3})", "SDK.Entities.Note.page(1, 2, page=3)", fault.InvalidPayload},
	"what the method sets":         {"SDK.Entities.Note.firstPage({page: 3})", "SDK.Entities.Note.firstPage(page=3)", fault.InvalidPayload},
	"a page of all":                {"SDK.Entities.Note.all({page: 1})", "SDK.Entities.Note.all(page=1)", fault.InvalidPayload},
	"a page of each":               {"[...SDK.Entities.Note.each({page: 2})]", "list(SDK.Entities.Note.each(page=2))", fault.InvalidPayload},
	"a list as options":            {"SDK.Entities.Note.collection([])", "SDK.Entities.Note.collection([])", fault.InvalidPayload},
	"a number as options":          {"SDK.Entities.Note.collection(5)", "SDK.Entities.Note.collection(5)", fault.InvalidPayload},
	"a set as options":             {"SDK.Entities.Note.collection(new Set())", "SDK.Entities.Note.collection(set())", fault.InvalidPayload},
	"a function as options":        {"SDK.Entities.Note.collection(() => 1)", "SDK.Entities.Note.collection(lambda: 1)", fault.InvalidPayload},
	"a number as an input":         {"SDK.Mail.send(5)", "SDK.Mail.send(5)", fault.InvalidPayload},
	"null as an input":             {"SDK.Mail.send(null)", "SDK.Mail.send(None)", fault.InvalidPayload},
	"a text as an input":           {"SDK.Mail.send('x')", "SDK.Mail.send('x')", fault.InvalidPayload},
	"a number to a module":         {"import {send} from './servers/mail/index.js'; await send(5)", "from servers.mail import send\nawait send(5)", fault.InvalidPayload},
	"a server that is not there":   {"import * as nope from './servers/nope/index.js'", "import servers.nope", fault.ServerNotFound},
	"one of a name":                {"import nope from '@codemode/servers/nope'", "from servers import nope", fault.ServerNotFound},
	"a function that is not there": {"import {nope} from './servers/mail/index.js'", "from servers.mail import nope", fault.ToolNotFound},
	"a module that is not there":   {"import nope from 'nope'", "import nope", fault.CapabilityUnsupported},
	"a class that is not there":    {"import {Nope} from '@codemode/errors'", "from koan.errors import Nope", fault.CapabilityUnsupported},
}

func TestLanguagesRefuseTheSame(t *testing.T) {
	t.Parallel()
	needs.Program(t, "python3")
	h := newHouse(t, map[string]any{"confined": true, "codeMode.node": needs.ScriptNode(t), "codeMode.languages": []string{"javascript", "python", "node"}})
	for name, c := range refusals {
		t.Run(name, func(t *testing.T) {
			js := h.run(c.javascript).fails(t, c.code)
			for language, code := range map[string]string{"node": c.javascript, "python": c.python} {
				f := h.run(code, in{"language": language}).fails(t, c.code)
				require.Equal(t, js.Path, f.Path, language)
				require.Equal(t, js.Retry, f.Retry, language)
				require.NotEmpty(t, f.Hint, language)
				require.NotZero(t, f.Line, language)
				if c.code == fault.InvalidPayload && language == "node" {
					require.Equal(t, js.Message, f.Message)
				}
			}
		})
	}
}

// What a check finds in one language it finds in the others.
func TestLanguagesFindTheSame(t *testing.T) {
	t.Parallel()
	needs.Program(t, "python3")
	h := newHouse(t, map[string]any{"confined": true, "codeMode.node": needs.ScriptNode(t), "codeMode.languages": []string{"javascript", "python", "node"}})
	codes := func(language, code string) (found []string) {
		r := h.call(context.Background(), "validate", in{"code": code, "language": language})
		require.NoError(t, r.err)
		var all []struct{ Code string }
		if raw := r.raw["diagnostics"]; raw != nil {
			require.NoError(t, json.Unmarshal(raw, &all), code)
		}
		for _, d := range all {
			found = append(found, d.Code)
		}
		return found
	}
	for name, c := range map[string]struct{ javascript, python, finding string }{
		"an argument and an option":   {"SDK.Entities.Note.firstPage(2, {pageSize: 3})", "SDK.Entities.Note.firstPage(2, pageSize=3)", wire.DiagnosticInvalidArgument},
		"a page of all":               {"SDK.Entities.Note.all({page: 1})", "SDK.Entities.Note.all(page=1)", wire.DiagnosticInvalidArgument},
		"a list as options":           {"SDK.Entities.Note.collection([])", "SDK.Entities.Note.collection([])", wire.DiagnosticInvalidArgument},
		"a number as an input":        {"SDK.Mail.send(5)", "SDK.Mail.send(5)", wire.DiagnosticInvalidArgument},
		"null as an input":            {"SDK.Mail.send(null)", "SDK.Mail.send(None)", wire.DiagnosticInvalidArgument},
		"an unknown option":           {"SDK.Entities.Note.collection({pagesize: 1})", "SDK.Entities.Note.collection(pagesize=1)", wire.DiagnosticUnknownOption},
		"an unknown package":          {"import x from 'nope'", "import nope", wire.DiagnosticUnknownModule},
		"an unknown class":            {"import {Nope} from '@codemode/errors'", "from koan.errors import Nope", wire.DiagnosticUnknownExport},
		"an unknown package, of some": {"import x from 'nope'", "from nope.more import a, b", wire.DiagnosticUnknownModule},
	} {
		t.Run(name, func(t *testing.T) {
			require.Equal(t, []string{c.finding}, codes("javascript", c.javascript))
			require.Equal(t, []string{c.finding}, codes("node", c.javascript))
			require.Equal(t, []string{c.finding}, codes("python", c.python))
		})
	}
	for _, valid := range []string{
		"try:\n    import numpy\nexcept ImportError:\n    pass", "import os.path, xml.dom.minidom\nfrom . import a", "from servers import *\nfrom servers.mail import *\nfrom koan.errors import *", "from koan import SDK",
	} {
		require.Empty(t, codes("python", valid), valid)
	}
}

// requireSameRun requires that a run in another language did what one in JavaScript did.
func requireSameRun(t *testing.T, language string, js, other *reply, fails fault.Code) {
	t.Helper()
	if fails != "" {
		require.Equal(t, js.fails(t, fails).Message, other.fails(t, fails).Message, language)
		require.Equal(t, js.Error.Path, other.Error.Path, language)
		require.Equal(t, js.Error.Retry, other.Error.Retry, language)
	} else {
		require.NoError(t, js.err)
		require.NoError(t, other.err, language)
	}
	same(t, js.Result, other.Result)
	same(t, js.Answer, other.Answer)
	require.Equal(t, js.Changes, other.Changes, language)
	require.Equal(t, js.ChangeCounts, other.ChangeCounts, language)
	require.Len(t, other.Calls, len(js.Calls), language)
	for i := range js.Calls {
		require.Equal(t, js.Calls[i].ToolName, other.Calls[i].ToolName, language)
		require.Equal(t, js.Calls[i].OK, other.Calls[i].OK, language)
	}
	require.Len(t, other.Logs, len(js.Logs), language)
	for i := range js.Logs {
		require.Equal(t, js.Logs[i].Level, other.Logs[i].Level, language)
		require.Equal(t, js.Logs[i].Message, other.Logs[i].Message, language)
	}
}

func same(t *testing.T, a, b json.RawMessage) {
	t.Helper()
	if len(a) > 0 && len(b) > 0 {
		require.JSONEq(t, string(a), string(b))
		return
	}
	require.Equal(t, string(a), string(b), "null is a value, and no value is none")
}
