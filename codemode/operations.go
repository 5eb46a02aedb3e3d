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
			Summary: "Runs one " + primerOf(k.scripts.first()).Title + " program against the app's entities and plugins, as one transaction.",
			Describe: func(v *catalog.View) string {
				return catalog.Memo(v, describeKey{k.scripts, true}, func() string { return k.describeExecute(v, k.scripts.first(), true) })
			},
			Abridge: func(v *catalog.View) string {
				return catalog.Memo(v, describeKey{k.scripts, false}, func() string { return k.describeExecute(v, k.scripts.first(), false) })
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

// describeExecute is the description that a model reads before it writes a script in a language. The rules, an example
// that runs, and the names in SDK come first; the declarations within their budget follow, or, if it declares nothing, a
// line for each entity; then one for each action that is no tool in the list.
func (k koanFace) describeExecute(v *catalog.View, in string, declares bool) string {
	primer := primerOf(in)
	var b strings.Builder
	b.WriteString(primer.Rules)
	for _, other := range k.scripts.config().limits.languages {
		if one := primerOf(other); one.Title != primer.Title {
			b.WriteString(one.Beside)
		}
	}
	if k.scripts.config().maxCalls > 0 {
		b.WriteString("- At most " + strconv.Itoa(k.scripts.config().maxCalls) + " SDK calls.\n")
	}
	b.WriteString("\nExample:\n```" + primer.Script + "\n" + primer.Example(readEntity(v)) + "```\n")
	if len(v.Resources()) > 0 {
		b.WriteString(primer.Methods)
	}
	b.WriteString(searching)
	overview, more := primer.Overview(v, essential-b.Len())
	b.WriteString(overview)
	inline, complete := primer.Lines(v, k.scripts.config().inlineTypes), false
	if declares {
		inline, complete = primer.Inline(v, k.scripts.config().inlineTypes)
	}
	switch {
	case complete:
		b.WriteString("\nDeclarations:\n```" + primer.Types + "\n" + inline + "```\n")
	case inline != "" && inline != overview:
		b.WriteString("\n" + inline)
	case len(more) > 0 && k.scripts.config().inlineTypes > minMoreNames:
		line, _ := language.NameLine("More entities", more, min(k.scripts.config().inlineTypes, maxMoreNames))
		b.WriteString("\n" + line)
	}
	if actions := primer.ActionLines(v); actions != "" && !complete {
		b.WriteString("\n" + actions)
	}
	return b.String()
}

// readEntity returns an entity of which a script can read a page, "" if there is none.
func readEntity(v *catalog.View) string {
	for _, r := range v.Resources() {
		if r.Has("collection") {
			return r.Name
		}
	}
	return ""
}
