package javascript

import (
	"strings"

	"github.com/koan-go/koan/framework/fault"
)

// exitMember is the member of process by which a script of the guide says how it ended.
const exitMember = "exitCode"

// bindExit defines process for a script that names its exitCode, and for no other: typeof process says that there is
// none. Nothing else of Node's is in it.
func (r *runtime) bindExit() {
	if !strings.Contains(r.job.Code, "process."+exitMember) {
		return
	}
	process := r.js.vm.NewObject()
	_ = process.Set(exitMember, r.js.vm.ToValue(0))
	r.js.hide(r.js.vm.GlobalObject(), "process", process)
}

// exitStatus returns the fault of a script whose process.exitCode is not 0.
func (r *runtime) exitStatus() error {
	if !strings.Contains(r.job.Code, "process."+exitMember) {
		return nil
	}
	status := "0"
	err := r.js.guard(func() {
		if process := r.js.vm.GlobalObject().Get("process"); process != nil {
			status = process.ToObject(r.js.vm).Get(exitMember).String()
		}
	})
	if err != nil || status == "0" || status == "undefined" || status == "null" {
		return err
	}
	return fault.New(fault.JavaScriptError, "the script ended with the status "+fault.Clip(status, 200))
}
