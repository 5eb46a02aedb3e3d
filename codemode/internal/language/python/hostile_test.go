package python_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/koan-go/koan/codemode/internal/wire"
	"github.com/koan-go/koan/framework/fault"
	"github.com/koan-go/koan/tests/soak"
)

// refusedScripts try to reach what is not theirs. Each attempt raises an OSError, or an error that says so.
var refusedScripts = map[string]string{
	"a program":                    "import os\nos.execv('/bin/sh', ['sh'])",
	"a child":                      "import os\nos.fork()",
	"a child by a library":         "import subprocess\nsubprocess.run(['ls'])",
	"a shell":                      "import os\nif os.system('ls') != 0: raise OSError('refused')",
	"a spawned program":            "import os\nos.posix_spawn('/bin/sh', ['sh'], {})",
	"a pool of processes":          "import multiprocessing\nmultiprocessing.Process(target=print).start()",
	"a socket":                     "import socket\nsocket.socket()",
	"a socket for datagrams":       "import socket\nsocket.socket(socket.AF_INET, socket.SOCK_DGRAM)",
	"a local socket":               "import socket\nsocket.socket(socket.AF_UNIX)",
	"a raw socket":                 "import socket\nsocket.socket(socket.AF_PACKET, socket.SOCK_RAW)",
	"a page of the web":            "import urllib.request\nurllib.request.urlopen('http://127.0.0.1:1')",
	"a name":                       "import socket\nsocket.create_connection(('localhost', 80))",
	"the users of the system":      "open('/etc/passwd')",
	"the host's environment":       "open('/proc/1/environ')",
	"its own memory":               "open('/proc/self/mem')",
	"the home of root":             "import os\nos.listdir('/root/.ssh')",
	"the sample's files":           "open('/srv/x')",
	"a device":                     "open('/dev/sda')",
	"a terminal":                   "open('/dev/tty')",
	"the library, to write":        "import os\nopen(os.__file__, 'w')",
	"our side, to write":           "open('/koan/koan_runtime/script.py', 'w')",
	"the root, to write":           "open('/x', 'w')",
	"a path through the workspace": "open('/workspace/../etc/shadow')",
	"a link to the outside":        "import os\nos.symlink('/etc/passwd', 'x')\nopen('x')",
	"a signal to its worker":       "import os, signal\nos.kill(os.getppid(), signal.SIGKILL)",
	"a signal to all":              "import os\nos.kill(-1, 9)",
	"a group's signal":             "import os\nos.killpg(0, 9)",
	"a pidfd":                      "import os\nos.pidfd_open(1)",
	"another user":                 "import os\nos.setuid(0)",
	"another root":                 "import os\nos.chroot('/workspace')",
	"a higher limit":               "import resource\nresource.setrlimit(resource.RLIMIT_CPU, (1 << 30, 1 << 30))",
	"a memory file":                "import os\nos.memfd_create('x')",
	"a niceness":                   "import os\nos.nice(-10)",
	"a session":                    "import os\nos.setsid()",
	"another host name":            "import socket\nsocket.sethostname('x')",
	"a pipe with a name":           "import os\nos.mkfifo('/workspace/p')",
	"a device of its own":          "import os, stat\nos.mknod('/workspace/d', stat.S_IFBLK | 0o600, os.makedev(8, 0))",
	"shared memory":                "import multiprocessing.shared_memory as m\nm.SharedMemory(create=True, size=100)",
	"tracing by ctypes":            "import ctypes\nif ctypes.CDLL(None, use_errno=True).ptrace(16, 1, 0, 0) != 0: raise OSError('refused')",
	"a mount by ctypes":            "import ctypes\nif ctypes.CDLL(None).mount(b'x', b'/workspace', b'tmpfs', 0, None) != 0: raise OSError('refused')",
	"a namespace by ctypes":        "import ctypes\nif ctypes.CDLL(None).unshare(0x10000000) != 0: raise OSError('refused')",
	"a fork by ctypes":             "import ctypes\nif ctypes.CDLL(None).fork() < 0: raise OSError('refused')",
	"a socket by ctypes":           "import ctypes\nif ctypes.CDLL(None).socket(2, 1, 0) < 0: raise OSError('refused')",
	"executable memory":            "import mmap\nmmap.mmap(-1, 4096, prot=mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC)",
	"an extension of its own":      "import shutil, _ctypes, importlib.util, glob\nf = glob.glob(_ctypes.__file__)[0]\nshutil.copy(f, '/workspace/_ctypes.so')\nimport ctypes\nctypes.CDLL('/workspace/_ctypes.so')",
	"a file above 64 MB":           "f = open('big', 'wb')\nfor _ in range(80): f.write(b'x' * (1 << 20))",
	"too many descriptors":         "files = [open('/dev/null') for _ in range(1000)]",
}

func TestHostileScriptsAreRefused(t *testing.T) {
	t.Parallel()
	for name, code := range refusedScripts {
		t.Run(name, func(t *testing.T) {
			r, _ := execute(t, job(code))
			require.NotNil(t, r.Fault, "%s", r.Result)
			require.Equal(t, fault.ScriptError, r.Fault.Code, "%+v", r.Fault)
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
	"a loop":                         {"while True: pass", codes(fault.Timeout)},
	"a loop that catches all":        {"while True:\n    try:\n        while True: pass\n    except BaseException: pass", codes(fault.Timeout)},
	"a loop in finally":              {"try:\n    1/0\nfinally:\n    while True: pass", codes(fault.Timeout)},
	"a loop without its timer":       {"import signal\nsignal.setitimer(signal.ITIMER_PROF, 0)\nwhile True: pass", codes(fault.Timeout)},
	"a loop with the signal ignored": {"import signal\nsignal.signal(signal.SIGPROF, signal.SIG_IGN)\nwhile True: pass", codes(fault.Timeout)},
	"a loop in C":                    {"sum(range(10**12))", codes(fault.Timeout)},
	"a huge power":                   {"x = 7 ** (10 ** 8)", codes(fault.Timeout, fault.MemoryExceeded)},
	"a regular expression":           {"import re\nre.match(r'(a+)+$', 'a' * 40 + 'b')", codes(fault.Timeout)},
	"a loop in a thread":             {"import threading\ndef f():\n    while True: pass\nfor _ in range(4): threading.Thread(target=f).start()\nwhile True: pass", codes(fault.Timeout)},
	"a loop of tasks":                {"async def f():\n    while True: await asyncio.sleep(0)\nawait f()", codes(fault.Timeout)},
	"a message that loops":           {"class E(Exception):\n    def __str__(self):\n        while True: pass\nraise E()", codes(fault.Timeout)},
	"a message that fails":           {"class E(Exception):\n    def __str__(self): raise E()\nraise E()", codes(fault.ScriptError)},
	"a destructor that loops":        {"class D:\n    def __del__(self):\n        while True: pass\nx = D()\ndel x", codes(fault.Timeout)},
	"an iterator without an end":     {"import itertools\nitertools.count()", codes(fault.Timeout, fault.MemoryExceeded)},
	"a list that grows":              {"x = [0]\nwhile True: x += x", codes(fault.MemoryExceeded, fault.Timeout)},
	"a text that doubles":            {"s = 'x'\nwhile True: s += s", codes(fault.MemoryExceeded)},
	"memory that is caught":          {"x = []\nwhile True:\n    try:\n        x.append(' ' * 1000000)\n    except MemoryError:\n        pass", codes(fault.Timeout, fault.MemoryExceeded)},
	"a huge list":                    {"x = [0] * 10**9", codes(fault.MemoryExceeded)},
	"memory by mmap":                 {"import mmap\nx = []\nwhile True:\n    m = mmap.mmap(-1, 1 << 22)\n    m.write(b'x' * (1 << 22))\n    x.append(m)", codes(fault.MemoryExceeded, fault.ScriptError, fault.Timeout)},
	"recursion":                      {"def f(n): return f(n + 1)\nf(0)", codes(fault.ScriptError)},
	"recursion without a limit":      {"import sys\nsys.setrecursionlimit(10**8)\ndef f(n): return f(n + 1)\nf(0)", codes(fault.MemoryExceeded, fault.Timeout, fault.ExecutionError)},
	"recursion in C":                 {"import sys\nsys.setrecursionlimit(10**8)\nclass A:\n    def __repr__(self): return repr(self)\nrepr(A())", codes(fault.MemoryExceeded, fault.Timeout, fault.ExecutionError, fault.ScriptError)},
	"a null pointer":                 {"import ctypes\nctypes.string_at(0)", codes(fault.ExecutionError)},
	"an abort":                       {"import os\nos.abort()", codes(fault.ExecutionError)},
	"code that is none":              {"f = lambda: 0\nf.__code__ = f.__code__.replace(co_code=b'\\xff' * 100)\nf()", codes(fault.ExecutionError, fault.ScriptError, fault.Timeout)},
	"many threads":                   {"import threading, time\nfor _ in range(1000): threading.Thread(target=time.sleep, args=(100,)).start()", codes(fault.ExecutionError, fault.ScriptError, fault.MemoryExceeded)},
	"a deep text":                    {"(" + strings.Repeat("(", 5000) + "1" + strings.Repeat(")", 5001), codes(fault.SyntaxError)},
	"a deep expression":              {strings.Repeat("-", 40000) + "1", codes(fault.SyntaxError, fault.MemoryExceeded, fault.ExecutionError)},
	"a result inside itself":         {"x = []\nx.append(x)\nx", codes(fault.ScriptError)},
	"a deep result":                  {"x = []\nfor _ in range(1000): x = [x]\nx", codes(fault.ScriptError)},
	"a large result":                 {"'x' * (1 << 20)", codes(fault.ResultTooLarge)},
	"a large input":                  {"SDK.Entities.Todo.count({'a': 'x' * (9 << 20)})", codes(fault.CallTooLarge)},
	"the end without a result":       {"import ctypes\nctypes.CDLL(None)._exit(0)", codes(fault.ExecutionError)},
	"the host's pipe, closed":        {"import os\nos.close(5)\nSDK.Entities.Todo.all()", codes(fault.ExecutionError, fault.ScriptError)},
	"a frame of its own":             {"import os\nos.write(5, b'\\xff' * 100)", codes(fault.ExecutionError)},
	"a result of its own":            {"import os, struct, time\np = b'{\"result\":1,\"fault\":{\"code\":\"nonsense\"}}'\nos.write(5, struct.pack('>IBI', len(p) + 5, 7, 0) + p)\ntime.sleep(1)", codes(fault.ExecutionError)},
	"a job that it accepts again":    {"import os, struct\nos.write(5, struct.pack('>IBI', 5, 10, 1))", codes(fault.ExecutionError)},
	"a call that is none of its own": {"import os, struct\np = b'\\x05koan:{}'\nos.write(5, struct.pack('>IBI', len(p) + 5, 3, 9) + p)\nos.read(4, 4096)\nraise ValueError('answered')", codes(fault.ScriptError)},
	"an error that is none":          {"raise KoanError('x', code='timeout', hint='', retry='whatever')", codes(fault.Timeout, fault.ScriptError)},
	"a tampered session":             {"import koan_runtime.session as s\ns.Session.finish = lambda *a: None\n1/0", codes(fault.ExecutionError, fault.ScriptError)},
	"tracing":                        {"import sys\ndef t(*a):\n    while True: pass\nsys.settrace(t)\ndef f(): pass\nf()", codes(fault.Timeout)},
	"an import that loops":           {"open('loop.py', 'w').write('while True: pass')\nimport sys\nsys.path.insert(0, '/workspace')\nimport loop", codes(fault.Timeout)},
	"a pickle":                       {"import pickle\npickle.loads(b\"cos\\nexecv\\n(S'/bin/sh'\\n(lS'sh'\\natR.\")", codes(fault.ScriptError)},
	"an exit of another thread's":    {"import threading, os\nt = threading.Thread(target=lambda: os._exit(3))\nt.start(); t.join()\nraise ValueError('alive')", codes(fault.ScriptError)},
	"frames by a thread":             {"import threading, os, struct\nt = threading.Thread(target=os.write, args=(5, struct.pack('>IBI', 5, 4, 1)))\nt.start(); t.join()\nSDK.Entities.Todo.all()", codes(fault.ExecutionError)},
	"a task that refuses to end":     {"async def f():\n    while True:\n        try:\n            await asyncio.sleep(1)\n        except asyncio.CancelledError: pass\nt = asyncio.create_task(f())\nawait asyncio.sleep(0)", codes(fault.Timeout)},
	"errors without an end":          {"def f():\n    try:\n        1/0\n    except Exception as e:\n        raise ValueError('x' * 1000000) from e\nwhile True:\n    try:\n        f()\n    except ValueError: pass", codes(fault.Timeout)},
	"notes without an end":           {"e = ValueError('x')\nfor i in range(100000): e.add_note('n' * 100)\nraise e", codes(fault.ScriptError)},
	"a group within groups":          {"e = KoanError('x')\nfor _ in range(100000): e = ExceptionGroup('g', [e])\nraise e", codes(fault.ScriptError, fault.ExecutionError, fault.Timeout)},
	"a wait without an end":          {"import threading\nthreading.Event().wait()", codes(fault.Timeout)},
}

func codes(of ...fault.Code) []fault.Code { return of }

func TestHostileScriptsEnd(t *testing.T) {
	t.Parallel()
	for name, c := range soak.Part(14, endedScripts) {
		t.Run(name, func(t *testing.T) {
			j := job(c.code)
			j.Limits = wire.Limits{CPUMs: 500}
			if !slices.Contains(c.of, fault.Timeout) { // what ends it comes first, also on a busy machine
				j.Limits.CPUMs = patience
			}
			began := time.Now()
			r, _ := execute(t, j)
			require.NotNil(t, r.Fault, "%s", r.Result)
			require.Contains(t, c.of, r.Fault.Code, "%+v", r.Fault)
			require.Less(t, time.Since(began), 30*time.Second)
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
	"a global":                        {"x = 1", "'x' in globals()"},
	"a builtin":                       {"import builtins\nbuiltins.x = 1", "import builtins\nhasattr(builtins, 'x')"},
	"a changed builtin":               {"import builtins\nbuiltins.len = lambda v: 99", "len([]) == 99"},
	"a module":                        {"import sys, types\nsys.modules['left'] = types.ModuleType('left')", "import sys\n'left' in sys.modules"},
	"a changed module":                {"import json\njson.loads = None", "import json\njson.loads is None"},
	"a member of a module":            {"import math\nmath.left = 1", "import math\nhasattr(math, 'left')"},
	"a changed class":                 {"import decimal\ndecimal.Decimal.left = 1" + "\n", "import decimal\nhasattr(decimal.Decimal, 'left')"},
	"a changed context":               {"import decimal\ndecimal.getcontext().prec = 3", "import decimal\ndecimal.getcontext().prec == 3"},
	"a path":                          {"import sys\nsys.path.append('/left')", "import sys\n'/left' in sys.path"},
	"a finder":                        {"import sys\nsys.meta_path.append(None)", "import sys\nNone in sys.meta_path"},
	"a variable of environment":       {"import os\nos.environ['LEFT'] = '1'", "import os\n'LEFT' in os.environ"},
	"a variable by putenv":            {"import os\nos.putenv('LEFT', '1')", "import ctypes\ng = ctypes.CDLL(None).getenv\ng.restype = ctypes.c_char_p\ng(b'LEFT') is not None"},
	"a file":                          {"open('left', 'w').write('x')", "import os\nos.path.exists('/workspace/left')"},
	"a hidden file":                   {"open('.left', 'w').write('x')", "import os\nbool(os.listdir('/workspace'))"},
	"a folder without rights":         {"import os\nos.makedirs('a/b')\nopen('a/b/c', 'w')\nos.chmod('a/b', 0)\nos.chmod('a', 0)", "import os\nbool(os.listdir('/workspace'))"},
	"a link":                          {"import os\nos.symlink('/', 'left')", "import os\nbool(os.listdir('/workspace'))"},
	"a temporary file":                {"import tempfile\ntempfile.NamedTemporaryFile(delete=False)", "import os\nbool(os.listdir('/workspace'))"},
	"another folder":                  {"import os\nos.mkdir('sub')\nos.chdir('sub')", "import os\nos.getcwd() != '/workspace'"},
	"the folder without rights":       {"import os\nos.chmod('/workspace', 0)", "open('x', 'w') is None"},
	"a descriptor":                    {"import os\nos.dup2(os.open('/dev/null', 0), 50)", "import os\ntry:\n    os.fstat(50)\n    result = True\nexcept OSError:\n    result = False"},
	"a umask":                         {"import os\nos.umask(0o777)", "import os\nos.umask(0) == 0o777"},
	"a signal's handler":              {"import signal\nsignal.signal(signal.SIGUSR1, lambda *a: None)", "import signal\ncallable(signal.getsignal(signal.SIGUSR1))"},
	"a limit of recursion":            {"import sys\nsys.setrecursionlimit(5000)", "import sys\nsys.getrecursionlimit() == 5000"},
	"a thread":                        {"import threading, time\nthreading.Thread(target=time.sleep, args=(100,), daemon=True).start()", "import threading\nthreading.active_count() > 1"},
	"a trace":                         {"import sys\nsys.settrace(lambda *a: None)", "import sys\nsys.gettrace() is not None"},
	"a profile":                       {"import sys\nsys.setprofile(lambda *a: None)", "import sys\nsys.getprofile() is not None"},
	"an audit hook":                   {"import sys\nsys.addaudithook(lambda *a: 1/0)", "open('x', 'w') is None"},
	"a hook of exceptions":            {"import sys\nsys.excepthook = None", "import sys\nsys.excepthook is None"},
	"an exit's hook":                  {"import atexit\natexit.register(lambda: open('/workspace/left', 'w'))", "import os\nbool(os.listdir('/workspace'))"},
	"a seed":                          {"import random\nrandom.seed(1)", "import random\nrandom.random() == 0.13436424411240122"},
	"a locale":                        {"import locale\nlocale.setlocale(locale.LC_ALL, 'C')", "import locale\nlocale.setlocale(locale.LC_CTYPE) == 'C'"},
	"a logger":                        {"import logging\nlogging.getLogger().addHandler(logging.NullHandler())", "import logging\nbool(logging.getLogger().handlers)"},
	"a warning's filter":              {"import warnings\nwarnings.simplefilter('error')", "import warnings\nwarnings.filters[0][0] == 'error'"},
	"a changed SDK":                   {"type(SDK).left = 1", "hasattr(type(SDK), 'left')"},
	"a changed runtime":               {"import koan_runtime.script as s\ns.planted = 1", "import koan_runtime.script as s\nhasattr(s, 'planted')"},
	"a changed channel":               {"import koan_runtime.channel as c\nc.Channel.call = None", "import koan_runtime.channel as c\nc.Channel.call is None"},
	"a changed error":                 {"import koan.errors as e\ne.KoanError.left = 1", "import koan.errors as e\nhasattr(e.KoanError, 'left')"},
	"a cached line":                   {"import linecache\nlinecache.cache['left'] = 1", "import linecache\n'left' in linecache.cache"},
	"a compiled pattern":              {"import re\nre.compile('left')", "import re\nany('left' in k for k in re._cache)"},
	"a loop":                          {"import asyncio\nasyncio.set_event_loop(asyncio.new_event_loop())", "import asyncio\nasyncio.get_event_loop_policy()._local._loop is not None"},
	"a context variable":              {"import contextvars\nv = contextvars.ContextVar('left')\nv.set(1)", "import contextvars\nany(k.name == 'left' for k in contextvars.copy_context())"},
	"a registered codec":              {"import codecs\ncodecs.register(lambda n: 1/0 if n == 'left' else None)", "import codecs\ntry:\n    codecs.lookup('left')\nexcept ZeroDivisionError:\n    result = True\nexcept LookupError:\n    result = False"},
	"a registered type of copy":       {"import copyreg\ncopyreg.pickle(complex, None.__class__)" + "\n", "import copyreg\ncopyreg.dispatch_table.get(complex) is type(None)"},
	"a garbage collector's mode":      {"import gc\ngc.disable()", "import gc\nnot gc.isenabled()"},
	"a callback of it":                {"import gc\ngc.callbacks.append(print)", "import gc\nbool(gc.callbacks)"},
	"a changed clock":                 {"import time\ntime.time = lambda: 0", "import time\ntime.time() == 0"},
	"a switch interval":               {"import sys\nsys.setswitchinterval(9)", "import sys\nsys.getswitchinterval() == 9"},
	"an interned display hook":        {"import sys\nsys.displayhook = None", "import sys\nsys.displayhook is None"},
	"a changed standard output":       {"import sys\nsys.stdout = None", "import sys\nsys.stdout is None"},
	"memory by ctypes":                {"import ctypes\nctypes.c_int.from_address(id(7) + 24).value = 8", "3 + 4 == 8 or 7 != int('7')"},
	"a class of all":                  {"import abc, collections.abc as c\nc.Sized.register(int)", "import collections.abc as c\nisinstance(1, c.Sized)"},
	"a library by ctypes":             {"import ctypes\nctypes.left = ctypes.CDLL(None)", "import ctypes\nhasattr(ctypes, 'left')"},
	"shared memory":                   {"open('/dev/shm/left', 'w').write('x')", "import os\nos.path.exists('/dev/shm/left')"},
	"a timer":                         {"import signal\nsignal.setitimer(signal.ITIMER_REAL, 3600)", "import signal\nsignal.getitimer(signal.ITIMER_REAL)[0] > 0"},
	"a blocked signal":                {"import signal\nsignal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGUSR2])", "import signal\nsignal.SIGUSR2 in signal.pthread_sigmask(signal.SIG_BLOCK, [])"},
	"a subclass":                      {"class Left(Exception):\n    pass", "any(c.__name__ == 'Left' for c in Exception.__subclasses__())"},
	"a circle of objects":             {"class Left:\n    pass\none = Left()\none.me = one", "import gc\nany(type(o).__name__ == 'Left' for o in gc.get_objects())"},
	"a changed encoder":               {"import json\njson.JSONEncoder.default = None", "import json\njson.JSONEncoder.default is None"},
	"a trace of threads":              {"import threading\nthreading.settrace(lambda *a: None)", "import threading\nthreading.gettrace() is not None"},
	"a hook of what cannot be raised": {"import sys\nsys.unraisablehook = None", "import sys\nsys.unraisablehook is None"},
	"a changed import":                {"import builtins\nreal = builtins.__import__\ndef left(*a, **k):\n    return real(*a, **k)\nbuiltins.__import__ = left", "import builtins\nbuiltins.__import__.__name__ == 'left'"},
	"no hooks of paths":               {"import sys\nsys.path_hooks.clear()", "import sys\nnot sys.path_hooks"},
	"a wish for bytecode":             {"import sys\nsys.dont_write_bytecode = False", "import sys\nnot sys.dont_write_bytecode"},
	"a limit of digits":               {"import sys\nsys.set_int_max_str_digits(1000)", "import sys\nsys.get_int_max_str_digits() == 1000"},
}

func TestNothingReachesTheNextScript(t *testing.T) {
	t.Parallel()
	for name, c := range soak.Part(14, leftovers) {
		t.Run(name, func(t *testing.T) {
			left, find := job(c.leave), job(c.find)
			left.Principal, find.Principal = name, name
			execute(t, left) // which may break the script itself
			r, _ := execute(t, find)
			require.Nil(t, r.Fault, "%+v", r.Fault)
			require.Equal(t, "false", string(r.Result))
		})
	}
}
