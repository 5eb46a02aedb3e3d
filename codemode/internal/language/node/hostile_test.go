package node_test

import (
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/koan-go/koan/codemode/internal/wire"
	"github.com/koan-go/koan/framework/fault"
	"github.com/koan-go/koan/tests/soak"
)

// refusedScripts try to reach what is not theirs. Each attempt fails with an error of the script's own.
var refusedScripts = map[string]string{
	"a program":                    "import { execFileSync } from 'node:child_process';\nexecFileSync('/bin/sh', ['-c', 'id'])",
	"a program, later":             "import { spawn } from 'node:child_process';\nspawn('ls')",
	"a shell":                      "import { execSync } from 'node:child_process';\nexecSync('id')",
	"Node again":                   "import { spawnSync } from 'node:child_process';\nconst { error } = spawnSync(process.execPath, ['-e', '1']);\nif (error) throw error",
	"a fork":                       "import { fork } from 'node:child_process';\nfork('/workspace/script.mjs')",
	"a cluster":                    "import cluster from 'node:cluster';\nawait new Promise((_, no) => cluster.fork().on('error', no))",
	"its own image":                "if (!process.execve) throw new Error('there is none');\nprocess.execve(process.execPath, ['node', '-e', '1'])",
	"a spawn by the engine's side": "const { Process } = process.binding('process_wrap');\nconst p = new Process();\nconst e = p.spawn({ file: process.execPath, args: ['node', '--version'], stdio: [{ type: 'ignore' }, { type: 'ignore' }, { type: 'ignore' }] });\nif (e !== 0) throw new Error('refused ' + e)",
	"a connection":                 "import { connect } from 'node:net';\nawait new Promise((ok, no) => connect(80, '127.0.0.1').on('connect', ok).on('error', no))",
	"a server":                     "import { createServer } from 'node:net';\nawait new Promise((ok, no) => createServer().listen(0, ok).on('error', no))",
	"a local socket":               "import { createServer } from 'node:net';\nawait new Promise((ok, no) => createServer().listen('/workspace/s', ok).on('error', no))",
	"datagrams":                    "import { createSocket } from 'node:dgram';\nawait new Promise((ok, no) => createSocket('udp4').on('error', no).bind(0, ok))",
	"a page of the web":            "await fetch('http://127.0.0.1:1/')",
	"a page by http":               "import http from 'node:http';\nawait new Promise((ok, no) => http.get('http://127.0.0.1:1/', ok).on('error', no))",
	"an encrypted connection":      "import tls from 'node:tls';\nawait new Promise((ok, no) => tls.connect(443, '127.0.0.1', ok).on('error', no))",
	"a name":                       "import { lookup } from 'node:dns/promises';\nawait lookup('example.com')",
	"a name by a server":           "import { resolve4 } from 'node:dns/promises';\nawait resolve4('example.com')",
	"the users of the system":      "import fs from 'node:fs';\nfs.readFileSync('/etc/passwd')",
	"the users, later":             "import { readFile } from 'node:fs/promises';\nawait readFile('/etc/shadow')",
	"the host's environment":       "import fs from 'node:fs';\nfs.readFileSync('/proc/1/environ')",
	"its own memory":               "import fs from 'node:fs';\nfs.readFileSync('/proc/self/maps')",
	"the home of root":             "import fs from 'node:fs';\nfs.readdirSync('/root')",
	"a device":                     "import fs from 'node:fs';\nfs.openSync('/dev/sda')",
	"a terminal":                   "import tty from 'node:tty';\nnew tty.ReadStream(0)",
	"our side, to write":           "import fs from 'node:fs';\nfs.writeFileSync('/koan/script.mjs', '')",
	"the root, to write":           "import fs from 'node:fs';\nfs.writeFileSync('/x', '')",
	"the interpreter, to write":    "import fs from 'node:fs';\nfs.writeFileSync(process.execPath, '')",
	"the packages, to write":       "import fs from 'node:fs';\nfs.writeFileSync('/node_modules/greeting/index.js', '')",
	"a link to the outside":        "import fs from 'node:fs';\nfs.symlinkSync('/etc/passwd', 'x');\nfs.readFileSync('x')",
	"a module outside":             "await import('file:///etc/passwd')",
	"a required file outside":      "require('/etc/hostname')",
	"a signal to its host":         "process.kill(process.ppid || 1, 'SIGKILL')",
	"a signal to all":              "process.kill(-1, 'SIGKILL')",
	"a signal to itself":           "process.kill(process.pid, 'SIGTERM')",
	"another user":                 "process.setuid(0)",
	"another group":                "process.setgroups([0])",
	"a priority":                   "import os from 'node:os';\nos.setPriority(-10)",
	"a native addon of its own":    "import fs from 'node:fs';\nfs.copyFileSync(process.report.getReport().sharedObjects.find((n) => n.includes('libc.so')), '/workspace/x.node');\nrequire('/workspace/x.node')",
	"a library as an addon":        "process.dlopen({ exports: {} }, '/lib/x86_64-linux-gnu/libc.so.6')",
	"a debugger that listens":      "import inspector from 'node:inspector';\ninspector.open(0);\nif (!inspector.url()) throw new Error('refused')",
	"a heap snapshot outside":      "import v8 from 'node:v8';\nv8.writeHeapSnapshot('/koan/x')",
	"a file above 64 MB":           "import fs from 'node:fs';\nconst f = fs.openSync('big', 'w');\nfor (let i = 0; i < 80; i++) fs.writeSync(f, Buffer.alloc(1 << 20))",
	"too many descriptors":         "import fs from 'node:fs';\nfor (;;) fs.openSync('/dev/null')",
	"too many files":               "import fs from 'node:fs';\nfor (let i = 0; ; i++) fs.writeFileSync('f' + i, '')",
	"code of a permission":         "process.permission.has('fs')",
}

func TestHostileScriptsAreRefused(t *testing.T) {
	t.Parallel()
	for name, code := range soak.Part(7, refusedScripts) {
		t.Run(name, func(t *testing.T) {
			r, _ := execute(t, job(code))
			require.NotNil(t, r.Fault, "%s", r.Result)
			require.Contains(t, []fault.Code{fault.ScriptError, fault.CapabilityUnsupported}, r.Fault.Code, "%+v", r.Fault)
			require.NotContains(t, r.Fault.Message, "root:x")
		})
	}
	requireHealthy(t)
}

// endedScripts pass a limit, or break the interpreter.
var endedScripts = map[string]struct {
	code string
	of   []fault.Code
}{
	"a loop":                          {"for (;;);", codes(fault.Timeout)},
	"a loop that catches all":         {"for (;;) { try { for (;;); } catch { } finally { continue } }", codes(fault.Timeout)},
	"a loop in a getter of a result":  {"({ get a() { for (;;); } })", codes(fault.Timeout)},
	"a loop in toString of an error":  {"throw { toString() { for (;;); } }", codes(fault.Timeout)},
	"a loop in a message":             {"throw Object.defineProperty(new Error(), 'message', { get() { for (;;); } })", codes(fault.Timeout)},
	"a message that fails":            {"throw { toString() { throw this } }", codes(fault.ScriptError)},
	"listeners of the end that loop":  {"process.on('exit', () => { for (;;); });\nprocess.on('beforeExit', () => { for (;;); });\n1", codes(fault.Timeout)},
	"a loop in another context":       {"import vm from 'node:vm';\nvm.runInNewContext('for (;;);')", codes(fault.Timeout)},
	"a loop in WebAssembly":           {"const code = new Uint8Array([0, 97, 115, 109, 1, 0, 0, 0, 1, 4, 1, 96, 0, 0, 3, 2, 1, 0, 7, 5, 1, 1, 102, 0, 0, 10, 9, 1, 7, 0, 3, 64, 12, 0, 11, 11]);\nnew WebAssembly.Instance(new WebAssembly.Module(code)).exports.f()", codes(fault.Timeout)},
	"memory of WebAssembly":           {"const all = [];\nfor (;;) { const m = new WebAssembly.Memory({ initial: 100 }); new Uint8Array(m.buffer).fill(1); all.push(m) }", codes(fault.MemoryExceeded, fault.ScriptError, fault.Timeout)},
	"a loop in a worker thread":       {"import { Worker } from 'node:worker_threads';\nnew Worker('for (;;);', { eval: true });\nawait new Promise(() => {})", codes(fault.Timeout, fault.MemoryExceeded, fault.ExecutionError)},
	"many worker threads":             {"import { Worker } from 'node:worker_threads';\nfor (let i = 0; i < 200; i++) new Worker('setInterval(() => {}, 1000)', { eval: true });\nawait new Promise(() => {})", codes(fault.Timeout, fault.MemoryExceeded, fault.ExecutionError, fault.ScriptError)},
	"rejections without an end":       {"const f = () => Promise.reject(1).catch(() => queueMicrotask(f));\nf()", codes(fault.Timeout)},
	"rejections that nobody handles":  {"for (let i = 0; i < 1000; i++) Promise.reject(new Error('no ' + i))", codes(fault.ScriptError)},
	"a thenable without an end":       {"await { then(ok) { ok(this) } }", codes(fault.Timeout, fault.MemoryExceeded)},
	"generators without an end":       {"async function* f() { for (;;) yield 1 }\nfor await (const x of f());", codes(fault.Timeout)},
	"a text that doubles":             {"let s = 'x';\nfor (;;) s = (s + s).split('').reverse().join('')", codes(fault.MemoryExceeded, fault.ScriptError, fault.Timeout)},
	"a sparse array":                  {"new Array(2 ** 32 - 1).fill(1)", codes(fault.MemoryExceeded, fault.Timeout, fault.ScriptError)},
	"a map that grows":                {"const m = new Map();\nfor (let i = 0; ; i++) m.set(i, {})", codes(fault.MemoryExceeded)},
	"compressed data":                 {"import { gzipSync, gunzipSync } from 'node:zlib';\nlet b = gzipSync(Buffer.alloc(1 << 28));\ngunzipSync(b)", codes(fault.MemoryExceeded, fault.ScriptError, fault.Timeout)},
	"a cipher that takes long":        {"import { pbkdf2Sync } from 'node:crypto';\npbkdf2Sync('a', 'b', 1e9, 64, 'sha512')", codes(fault.Timeout)},
	"a cipher in threads":             {"import { pbkdf2 } from 'node:crypto';\nfor (let i = 0; i < 8; i++) pbkdf2('a', 'b', 1e9, 64, 'sha512', () => {});\nawait new Promise(() => {})", codes(fault.Timeout)},
	"a lock":                          {"Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0)", codes(fault.Timeout)},
	"a crash":                         {"process.binding('util').watchdogHasPendingSigint?.();\nimport v8 from 'node:v8';\nv8.setFlagsFromString('--allow-natives-syntax');\nnew Function('%SystemBreak()')()", codes(fault.ExecutionError, fault.ScriptError)},
	"the end without a result":        {"process.removeAllListeners('beforeExit')", codes(fault.ExecutionError)},
	"the host's pipe, closed":         {"import fs from 'node:fs';\nfs.closeSync(5);\nSDK.Entities.Todo.all()", codes(fault.ExecutionError, fault.ScriptError)},
	"a frame of its own":              {"import fs from 'node:fs';\nfs.writeSync(5, Buffer.alloc(100, 255));\nawait new Promise(() => {})", codes(fault.ExecutionError)},
	"a result of its own":             {"import fs from 'node:fs';\nconst p = Buffer.from('{\"result\":1,\"fault\":{\"code\":\"nonsense\"}}');\nconst h = Buffer.alloc(9);\nh.writeUInt32BE(p.length + 5);\nh[4] = 7;\nfs.writeSync(5, Buffer.concat([h, p]));\nfor (;;);", codes(fault.ExecutionError)},
	"a job that it accepts again":     {"import fs from 'node:fs';\nfs.writeSync(5, Buffer.from([0, 0, 0, 5, 10, 0, 0, 0, 1]));\nfor (;;);", codes(fault.ExecutionError)},
	"an error with a code of a limit": {"throw new KoanError('x', { code: 'timeout', hint: '', retry: 'whatever' })", codes(fault.Timeout)},
	"an end by the engine's side":     {"process.reallyExit(0, 1);\nfor (;;);", codes("")},
	"a deep text":                     {"const x = " + deep("(", "1", ")", 5000), codes(fault.SyntaxError, fault.ScriptError, fault.ExecutionError)},
	"a deep result":                   {"let x = [];\nfor (let i = 0; i < 100000; i++) x = [x];\nx", codes(fault.ScriptError, fault.ExecutionError)},
	"a deep input":                    {"let x = [];\nfor (let i = 0; i < 100000; i++) x = [x];\nSDK.Entities.Todo.count({ a: x })", codes(fault.InvalidPayload, fault.ScriptError)},
	"logs without an end":             {"for (;;) console.log('x'.repeat(1000))", codes(fault.Timeout)},
	"a standard output without end":   {"for (;;) process.stdout.write('x')", codes(fault.Timeout, fault.MemoryExceeded)},
	"a stack without an end":          {"Error.prepareStackTrace = () => { for (;;); };\nnull.x", codes(fault.Timeout)},
	"a debugger of itself":            {"import { Session } from 'node:inspector';\nconst s = new Session();\ns.connect();\ns.post('Runtime.evaluate', { expression: 'for (;;);' })", codes(fault.Timeout)},
}

func deep(open, inside, end string, n int) string {
	out := make([]byte, 0, 2*n+1)
	for range n {
		out = append(out, open...)
	}
	out = append(out, inside...)
	for range n {
		out = append(out, end...)
	}
	return string(out)
}

func codes(of ...fault.Code) []fault.Code { return of }

func TestHostileScriptsEnd(t *testing.T) {
	t.Parallel()
	for name, c := range soak.Part(8, endedScripts) {
		t.Run(name, func(t *testing.T) {
			j := job(c.code)
			j.Limits = wire.Limits{CPUMs: 500}
			if !slices.Contains(c.of, fault.Timeout) { // what ends it comes first, also on a busy machine
				j.Limits.CPUMs = patience
			}
			began := time.Now()
			r, _ := execute(t, j)
			if slices.Contains(c.of, "") {
				require.Nil(t, r.Fault, "%+v", r.Fault)
				return
			}
			require.NotNil(t, r.Fault, "%s", r.Result)
			require.Contains(t, c.of, r.Fault.Code, "%+v", r.Fault)
			require.Less(t, time.Since(began), 30*time.Second)
		})
	}
	requireHealthy(t)
}

// pollutedScripts change what the language gives to all, our side included, and then use SDK.
var pollutedScripts = map[string]struct{ code, result string }{
	"the JSON of all objects":  {"Object.prototype.toJSON = () => 'stolen';\nSDK.Entities.Todo.patch('1', { title: 'x' });\nconsole.log('x');\ndelete Object.prototype.toJSON;\n1", "1"},
	"JSON itself":              {"JSON.stringify = () => 'no';\nJSON.parse = () => ({ items: ['no'] });\nSDK.Entities.Todo.collection().items.length", "2"},
	"members of all objects":   {"Object.prototype.set = 'attic';\nObject.prototype.items = 'no';\nSDK.Entities.Todo.collection().items.length", "2"},
	"the methods of texts":     {"String.prototype.split = String.prototype.replace = String.prototype.slice = () => 'no';\nSDK.Entities.Todo.collection().items.length", "2"},
	"promises":                 {"Promise.prototype.then = function () { return this };\n7", ""},
	"buffers":                  {"Buffer.from = Buffer.alloc = Buffer.concat = () => { throw new Error('no') };\n8", "8"},
	"files":                    {"import fs from 'node:fs';\nfs.readSync = fs.writeSync = () => { throw new Error('no') };\nSDK.Entities.Todo.collection().items.length", "2"},
	"the SDK itself":           {"try { SDK.Entities.Todo.all = () => [] } catch { }\ntry { globalThis.SDK = {} } catch { }\nSDK.Entities.Todo.all().length", "2"},
	"timers":                   {"globalThis.setTimeout = globalThis.setImmediate = () => {};\nprocess.nextTick = () => {};\nglobalThis.result = 9", "9"},
	"errors":                   {"Error.prototype.toString = () => { throw 1 };\nError.stackTraceLimit = 0;\ntry { SDK.Entities.Todo.getById('9') } catch (e) { globalThis.result = e.code }", `"not_found"`},
	"the prototype of results": {"const r = SDK.Entities.Todo.collection();\nr.__proto__.polluted = 1;\n({}).polluted", "1"},
}

func TestChangedBuiltinsReachNoFrame(t *testing.T) {
	t.Parallel()
	for name, c := range soak.Part(6, pollutedScripts) {
		t.Run(name, func(t *testing.T) {
			j := job(c.code)
			j.Limits = wire.Limits{CPUMs: 5000}
			r, h := execute(t, j)
			for _, call := range h.calls {
				require.NotContains(t, call, "stolen")
			}
			if c.result == "" { // the script has broken itself, and nothing else
				return
			}
			require.Nil(t, r.Fault, "%+v", r.Fault)
			require.Equal(t, c.result, string(r.Result))
		})
	}
	requireHealthy(t)
}

// requireHealthy requires that scripts run as if there had been no other.
func requireHealthy(t *testing.T) {
	t.Helper()
	r, _ := execute(t, job("6 * 7"))
	require.Nil(t, r.Fault)
	require.Equal(t, "42", string(r.Result))
}

// leftovers are what a script may try to leave behind, and a script that returns whether it finds it.
var leftovers = map[string]struct{ leave, find string }{
	"a global":                {"globalThis.left = 1", "'left' in globalThis"},
	"a changed prototype":     {"Array.prototype.left = 1", "'left' in []"},
	"a file":                  {"require('fs').writeFileSync('left', 'x')", "require('fs').existsSync('/workspace/left')"},
	"a module in its folder":  {"require('fs').mkdirSync('node_modules/left', { recursive: true })", "require('fs').existsSync('/workspace/node_modules/left')"},
	"a changed module":        {"require('path').left = 1", "'left' in require('path')"},
	"a cached module":         {"require('greeting').left = 1", "'left' in require('greeting')"},
	"a variable":              {"process.env.LEFT = '1'", "'LEFT' in process.env"},
	"another folder":          {"require('fs').mkdirSync('sub');\nprocess.chdir('sub')", "process.cwd() !== '/workspace'"},
	"an exit code":            {"process.exitCode = 3", "process.exitCode === 3"},
	"a listener":              {"process.on('left', () => {})", "process.listenerCount('left') > 0"},
	"a timer":                 {"setInterval(() => { globalThis.left = 1 }, 1).unref()", "await new Promise((r) => setTimeout(r, 10));\n'left' in globalThis"},
	"a flag of the engine":    {"require('v8').setFlagsFromString('--stack-size=100')", "let n = 0;\nconst f = () => { n++; f() };\ntry { f() } catch { }\nn < 2000"},
	"a changed clock":         {"Date.now = () => 0", "Date.now() === 0"},
	"a thread":                {"new (require('worker_threads').Worker)('setInterval(() => {}, 1000)', { eval: true }).unref()", "process.getActiveResourcesInfo().includes('MessagePort')"},
	"a descriptor":            {"require('fs').openSync('/dev/null');\nrequire('fs').openSync('/dev/null')", "require('fs').openSync('/dev/null') > 40"},
	"a hook of the loader":    {"require('module')._load = () => 'left'", "require('path') === 'left'"},
	"a umask":                 {"process.umask(0o777)", "process.umask() === 0o777"},
	"a title":                 {"process.title = 'left'", "process.title === 'left'"},
	"a changed runtime":       {"(await import('/koan/errors.mjs')).KoanError.left = 1", "'left' in KoanError"},
	"a symbol for all":        {"globalThis[Symbol.for('left')] = 1", "Symbol.for('left') in globalThis"},
	"an asynchronous context": {"const { AsyncLocalStorage } = require('async_hooks');\nprocess.left = new AsyncLocalStorage();\nprocess.left.enterWith(1)", "'left' in process"},
}

func TestNothingReachesTheNextScript(t *testing.T) {
	t.Parallel()
	for name, c := range soak.Part(4, leftovers) {
		t.Run(name, func(t *testing.T) {
			execute(t, job(c.leave)) // which may break the script itself
			r, _ := execute(t, job(c.find))
			require.Nil(t, r.Fault, "%+v", r.Fault)
			require.Equal(t, "false", string(r.Result))
		})
	}
}
