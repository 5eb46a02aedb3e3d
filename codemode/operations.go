package codemode

import (
	"encoding/json"
	"strconv"
	"strings"

	"github.com/koan-go/koan/codemode/typegen"
	"github.com/koan-go/koan/framework/catalog"
	"github.com/koan-go/koan/framework/fault"
)

// executeMembers are the input of koan.code.execute.
var executeMembers = members{
	{name: "code", required: true, check: isString, schema: map[string]any{"type": "string", "description": "The script's source: statements, or one function expression."}},
	anyValue("args", "Any JSON value; the script sees it as SDK.args."),
	text("set", "The dataset of every call that names none."),
	choice("language", "Both are accepted when absent.", "javascript", "typescript"),
	text("entryFunction", "A function of the script to call after its statements. A function named run is called when no statement calls it."),
	flag("dryRun", "Do everything, show the changes, then roll back.", false),
	flag("atomic", "One transaction for all calls; false commits each call by itself.", true),
	limitsMember(),
	texts("only", "Narrow this run to these: \"Todo\", \"plugin:vision\", \"server:github\"."),
	texts("include", "What else to return.", includeChanges, includeCalls),
	text("idempotencyKey", "Not supported by this build."),
	text("correlationId", "Kept in the journal."),
}

func limitsMember() member {
	parts := members{
		whole("timeoutMs", "Time by the clock.", 0, 0), whole("maxMemoryBytes", "Memory of the script.", 0, 0),
		whole("maxLogBytes", "Log text that is kept.", 0, 0), whole("maxToolCalls", "Calls through SDK.", 0, 0),
	}
	properties := map[string]any{}
	for _, m := range parts {
		properties[m.name] = m.schema
	}
	return member{
		name:   "limits",
		schema: map[string]any{"type": "object", "properties": properties, "description": "Limits of this run; they only lower the server's."},
		check: func(v any) (string, string) {
			if _, ok := v.(map[string]any); !ok {
				return "must be an object", "object"
			}
			return "", ""
		},
		inside: func(v any) (wrong []fault.Detail) {
			for _, m := range parts {
				if one, ok := v.(map[string]any)[m.name]; ok {
					wrong = append(wrong, m.problems(one)...)
				}
			}
			return wrong
		},
	}
}

var validateMembers = members{
	{name: "code", required: true, check: isString, schema: map[string]any{"type": "string", "description": "The script's source."}},
	choice("language", "Both are accepted when absent.", "javascript", "typescript"),
}

var searchMembers = members{
	{name: "query", required: true, check: isString, schema: map[string]any{"type": "string", "description": "Words; an empty query lists everything."}},
	choice("detail", "How much to tell of each: full has declarations that are ready to use. The default is summary.", detailName, detailSummary, detailFull),
	whole("limit", "How many at most.", defaultHits, maxHits),
}

// The output schemas describe success; surfaces admit the fault shape beside it.
const (
	executeOutput = `{"type":"object","required":["success","logs","changeCounts"],"properties":{` +
		`"success":{"const":true},` +
		`"answer":{"description":"What SDK.Out.answer was given last."},` +
		`"result":{"description":"globalThis.__codemode_result__, else globalThis.result, else what the entry function or a top-level return gave, else the last expression's value."},` +
		`"logs":{"type":"array","items":{"type":"object","required":["level","message","timeMs"],"properties":{"level":{"enum":["debug","info","warn","error"]},"message":{"type":"string"},"timeMs":{"type":"integer"}}}},` +
		`"changeCounts":{"type":"array","items":{"type":"object","required":["entity","set","created","updated","deleted"],"properties":{"entity":{"type":"string"},"set":{"type":"string"},"created":{"type":"integer"},"updated":{"type":"integer"},"deleted":{"type":"integer"}}}},` +
		`"changes":{"type":"array","items":{"type":"object","required":["entity","set","id","action"],"properties":{"entity":{"type":"string"},"set":{"type":"string"},"id":{"type":"string"},"action":{"enum":["create","update","delete"]},"before":{"type":["object","null"]},"after":{"type":["object","null"]}}}},` +
		`"calls":{"type":"array","items":{"type":"object","required":["serverId","toolName","ok","durationMs"],"properties":{"serverId":{"type":"string"},"toolName":{"type":"string"},"ok":{"type":"boolean"},"durationMs":{"type":"integer"},"error":{"type":"string"}}}}}}`
	validateOutput = `{"type":"object","required":["valid"],"properties":{"valid":{"type":"boolean"},"error":{"type":"string"},` +
		`"diagnostics":{"type":"array","items":{"type":"object","required":["severity","code","message"],"properties":{"severity":{"enum":["error","warning"]},"code":{"type":"string"},"message":{"type":"string"},"hint":{"type":"string"},"line":{"type":"integer"},"column":{"type":"integer"}}}}}}`
	searchOutput = `{"type":"object","required":["query","results"],"properties":{"query":{"type":"string"},` +
		`"results":{"type":"array","items":{"type":"object","required":["id","name","score"],"properties":{"id":{"type":"string"},"name":{"type":"string"},"summary":{"type":"string"},"score":{"type":"number"},"declaration":{"type":"string"}}}}}}`
)

func (p *provider) executeOperation() *catalog.Operation {
	return &catalog.Operation{
		ID: catalog.CodeID(faceKoan, "execute"), Title: "Run a script",
		Summary: "Runs one JavaScript program against the app's entities and plugins, as one transaction.",
		Describe: func(v *catalog.View) string {
			return catalog.Memo(v, describeKey{p}, func() string { return p.describeExecute(v) })
		},
		Input: executeMembers.schema(), Check: executeMembers.check, Output: json.RawMessage(executeOutput),
		Effects: catalog.Effects{Destructive: true},
		Example: json.RawMessage(`{"code":"SDK.Out.answer(\"Hello, \" + SDK.args.name)","args":{"name":"Koan"}}`),
		Reach:   catalog.ReachTools, Handler: p.execute,
	}
}

func (p *provider) validateOperation() *catalog.Operation {
	return &catalog.Operation{
		ID: catalog.CodeID(faceKoan, "validate"), Title: "Check a script",
		Summary: "Checks a script without running it: syntax, entities, methods, fields, sets. Costs no SDK call.",
		Input:   validateMembers.schema(), Check: validateMembers.check, Output: json.RawMessage(validateOutput),
		Effects: catalog.Effects{ReadOnly: true, Idempotent: true},
		Example: json.RawMessage(`{"code":"SDK.Out.answer(1 + 1)"}`),
		Reach:   catalog.ReachTools, Handler: p.validate,
	}
}

func (p *provider) searchOperation() *catalog.Operation {
	return &catalog.Operation{
		ID: catalog.CodeID(faceKoan, "search"), Title: "Search the SDK",
		Summary: "Finds entities and functions that scripts can use, by name, description and field; detail full gives their declarations.",
		Input:   searchMembers.schema(), Check: searchMembers.check, Output: json.RawMessage(searchOutput),
		Effects: catalog.Effects{ReadOnly: true, Idempotent: true},
		Example: json.RawMessage(`{"query":"list"}`),
		Reach:   catalog.ReachTools, Handler: p.search,
	}
}

// describeKey is the provider's, since its configuration decides the text.
type describeKey struct{ p *provider }

const rules = `Runs one JavaScript program in a sandbox, as one transaction: it commits when the program ends cleanly, and nothing is kept when it throws or passes a limit.
- SDK calls are synchronous: no await. Failures throw a KoanError with code and hint.
- Give the user's answer with SDK.Out.answer(value); log with console.log.
- Filter, sort and page in the query; relationships come with the option "with". Absent fields keep their values in upsert.
- There is no network, file system, require or timer beyond setTimeout.
- dryRun: true shows the changes and keeps nothing.
`

// describeExecute is what a model reads before it writes a script: the rules, an
// example that runs, and the declarations within their budget.
func (p *provider) describeExecute(v *catalog.View) string {
	var b strings.Builder
	b.WriteString(rules)
	if p.config.maxCalls > 0 {
		b.WriteString("- At most " + strconv.Itoa(p.config.maxCalls) + " SDK calls in one script.\n")
	}
	b.WriteString("\nExample:\n```js\n" + exampleScript(v) + "```\n")
	inline, complete := typegen.Inline(v, p.config.inlineTypes)
	if complete {
		b.WriteString("\nDeclarations:\n```ts\n" + inline + "```\n")
		return b.String()
	}
	b.WriteString("\nSDK has the following; koan.code.search with detail full gives their declarations:\n" + inline)
	return b.String()
}

// exampleScript is a script that runs in any app with this view, however empty
// its data.
func exampleScript(v *catalog.View) string {
	for _, r := range v.Resources() {
		if r.Has("collection") {
			return "const page = SDK.Entities." + r.Name + ".collection({ pageSize: 5 });\n" +
				"SDK.Out.answer({ total: page.totalCount, first: page.items });\n"
		}
	}
	return "SDK.Out.answer({ set: SDK.run.set, args: SDK.args });\n"
}
