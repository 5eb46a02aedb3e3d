package catalog

import "strings"

// ServerFunction is what an upstream server offers besides its tools: its resources and
// prompts.
type ServerFunction struct {
	Group, Name string
	// Leading are the members of the input that can also be given by position, the first
	// of them as a string.
	Leading []string
}

// ServerFunctions are the functions of SDK.Servers.<id>.<Group>. The Op of their operations
// is "<Group>.<Name>", which is no tool's.
var ServerFunctions = []ServerFunction{
	{"$resources", "list", nil},
	{"$resources", "templates", nil},
	{"$resources", "read", []string{"uri"}},
	{"$prompts", "list", nil},
	{"$prompts", "get", []string{"name", "arguments"}},
}

// Op is the last part of the function's operation ID.
func (f ServerFunction) Op() string { return f.Group + "." + f.Name }

// ServerFunctionOf returns the function that an operation of an upstream server is; ok is
// false for tools.
func ServerFunctionOf(id ID) (f ServerFunction, ok bool) {
	if id.Kind != KindUpstream || !strings.HasPrefix(id.Op, "$") {
		return f, false
	}
	for _, f := range ServerFunctions {
		if f.Op() == id.Op {
			return f, true
		}
	}
	return f, false
}
