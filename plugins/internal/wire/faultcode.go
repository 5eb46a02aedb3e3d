package wire

import (
	"regexp"

	"github.com/koan-go/koan/framework/fault"
)

var snakeCase = regexp.MustCompile(`^[a-z][a-z0-9]*(_[a-z0-9]+)*$`)

// ValidFaultCode reports whether a plugin may have a fault code of its own of that name.
func ValidFaultCode(code string) bool {
	const most = 64
	_, ours := fault.Lookup(fault.Code(code))
	return len(code) <= most && snakeCase.MatchString(code) && !ours
}
