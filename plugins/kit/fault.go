package kit

import (
	"fmt"
	"slices"

	"github.com/koan-go/koan/framework/fault"
)

// Fault is a failure with a code of the plugin's own, which callers can tell from others: a function
// returns it as its error. They get the fault execution_error, with Code as details.code.
type Fault struct {
	Code    string // one of Plugin.FaultCodes
	Message string // what is wrong, for people and models
	Hint    string // what to do about it
	Path    string // JSON Pointer into the input, "" for none
	Details any    // details.details; nil for none
	// Retry says whether the same call may succeed later; "" is fault.Fix: another one may.
	Retry fault.Retry
}

// Error implements error.
func (f *Fault) Error() string { return f.Code + ": " + f.Message }

// onWire returns the fault that is sent.
func (f *Fault) onWire(declared []string) error {
	if !slices.Contains(declared, f.Code) {
		return fault.New(fault.Internal, "").Because(fmt.Errorf("the code %q is not among Plugin.FaultCodes: %w", f.Code, f))
	}
	return &fault.Fault{Code: fault.Code(f.Code), Message: f.Message, Hint: f.Hint, Path: f.Path, Details: f.Details, Retry: f.Retry}
}
