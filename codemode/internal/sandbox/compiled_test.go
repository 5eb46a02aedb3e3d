package sandbox

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/koan-go/koan/codemode/internal/wire"
	"github.com/koan-go/koan/framework/fault"
)

// TestCompiledScriptIsReused runs scripts twice in one worker, which keeps compiled
// programs. The second run has the same result, and sees no state of the first.
func TestCompiledScriptIsReused(t *testing.T) {
	s := sandboxWith(t, Options{PoolSize: 1})
	with := func(j *wire.Job) { j.Bindings.Servers = imported("").Bindings.Servers }
	for name, c := range map[string]struct {
		code   string
		change func(*wire.Job)
		result string
		line   int // of the fault
	}{
		"plain":              {code: `let n = 0; for (let i = 0; i < 5; i++) n += i; n`, result: `10`},
		"enum and function":  {code: "enum Kind { A = 1 }\nexport function run(): number { return Kind.A + 41 }\nconsole.log('said')" + typed, result: `42`},
		"return":             {code: "const n: number = await Promise.resolve(5)\nif (n > 1) return n * 2\nreturn 0" + typed, result: `10`},
		"imports":            {code: "import { detect } from '@codemode/servers/vision'\nconst f: any = detect\nexport default typeof f" + typed, change: with, result: `"function"`},
		"failure":            {code: "type T = string\nconst x: T = 'a'\n\nexport default await Promise.reject(new Error('no ' + x))" + typed, line: 4},
		"failure in a call":  {code: "const f = () => null.x\n\nf()", line: 1},
		"entry function":     {code: "function run(a) { return typeof a }", change: func(j *wire.Job) { j.EntryFunction = "run" }, result: `"undefined"`},
		"module":             {code: "globalThis.__codemode_result__ = this === undefined", change: func(j *wire.Job) { j.Module = true }, result: `true`},
		"template":           {code: "const tag = s => s, f = () => tag`a${1}b`; const s = f(); const was = s[0] + s.raw[1] + s.length; try { s[0] = 'mine'; s.raw[1] = 'mine'; s.push('mine') } catch {} Object.isFrozen(s) + was", result: `"trueab2"`},
		"pattern":            {code: "const f = () => /a/g, p = f(); const was = p.lastIndex; p.test('aa'); p.mine = 1; [was, f().mine === undefined]", result: `[0,true]`},
		"rewritten pattern":  {code: "const p = /\\p{L}+/u; const was = p.mine; p.mine = 1; [was === undefined, p.source, p.test('é')]", result: `[true,"\\p{L}+",true]`},
		"function":           {code: "function f() {} const was = f.mine; f.mine = 1; f.prototype.mine = 1; was === undefined", result: `true`},
		"closure":            {code: "const next = (() => { let n = 0; return () => ++n })(); next(); next()", result: `2`},
		"class":              {code: "class K { static n = 0; #a = 1; static has(o) { return #a in o } add() { return ++K.n + this.#a } } [new K().add(), K.has(new K())]", result: `[2,true]`},
		"object and array":   {code: "const f = () => ({list: [1]}); const o = f(); o.list.push(2); o.mine = 1; [f().list.length, f().mine === undefined]", result: `[1,true]`},
		"generator":          {code: "function* g() { yield 1; yield 2 } const i = g(); i.next(); [i.next().value, g().next().value]", result: `[2,1]`},
		"global declaration": {code: "var mine; let kept; const was = mine === undefined && kept === undefined; mine = 1; kept = 1; was", result: `true`},
		"big integer":        {code: "let n = 7n; n += 1n; String(n)", result: `"8"`},
	} {
		t.Run(name, func(t *testing.T) {
			run := func(who string) (*wire.Result, int) {
				j := job(c.code)
				j.Principal = who
				if c.change != nil {
					c.change(j)
				}
				r, pid := executeWithPID(t, s, j)
				r.CPUMs, r.PeakMemory = 0, 0
				for i := range r.Logs {
					r.Logs[i].TimeMs = 0
				}
				return r, pid
			}
			first, one := run("ann")
			again, other := run("ann")
			require.Equal(t, one, other, "in the same process")
			require.Equal(t, first, again)
			if c.line > 0 {
				require.Equal(t, c.line, again.Fault.Line)
				return
			}
			require.Nil(t, again.Fault)
			require.JSONEq(t, c.result, string(again.Result))
		})
	}
	const imports = "import { detect } from '@codemode/servers/vision'\nconst f: any = detect\nexport default typeof f" + typed
	j := job(imports)
	j.Principal = "ann"
	require.Equal(t, fault.ServerNotFound, execute(t, s, j, newHost()).Fault.Code, "imports are resolved in every run")
}

func TestResidentLimit(t *testing.T) {
	const mb = 1 << 20
	for _, c := range []struct{ base, memory, most, collect int64 }{
		{20, 64, 90, 56},    // koan-worker
		{60, 64, 118, 52},   // an app's own executable: lowered to stay below twice the limit
		{60, 128, 194, 112}, // far below twice the limit anyway
		{60, 16, 82, 14},    // cannot be lowered without taking too much from the script
		{100, 64, 170, 56},  // likewise
	} {
		require.Equal(t, c.most*mb, residentLimit(c.base*mb, c.memory*mb), c)
		require.Equal(t, c.collect*mb, collectLimit(c.base*mb, c.memory*mb), c)
	}
	require.EqualValues(t, 56*mb, collectLimit(0, 64*mb), "the resident set is not known")
}
