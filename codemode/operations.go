package codemode

import (
	"encoding/json"
	"slices"
	"strconv"
	"strings"

	"github.com/koan-go/koan/codemode/internal/language"
	"github.com/koan-go/koan/framework/catalog"
	"github.com/koan-go/koan/framework/fault"
)

// executeMembers are the input of koan.code.execute.
var executeMembers = members{
	{name: codeName, mayBeEmpty: true, check: isString, schema: map[string]any{"type": "string"}},
	anyValue("args", "The script's SDK.args."),
	filled("set", "Default dataset."),
	languageMember(),
	named("entryFunction", "Called after the script."),
	flag("dryRun", "", false),
	flag("atomic", "false: each call commits by itself.", true),
	limitsMember(),
	texts("only", "Narrow SDK to \"Todo\", \"plugin:vision\"."),
	texts("include", "", includeChanges, includeCalls),
	idempotencyKey(),
	named("correlationId", ""),
	approvalMember(),
	planMember(),
	choice("onLarge", "", onLargeFile),
}

// languageName is the member that has the language of the script.
const languageName = "language"

// withLanguages returns members whose language is one of those that an app has.
func (ms members) withLanguages(names []string) members {
	out := slices.Clone(ms)
	for i := range out {
		if out[i].name == languageName {
			out[i].schema = map[string]any{"type": "string", "enum": names}
		}
	}
	return out
}

// languageMember takes the names of files' endings too.
func languageMember() member {
	m := choice(languageName, "", languageJavaScript, languageTypeScript, languagePython, languageNode)
	m.alias = func(v any) any {
		name, _ := v.(string)
		switch strings.ToLower(name) {
		case "js", languageJavaScript:
			return languageJavaScript
		case "ts", languageTypeScript:
			return languageTypeScript
		case "py", languagePython:
			return languagePython
		case languageNode:
			return languageNode
		}
		return v
	}
	return m
}

func limitsMember() member {
	parts := members{whole("timeoutMs", "", 0, 0), whole("maxMemoryBytes", "", 0, 0), whole("maxLogBytes", "", 0, 0), whole("maxToolCalls", "", 0, 0)}
	properties := map[string]any{}
	for _, m := range parts {
		properties[m.name] = map[string]any{"type": "integer"}
	}
	return member{
		name:   "limits",
		schema: map[string]any{"type": "object", "properties": properties, "description": "They lower the server's."},
		check: func(v any) (string, string) {
			if _, ok := v.(map[string]any); !ok {
				return "must be an object", "object"
			}
			return "", ""
		},
		inside: func(v any) (wrong []fault.Detail) {
			for _, m := range parts {
				if one := v.(map[string]any)[m.name]; one != nil {
					wrong = append(wrong, m.problems(one)...)
				}
			}
			return wrong
		},
	}
}

var validateMembers = members{
	{name: codeName, required: true, check: isString, schema: map[string]any{"type": "string"}},
	languageMember(),
}

var searchMembers = members{
	{name: "query", required: true, check: isString, schema: map[string]any{"type": "string", "description": "Words; \"\" lists everything."}},
	choice("detail", "", detailName, detailSummary, detailFull),
	whole("limit", "", defaultHits, maxHits),
	languageMember(),
}

// withoutLanguage returns members without the language, for an app that has one kind of declarations.
func (ms members) withoutLanguage() members {
	return slices.DeleteFunc(slices.Clone(ms), func(m member) bool { return m.name == languageName })
}

// The output schemas describe success; surfaces admit the fault shape beside it.
// They have the members that are always there and leave the rest to the reference: every
// client reads them in every conversation.
const (
	executeOutput  = `{"type":"object","required":["success","logs","changeCounts"],"properties":{"success":{"const":true},"answer":{},"result":{},"changes":{"type":"array"},"calls":{"type":"array"}}}`
	undoOutput     = `{"type":"object"}`
	validateOutput = `{"type":"object","required":["valid"],"properties":{"valid":{"type":"boolean"}}}`
	searchOutput   = `{"type":"object","required":["query","results"],"properties":{"results":{"type":"array","items":{"type":"object"}}}}`
)

// executeRefused is the rest of a failure (failed) whose input was rejected: no run was
// opened.
const executeRefused = `{"committed":false,"calls":[],"logs":[],"outsideEffects":[]}`

// koanFace is the face of CONTRACT section 2: the operations koan.code.*.
type koanFace struct{ scripts *scripts }

func (k koanFace) executeOperation() *catalog.Operation {
	return &catalog.Operation{
		ID: catalog.CodeID(faceKoan, "execute"),
		Contract: catalog.Contract{
			Input: executeMembers.withLanguages(k.scripts.languageNames()).schema(), Output: json.RawMessage(executeOutput), Proven: true, Refused: json.RawMessage(executeRefused),
			Effects: catalog.Effects{Destructive: true},
			Example: json.RawMessage(`{"code":"SDK.Out.answer(SDK.args.name)","args":{"name":"Koan"}}`),
		},
		Listing: catalog.Listing{
			Title:   "Run a script",
			Summary: "Runs one JavaScript program against the app's entities and plugins, as one transaction.",
			Describe: func(v *catalog.View) string {
				return catalog.Memo(v, describeKey{k.scripts, true}, func() string { return k.describeExecute(v, true) })
			},
			Abridge: func(v *catalog.View) string {
				return catalog.Memo(v, describeKey{k.scripts, false}, func() string { return k.describeExecute(v, false) })
			},
			Reach: catalog.ReachTools,
		},
		Work: catalog.Work{Decode: decodeExecute, Present: presentFiles, Handler: k.scripts.execute},
	}
}

func (k koanFace) validateOperation() *catalog.Operation {
	return &catalog.Operation{
		ID: catalog.CodeID(faceKoan, "validate"),
		Contract: catalog.Contract{
			Input: validateMembers.withLanguages(k.scripts.languageNames()).schema(), Output: json.RawMessage(validateOutput), Proven: true,
			Effects: catalog.Effects{ReadOnly: true, Idempotent: true},
			Example: json.RawMessage(`{"code":"SDK.Out.answer(1 + 1)"}`),
		},
		Listing: catalog.Listing{
			Title:   "Check a script",
			Summary: "Checks a script without running it.",
			Reach:   catalog.ReachTools,
		},
		Work: catalog.Work{Decode: decodeValidate, Handler: k.validate},
	}
}

// searchMembers are those of search in this app.
func (k koanFace) searchMembers() members {
	if names := k.scripts.languageNames(); slices.Contains(names, languagePython) {
		return searchMembers.withLanguages(names)
	}
	return searchMembers.withoutLanguage()
}

func (k koanFace) searchOperation() *catalog.Operation {
	return &catalog.Operation{
		ID: catalog.CodeID(faceKoan, "search"),
		Contract: catalog.Contract{
			Input: k.searchMembers().schema(), Output: json.RawMessage(searchOutput), Proven: true,
			Effects: catalog.Effects{ReadOnly: true, Idempotent: true},
			Example: json.RawMessage(`{"query":"list"}`),
		},
		Listing: catalog.Listing{
			Title:   "Search the SDK",
			Summary: "Finds what SDK has by words; full gives declarations.",
			Reach:   catalog.ReachTools,
		},
		Work: catalog.Work{Decode: decodeSearch, Handler: k.search},
	}
}

// describeKey is that of an app, since its configuration decides the text.
type describeKey struct {
	scripts  *scripts
	declares bool
}

const rules = `Runs one JavaScript program as one transaction: it commits on a clean end; a throw or a passed limit keeps nothing.
- SDK calls are synchronous and throw KoanError (code, hint).
- Answer with SDK.Out.answer(value); console.log logs.
- Filter, sort and page in the query. upsert keeps absent fields.
- No network, files or require.
- dryRun shows changes and keeps nothing.
`

// pythonRules follow where scripts may be in Python.
const pythonRules = "- language: \"python\" runs Python instead: SDK.Entities.X.collection(filter={...}), rows are dicts with attributes; print logs; `result = value` or the last expression answers; top-level await; the standard library.\n"

// nodeRules follow where scripts may be in Node.
const nodeRules = "- language: \"node\" runs Node instead, as an ES module: import * as github from \"./servers/github/index.js\"; globalThis.result = value or the last expression answers; Node's own modules, no network.\n"

// methods replaces the declarations, which clients may cut off.
const methods = `
Entities have collection({filter, q, sort, page, pageSize, cursor, count, fields, with, set}), each, all, getById, findById, count, aggregate, new, create, upsert, upsertMany, patch(id, changes), updateByQuery, deleteByQuery, delete, deleteMany.
Filter: {a: 1, b: {$gte: 1}}; also $ne $in $between $contains $null $and $or $not; to-one {a: 1}, to-many {$some: {a: 1}}.`

const searching = `
koan.code.search with detail full declares each of:
`

// essential is how many bytes of a description must contain what a script cannot be
// written without: some clients pass on only 2,048 characters.
const essential = 1900

// maxMoreNames bounds the line of entities that the first part had no room for, in bytes.
// Beyond it, a name costs every conversation more than a search costs the few that need it.
const (
	minMoreNames = 200 // a line for less says nothing
	maxMoreNames = 1000
)

// describeExecute is the description that a model reads before it writes a script. The
// rules, an example that runs, and the names in SDK come first; the declarations within
// their budget follow, or, if it declares nothing, a line for each entity; then one for each
// action that is no tool in the list.
func (k koanFace) describeExecute(v *catalog.View, declares bool) string {
	var b strings.Builder
	b.WriteString(rules)
	if slices.Contains(k.scripts.config().limits.languages, languagePython) {
		b.WriteString(pythonRules)
	}
	if slices.Contains(k.scripts.config().limits.languages, languageNode) {
		b.WriteString(nodeRules)
	}
	if k.scripts.config().maxCalls > 0 {
		b.WriteString("- At most " + strconv.Itoa(k.scripts.config().maxCalls) + " SDK calls.\n")
	}
	b.WriteString("\nExample:\n```js\n" + exampleScript(v) + "```\n")
	if len(v.Resources()) > 0 {
		b.WriteString(methods)
	}
	b.WriteString(searching)
	overview, more := types.Overview(v, essential-b.Len())
	b.WriteString(overview)
	inline, complete := types.Lines(v, k.scripts.config().inlineTypes), false
	if declares {
		inline, complete = types.Inline(v, k.scripts.config().inlineTypes)
	}
	switch {
	case complete:
		b.WriteString("\nDeclarations:\n```ts\n" + inline + "```\n")
	case inline != "" && inline != overview:
		b.WriteString("\n" + inline)
	case len(more) > 0 && k.scripts.config().inlineTypes > minMoreNames:
		line, _ := language.NameLine("More entities", more, min(k.scripts.config().inlineTypes, maxMoreNames))
		b.WriteString("\n" + line)
	}
	if actions := types.ActionLines(v); actions != "" && !complete {
		b.WriteString("\n" + actions)
	}
	return b.String()
}

// exampleScript is a script that runs in any app with this view, however empty
// its data.
func exampleScript(v *catalog.View) string {
	for _, r := range v.Resources() {
		if r.Has("collection") {
			return "const page = SDK.Entities." + r.Name + ".collection({ pageSize: 5 });\nSDK.Out.answer(page.items);\n"
		}
	}
	return "SDK.Out.answer({ set: SDK.run.set, args: SDK.args });\n"
}
