package javascript

import (
	"github.com/dop251/goja"

	"github.com/koan-go/koan/codemode/internal/language/javascript/script"
	"github.com/koan-go/koan/framework/fault"
)

// execution is one run of a compiled script.
type execution struct {
	js        *engine
	job       *assignment
	loop      *loop
	faults    *faults
	positions *positions
	promises  *promises
	modules   *modules
	sdk       *sdk

	seen       seen
	rejections []*goja.Promise // rejected and not handled
}

// seen is what the script has passed to the hook.
type seen struct {
	box           *goja.Object  // takes the place of returned while the promise of a body settles
	returned      goja.Value    // the value of a top-level return
	lastValue     goja.Value    // the value of the last expression statement of a body
	entry         goja.Callable // returns the entry function of a body
	entryCalled   bool          // the script has called its entry function itself
	defaultExport goja.Value    // the default export
}

// execute runs the script to its end, including its entry function, timers and calls, and
// returns its value.
func (x *execution) execute() (goja.Value, error) {
	before := goja.Value(nil) // the global of the engine that has the entry function's name
	if name := x.job.program.Entry; name != "" {
		before = x.js.vm.GlobalObject().Get(name)
	}
	value, err := x.start()
	if err != nil {
		return nil, err
	}
	if value, err = x.settle(value); err != nil {
		return nil, err
	}
	if goja.IsUndefined(value) && x.seen.lastValue != nil {
		if value, err = x.settle(x.seen.lastValue); err != nil {
			return nil, err
		}
	}
	if x.job.program.Lone && x.job.program.Shape == script.Body {
		if value, err = x.callIfFunction(value); err != nil {
			return nil, err
		}
	}
	if x.seen.defaultExport != nil {
		if value, err = x.callDefaultExport(); err != nil {
			return nil, err
		}
	}
	fn, found, err := x.entryFunction(before)
	if err != nil {
		return nil, err
	}
	if found {
		if value, err = x.callIfFunction(fn); err != nil {
			return nil, err
		}
	}
	if err := x.loop.drain(); err != nil {
		return nil, err
	}
	return value, x.unhandled()
}

// start runs the compiled program and returns its value, which may be a promise.
func (x *execution) start() (goja.Value, error) {
	if x.job.program.Hooked && x.job.program.Shape == script.Plain {
		x.js.hide(x.js.vm.GlobalObject(), script.HookName, x.js.function("", 0, x.hook))
	}
	value, err := x.js.vm.RunProgram(x.job.program.Code)
	if err != nil {
		return nil, err
	}
	switch {
	case x.job.program.Shape == script.Body:
		body, ok := goja.AssertFunction(value)
		if !ok {
			return nil, fault.New(fault.Internal, "the compiled script is not a function")
		}
		return body(goja.Undefined(), x.js.function("", 0, x.hook))
	case x.job.program.Lone:
		fn, ok := goja.AssertFunction(value)
		if !ok {
			return value, nil
		}
		return fn(goja.Undefined())
	}
	return value, nil
}

// hook is the function that compiled code calls (script.HookName).
func (x *execution) hook(c goja.FunctionCall) goja.Value {
	if len(c.Arguments) == 1 {
		x.seen.lastValue = c.Arguments[0]
		return goja.Undefined()
	}
	v := c.Argument(1)
	switch c.Argument(0).Export() {
	case int64(script.HookEntry):
		x.seen.entry, _ = goja.AssertFunction(v)
	case int64(script.HookDefault):
		if !goja.IsUndefined(v) {
			x.seen.defaultExport = v
		}
	case int64(script.HookReturn):
		x.seen.box, x.seen.returned = x.js.vm.CreateObject(nil), v
		return x.seen.box
	case int64(script.HookRan):
		x.seen.entryCalled = true
	case int64(script.HookThrow):
		x.positions.noteThrow(v, true)
		return v
	case int64(script.HookImport):
		return x.modules.load(v.String())
	case int64(script.HookAwait):
		x.promises.use(v)
		x.positions.noteAwait(v)
		return v
	case int64(script.HookStack):
		x.faults.rewriteStack(v)
		return v
	case int64(script.HookCatch):
		x.faults.explainCaught(v)
	case int64(script.HookAction): // only Declaration uses it
	case int64(script.HookPromise):
		return x.sdk.callTool.promising(v)
	case int64(script.HookMember):
		return x.js.singleMember(v, c.Argument(2))
	}
	return goja.Undefined()
}

// callIfFunction settles the value that v returns if v is a function, else v itself.
func (x *execution) callIfFunction(v goja.Value) (goja.Value, error) {
	if fn, ok := goja.AssertFunction(v); ok {
		var err error
		if v, err = fn(goja.Undefined()); err != nil {
			return nil, err
		}
	}
	return x.settle(v)
}

// callDefaultExport calls the default export, with the input if it is an action's.
func (x *execution) callDefaultExport() (goja.Value, error) {
	if !x.job.Action {
		return x.callIfFunction(x.seen.defaultExport)
	}
	fn, ok := goja.AssertFunction(x.seen.defaultExport)
	if !ok {
		return nil, fault.New(fault.JavaScriptError, "the default export of the action is not a function").
			WithHint("Export the function that does the work: export default (input) => { ... };")
	}
	value, err := fn(goja.Undefined(), member(x.sdk.object, "args"))
	if err != nil {
		return nil, err
	}
	return x.settle(value)
}

// entryFunction returns the function to call after the script, if there is one. before is the
// global that the engine has by that name, which does not count.
func (x *execution) entryFunction(before goja.Value) (goja.Value, bool, error) {
	name := x.job.program.Entry
	if name == "" || x.job.program.Lone && name != x.job.EntryFunction {
		return nil, false, nil
	}
	named := name == x.job.EntryFunction
	if !named && !x.seen.entryCalled { // a timer may still call it
		if err := x.loop.drain(); err != nil {
			return nil, false, err
		}
	}
	if !named && x.seen.entryCalled {
		return nil, false, nil
	}
	v, err := x.lookUp(name)
	if err != nil {
		return nil, false, err
	}
	if _, ok := goja.AssertFunction(v); ok && (before == nil || !v.SameAs(before)) {
		return v, true, nil
	}
	if !named {
		return nil, false, nil
	}
	return nil, false, notAFunction(name, "is not a function of the script")
}

func (x *execution) lookUp(name string) (goja.Value, error) {
	if x.seen.entry != nil {
		return x.seen.entry(goja.Undefined())
	}
	if x.job.program.Shape == script.Body {
		return goja.Undefined(), nil
	}
	p, err := goja.Compile("entry", "typeof "+name+`==="undefined"?undefined:`+name, false)
	if err != nil {
		return nil, notAFunction(name, "is not the name of a function")
	}
	return x.js.vm.RunProgram(p)
}

// settle waits for a native promise and returns its value; any other value, thenables included,
// it returns as it is. Only timers and calls in flight can settle a pending promise.
func (x *execution) settle(v goja.Value) (goja.Value, error) {
	for {
		o, ok := v.(*goja.Object)
		if ok && o == x.seen.box {
			v, x.seen.box = x.seen.returned, nil
			continue
		}
		if !ok || o.ExportType() != promiseType {
			return v, nil
		}
		x.promises.use(o)
		p := o.Export().(*goja.Promise)
		for p.State() == goja.PromiseStatePending {
			more, err := x.loop.waitOnce()
			if err != nil {
				return nil, err
			}
			if !more {
				if err := x.unhandled(); err != nil {
					return nil, err
				}
				return nil, x.positions.locate(fault.New(fault.NeverSettled, ""), x.positions.innermostAwait())
			}
		}
		if p.State() == goja.PromiseStateRejected {
			return nil, x.faults.faultOfValue(p.Result(), nil)
		}
		v = p.Result()
	}
}

func (x *execution) trackRejection(p *goja.Promise, op goja.PromiseRejectionOperation) {
	if op == goja.PromiseRejectionReject {
		x.positions.noteThrow(p.Result(), false)
		x.rejections = append(x.rejections, p)
		return
	}
	for i := len(x.rejections) - 1; i >= 0; i-- {
		if x.rejections[i] == p {
			x.rejections = append(x.rejections[:i], x.rejections[i+1:]...)
			return
		}
	}
}

// unhandled returns the fault of the first rejection that was not handled, nil if there is none.
func (x *execution) unhandled() error {
	if len(x.rejections) == 0 {
		return nil
	}
	return x.faults.faultOfValue(x.rejections[0].Result(), nil)
}
