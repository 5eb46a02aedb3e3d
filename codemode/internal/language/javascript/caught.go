package javascript

import (
	"strings"

	"github.com/dop251/goja"

	"github.com/koan-go/koan/codemode/internal/wire"
	"github.com/koan-go/koan/framework/fault"
)

// adviseCaught sets the hint of a fault that the script catches to what it would be if it ended
// the script. A hint that the script has set stays.
func (fs *faults) adviseCaught(o *goja.Object, f *fault.Fault) {
	if f.Code != fault.InvalidPayload || property(o, "hint") != f.Hint {
		return
	}
	advised := fs.positions.locate(f, fs.js.creationStack(o))
	if fs.hints.advise(advised, fs.madeBy[f]); advised.Hint != f.Hint {
		_ = o.Set("hint", advised.Hint)
	}
}

// explainCaught has an error of the engine's, about something that SDK does not have, say what
// there is instead, and a fault about an input what to send instead, for a script that catches
// them and looks at the message or the hint.
func (fs *faults) explainCaught(v goja.Value) {
	o, ok := v.(*goja.Object)
	if !ok || fs.job.program == nil || o.ClassName() != "Error" {
		return
	}
	if f := fs.known[o]; f != nil {
		fs.adviseCaught(o, f)
		return
	}
	if o.Prototype() != fs.js.base.errors.typeProto {
		return
	}
	message := property(o, "message")
	name, missing := between(message, "Object has no member '", "'")
	if _, ofNothing := between(message, "Cannot read property '", "'"); !missing && !ofNothing {
		return
	}
	f := fs.positions.locate(fault.New(fault.JavaScriptError, message), fs.js.creationStack(o))
	for _, d := range fs.hints.diagnostics() {
		about := d.Code == wire.DiagnosticUnknownEntity
		if missing {
			about = d.Code == wire.DiagnosticUnknownMethod && strings.Contains(d.Message, " `"+name+"`")
		}
		if about && d.Line == f.Line {
			_ = o.Set("message", strings.TrimSpace(d.Message+" ("+message+"). "+d.Hint))
			return
		}
	}
}
