package fault

import "sort"

// Retry says whether trying again can succeed.
type Retry string

const (
	// Safe: the same call may succeed later, and repeating it does no harm.
	Safe Retry = "safe"
	// Fix: the call has to be changed first; the hint says how.
	Fix Retry = "fix"
	// Never: no change of the call by its author helps.
	Never Retry = "never"
)

// Code names one kind of failure. The values exist in this package only.
type Code string

// The codes of CONTRACT section 4. Each has a row in the registry.
const (
	InvalidCode           Code = "invalid_code"
	CodeTooLong           Code = "code_too_long"
	SyntaxError           Code = "syntax_error"
	JavaScriptError       Code = "javascript_error"
	ScriptError           Code = "script_error"
	Timeout               Code = "timeout"
	MemoryExceeded        Code = "memory_exceeded"
	NeverSettled          Code = "never_settled"
	SDKCallsExceeded      Code = "sdk_calls_exceeded"
	ParallelCallsExceeded Code = "parallel_calls_exceeded"
	MissingAnswer         Code = "missing_answer"
	ResultTooLarge        Code = "result_too_large"
	CallTooLarge          Code = "call_too_large"
	ExecutionError        Code = "execution_error"
	ToolNotFound          Code = "tool_not_found"
	ServerNotFound        Code = "server_not_found"
	ServiceUnavailable    Code = "service_unavailable"
	InvalidPayload        Code = "invalid_payload"
	NotFound              Code = "not_found"
	Conflict              Code = "conflict"
	ReadOnly              Code = "read_only"
	UnknownSet            Code = "unknown_set"
	CrossSet              Code = "cross_set"
	SetBusy               Code = "set_busy"
	Forbidden             Code = "forbidden"
	Unauthorized          Code = "unauthorized"
	RateLimited           Code = "rate_limited"
	ApprovalRequired      Code = "approval_required"
	ApprovalDenied        Code = "approval_denied"
	PlanStale             Code = "plan_stale"
	ReplayDiffers         Code = "replay_differs"
	InputRequired         Code = "input_required"
	InProgress            Code = "in_progress"
	OutcomeUnknown        Code = "outcome_unknown"
	DryRunBlocked         Code = "dry_run_blocked"
	Cancelled             Code = "cancelled"
	QueueOverloaded       Code = "queue_overloaded"
	ToolTimeout           Code = "tool_timeout"
	UpstreamError         Code = "upstream_error"
	PluginUnavailable     Code = "plugin_unavailable"
	CodeModeDisabled      Code = "code_mode_disabled"
	InvalidCodeModeID     Code = "invalid_code_mode_id"
	SchemaUnavailable     Code = "schema_unavailable"
	CapabilityUnsupported Code = "capability_unsupported"
	ParseError            Code = "parse_error"
	InvalidRequest        Code = "invalid_request"
	MethodNotFound        Code = "method_not_found"
	Internal              Code = "internal"
)

// Entry is the registry's row for one code.
type Entry struct {
	Code    Code
	Meaning string
	Hint    string // the default hint; a Fault may carry a better one
	Retry   Retry
	HTTP    int  // status of the REST API
	RPC     int  // JSON-RPC error code where it becomes a protocol error
	EndsRun bool // a quota or limit: it ends the run even when the script catches it
	// Class is its name among the classes of @codemode/errors
	// (codemode-run-spec section 7.1).
	Class string
	// Gateway is its name in the gateway-code-mode-contract; "" where it is one of
	// many ways in which code fails.
	Gateway string
	// Tooling is its name in the tooling-api-contract, "" where that text has none.
	Tooling string
}

const (
	rpcParse    = -32700
	rpcRequest  = -32600
	rpcMethod   = -32601
	rpcParams   = -32602
	rpcInternal = -32603
	rpcOverload = -32001
)

var registry = map[Code]Entry{}

func entry(c Code, meaning, hint string, r Retry, http, rpc int, class string, opts ...func(*Entry)) {
	e := Entry{Code: c, Meaning: meaning, Hint: hint, Retry: r, HTTP: http, RPC: rpc, Class: class}
	for _, o := range opts {
		o(&e)
	}
	registry[c] = e
}

func endsRun(e *Entry) { e.EndsRun = true }

func tooling(name string) func(*Entry) { return func(e *Entry) { e.Tooling = name } }

func gateway(name string) func(*Entry) { return func(e *Entry) { e.Gateway = name } }

const (
	classBase   = "CodemodeError"
	classSchema = "SchemaValidationError"
	classTool   = "ToolNotFoundError"
	classServer = "ServerNotFoundError"
	classCall   = "ToolCallError"
	classAuth   = "AuthenticationError"
	classLimit  = "SandboxLimitError"
)

func init() {
	entry(InvalidCode, "The code is empty.", "Send the script's source in `code`.", Fix, 400, rpcParams, classBase)
	entry(CodeTooLong, "The code is longer than sandbox.maxCodeLength.", "Shorten the script, or move data out of it into `args`.", Fix, 413, rpcParams, classLimit)
	entry(SyntaxError, "The code does not parse.", "Correct the syntax at the named line and column.", Fix, 400, rpcParams, classBase)
	entry(JavaScriptError, "The script threw an error that it did not catch.", "Read the message and the line, correct the script, and run it again.", Fix, 422, rpcInternal, classBase)
	entry(ScriptError, "The script raised an error that it did not catch (Python and Node).", "Read the message and the line, correct the script, and run it again.", Fix, 422, rpcInternal, classBase)
	entry(Timeout, "The script exceeded its CPU or wall-clock limit.", "Do less in one run: filter in the query, use fewer calls, or split the job.", Fix, 422, rpcInternal, classLimit, endsRun)
	entry(MemoryExceeded, "The script exceeded its memory limit.", "Read less at once: use `fields`, `filter` and `each` instead of loading everything.", Fix, 422, rpcInternal, classLimit, endsRun)
	entry(NeverSettled, "The script is waiting for a promise that can never settle.", "Await only calls and timers, and make sure that every `new Promise` is resolved or rejected.", Fix, 422, rpcInternal, classBase)
	entry(SDKCallsExceeded, "The script made more calls than allowed.", "Use `upsertMany`, `updateByQuery`, `deleteByQuery`, `aggregate`, `with` or a filter instead of one call per row.", Fix, 429, rpcInternal, classLimit, endsRun, gateway("tool_call_limit_exceeded"))
	entry(ParallelCallsExceeded, "More calls were in flight at once than allowed.", "Await calls in smaller groups.", Fix, 429, rpcInternal, classLimit, endsRun)
	entry(MissingAnswer, "The script ended without SDK.Out.answer().", "Call SDK.Out.answer(...) with what the user should see before the script ends.", Fix, 422, rpcInternal, classBase)
	entry(ResultTooLarge, "The result is too large to return.", "Return counts, ids or the few fields that are needed.", Fix, 422, rpcInternal, classLimit)
	entry(CallTooLarge, "The arguments or the result of one call are larger than allowed.", "Send or ask for less in one call: use `fields`, `pageSize` or smaller batches.", Fix, 413, rpcParams, classLimit)
	entry(ExecutionError, "Something that the call or the run depends on, such as a plugin, failed or returned an invalid result.", "Try again; if it keeps failing, report it with the run's id.", Safe, 500, rpcInternal, classBase)
	entry(ToolNotFound, "The tool does not exist, or is not available to this caller.", "List the available tools, or search for one.", Fix, 404, rpcParams, classTool, tooling("NOT_FOUND"))
	entry(ServerNotFound, "The server or plugin does not exist.", "Name one of the connected servers.", Fix, 404, rpcParams, classServer, gateway("not_found"), tooling("NOT_FOUND"))
	entry(ServiceUnavailable, "A service that the call needs is not available.", "Try again shortly; `doctor` says what is missing.", Safe, 503, rpcInternal, classCall)
	entry(InvalidPayload, "The input does not fit the operation.", "Correct the named fields.", Fix, 400, rpcParams, classSchema, tooling("INVALID_REQUEST"))
	entry(NotFound, "The entity does not exist.", "Check the id and the set.", Fix, 404, rpcParams, classCall, tooling("NOT_FOUND"))
	entry(Conflict, "Somebody else changed the data, or a unique value is already taken.", "Read the entity again and repeat the change.", Safe, 409, rpcInternal, classCall)
	entry(ReadOnly, "The entity cannot be changed here.", "Use its read operations; it has no others.", Never, 405, rpcParams, classCall)
	entry(UnknownSet, "The set does not exist for this caller.", "Use a set that the declarations list.", Fix, 404, rpcParams, classSchema)
	entry(CrossSet, "The run already writes to another set.", "Write to one set per run, or send `atomic: false`.", Fix, 409, rpcInternal, classCall)
	entry(SetBusy, "Too many writers are waiting for this set.", "Try again shortly.", Safe, 503, rpcInternal, classCall)
	entry(Forbidden, "The caller may not do this.", "Ask for the scope that the message names.", Never, 403, rpcParams, classAuth, tooling("FORBIDDEN"))
	entry(Unauthorized, "The caller is not authenticated.", "Authenticate and call again.", Fix, 401, rpcRequest, classAuth)
	entry(RateLimited, "Too many calls in a short time.", "Wait for the time that the message names.", Safe, 429, rpcOverload, classCall)
	entry(ApprovalRequired, "A person must approve what this run changes.", "Have the plan approved, then call again with its id.", Fix, 403, rpcInternal, classCall)
	entry(ApprovalDenied, "A person denied what this run changes.", "Ask the person what they want instead.", Never, 403, rpcInternal, classCall)
	entry(PlanStale, "The plan is no longer valid: another plan has replaced it, or it was made for another version of the app.", "Decide on the plan that the details name, or make a new plan.", Fix, 409, rpcInternal, classCall)
	entry(ReplayDiffers, "The replay diverged from the recorded run.", "See the difference that the replay reports.", Never, 409, rpcInternal, classBase, endsRun)
	entry(InputRequired, "The client must answer a question first.", "Call again with the answers, as protocol version 2026-07-28 specifies.", Safe, 428, rpcInternal, classCall, endsRun)
	entry(InProgress, "A run with this idempotency key is still in progress.", "Wait, then ask again with the same key.", Safe, 409, rpcInternal, classCall)
	entry(OutcomeUnknown, "It is not known whether an outside call took effect.", "Check the outside system by hand before trying again.", Never, 500, rpcInternal, classCall)
	entry(DryRunBlocked, "The call has an effect outside this system, which a dry run does not allow.", "Leave the call out of the dry run, or run for real.", Fix, 409, rpcInternal, classCall)
	entry(Cancelled, "The run was cancelled, by its caller or by the end of the server.", "Run it again if it is still needed.", Safe, 499, rpcInternal, classBase, tooling("CANCELLED"))
	entry(QueueOverloaded, "Too many calls are in flight.", "Wait for some of them to finish.", Safe, 503, rpcOverload, classLimit, tooling("QUEUE_OVERLOADED"))
	entry(ToolTimeout, "The tool did not finish in time.", "Try again; if it times out again, ask for less at once or raise server.toolTimeoutMs.", Safe, 504, rpcInternal, classCall, tooling("TOOL_TIMEOUT"))
	entry(UpstreamError, "The server behind the tool, or the client that was asked, returned an error or an invalid answer.", "Read its message and correct the call.", Fix, 502, rpcInternal, classCall)
	entry(PluginUnavailable, "The plugin behind the tool is not running.", "Try again: it is being restarted. If it stays unavailable, run `doctor`.", Safe, 503, rpcInternal, classCall)
	entry(CodeModeDisabled, "Code mode is disabled.", "Set codeMode.enabled, or use the entity tools.", Never, 403, rpcParams, classBase, gateway(string(CodeModeDisabled)))
	entry(InvalidCodeModeID, "This id is not in the catalog.", "Use an id exactly as search returns it.", Fix, 422, rpcParams, classBase, gateway(string(InvalidCodeModeID)))
	entry(SchemaUnavailable, "The schema of this operation is not available.", "Try again when its server is connected.", Safe, 422, rpcInternal, classBase, gateway(string(SchemaUnavailable)))
	entry(CapabilityUnsupported, "This build cannot do what was asked for.", "Choose one of the values that the message names.", Never, 501, rpcInternal, classBase)
	entry(ParseError, "The message is not JSON.", "Send one JSON object; over stdio, on one line.", Fix, 400, rpcParse, classBase)
	entry(InvalidRequest, "The message is not a valid request.", "Follow JSON-RPC 2.0 and the MCP schema.", Fix, 400, rpcRequest, classBase, tooling("INVALID_REQUEST"))
	entry(MethodNotFound, "The method does not exist.", "Use a method of the negotiated protocol version.", Fix, 404, rpcMethod, classBase)
	entry(Internal, "The server has a defect.", "Report it with the run's id.", Never, 500, rpcInternal, classBase, tooling("INTERNAL"))
}

// Lookup returns the registry's row for a code; ok is false for an unknown one.
func Lookup(c Code) (e Entry, ok bool) {
	e, ok = registry[c]
	return e, ok
}

// Entries returns all rows, sorted by code.
func Entries() []Entry {
	out := make([]Entry, 0, len(registry))
	for _, e := range registry {
		out = append(out, e)
	}
	sort.Slice(out, func(i, j int) bool { return out[i].Code < out[j].Code })
	return out
}
