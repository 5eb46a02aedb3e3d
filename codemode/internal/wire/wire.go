// Package wire is the contract between the host and the executor of scripts: jobs, results, the
// executor interface, and the frames between host and worker.
//
// What belongs here: plain data, its encoding, and interfaces over it. Not here:
// an engine, a process, a catalog.
package wire

import (
	"encoding/json"

	"github.com/koan-go/koan/framework/fault"
)

// Task is what a worker does with the code.
type Task string

const (
	Execute  Task = "execute"
	Validate Task = "validate" // parse and check, never run
	Declare  Task = "declare"  // read what the file of an action declares, never run
)

// Job is one attempt at one script.
type Job struct {
	Task          Task            `json:"task"`
	Code          string          `json:"code"`
	Language      string          `json:"language,omitempty"` // "javascript", "typescript", "" accepts both
	EntryFunction string          `json:"entryFunction,omitempty"`
	Args          json.RawMessage `json:"args,omitempty"` // SDK.args
	// Module runs the code with the semantics of an ES module, and takes the result
	// from globalThis.__codemode_result__ alone (codemode-run-spec section 3.2).
	Module bool `json:"module,omitempty"`
	// CallTool defines the global function callTool(id, params), which calls any
	// operation by its catalog ID (gateway-code-mode-contract).
	CallTool bool `json:"callTool,omitempty"`
	// Action says that the code is the file of an action: its default export is called with
	// Args, and what that returns is the result.
	Action bool `json:"action,omitempty"`
	// Inner says that the job is part of another job, which waits for it: it does not count
	// against the number of jobs that may run at once.
	Inner bool `json:"-"`
	Occasion
	// Bindings are sent to a worker in a separate frame, since the jobs of one caller usually
	// have the same ones.
	Bindings Bindings `json:"bindings,omitzero"`
	Limits   Limits   `json:"limits"`
	Allotment
	// Principal is the caller: callers take turns, and a worker runs the jobs of one caller
	// only. It is not sent to the worker.
	Principal string `json:"-"`
}

// Allotment is what a worker is given for a job beside its limits. The executor sets it.
type Allotment struct {
	// WallMs is the time until the run's deadline when the job starts; 0 means none.
	WallMs int64 `json:"wallMs,omitempty"`
	// CollectBytes is how much memory the worker's collector lets the script have before it
	// frees what it can.
	CollectBytes int64 `json:"collectBytes,omitempty"`
	// Last says that the worker gets no other job, so that it need not prepare for one.
	Last bool `json:"last,omitempty"`
}

// Occasion holds the part of a job that can differ when the same script runs again.
type Occasion struct {
	RunID  string `json:"runId"`
	Set    string `json:"set"`
	DryRun bool   `json:"dryRun,omitempty"`
	NowMs  int64  `json:"nowMs"` // Unix milliseconds: where the script's clock starts
	Seed   uint64 `json:"seed"`
}

// Limits bound one attempt.
type Limits struct {
	CPUMs          int   `json:"cpuMs"` // excludes waiting for the host
	MemoryBytes    int64 `json:"memoryBytes"`
	MaxRecursion   int   `json:"maxRecursion"`
	MaxLogEntries  int   `json:"maxLogEntries"`
	MaxLogBytes    int   `json:"maxLogBytes"`
	MaxResultBytes int   `json:"maxResultBytes"` // of result and of answer, each
	MaxCallBytes   int   `json:"maxCallBytes"`   // of one call's input, and of its output
	// MaxLogMessageBytes bounds one log message, MaxStackFrames the stack of a failure.
	MaxLogMessageBytes int `json:"maxLogMessageBytes"`
	MaxStackFrames     int `json:"maxStackFrames"`
	// MaxParallelCalls bounds the calls to plugins and upstreams that the host makes at once;
	// others wait. Calls to entities are made one at a time and do not count.
	MaxParallelCalls int `json:"maxParallelCalls"`
}

// MaxEmitted is how many values a script may emit. Together they may take as many bytes as
// its result.
const MaxEmitted = 100

// Bindings describe the members of SDK in a run. They are derived from the caller's View.
type Bindings struct {
	Version  string   `json:"version"` // of the View
	Entities []Entity `json:"entities"`
	Domains  []Domain `json:"domains"` // plugins: SDK.<Name>.<fn>
	// Upstreams are other MCP servers: SDK.Servers.<Name>.<fn>.
	Upstreams []Domain `json:"upstreams,omitempty"`
	Servers   []Server `json:"servers,omitempty"`

	// CallTool says that the job has callTool. It is the job's, and not sent.
	CallTool bool `json:"-"`

	encoded []byte // the JSON, set by Encoded; else nil
}

// Encoded returns bindings that keep their JSON, for use in many jobs. They must not be changed
// except with With.
func (b Bindings) Encoded() Bindings {
	b.encoded = b.JSON()
	return b
}

// With returns the bindings with other servers.
func (b Bindings) With(servers []Server) Bindings {
	b.Servers, b.encoded = servers, nil
	return b
}

// JSON returns the payload of KindBindings. The caller must not modify it.
func (b Bindings) JSON() []byte {
	if b.encoded != nil {
		return b.encoded
	}
	raw, err := Marshal(b)
	if err != nil {
		panic("wire: bindings are plain data: " + err.Error())
	}
	return raw
}

// Entity is SDK.Entities.<Name>. Ops are catalog ops ("get-by-id"), from which the worker derives
// the methods: collection, firstPage, page, each and all from collection; getById and findById
// from get-by-id; otherwise the camelCase name. Fields, Edges, Targets and Sets are for validate.
type Entity struct {
	Name     string   `json:"name"`
	Ops      []string `json:"ops"`
	ReadOnly bool     `json:"readOnly,omitempty"`
	Fields   []string `json:"fields,omitempty"`
	Edges    []string `json:"edges,omitempty"`
	// Targets are the target entities of the edges, by the edge's name.
	Targets map[string]string `json:"targets,omitempty"`
	// Many are the edges to many entities.
	Many []string `json:"many,omitempty"`
	// Kinds has a letter for each of Fields, its catalog.FieldClass, which decides how it can
	// be filtered. "" if they are not known.
	Kinds string   `json:"kinds,omitempty"`
	Sets  []string `json:"sets,omitempty"`
	// Versioned says that ifVersion is supported, Searchable that q is.
	Versioned  bool `json:"versioned,omitempty"`
	Searchable bool `json:"searchable,omitempty"`
}

// Domain is SDK.<Name>, or SDK.Servers.<Name>, with its functions.
type Domain struct {
	Name      string     `json:"name"`
	Functions []Function `json:"functions"`
	// Any is the catalog ID of the operation that a name which is not among Functions calls,
	// with {tool, input}; "" if there is none.
	Any string `json:"any,omitempty"`
	// Groups are the groups of functions of an upstream server.
	Groups []Group `json:"groups,omitempty"`
}

// Group is an object with functions: $resources and $prompts of an upstream server.
type Group struct {
	Name      string     `json:"name"`
	Functions []Function `json:"functions"`
}

// Function is a function of SDK; ID is the catalog ID of its operation.
type Function struct {
	Name string `json:"name"`
	ID   string `json:"id"`
	// Leading are the members of the input that can be given by position, if the first
	// argument is a string.
	Leading []string `json:"leading,omitempty"`
}

// Declaration is the result of the task Declare.
type Declaration struct {
	Action json.RawMessage  `json:"action"`
	Places map[string]Place `json:"places"` // by JSON Pointer into Action
}

// Place is a position in the user's text, counted from 1.
type Place struct {
	Line   int `json:"line"`
	Column int `json:"column"`
}

// Log is one captured message (CONTRACT section 2).
type Log struct {
	Level   string `json:"level"` // debug, info, warn, error
	Message string `json:"message"`
	TimeMs  int64  `json:"timeMs"` // since the script started
}

// Result is the outcome of a job. If Fault is set, Result and Answer do not count.
type Result struct {
	Result json.RawMessage `json:"result,omitempty"` // nil: undefined
	Answer json.RawMessage `json:"answer,omitempty"` // nil: none
	// Files are the ids of those that SDK.Out.file put into the result. Calls of FilesGet
	// returned each.
	Files       []string     `json:"files,omitempty"`
	Fault       *fault.Fault `json:"fault,omitempty"` // with the user's line and column
	Diagnostics []Diagnostic `json:"diagnostics,omitempty"`
	// Last says that the worker must not run another script.
	Last       bool              `json:"last,omitempty"`
	Logs       []Log             `json:"-"` // collected by the host from log frames
	Emitted    []json.RawMessage `json:"-"` // values of SDK.Out.emit, collected by the host from their frames
	CPUMs      float64           `json:"cpuMs"`
	PeakMemory int64             `json:"peakMemory"` // the largest resident set that the host measured, in bytes
}

// FilesGet is the operation that describes a file.
const FilesGet = "plugin::files.get"

// MaxFiles bounds Result.Files.
const MaxFiles = 32

// Diagnostic is one finding of validate (CONTRACT section 2). Code is one of those of this package.
type Diagnostic struct {
	Severity string `json:"severity"` // error, warning
	Code     string `json:"code"`
	Message  string `json:"message"`
	Hint     string `json:"hint,omitempty"`
	Line     int    `json:"line,omitempty"`
	Column   int    `json:"column,omitempty"`
	Path     string `json:"path,omitempty"` // of an argument: JSON Pointer into the call's input
}
