package javascript

import (
	"fmt"
	"strings"

	"github.com/dop251/goja"

	"github.com/koan-go/koan/codemode/internal/language/javascript/script"
)

// rewriteStack rewrites the stack of an Error that the script is about to read: with positions
// in the user's text, without frames of the host or of code that the compiler added, and no
// longer than maxStackFrames (CONTRACT section 2).
func (fs *faults) rewriteStack(v goja.Value) {
	o, ok := v.(*goja.Object)
	if !ok || o.ClassName() != "Error" {
		return
	}
	written, ok := fs.js.safeGet(o, "stack").(goja.String)
	if !ok {
		return // the script has set it
	}
	text := written.String()
	at := strings.Index(text, "\n"+engineFrame)
	if at < 0 {
		if at = len(text) - 1; at < 0 || text[at] != '\n' {
			return
		}
	}
	lines := fs.positions.userLines(text[at+1:])
	if f := fs.known[o]; len(lines) == 0 && f != nil && f.Line > 0 { // the call ended when no line of the script was on the stack
		lines = []string{fmt.Sprintf("%s:%d:%d", script.Name, f.Line, f.Column)}
	}
	var b strings.Builder
	b.WriteString(text[:at])
	left := 0
	for n, line := range lines {
		if n >= fs.job.Limits.MaxStackFrames {
			left++
			continue
		}
		b.WriteString("\n    at " + line)
	}
	if left > 0 {
		fmt.Fprintf(&b, "\n    … %d more", left)
	}
	// This fails for a frozen Error, which keeps its stack.
	_ = o.DefineDataProperty("stack", fs.js.vm.ToValue(b.String()), goja.FLAG_TRUE, goja.FLAG_TRUE, goja.FLAG_FALSE)
}
