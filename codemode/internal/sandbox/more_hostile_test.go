package sandbox

import (
	"context"
	"errors"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/koan-go/koan/codemode/internal/wire"
	"github.com/koan-go/koan/framework/fault"
)

// moreHostile are scripts like those of the corpus but without a single right outcome: each
// must succeed or end in a fault that is the script's own.
var moreHostile = []string{
	"JSON.parse('['.repeat(5e6))",
	"JSON.parse('{\"a\":'.repeat(1e6))",
	"1n << (2n ** 40n)",
	"let n = 3n; for (;;) n *= n",
	"new Array(2 ** 32 - 1).fill(0)",
	"let a = []; a.length = 2 ** 32 - 1; a.sort()",
	"let a = []; a.length = 2 ** 32 - 1; a.reverse()",
	"let a = []; a.length = 2 ** 32 - 1; a.indexOf(1)",
	"[].concat.apply([], Array.from({length: 1e7}))",
	"Math.max.apply(null, {length: 2 ** 31})",
	"'x'.padEnd(2 ** 30)",
	"'abc'.repeat(1e7).split('').map(c => c + c).join('')",
	"let s = new Set(); for (let i = 0;; i++) s.add({i})",
	"let o = {}; for (let i = 0;; i++) o['k' + i] = i",
	"function* g() { for (;;) yield 1 } [...g()]",
	"function* g() { for (;;) yield 1 } for (const x of g()) ;",
	"label: for (;;) { continue label }",
	"let p = Promise.resolve(); (function f() { p = p.then(f) })()",
	"(async function f() { await f() })()",
	"const a = []; for (;;) a.push(new Promise(() => {}))",
	"Promise.all(Array.from({length: 1e6}, () => new Promise(() => {})))",
	"for (;;) Promise.reject(1)",
	"for (;;) setTimeout(() => {}, 0)",
	"(function f() { queueMicrotask(f) })()",
	"class A {} let C = A; for (let i = 0; i < 1e6; i++) C = class extends C {}; new C()",
	"let o = {}; for (let i = 0; i < 1e6; i++) o = Object.create(o); o.x",
	"let p = {}; for (let i = 0; i < 1e6; i++) p = new Proxy(p, {}); p.x",
	"let f = x => x; for (let i = 0; i < 1e6; i++) { const g = f; f = x => g(x) } f(1)",
	"/^(([a-z])+.)+[A-Z]([a-z])+$/.test('a'.repeat(50))",
	"'a'.repeat(5e4).replace(/(?=)(a*)*b/g, '')",
	"/(a|a)*$/.exec('a'.repeat(40) + 'b')",
	"new RegExp('a'.repeat(1e6) + '{1000}'.repeat(3))",
	"new RegExp('(a{1000}){1000}').test('b')",
	"throw new Proxy({}, {get() { for (;;); }})",
	"throw new Proxy(new Error('x'), {get(t, k) { throw new Proxy({}, this) }})",
	"const e = new Error('x'); e.toString = () => { for (;;); }; throw e",
	"throw {[Symbol.toPrimitive]() { for (;;); }}",
	"throw Object.create(null)",
	"throw Symbol('s')",
	"throw {toString() { return this }}",
	"Promise.reject({get message() { for (;;); }, toString() { for (;;); }})",
	"Promise.reject(new Proxy({}, {get() { throw 1 }}))",
	"Object.defineProperty(globalThis, 'result', {get() { for (;;); }})",
	"Object.defineProperty(globalThis, '__codemode_result__', {get() { throw {} }})",
	"globalThis.result = {get a() { for (;;); }}",
	"globalThis.result = new Promise(() => {})",
	"globalThis.result = {toJSON() { throw new Proxy({}, {get() { throw 1 }}) }}",
	"SDK.Out.answer({toJSON() { for (;;); }})",
	"SDK.Out.answer('x'.repeat(1e7))",
	"SDK.Out.answer({get a() { SDK.Out.answer({get a() { return 1 }}); return 2 }}); undefined",
	"console.log({get a() { for (;;); }})",
	"console.log({toString() { throw 1 }, toJSON() { throw 2 }})",
	"console.log(new Proxy(function () {}, {get() { throw 1 }}))",
	"for (let i = 0; i < 1e6; i++) console.log({i})",
	"const a = []; a[0] = a; console.log(a, String(a))",
	"SDK.Entities.Todo.getById({toJSON() { for (;;); }})",
	"SDK.Entities.Todo.getById({toJSON() { return SDK.Entities.Todo.getById(this) }})",
	"SDK.Entities.Todo.collection(new Proxy({}, {ownKeys() { for (;;); }}))",
	"SDK.Entities.Todo.collection(new Proxy({}, {ownKeys() { return ['a'] }, getOwnPropertyDescriptor() { throw 1 }}))",
	"SDK.Entities.Todo.upsert({a: 'x'.repeat(2e7)})",
	"SDK.Vision.detect(Array.from({length: 1e6}, (_, i) => ({i})))",
	"for (;;) SDK.Vision.detect({a: 'x'.repeat(1e5)})",
	"for (;;) SDK.Out.progress(1, 2, 'x')",
	"SDK.Out.progress(NaN, {valueOf() { for (;;); }})",
	"SDK.Out.progress(NaN, Infinity, 'x'.repeat(1e7))",
	"JSON.stringify = null; JSON = null; Object.keys = null; Array = null; Promise.prototype.then = null; SDK.Entities.Todo.getById('1')",
	"Object.prototype.toJSON = () => { for (;;); }; SDK.Entities.Todo.upsert({a: 1})",
	"Function.prototype.call = Function.prototype.apply = () => { for (;;); }; SDK.Entities.Todo.getById('1').title",
	"Array.prototype[Symbol.iterator] = () => { for (;;); }; SDK.Entities.Todo.all().length",
	"Object.freeze(Object.prototype); Object.freeze(Array.prototype); SDK.Entities.Todo.collection().items.length",
	"Error.prototype.name = {toString() { for (;;); }}; null.x",
	"KoanError.prototype.toString = () => { for (;;); }; SDK.Entities.Todo.getById('9')",
	"Object.setPrototypeOf(globalThis, new Proxy({}, {get() { for (;;); }, has() { return false }})); 1",
	"new Uint8Array(1e9)",
	"const a = []; for (;;) a.push(new Uint8Array(1e6))",
	"const a = new ArrayBuffer(3e7); const b = []; for (;;) b.push(a.slice(0))",
	"'😀'.repeat(1e7).normalize('NFD').length",
	"'İ'.repeat(1e7).toLowerCase().length",
	"(1e308).toFixed(100); for (;;) (Math.PI).toString(36)",
	"for (;;) 'ab'.localeCompare('ba')",
	"encodeURIComponent('\\u00e4'.repeat(1e7)).length",
	"for (;;) new Date(NaN).getTime()",
	"while (Date.now() < 1e15);",
	"[1, 2, 3].sort(() => { throw 1 })",
	"Array.from({length: 1e6}, (_, i) => i).sort(() => 1).length",
	"Object.entries(Array.from({length: 2e6})).length",
	"structuredClone",
	"new Function('for(;;);')()",
	"(0, eval)('1')",
	"import('x')",
	strings.Repeat("((((((((((", 1000),
	strings.Repeat("[", 49000),
	strings.Repeat("-", 49000) + "1",
	"a" + strings.Repeat(".a", 20000),
	strings.Repeat("`${", 10000),
	strings.Repeat("x=>", 15000) + "1",
	strings.Repeat("if(1)", 9000) + ";",
	"let a: " + strings.Repeat("A<", 20000),
	"const x: number = 1; " + strings.Repeat("(", 40000),
	"function run() { for (;;); }",
	"async () => { await new Promise(r => setTimeout(r, 1e15)); for (;;); }",
	"const w = new WeakMap(); for (;;) w.set({}, new Array(1000))",
	"let s = ''; for (let i = 0; i < 1e7; i++) s += String.fromCharCode(i % 65536); s",
	"Reflect.construct(Array, [2 ** 32 - 1]).join()",
	"Array.prototype.push.apply([], {length: 2 ** 53 - 1})",
	"[].flat.call({length: 2 ** 40}, Infinity)",
	"let a = []; a = [a, a]; for (let i = 0; i < 40; i++) a = [a, a]; a.flat(Infinity)",
	"String.raw({raw: {length: 2 ** 40}})",
	"'x'.replace('x', () => { for (;;); })",
	"new Intl.NumberFormat()",
}

func TestMoreHostile(t *testing.T) {
	s, err := New(Options{})
	require.NoError(t, err)
	defer s.Close()
	t.Run("scripts", func(t *testing.T) {
		for i, code := range moreHostile {
			t.Run(strconv.Itoa(i), func(t *testing.T) {
				t.Parallel()
				runHostile(t, s, job(code))
			})
		}
	})
	next := execute(t, s, job(`SDK.Entities.Todo.getById("1").title`), newHost())
	require.Nil(t, next.Fault)
}

// runHostile runs a hostile script, which must end in time and within twice its memory limit,
// and must not end in a fault of the sandbox.
func runHostile(t *testing.T, s *Sandbox, j *wire.Job) {
	const cpu = 200
	require.NoError(t, s.Warm(t.Context()))
	j.Limits.CPUMs = cpu
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	began := time.Now()
	r, err := s.Execute(ctx, j, newHost())
	took := time.Since(began)
	shown := j.Code[:min(len(j.Code), 120)]
	require.NoError(t, err, shown)
	if r.Fault != nil {
		require.NotContains(t, []fault.Code{fault.Internal, fault.ExecutionError}, r.Fault.Code, "%s: %v", shown, errors.Unwrap(r.Fault))
		t.Logf("%s\n%s in %v, peak %d MB, %.120s (%d:%d)", shown, r.Fault.Code, took.Round(time.Millisecond), r.PeakMemory>>20, r.Fault.Message, r.Fault.Line, r.Fault.Column)
	} else {
		t.Logf("%s\nok in %v: %.60s", shown, took.Round(time.Millisecond), r.Result)
	}
	// Wall time depends on what else the machine does, so the limit is checked in CPU time.
	require.LessOrEqual(t, r.CPUMs, float64(cpu+100), "the limit acts within 100 ms: %s", shown)
	require.Less(t, took, (cpu+1000)*time.Millisecond, shown)
	require.Less(t, r.PeakMemory, int64(128<<20), shown)
}
