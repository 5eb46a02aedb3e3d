package javascript

import (
	"github.com/koan-go/koan/codemode/internal/language/javascript/script"
	"github.com/koan-go/koan/codemode/internal/wire"
)

// assignment is what a runtime gets after it was prepared: the job, and the program that its script was compiled to.
// Both are nil before that.
type assignment struct {
	*wire.Job
	program *script.Program
}

// bindings are what a check of the script knows of.
func (a *assignment) bindings() wire.Bindings {
	b := a.Bindings
	b.CallTool = a.CallTool
	return b
}
