// Package actions reads the files of actions: JavaScript or TypeScript modules that declare
// a named piece of work and export the function that does it.
//
// What belongs here: which files there are, what they declare, and what is wrong with them.
// Not here: running an action, or the catalog that it becomes part of.
package actions

import (
	"bytes"
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/koan-go/koan/framework/catalog"
	"github.com/koan-go/koan/framework/exact"
	"github.com/koan-go/koan/framework/fault"
	"github.com/koan-go/koan/framework/schema"
)

// Declaration is what an action says of itself.
type Declaration struct {
	Title       string
	Description string
	Input       json.RawMessage // JSON Schema of an object
	Output      json.RawMessage // JSON Schema
	Effects     catalog.Effects
	Declared    bool // the effects are the author's words
	App         bool // rights: "app"
	Scopes      []string
	Sets        []string // nil: not declared
	Examples    []json.RawMessage
	Listed      Listing
}

// Listing says where an action is a tool. The zero value lists it in every mode but `code`, where it
// can be called without being listed.
type Listing int

// Listings.
const (
	ListedByMode Listing = iota
	ListedAlways
	ListedNever // nor called as a tool
)

// The bounds of texts, in characters.
const (
	maxTitle       = 100
	maxDescription = 2000
	maxName        = 64 // of a name in a message, in bytes
)

// Members of a declaration.
var members = []string{"title", "description", "input", "output", "effects", "rights", "scopes", "sets", "examples", "listed"}

var effectNames = []string{"readOnly", "destructive", "idempotent", "outside"}

const (
	anything = `{}`
	noInput  = `{"type":"object","properties":{},"additionalProperties":false}`
)

// setPattern is what names of sets, and prefixes of them, look like.
var setPattern = regexp.MustCompile(`^(?:[a-z0-9_-]{1,48}|[a-z0-9_-]{0,47}\*)$`)

// Read reads a declaration and reports all that is wrong with it, with paths into it. The
// declaration is nil then.
func Read(raw json.RawMessage) (*Declaration, []fault.Detail) {
	r := &reader{}
	d := r.declaration(raw)
	if len(r.wrong) > 0 {
		return nil, r.wrong
	}
	return d, nil
}

type reader struct{ wrong []fault.Detail }

func (r *reader) fail(path, format string, args ...any) {
	r.wrong = append(r.wrong, fault.Detail{Path: path, Message: fmt.Sprintf(format, args...)})
}

func (r *reader) declaration(raw json.RawMessage) *Declaration {
	if err := exact.Once(raw); err != nil {
		r.fail("", "the declaration cannot be read: %v", err)
		return nil
	}
	given, ok := object(raw)
	if !ok {
		r.fail("", "the declaration is not an object")
		return nil
	}
	r.known(given, "", members)
	d := &Declaration{Input: json.RawMessage(noInput), Output: json.RawMessage(anything)}
	d.Title = r.text(given["title"], "/title", maxTitle)
	if d.Description = r.text(given["description"], "/description", maxDescription); given["description"] == nil {
		r.fail("/description", "`description` is missing: say in one sentence what the action does")
	}
	r.schemas(given, d)
	r.effects(given["effects"], d)
	switch rights := r.text(given["rights"], "/rights", maxTitle); {
	case given["rights"] == nil || rights == "caller" || rights == "":
	case rights == "app":
		d.App = true
	default:
		r.fail("/rights", "`rights` is %q%s: it is caller or app", fault.Clip(rights, maxName), fault.DidYouMean(rights, []string{"caller", "app"}))
	}
	d.Scopes = r.texts(given["scopes"], "/scopes", func(s string) bool { return s != "" && !strings.ContainsAny(s, " \t\n") }, "the name of a scope")
	d.Sets = r.texts(given["sets"], "/sets", setPattern.MatchString, "the name of a set, or the beginning of names and `*`")
	if given["sets"] != nil && len(d.Sets) == 0 {
		r.fail("/sets", "`sets` is empty: leave it out for the caller's own")
	}
	if listed := r.flag(given["listed"], "/listed", true); !listed {
		d.Listed = ListedNever
	} else if given["listed"] != nil {
		d.Listed = ListedAlways
	}
	r.examples(given["examples"], d)
	return d
}

// unusable reports why a text is no JSON Schema: each part of it that is wrong, where they are known.
func (r *reader) unusable(name string, raw json.RawMessage, err error) {
	_, parts, _ := schema.Usable(raw)
	for _, part := range parts {
		r.fail("/"+name+part.Path, "`%s` is not a JSON Schema: %s", name, part.Message)
	}
	if len(parts) == 0 {
		r.fail("/"+name, "`%s` is not a JSON Schema: %s", name, firstLine(err))
	}
}

func (r *reader) schemas(given map[string]json.RawMessage, d *Declaration) {
	var cache schema.Cache
	for _, part := range []struct {
		name string
		to   *json.RawMessage
	}{{"input", &d.Input}, {"output", &d.Output}} {
		raw := given[part.name]
		if raw == nil {
			continue
		}
		path := "/" + part.name
		members, isObject := object(raw)
		if err := cache.Compile(raw); err != nil {
			r.unusable(part.name, raw, err)
			continue
		}
		if part.name == "input" && (!isObject || string(members["type"]) != `"object"`) {
			r.fail(path, "`input` has to be the schema of an object: {\"type\": \"object\", ...}")
			continue
		}
		*part.to = raw
	}
}

func (r *reader) effects(raw json.RawMessage, d *Declaration) {
	if raw == nil { // anything is possible
		d.Effects = catalog.Effects{Destructive: true, Outside: true}
		return
	}
	given, ok := object(raw)
	if !ok {
		r.fail("/effects", "`effects` is not an object")
		return
	}
	r.known(given, "/effects", effectNames)
	flag := func(name string) bool { return r.flag(given[name], "/effects/"+name, false) }
	d.Declared = true
	d.Effects = catalog.Effects{ReadOnly: flag("readOnly"), Destructive: flag("destructive"), Idempotent: flag("idempotent"), Outside: flag("outside")}
	if d.Effects.ReadOnly && d.Effects.Destructive {
		r.fail("/effects", "`effects` is both readOnly and destructive")
	}
}

// maxExamples bounds the examples of an action.
const maxExamples = 20

func (r *reader) examples(raw json.RawMessage, d *Declaration) {
	if raw == nil {
		return
	}
	if json.Unmarshal(raw, &d.Examples) != nil {
		r.fail("/examples", "`examples` is not a list of inputs")
		return
	}
	if len(d.Examples) > maxExamples {
		r.fail("/examples", "there are more than %d examples", maxExamples)
		return
	}
	cache := schema.Cache{AssertFormats: true}
	if cache.Compile(d.Input) != nil {
		return
	}
	for i, example := range d.Examples {
		wrong, err := cache.Violations(d.Input, example)
		if err != nil {
			r.fail("/input", "`input` cannot be used: %s", firstLine(err))
			return
		}
		for _, w := range wrong {
			r.fail(fmt.Sprintf("/examples/%d%s", i, w.Path), "the example does not fit `input`: %s", w.Message)
		}
	}
}

// known reports members that there are none of.
func (r *reader) known(given map[string]json.RawMessage, path string, names []string) {
	for _, name := range sorted(given) {
		if !slices.Contains(names, name) {
			r.fail(path+"/"+fault.Step(name), "there is no %q here%s", fault.Clip(name, maxName), fault.DidYouMean(name, names))
		}
	}
}

func (r *reader) text(raw json.RawMessage, path string, most int) string {
	var s *string
	switch {
	case raw == nil:
		return ""
	case json.Unmarshal(raw, &s) != nil || s == nil:
		r.fail(path, "must be a string")
		return ""
	case strings.TrimSpace(*s) == "":
		r.fail(path, "is empty")
	case len([]rune(*s)) > most:
		r.fail(path, "has more than %d characters", most)
	}
	return *s
}

func (r *reader) texts(raw json.RawMessage, path string, valid func(string) bool, want string) []string {
	if raw == nil {
		return nil
	}
	var list []string
	if json.Unmarshal(raw, &list) != nil || list == nil {
		r.fail(path, "must be a list of strings")
		return nil
	}
	for i, s := range list {
		if !valid(s) {
			r.fail(fmt.Sprintf("%s/%d", path, i), "%q is not %s", fault.Clip(s, maxName), want)
		}
	}
	return list
}

func (r *reader) flag(raw json.RawMessage, path string, standard bool) bool {
	var b *bool
	switch {
	case raw == nil:
		return standard
	case json.Unmarshal(raw, &b) != nil || b == nil:
		r.fail(path, "must be true or false")
		return standard
	}
	return *b
}

// object reads an object's members; ok is false for anything else.
func object(raw json.RawMessage) (members map[string]json.RawMessage, ok bool) {
	if !bytes.HasPrefix(bytes.TrimSpace(raw), []byte("{")) {
		return nil, false
	}
	return members, json.Unmarshal(raw, &members) == nil
}

func sorted(m map[string]json.RawMessage) []string {
	names := make([]string, 0, len(m))
	for name := range m {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

func firstLine(err error) string {
	text, more, _ := strings.Cut(err.Error(), "\n")
	if line, _, _ := strings.Cut(strings.TrimSpace(more), "\n"); line != "" {
		text += " " + line
	}
	return text
}
