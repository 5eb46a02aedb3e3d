package sandbox

import (
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

const (
	see = `import { detect } from "@codemode/servers/vision"; `
	ask = `import * as koan from "@codemode/servers/koan"; `
)

// hostileModules are hostile scripts that use modules, calls in flight, and the inputs and
// outputs of calls. Each must succeed or end in a fault that is the script's own.
var hostileModules = []string{
	// Modules.
	"export default (() => { for (;;); })()",
	"export const a = []; for (;;) a.push({})",
	"export default new Proxy({}, {get() { for (;;); }})",
	"export default {toJSON() { for (;;); }}",
	"export default async () => { for (;;) await 1 }",
	"export default function* () { for (;;) yield 1 }",
	"export function run() { for (;;); }",
	"const x: number = 1; export default (function f(): any { return f() })()",
	"enum E { " + strings.Repeat("A = 1, ", 6000) + " } for (;;);",
	"namespace N { export const a = 1 } for (;;) N.a",
	"class C { @d m() {} } function d() { for (;;); } new C()",
	"await import('@codemode/servers/' + 'x'.repeat(1e7))",
	"await import({toString() { for (;;); }})",
	"await import(new Proxy({}, {get() { for (;;); }}))",
	"for (;;) import('@codemode/discovery')",
	"for (;;) await import('@codemode/servers/vision')",
	"import d from '@codemode/discovery'; for (;;) await d.listServers()",
	"import * as d from '@codemode/discovery'; for (const k of Object.keys(d)) if (typeof d[k] === 'function') await d[k]({toString() { for (;;); }, toJSON() { for (;;); }})",
	"import * as e from '@codemode/errors'; throw new e.ToolCallError('x'.repeat(2e7), {code: 'y'.repeat(2e7)})",
	"import { CodemodeError } from '@codemode/errors'; class X extends CodemodeError { get message() { for (;;); } } throw new X('x')",
	"import * as e from '@codemode/errors'; e.ToolCallError.prototype.toString = () => { for (;;); }; " + "throw new e.ToolCallError('x')",
	strings.Repeat("import '@codemode/errors';\n", 1500) + "for (;;);",
	strings.Repeat("export const a = await ", 1) + strings.Repeat("(await ", 3000) + "1" + strings.Repeat(")", 3000),
	"globalThis.then = r => { for (;;); }; export default globalThis",
	"await {then(r) { for (;;); }}",
	"await {then(r) { r(this) }}",
	"for await (const x of {[Symbol.asyncIterator]() { return {next() { return Promise.resolve({value: 1, done: false}) }} }}) ;",
	"async function* g() { for (;;) yield 1 } for await (const x of g()) ;",
	"await Array.fromAsync((async function* () { for (;;) yield {} })())",
	"await using r = {async [Symbol.asyncDispose]() { for (;;); }}",
	// Calls in flight.
	see + "for (;;) detect({})",
	see + "for (;;) await detect({})",
	see + "await Promise.all(Array.from({length: 1e6}, () => detect({})))",
	see + "detect({}); for (;;);",
	see + "detect({}).then(() => { for (;;); }); await new Promise(() => {})",
	see + "const a = []; detect({}); for (;;) a.push(new Array(100))",
	see + "detect({a: 'x'.repeat(2e7)}); 1",
	see + "await Promise.all(Array.from({length: 60}, () => detect({a: 'x'.repeat(1e6)})))",
	see + "const keep = []; for (;;) keep.push(await detect({a: 'x'.repeat(1e6)}))",
	see + "await detect({get a() { return detect(this) }})",
	see + "await detect({toJSON() { return detect({}) }})",
	see + "await detect(new Proxy({}, {ownKeys() { for (;;); }}))",
	see + "await detect(new Proxy({}, {get() { return detect({}) }, ownKeys() { return ['a'] }, getOwnPropertyDescriptor() { return {enumerable: true, configurable: true, value: 1} }}))",
	see + "let o = {}; for (let i = 0; i < 1e5; i++) o = {o}; await detect(o)",
	see + "let d = [1]; for (let i = 0; i < 40; i++) d = [d, d]; await detect({d})",
	see + "Promise.prototype.then = function () { for (;;); }; await detect({})",
	see + "Promise.prototype.constructor = function () { for (;;); }; await detect({})",
	see + "Object.defineProperty(Promise, Symbol.species, {get() { for (;;); }}); await detect({}).then(x => x)",
	see + "Promise = null; Object.prototype.then = function (r) { r(this) }; await detect({})",
	see + "Object.defineProperty(Object.prototype, 'a', {set() { for (;;); }, configurable: true}); await detect({b: 1})",
	see + "(function f() { detect({}).then(f).then(f) })(); await new Promise(() => {})",
	see + "for (let i = 0; i < 100; i++) setTimeout(() => detect({}).then(() => { throw new Error('late') }), i); await new Promise(() => {})",
	see + "const p = detect({}); for (;;) p.then(() => {})",
	see + "throw detect({})",
	see + "throw new Error('x', {cause: new Proxy(new Error('y'), {get() { for (;;); }})})",
	see + "throw new AggregateError(new Array(1e6).fill(new Error('x')), 'many')",
	"const e = new AggregateError([], 'x'); e.errors = new Proxy([], {get() { for (;;); }, ownKeys() { for (;;); }}); throw e",
	"let e = new Error('0'); for (let i = 1; i < 1e5; i++) e = new Error(String(i), {cause: e}); throw e",
	"const f = n => n ? f(n - 1) : (() => { throw new Error('deep') })(); f(400)",
	ask + "for (;;) koan.todo_delete({id: '1'})",
	ask + "await Promise.all(Array.from({length: 1e5}, (_, i) => koan.todo_get_by_id({id: String(i)})))",
	ask + "for (;;) await koan.todo_get_by_id({id: '1'}).catch(() => {})",
	ask + "for (;;) try { await koan.todo_get_by_id({id: 'no'}) } catch {}",
	ask + see + "for (;;) { detect({}); SDK.Entities.Todo.getById('1'); koan.todo_get_by_id({id: '1'}) }",
	// Arguments and results of SDK.
	"SDK.Entities.Todo.upsertMany(Array.from({length: 1e7}))",
	"SDK.Entities.Todo.upsertMany(new Proxy([], {get(t, k) { return k === 'length' ? 2 ** 32 - 1 : 1 }}))",
	"SDK.Entities.Todo.patch('1', {get a() { return SDK.Entities.Todo.patch('1', this) }})",
	"SDK.Vision.detect({['x'.repeat(1e7)]: 1})",
	"const o = {}; for (let i = 0; i < 1e6; i++) o[i] = i; SDK.Vision.detect(o)",
	"let o = 1; for (;;) o = SDK.Vision.detect({o})",
	"const a = []; for (;;) a.push(SDK.Vision.detect({s: 'x'.repeat(1e5)}))",
	"for (const x of SDK.Entities.Todo.each()) for (;;);",
	"const i = SDK.Entities.Todo.each()[Symbol.iterator](); for (;;) i.next()",
	"SDK.Out.answer(SDK.Vision.detect({a: Array(1e5).fill('x')}))",
	"SDK.Entities.Todo.getById.call(new Proxy({}, {get() { for (;;); }}), '1'); for (;;);",
}

func TestHostileModules(t *testing.T) {
	require.GreaterOrEqual(t, len(hostileModules), 40)
	s, err := New(Options{})
	require.NoError(t, err)
	defer s.Close()
	t.Run("scripts", func(t *testing.T) {
		for i, code := range hostileModules {
			t.Run(strconv.Itoa(i), func(t *testing.T) {
				t.Parallel()
				runHostile(t, s, imported(code))
			})
		}
	})
	next := execute(t, s, job(`SDK.Entities.Todo.getById("1").title`), newHost())
	require.Nil(t, next.Fault)
}
