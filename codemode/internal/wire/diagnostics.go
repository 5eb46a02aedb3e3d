package wire

import "github.com/koan-go/koan/framework/fault"

// The codes of diagnostics, which are not fault codes.
const (
	DiagnosticParse               = "parse"
	DiagnosticUnknownEntity       = "unknown_entity"
	DiagnosticUnknownDomain       = "unknown_domain"
	DiagnosticUnknownServer       = "unknown_server"
	DiagnosticUnknownMethod       = "unknown_method"
	DiagnosticUnknownSet          = string(fault.UnknownSet) // the one name that both lists have
	DiagnosticUnknownField        = "unknown_field"
	DiagnosticUnknownOperator     = "unknown_operator"
	DiagnosticUnknownRelationship = "unknown_relationship"
	DiagnosticUnknownOption       = "unknown_option"
	DiagnosticUnknownModule       = "unknown_module" // of an import; the compiler finds it
	DiagnosticUnknownExport       = "unknown_export" // likewise
	DiagnosticReadOnlyEntity      = "read_only_entity"
	DiagnosticForbiddenGlobal     = "forbidden_global"
	DiagnosticUnknownGlobal       = "unknown_global"
	DiagnosticInvalidArgument     = "invalid_argument" // the operation rejects the input
	DiagnosticUnawaitedPromise    = "unawaited_promise"
)

// Severities of diagnostics. Only errors make a script invalid.
const (
	SeverityError   = "error"
	SeverityWarning = "warning"
)
