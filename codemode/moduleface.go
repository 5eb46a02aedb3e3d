package codemode

import (
	"context"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"

	"github.com/koan-go/koan/codemode/internal/bind"
	"github.com/koan-go/koan/codemode/internal/wire"
	"github.com/koan-go/koan/framework/ask"
	"github.com/koan-go/koan/framework/catalog"
	"github.com/koan-go/koan/framework/fault"
	"github.com/koan-go/koan/framework/run"
)

// runMembers are the input of codemode.run (codemode-run-spec section 3.2).
var runMembers = members{
	{name: "code", required: true, check: isString, schema: map[string]any{"type": "string", "description": "JavaScript or TypeScript source of an ES module."}},
	limitsMember(),
	texts("requestedCapabilities", "Ids of servers that the code is going to import."),
}

const runOutput = `{"type":"object","required":["logs","result","diagnostics"],"properties":{` +
	`"logs":{"type":"array","items":{"type":"object","required":["level","message","timeMs"],"properties":{"level":{"enum":["debug","log","warn","error"]},"message":{"type":"string"},"timeMs":{"type":"integer"}}}},` +
	`"result":{"description":"The last value of globalThis.__codemode_result__; null if it was never set, and after a failure."},` +
	`"diagnostics":{"type":"array","items":{"type":"object","required":["severity","code","message"],"properties":{"severity":{"enum":["error","warning","info"]},"code":{"type":"string"},"message":{"type":"string"},"hint":{"type":"string"},"path":{"type":"string"},"errorClass":{"type":"string"}}}},` +
	`"toolTrace":{"type":"array","items":{"type":"object","required":["serverId","toolName","durationMs","ok"],"properties":{"serverId":{"type":"string"},"toolName":{"type":"string"},"durationMs":{"type":"integer"},"ok":{"type":"boolean"},"error":{"type":"string"}}}}}}`

// moduleFace is the face of codemode-run-spec. It is the key of its own description, too.
type moduleFace struct{ scripts *scripts }

// operation is codemode.run. It accepts any input: problems of a request are in the
// diagnostics of its response, which is never an error.
func (m moduleFace) operation() *catalog.Operation {
	return &catalog.Operation{
		ID: catalog.CodeID(faceCodemode, "run"),
		Contract: catalog.Contract{
			Input: runMembers.schema(), Output: json.RawMessage(runOutput), Proven: true,
			Effects: catalog.Effects{Destructive: true},
			Example: json.RawMessage(`{"code":"import { listServers } from \"@codemode/discovery\";\nglobalThis.__codemode_result__ = await listServers();"}`),
		},
		Listing: catalog.Listing{
			Title:   "Run code",
			Summary: "Runs an ES module that imports the servers' tools from @codemode/servers/*.",
			Describe: func(v *catalog.View) string {
				return catalog.Memo(v, m, func() string { return m.describe(v) })
			},
			Reach: catalog.ReachTools,
		},
		Work: catalog.Work{Decode: decodeModule, Handler: m.run},
	}
}

// moduleInput is the input of codemode.run, or what is wrong with it.
type moduleInput struct {
	executeInput
	requested []string // capabilities
	wrong     error
}

// decodeModule takes any input.
func decodeModule(in catalog.Input) (catalog.Decoded, error) {
	v, err := runMembers.read(in.JSON)
	return catalog.Decoded{Value: moduleInput{executeInput{Code: v.text("code"), Limits: v.limits()}, v.texts("requestedCapabilities"), err}}, nil
}

// run serves codemode.run over the same runs as koan.code.execute. Its
// error is always nil: a failure is an envelope too.
func (m moduleFace) run(ctx context.Context, call catalog.Call) (json.RawMessage, error) {
	in := call.Decoded().(moduleInput)
	if in.wrong != nil {
		run.NoteRefusal(ctx, in.wrong)
		return replyWithoutRun(ctx, refusal(call, fault.From(in.wrong)))
	}
	e := newExecution(m.scripts, call, in.executeInput)
	e.module, e.before = true, m.unavailable(call.View(), in.requested)
	err := e.run(ctx)
	if ask.Waits(err) != nil {
		return nil, err // the client is asked first
	}
	if e.outcome != nil && e.outcome.Reply != nil {
		return e.outcome.Reply, nil
	}
	run.NoteRefusal(ctx, err) // unless there was a run
	return replyWithoutRun(ctx, e.envelope(err, e.before))
}

// moduleReply is the reply of a module's run. If it is kept, a repetition returns it
// again.
func (e *execution) moduleReply(err error) (json.RawMessage, error) {
	body, merr := encodeEnvelope(e.envelope(err, e.before))
	if merr != nil {
		return nil, fault.New(fault.Internal, "").Because(merr)
	}
	return body, err
}

// unavailable warns of requested servers that are not there, or cannot be reached. A script that
// imports one that is not there, or calls one that cannot be reached, fails.
func (m moduleFace) unavailable(v *catalog.View, requested []string) []diagnostic {
	var out []diagnostic
	servers := bind.Servers(v, m.scripts.app)
	for i, id := range requested {
		s, err := serverNamed(servers, id)
		if err == nil {
			err = s.Trouble()
		}
		if err != nil {
			d := diagnose(fault.From(err))
			d.Severity, d.Code, d.Path = wire.SeverityWarning, fault.DiagnosticCapability, fmt.Sprintf("/requestedCapabilities/%d", i)
			out = append(out, d)
		}
	}
	return out
}

// describe is the description that a model reads before it writes a module: the rules,
// an example that runs, what it can import, and the declarations within their budget.
func (m moduleFace) describe(v *catalog.View) string {
	var b strings.Builder
	b.WriteString(`Runs one ES module (JavaScript or TypeScript, top-level await) in a fresh sandbox, as one transaction: what it changes is kept when it ends cleanly, and nothing when it throws or passes a limit.
- Return data with globalThis.__codemode_result__ = value; log with console.log.
- Import tools from @codemode/servers/ID: async functions of one object that give the tool's result. Await independent calls together with Promise.all.
- listTools, getTool and searchTools of @codemode/discovery tell what there is; detail "full" gives schemas and TypeScript.
- Failures throw the classes of @codemode/errors, with code, hint and path.
- There is no network, file system, package or timer beyond setTimeout.
`)
	if m.scripts.config().maxCalls > 0 {
		b.WriteString("- At most " + strconv.Itoa(m.scripts.config().maxCalls) + " calls, " + strconv.Itoa(m.scripts.config().limits.MaxParallelCalls) + " at once.\n")
	}
	b.WriteString("\nExample:\n```js\n" + exampleModule(v, m.scripts.app) + "```\n")
	b.WriteString("\nModules (declarations: the resource " + modulesURI + ", or listTools with detail full):\n")
	if all := types.Modules(v, m.scripts.app); len(all) <= m.scripts.config().inlineTypes {
		b.WriteString(types.ModuleNames(v, m.scripts.app, essential-b.Len()) + "\nDeclarations:\n```ts\n" + all + "```\n")
		return b.String()
	}
	b.WriteString(types.ModuleNames(v, m.scripts.app, m.scripts.config().inlineTypes))
	return b.String()
}

// exampleModule is a module that runs in any app with this view, however empty
// its data.
func exampleModule(v *catalog.View, app bind.App) string {
	for _, s := range bind.Servers(v, app) {
		for i, op := range s.Operations {
			if op.ID.Kind == catalog.KindEntity && op.ID.Op == "collection" {
				return fmt.Sprintf("import { %s } from \"@codemode/servers/%s\";\nconst { items, totalCount } = await %[1]s({ pageSize: 5 });\nglobalThis.__codemode_result__ = { totalCount, first: items };\n", s.Tools[i].Export, s.ID)
			}
		}
	}
	return "import { listServers } from \"@codemode/discovery\";\nglobalThis.__codemode_result__ = await listServers();\n"
}

// runInstructions are the text that codemode-run-spec requires in a system prompt.
const runInstructions = `codemode.run runs one ES module that imports tools from @codemode/servers/*. Its failures stand in "diagnostics".
Capability identifiers (requestedCapabilities): the ids of servers, as listServers of @codemode/discovery gives them. Limit keys: timeoutMs, maxMemoryBytes, maxLogBytes, maxToolCalls; they only lower the server's.
A tool function takes one input, an object (a tool whose schema is not an object takes a value of that type; one without a schema takes no input or {}), and gives the tool's structuredContent, otherwise its one text block, parsed if it is a JSON object or array; several text blocks are a list, and a result with other blocks comes whole, with its data in base64; r.$raw is the whole result of any other object. $resources and $prompts of a server's module list and read its resources and prompts.
Beyond the language: URL, URLSearchParams, TextEncoder, TextDecoder, setTimeout, clearTimeout, queueMicrotask, structuredClone, console, Intl for "en", the global SDK. Restrictions: only @codemode/* can be imported, import.meta is empty, Temporal is missing, regular expressions have no flag d, no modifiers and no properties of strings, time stands still while the code computes and passes with calls and timers.`
