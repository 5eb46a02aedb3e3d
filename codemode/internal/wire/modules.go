package wire

import (
	"strings"

	"github.com/koan-go/koan/framework/catalog"
)

// SpecVersion is the version of codemode-run-spec that the modules implement.
const SpecVersion = "1.0.0"

// The modules that scripts can import (codemode-run-spec sections 4 and 5).
const (
	ModulePrefix    = "@codemode/"
	ModuleDiscovery = ModulePrefix + "discovery"
	ModuleErrors    = ModulePrefix + "errors"
	// ModuleServers precedes the id of a server.
	ModuleServers = ModulePrefix + "servers/"
)

const (
	// ResultName is the global that a script assigns its result to
	// (codemode-run-spec section 3.2.2).
	ResultName = "__codemode_result__"
	// MetaExport is the export of a server's module that describes it (section 5.2).
	MetaExport = catalog.MetaExport
)

// ErrorClasses are the exports of @codemode/errors.
var ErrorClasses = []string{
	"CodemodeError", "SchemaValidationError", "ToolNotFoundError", "ServerNotFoundError", "ToolCallError", "AuthenticationError", "SandboxLimitError", "KoanError",
}

// Server is the module @codemode/servers/<ID>.
type Server struct {
	ID      string `json:"id"`
	Name    string `json:"name"`
	Version string `json:"version,omitempty"`
	// Ordered says that its calls run one at a time in the order of issue.
	Ordered bool `json:"ordered,omitempty"`
	// Any is the catalog ID of the operation that every other export calls, with {tool, input}:
	// the server's tools are not known. "" if they are.
	Any string `json:"any,omitempty"`
	// Tools are set only if the code may import the module, and so are Groups.
	Tools []Tool `json:"tools,omitempty"`
	// Groups are exported like the tools; their functions are asynchronous, too.
	Groups []Group `json:"groups,omitempty"`
}

// Tool is one function of a server's module.
type Tool struct {
	Name        string `json:"name"`   // its name on the server
	Export      string `json:"export"` // its name in the module
	ID          string `json:"id"`     // the catalog ID of its operation
	Description string `json:"description,omitempty"`
}

// DiscoveryPrefix precedes the ids of the calls of @codemode/discovery, which are not operations
// of the catalog.
const DiscoveryPrefix = "discovery."

// Discovery lists the functions of @codemode/discovery with their numbers of parameters.
var Discovery = []struct {
	Name   string
	Length int
}{{"listServers", 0}, {"describeServer", 2}, {"listTools", 2}, {"getTool", 2}, {"searchTools", 2}}

// ServerOf returns the id of the server whose module has this path; ok is false if it is the path
// of no server.
func ServerOf(path string) (id string, ok bool) { return strings.CutPrefix(path, ModuleServers) }

// WholePrefix precedes the id of an operation in a call for the whole MCP result (CONTRACT
// section 8): {"result"}, or in a call that was started {"value", "result"}.
const WholePrefix = "whole:"

// FilesPrefix precedes the id of an operation in a call that was started, whose pictures and sound become
// files, as in calls of SDK.
const FilesPrefix = "files:"
