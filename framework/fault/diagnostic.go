package fault

import (
	"slices"
	"strings"
)

// The codes of diagnostics that codemode-run-spec names, or that are not fault codes
// (section 3.3.3).
const (
	DiagnosticUncaught       = "UNCAUGHT_EXCEPTION"
	DiagnosticImport         = "IMPORT_FAILURE"
	DiagnosticLimit          = "SANDBOX_LIMIT"
	DiagnosticRequest        = "INVALID_REQUEST"
	DiagnosticCapability     = "CAPABILITY_UNAVAILABLE"
	DiagnosticLowered        = "LIMIT_CLAMPED"
	DiagnosticNoResult       = "NO_RESULT"
	DiagnosticNotCommitted   = "NOT_COMMITTED"
	DiagnosticOutsideEffects = "OUTSIDE_EFFECTS"
)

// Classes of @codemode/errors that a script's side has to name: the base of all,
// and that of what a tool's call failed with.
const (
	ClassBase = classBase
	ClassCall = classCall
	// ClassLimit is the class of what passed a limit.
	ClassLimit = classLimit
)

// runLevelCodes are the codes of runs that threw nothing: they need approval, or another
// caller holds them.
var runLevelCodes = []Code{ApprovalRequired, ApprovalDenied, PlanStale, InProgress, OutcomeUnknown}

// Diagnostic is the code's name among the diagnostics of codemode-run-spec: whatever a
// script threw or did not catch is an uncaught exception; limits have one name; other
// codes keep their own.
func (e Entry) Diagnostic() string {
	switch {
	case slices.Contains(runLevelCodes, e.Code):
		return strings.ToUpper(string(e.Code))
	case e.Code == JavaScriptError, e.Code == ScriptError:
		return DiagnosticUncaught
	case e.Class == classLimit:
		return DiagnosticLimit
	case e.Class == classBase:
		return strings.ToUpper(string(e.Code))
	}
	return DiagnosticUncaught
}

// ErrorClass is the class of @codemode/errors that the fault has in a script, "" for an
// error of the script itself.
func (e Entry) ErrorClass() string {
	switch e.Code {
	case JavaScriptError, ScriptError, SyntaxError, InvalidCode, NeverSettled:
		return ""
	default:
		return e.Class
	}
}

// GatewayKind is the name of a fault in the gateway-code-mode-contract.
func (e Entry) GatewayKind() string {
	if e.Gateway != "" {
		return e.Gateway
	}
	return "code_execution_failed"
}
