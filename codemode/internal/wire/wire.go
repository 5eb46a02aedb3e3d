// Package wire is the contract between the host and what runs a script: the job,
// the result, the executor interface, and the frames between host and worker.
//
// What belongs here: plain data, its encoding, and interfaces over it. What must
// never: an engine, a process, a catalog.
package wire

import (
	"encoding/json"

	"github.com/koan-go/koan/framework/fault"
)

// Task says what a worker does with the code.
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
	// Inner says that the job is part of another one, which waits for it: it takes no place
	// of its own among those that run at once.
	Inner bool `json:"-"`
	Occasion
	// Bindings go to a worker in a frame of their own: the jobs of one caller mostly
	// have the same.
	Bindings Bindings `json:"bindings,omitzero"`
	Limits   Limits   `json:"limits"`
	// WallMs is how much of the run's time by the clock is left where the job begins; 0
	// is no bound. The executor fills it in.
	WallMs int64 `json:"wallMs,omitempty"`
	// Principal is whose job it is: callers take turns, and a worker runs jobs of one
	// caller only. The worker is not told.
	Principal string `json:"-"`
}

// Occasion is what differs between the attempts at a script.
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
	// MaxLogMessageBytes bounds one message, MaxStackFrames what a failure tells of the
	// calls that led to it.
	MaxLogMessageBytes int `json:"maxLogMessageBytes"`
	MaxStackFrames     int `json:"maxStackFrames"`
	// MaxParallelCalls bounds the calls to plugins and upstreams that are in flight
	// at once. Those to entities wait in a queue and do not count.
	MaxParallelCalls int `json:"maxParallelCalls"`
}

// MaxEmitted is how many values a script may emit. Together they may take as many bytes as
// its result.
const MaxEmitted = 100

// Bindings are what SDK has in this run, made from the caller's View.
type Bindings struct {
	Version  string   `json:"version"` // of the View
	Entities []Entity `json:"entities"`
	Domains  []Domain `json:"domains"` // plugins: SDK.<Name>.<fn>
	// Upstreams are other MCP servers: SDK.Servers.<Name>.<fn>.
	Upstreams []Domain `json:"upstreams,omitempty"`
	Servers   []Server `json:"servers,omitempty"`

	encoded []byte // of what Encoded gave; nil: it is made when it is needed
}

// Encoded returns bindings that have their JSON with them: for those that many jobs
// have. They must not be changed but by With.
func (b Bindings) Encoded() Bindings {
	b.encoded = b.JSON()
	return b
}

// With returns the same bindings with these servers.
func (b Bindings) With(servers []Server) Bindings {
	b.Servers, b.encoded = servers, nil
	return b
}

// JSON is the payload of KindBindings. It must not be changed.
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

// Entity is SDK.Entities.<Name>. Ops are catalog ops ("get-by-id"); the worker
// derives the methods: collection gives collection, firstPage, page, each, all;
// get-by-id gives getById and findById; the others give their camelCase name.
// Fields, Edges, Targets and Sets are there for validate.
type Entity struct {
	Name     string   `json:"name"`
	Ops      []string `json:"ops"`
	ReadOnly bool     `json:"readOnly,omitempty"`
	Fields   []string `json:"fields,omitempty"`
	Edges    []string `json:"edges,omitempty"`
	// Targets says which entity an edge leads to, by the edge's name.
	Targets map[string]string `json:"targets,omitempty"`
	// Many are the edges that lead to many.
	Many []string `json:"many,omitempty"`
	// Kinds has a letter for each of Fields: what a filter may ask of it. "" where
	// nobody said.
	Kinds string   `json:"kinds,omitempty"`
	Sets  []string `json:"sets,omitempty"`
	// Versioned says that ifVersion works, Searchable that q does.
	Versioned  bool `json:"versioned,omitempty"`
	Searchable bool `json:"searchable,omitempty"`
}

// Domain is SDK.<Name>, or SDK.Servers.<Name>, with its functions.
type Domain struct {
	Name      string     `json:"name"`
	Functions []Function `json:"functions"`
	// Any is the catalog ID of the operation that any name calls which is not among
	// Functions, with {tool, input}; "" for none.
	Any string `json:"any,omitempty"`
	// Groups are the objects beside the functions of an upstream server.
	Groups []Group `json:"groups,omitempty"`
}

// Group is an object with functions: $resources and $prompts of an upstream server.
type Group struct {
	Name      string     `json:"name"`
	Functions []Function `json:"functions"`
}

// Function is one callable; ID is the catalog ID it calls.
type Function struct {
	Name string `json:"name"`
	ID   string `json:"id"`
	// Leading are members of the input that can be given by position instead, where the
	// first of them is a string.
	Leading []string `json:"leading,omitempty"`
}

// Declaration is the result of the task Declare.
type Declaration struct {
	Action json.RawMessage  `json:"action"`
	Places map[string]Place `json:"places"` // by JSON Pointer into Action
}

// Place is a line and a column of the user's, from 1.
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

// Result is how an attempt ended. Exactly one of Fault and the clean fields
// counts.
type Result struct {
	Result      json.RawMessage `json:"result,omitempty"` // nil: undefined
	Answer      json.RawMessage `json:"answer,omitempty"` // nil: none was given
	Fault       *fault.Fault    `json:"fault,omitempty"`  // with the user's line and column
	Diagnostics []Diagnostic    `json:"diagnostics,omitempty"`
	// Last says that the worker is not fit for another script.
	Last bool  `json:"last,omitempty"`
	Logs []Log `json:"-"` // collected by the host from log frames
	// Emitted are what the script emitted, collected by the host from their frames.
	Emitted    []json.RawMessage `json:"-"`
	CPUMs      float64           `json:"cpuMs"`
	PeakMemory int64             `json:"peakMemory"` // bytes, resident, as the host saw it
}

// Diagnostic is one finding of validate (CONTRACT section 2). Code is of
// validate's own list.
type Diagnostic struct {
	Severity string `json:"severity"` // error, warning
	Code     string `json:"code"`
	Message  string `json:"message"`
	Hint     string `json:"hint,omitempty"`
	Line     int    `json:"line,omitempty"`
	Column   int    `json:"column,omitempty"`
	Path     string `json:"path,omitempty"` // of an argument: JSON Pointer into the call's input
}
