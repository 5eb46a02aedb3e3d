package sandbox

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/koan-go/koan/codemode/internal/wire"
	"github.com/koan-go/koan/framework/fault"
)

// leftover is a way in which a script could leave state behind for the next script
// of its caller.
type leftover struct {
	imports string
	leave   string
	end     string // how the leaving script ends; "" is normally
	find    string // an expression that is true if it is still there
}

// abrupt ends a script while timers and promises are pending.
const abrupt = `throw new Error("over")`

// everyGlobal runs a body for each global g that is a function or an object.
func everyGlobal(body string) string {
	return `Object.getOwnPropertyNames(globalThis).map(name => { const g = globalThis[name]; if (g !== null && g !== globalThis && /function|object/.test(typeof g)) { ` + body + ` } })`
}

// ofEvery are prototypes that no global leads to.
const ofEvery = `[Object.getPrototypeOf(function* () {}), Object.getPrototypeOf(async function () {}), Object.getPrototypeOf(Int8Array), ` +
	`Object.getPrototypeOf(Object.getPrototypeOf([][Symbol.iterator]())), Object.getPrototypeOf(new Map().entries()), Object.getPrototypeOf("".matchAll(/x/g))]`

var leftovers = map[string]leftover{
	"a global":                           {leave: `globalThis.mine = 1`, find: `"mine" in globalThis`},
	"a global without a declaration":     {leave: `mine = 1`, find: `typeof mine !== "undefined"`},
	"a var":                              {leave: `var mine = 1`, find: `typeof mine !== "undefined"`},
	"a let":                              {leave: `let mine = 1`, find: `typeof mine !== "undefined"`},
	"a const":                            {leave: `const mine = 1`, find: `typeof mine !== "undefined"`},
	"a function":                         {leave: `function mine() {}`, find: `typeof mine !== "undefined"`},
	"a class":                            {leave: `class mine {}`, find: `typeof mine !== "undefined"`},
	"a hidden global":                    {leave: `Object.defineProperty(globalThis, "mine", {value: 1})`, find: `globalThis.mine === 1`},
	"the prototype of globalThis":        {leave: `Object.setPrototypeOf(globalThis, {mine: 1})`, find: `globalThis.mine === 1`},
	"a deleted global":                   {leave: `delete globalThis.Map`, find: `typeof Map === "undefined"`},
	"a globalThis without extensions":    {leave: `Object.preventExtensions(globalThis)`, find: `!Object.isExtensible(globalThis)`},
	"Object.prototype":                   {leave: `Object.prototype.mine = 1`, find: `({}).mine === 1`},
	"a getter on Object.prototype":       {leave: `Object.defineProperty(Object.prototype, "mine", {get() { return 1 }, configurable: true})`, find: `({}).mine === 1`},
	"a setter on Object.prototype":       {leave: `let kept; Object.defineProperty(Object.prototype, "page", {set(v) { kept = v }, configurable: true})`, find: `"page" in {}`},
	"members of every builtin":           {leave: everyGlobal(`try { g.mine = 1 } catch {}`), find: everyGlobal(`return Object.hasOwn(g, "mine")`) + `.some(Boolean)`},
	"members of every prototype":         {leave: everyGlobal(`try { g.prototype.mine = 1 } catch {}`), find: everyGlobal(`return g.prototype && Object.hasOwn(g.prototype, "mine")`) + `.some(Boolean)`},
	"frozen builtins":                    {leave: everyGlobal(`Object.freeze(g); g.prototype && Object.freeze(g.prototype)`), find: `Object.isFrozen(Array) || Object.isFrozen(Array.prototype) || Object.isFrozen(JSON)`},
	"hidden prototypes":                  {leave: ofEvery + `.forEach(p => { p.mine = 1 })`, find: ofEvery + `.some(p => p.mine === 1)`},
	"a replaced method":                  {leave: `Array.prototype.map = () => "mine"`, find: `[1].map(x => x) === "mine"`},
	"the iterator of arrays":             {leave: `Array.prototype[Symbol.iterator] = function* () { yield "mine" }`, find: `[...[1]][0] === "mine"`},
	"the species of arrays":              {leave: `Object.defineProperty(Array, Symbol.species, {get() { return class Mine extends Array {} }})`, find: `[1].map(x => x).constructor.name === "Mine"`},
	"Symbol.for":                         {leave: `globalThis[Symbol.for("mine")] = 1`, find: `globalThis[Symbol.for("mine")] === 1`},
	"members of symbols":                 {leave: `Symbol.prototype.mine = 1`, find: `Symbol.iterator.mine === 1`},
	"Error.prepareStackTrace":            {leave: `Error.prepareStackTrace = () => "mine"`, find: `typeof Error.prepareStackTrace === "function"`},
	"Error.stackTraceLimit":              {leave: `Error.stackTraceLimit = 77`, find: `Error.stackTraceLimit === 77`},
	"KoanError":                          {leave: `KoanError.prototype.mine = 1`, find: `(() => { try { SDK.Entities.Todo.getById("none") } catch (e) { return e.mine === 1 } })()`},
	"a member of an entity":              {leave: `SDK.Entities.Todo.mine = 1`, find: `SDK.Entities.Todo.mine === 1`},
	"a member of SDK":                    {leave: `Object.defineProperty(SDK, "mine", {value: 1})`, find: `SDK.mine === 1`},
	"a replaced SDK":                     {leave: `Object.defineProperty(globalThis, "SDK", {value: {mine: 1, args: SDK.args}})`, find: `SDK.mine === 1`},
	"a replaced method of an entity":     {leave: `Object.defineProperty(SDK.Entities.Todo, "getById", {value: () => ({title: "mine"})})`, find: `SDK.Entities.Todo.getById("1").title === "mine"`},
	"the prototype of pages":             {leave: `Object.getPrototypeOf(SDK.Entities.Todo.collection()).mine = 1`, find: `SDK.Entities.Todo.collection().mine === 1`},
	"an iterator half-way":               {leave: `globalThis.it = SDK.Entities.Todo.each(); it.next(); globalThis.next = () => it.next().value.id`, find: `typeof next === "function" && next() === "2"`},
	"SDK.args":                           {leave: `SDK.args.mine = 1`, find: `SDK.args.mine === 1`},
	"SDK.run":                            {leave: `Object.defineProperty(SDK.run, "id", {value: "mine"})`, find: `SDK.run.id === "mine"`},
	"a result":                           {leave: `globalThis.__codemode_result__ = undefined; globalThis.result = undefined; globalThis.kept = 1`, find: `globalThis.kept === 1`},
	"console":                            {leave: `Object.defineProperty(console, "log", {value: () => { globalThis.mine = 1 }})`, find: `(console.log("x"), globalThis.mine === 1)`},
	"JSON":                               {leave: `JSON.stringify = () => "mine"`, find: `JSON.stringify({}) === "mine"`},
	"the sequence of Math.random":        {leave: `Math.random(); Math.random()`, find: `Math.random() !== SDK.args.random`},
	"the sequence of crypto":             {leave: `crypto.randomUUID()`, find: `crypto.randomUUID() !== SDK.args.uuid`},
	"Math":                               {leave: `Math.random = () => 2`, find: `Math.random() === 2`},
	"Date.now":                           {leave: `Date.now = () => 7`, find: `Date.now() === 7`},
	"the time of timers":                 {leave: `await new Promise(r => setTimeout(r, 100000))`, find: `Date.now() - SDK.args.now > 1000`},
	"performance.now":                    {leave: `await new Promise(r => setTimeout(r, 100000))`, find: `performance.now() > 1000`},
	"numbers of timers":                  {leave: `clearTimeout(setTimeout(() => 0)); clearTimeout(setTimeout(() => 0))`, find: `setTimeout(() => 0) > 2`},
	"a timer":                            {leave: `setTimeout(() => { globalThis.mine = 1 }, 1)`, end: abrupt, find: `(await new Promise(r => setTimeout(r, 50)), "mine" in globalThis)`},
	"a chain of timers":                  {leave: `(function again(n) { globalThis.mine = n; if (n < 9) setTimeout(() => again(n + 1), 1) })(1)`, end: abrupt, find: `(await new Promise(r => setTimeout(r, 50)), "mine" in globalThis)`},
	"a microtask":                        {leave: `queueMicrotask(() => { globalThis.mine = 1 })`, end: abrupt, find: `(await null, "mine" in globalThis)`},
	"a promise":                          {leave: `Promise.resolve().then(() => { globalThis.mine = 1 })`, end: abrupt, find: `(await null, await null, "mine" in globalThis)`},
	"a rejection nobody handled":         {leave: `let lost; try { Promise.reject(new Error("mine")).catch(e => { globalThis.mine = e }) } catch {}`, end: abrupt, find: `(await null, await null, "mine" in globalThis)`},
	"a call in flight":                   {imports: `import { detect } from "@codemode/servers/vision";`, leave: `detect({a: 1}).then(() => { globalThis.mine = 1 })`, end: abrupt, find: `(await detect({a: 2}), await new Promise(r => setTimeout(r, 50)), "mine" in globalThis)`},
	"Promise.prototype":                  {leave: `const then = Promise.prototype.then; Promise.prototype.then = function (...a) { globalThis.mine = 1; return then.apply(this, a) }`, find: `(Promise.resolve().then(() => 0), globalThis.mine === 1)`},
	"a class of @codemode/errors":        {imports: `import { CodemodeError } from "@codemode/errors";`, leave: `CodemodeError.mine = 1`, find: `CodemodeError.mine === 1`},
	"a function of a module":             {imports: `import { detect } from "@codemode/servers/vision";`, leave: `detect.mine = 1`, find: `detect.mine === 1`},
	"RegExp":                             {leave: `RegExp.prototype.exec = () => null`, find: `/a/.exec("a") === null`},
	"the lastIndex of a pattern":         {leave: `globalThis.pattern = () => /a/g; globalThis.p = pattern(); p.test("aa")`, find: `typeof p !== "undefined" && p.lastIndex === 1`},
	"URL":                                {leave: `URL.prototype.mine = 1; URLSearchParams.prototype.mine = 1`, find: `new URL("https://a.de").mine === 1 || new URLSearchParams("a=1").mine === 1`},
	"a URL":                              {leave: `globalThis.u = new URL("https://a.de/x"); u.hash = "mine"`, find: `typeof u !== "undefined" && new URL(u).hash === "#mine"`},
	"TextEncoder":                        {leave: `TextEncoder.prototype.encode = () => "mine"`, find: `new TextEncoder().encode("x") === "mine"`},
	"structuredClone":                    {leave: `structuredClone = () => "mine"`, find: `structuredClone({}) === "mine"`},
	"Intl":                               {leave: `Intl.NumberFormat.prototype.format = () => "mine"; Intl.mine = 1`, find: `Intl.mine === 1`},
	"a Proxy":                            {leave: `Object.setPrototypeOf(Object.prototype.__proto__ === null ? Array.prototype : {}, new Proxy({}, {get: (_, name) => name === "mine" ? 1 : undefined}))`, find: `[].mine === 1`},
	"Reflect":                            {leave: `Reflect.ownKeys = () => ["mine"]`, find: `Reflect.ownKeys({})[0] === "mine"`},
	"a WeakMap over a builtin":           {leave: `globalThis.seen = new WeakMap([[Array.prototype, 1]])`, find: `typeof seen !== "undefined" && seen.get(Array.prototype) === 1`},
	"the depth of calls":                 {leave: `globalThis.deep = n => n === 0 ? 0 : 1 + deep(n - 1); deep(400)`, find: `typeof deep === "function" && deep(400) === 400`},
	"Function.prototype.call":            {leave: `Function.prototype.call = () => "mine"`, find: `(() => 1).call() === "mine"`},
	"a template":                         {leave: `globalThis.tag = s => s; globalThis.same = () => tag` + "`a`" + `; globalThis.first = same()`, find: `typeof first !== "undefined" && same() === first`},
	"a private name and a static member": {leave: `globalThis.K = class { static n = 0; #a = 1; static has(o) { return #a in o } }; K.n++`, find: `typeof K !== "undefined" && K.n === 1`},
}

// executeWithPID runs a job in a sandbox that has one caller, and returns the process id of
// its worker, 0 if that has been reaped.
func executeWithPID(t *testing.T, s *Sandbox, j *wire.Job) (*wire.Result, int) {
	t.Helper()
	before := map[*process]uint32{}
	s.pool.mu.Lock()
	for p := range s.pool.all {
		before[p] = p.scripts
	}
	s.pool.mu.Unlock()
	r := execute(t, s, j, newHost())
	pid := 0
	s.pool.mu.Lock()
	defer s.pool.mu.Unlock()
	for p := range s.pool.all {
		if p.scripts != before[p] {
			require.Zero(t, pid, "one process ran it")
			pid = p.proc.Pid
		}
	}
	return r, pid
}

// TestScriptsLeaveNoState runs, for each leftover, a script that leaves something and then, in
// the same worker, one that looks for it. Joined into one script, the search finds it, which
// proves that the search works.
func TestScriptsLeaveNoState(t *testing.T) {
	s, err := New(Options{PoolSize: 1})
	require.NoError(t, err)
	defer s.Close()
	script := func(parts ...string) *wire.Job {
		code := ""
		for _, p := range parts {
			code += p + ";\n"
		}
		j := imported(code)
		j.Principal, j.Args = "ann", args(t)
		return j
	}
	require.GreaterOrEqual(t, len(leftovers), 40)
	replaced := 0
	for name, l := range leftovers {
		t.Run(name, func(t *testing.T) {
			both, _ := executeWithPID(t, s, script(l.imports, l.leave, l.find))
			require.Nil(t, both.Fault)
			require.Equal(t, "true", string(both.Result), "the search works")

			for {
				left, second := executeWithPID(t, s, script(l.imports, `SDK.Out.answer("mine"); console.log("mine")`, l.leave, l.end))
				if l.end == "" {
					require.Nil(t, left.Fault)
				} else {
					require.Equal(t, fault.JavaScriptError, left.Fault.Code)
				}
				found, third := executeWithPID(t, s, script(l.imports, l.find))
				require.Nil(t, found.Fault)
				require.Equal(t, "false", string(found.Result))
				require.Nil(t, found.Answer)
				for _, l := range found.Logs {
					require.NotContains(t, l.Message, "mine")
				}
				if second == third {
					return
				}
				replaced++
				require.LessOrEqual(t, replaced, 3*len(leftovers)/maxScripts, "in the same process, but for those that had run enough scripts")
			}
		})
	}
}

// args returns what the searches compare with: the values that the first script of a worker
// sees.
func args(t *testing.T) json.RawMessage {
	r := execute(t, box(t), job(`({random: Math.random()})`), newHost())
	u := execute(t, box(t), job(`({uuid: crypto.randomUUID()})`), newHost())
	var all struct {
		Random float64 `json:"random"`
		UUID   string  `json:"uuid"`
		Now    int64   `json:"now"`
	}
	require.NoError(t, json.Unmarshal(r.Result, &all))
	require.NoError(t, json.Unmarshal(u.Result, &all))
	all.Now = job("").NowMs
	raw, err := json.Marshal(all)
	require.NoError(t, err)
	return raw
}
