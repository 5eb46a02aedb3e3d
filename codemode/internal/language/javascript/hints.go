package javascript

import (
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/koan-go/koan/codemode/internal/language/javascript/validate"
	"github.com/koan-go/koan/codemode/internal/wire"
	"github.com/koan-go/koan/framework/fault"
)

// hints says what a script that failed probably meant.
type hints struct {
	job      *assignment
	findings func() []wire.Diagnostic // what is wrong with the program before it runs
}

// absentIntl matches the parts of Intl that are absent.
var absentIntl = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`\bIntl\s*\.\s*(?:Segmenter|DisplayNames|DurationFormat|Locale|getCanonicalLocales|supportedValuesOf)\b`)
})

// explained are the errors of the engine whose cause may be known.
var explained = []string{"TypeError", "ReferenceError", "RangeError", "SyntaxError"}

// explain adds to an error of the engine what validate says about the failed line, for example
// a name that SDK does not have. If that is nothing, it adds a hint about the likely cause.
func (hs *hints) explain(f *fault.Fault) {
	kind, _, _ := strings.Cut(f.Message, ":")
	if f.Line == 0 || hs.job.program == nil || !slices.Contains(explained, kind) {
		return
	}
	for _, d := range hs.diagnostics() {
		if d.Line == f.Line && (kind == "TypeError" || kind == "ReferenceError") {
			f.Message, f.Column = d.Message+" ("+f.Message+")", d.Column
			if d.Hint != "" {
				f.Hint = d.Hint
			}
			return
		}
	}
	if hint := hs.likelyCause(f); hint != "" {
		f.Hint = hint
	}
}

// diagnostics are what a check says about the script.
func (hs *hints) diagnostics() []wire.Diagnostic {
	if hs.findings == nil {
		hs.findings = sync.OnceValue(func() []wire.Diagnostic { return validate.Check(hs.job.program, hs.job.bindings(), nil) })
	}
	return hs.findings()
}

// Methods that scripts call on values that do not have them.
var (
	rowMethods = map[string]string{ // with the method of the entity that does the same
		"save": "patch(row.id, {...}) or upsert(row)", "insert": "upsert(row)", "store": "upsert(row)", "update": "patch(row.id, {...})", "patch": "patch(row.id, {...})",
		"set": "patch(row.id, {...})", "delete": "delete(row.id)", "remove": "delete(row.id)", "destroy": "delete(row.id)",
		"reload": "getById(row.id)", "refresh": "getById(row.id)", "populate": "getById(row.id, {with: ...})", "load": "getById(row.id, {with: ...})",
	}
	dateMethods   = strings.Fields("getTime getFullYear getMonth getDate getDay getHours getMinutes setDate setMonth toISOString toDateString toLocaleDateString toLocaleTimeString getUTCFullYear getUTCMonth getUTCDate")
	numberMethods = strings.Fields("toFixed toPrecision toExponential")
	arrayMethods  = strings.Fields("map filter forEach find some every reduce sort flatMap push slice join includes")
)

// likelyCause returns a hint about the usual cause of an error of the engine, "" if there is
// none.
func (hs *hints) likelyCause(f *fault.Fault) string {
	kind, message, _ := strings.Cut(f.Message, ": ")
	if strings.Contains(message, "undefined") && absentIntl().MatchString(sourceLine(hs.job.Code, f.Line)) {
		return "Intl has NumberFormat, DateTimeFormat, Collator, PluralRules, ListFormat and RelativeTimeFormat."
	}
	if name, ok := between(message, "Object has no member '", "'"); ok {
		return hs.missingMethodHint(name, f.Line)
	}
	if name, ok := between(message, "Cannot read property '", "'"); ok {
		return hs.missingValueHint(name, f.Line)
	}
	switch {
	case kind == "SyntaxError" && strings.Contains(message, "invalid character 'o' looking for") && strings.Contains(sourceLine(hs.job.Code, f.Line), "JSON.parse"):
		return "JSON.parse was given an object: what a call returns is a value already, use it without JSON.parse."
	case kind == "RangeError" && strings.Contains(message, " is not available here: there "):
		return `Use what there is, or write it by hand, as with n.toFixed(2).replace(".", ",") or d.toISOString().slice(0, 10).`
	case strings.HasSuffix(message, "is not iterable"):
		return "for...of and ... go through arrays, strings, Map and Set. The entities of a page are in its items; Object.entries(o) goes through an object."
	case strings.Contains(message, "not object coercible"), strings.Contains(message, "convert undefined or null to object"):
		return "An object is needed there, but the value is undefined or null: log it with console.log."
	case strings.HasPrefix(message, "setTimeout needs a function"):
		return "Give setTimeout a function: setTimeout(() => {...}, ms)."
	case strings.Contains(message, "Assignment to constant variable"):
		return "Declare it with let."
	case kind == "ReferenceError" && strings.Contains(message, "before initialization"):
		return "Declare it above its first use."
	}
	return ""
}

// between returns the part of text between two others.
func between(text, before, behind string) (string, bool) {
	_, rest, ok := strings.Cut(text, before)
	if !ok {
		return "", false
	}
	found, _, ok := strings.Cut(rest, behind)
	return found, ok
}

// missingMethodHint returns the hint for a method that a value does not have.
func (hs *hints) missingMethodHint(name string, line int) string {
	quoted := sourceLine(hs.job.Code, line)
	switch {
	case name == "then" || name == "catch" || name == "finally":
		return validate.NoPromise
	case strings.Contains(quoted, "console."+name):
		return "Write with console.log, which shows objects as JSON; there are also info, debug, trace, warn, error, dir, table, group, assert, count and time."
	case rowMethods[name] != "":
		return "Rows are plain data: use SDK.Entities." + hs.entityInUse() + "." + rowMethods[name] + "."
	case slices.Contains(dateMethods, name):
		return "Times are RFC 3339 strings: write new Date(value)." + name + "(...)."
	case slices.Contains(numberMethods, name):
		return "Decimals, and integers beyond 2^53, are strings: write Number(value)." + name + "(...)."
	case slices.Contains(arrayMethods, name):
		return "Only an array has " + name + ". The entities of a page are in its items; all() returns an array; Object.values(o) returns the values of an object."
	}
	return "The value before ." + name + " has no such method: log it with console.log."
}

// missingValueHint returns the hint for a member of undefined or null.
func (hs *hints) missingValueHint(name string, line int) string {
	quoted := sourceLine(hs.job.Code, line)
	if strings.Contains(quoted, ".content[") || strings.Contains(quoted, ".content?.[") || strings.Contains(quoted, ".structuredContent") {
		return "A call returns its result itself, without `content` or `structuredContent` around it: read the value that it returned."
	}
	for _, e := range hs.job.Bindings.Entities {
		for _, edge := range e.Edges {
			if strings.Contains(quoted, "."+edge+"."+name) || strings.Contains(quoted, "."+edge+"["+name) {
				return "Relationships are loaded only on request: {with: \"" + edge + "\"}. A relationship to one entity may be null."
			}
		}
	}
	if strings.Contains(hs.job.Code, "findById(") {
		return "findById returns null if there is no such entity: check for it, or use getById, which throws."
	}
	return "The value before ." + name + " is undefined or null: log it with console.log, or read it with ?. if it may be missing."
}

// entityInUse returns the entity that the script names, a placeholder if it names none or
// several.
func (hs *hints) entityInUse() string {
	found := ""
	for _, e := range hs.job.Bindings.Entities {
		if word := regexp.MustCompile(`\b` + regexp.QuoteMeta(e.Name) + `\b`); word.MatchString(hs.job.Code) {
			if found != "" {
				return "<Entity>"
			}
			found = e.Name
		}
	}
	if found == "" {
		return "<Entity>"
	}
	return found
}
