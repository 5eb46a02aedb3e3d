package upstream

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"strings"

	"github.com/koan-go/koan/framework/catalog"
	"github.com/koan-go/koan/framework/schema"
)

// tool is a tool as a server lists it.
type tool struct {
	Name         string          `json:"name"`
	Title        string          `json:"title"`
	Description  string          `json:"description"`
	InputSchema  json.RawMessage `json:"inputSchema"`
	OutputSchema json.RawMessage `json:"outputSchema"`
	Annotations  *annotations    `json:"annotations"`

	rawAnnotations json.RawMessage // as they came
}

// UnmarshalJSON implements json.Unmarshaler.
func (t *tool) UnmarshalJSON(raw []byte) error {
	type plain tool
	if err := json.Unmarshal(raw, (*plain)(t)); err != nil {
		return err
	}
	var whole struct {
		Annotations json.RawMessage `json:"annotations"`
	}
	err := json.Unmarshal(raw, &whole)
	t.rawAnnotations = whole.Annotations
	return err
}

// annotations are a server's declaration of a tool's effects (MCP, ToolAnnotations).
// Missing members have the protocol's defaults.
type annotations struct {
	Title       string `json:"title"`
	ReadOnly    *bool  `json:"readOnlyHint"`
	Destructive *bool  `json:"destructiveHint"`
	Idempotent  *bool  `json:"idempotentHint"`
	OpenWorld   *bool  `json:"openWorldHint"`
}

// offer is a listing as operations.
type offer struct {
	operations []*catalog.Operation
	tools      int                           // how many of them are tools
	byName     map[string]*catalog.Operation // tools by their own names
	owner      *catalog.Owner
	skipped    []string // tools that cannot be offered, with the reasons
}

// Bounds of a server's description of a tool, in bytes.
const (
	maxDescription = 2 << 10
	maxSchema      = 256 << 10
)

// maxSchemaDepth bounds how deeply objects and lists of a schema are nested: the validator's
// time grows with its square, and beyond.
const maxSchemaDepth = 200

// anyObject is the schema of a tool whose own cannot be used.
const anyObject = `{"type":"object","description":%s}`

// newOffer makes operations from a listing. A tool that cannot be offered does not affect
// the others.
func newOffer(s *server, l *listing) *offer {
	l.check()
	o := &offer{byName: map[string]*catalog.Operation{}, owner: &catalog.Owner{
		Kind: catalog.KindUpstream, Name: s.cfg.ID, Version: l.About.Version,
		Description: cmp.Or(l.About.Description, "The MCP server "+s.cfg.ID+"."),
	}}
	taken := map[string]bool{catalog.AnyTool: true}
	for op := range serverFunctions {
		taken[op] = true
	}
	for n, raw := range l.Tools {
		var t tool
		if err := json.Unmarshal(raw, &t); err != nil || t.Name == "" {
			o.skipped = append(o.skipped, fmt.Sprintf("tool %d of its list has no name, or cannot be read", n+1))
			continue
		}
		if s.cfg.offers(t.Name) {
			op := s.operation(&t, operationName(t.Name, taken), l.unusable)
			o.operations, o.byName[t.Name] = append(o.operations, op), op
		}
	}
	o.tools = len(o.operations)
	o.operations = append(o.operations, s.functionOperations(l)...)
	return o
}

// operationName makes the last part of an operation's id from a tool's name: the name
// itself if an id can have it. Equal ones are numbered.
func operationName(name string, taken map[string]bool) string {
	const most = 200
	base := strings.Map(func(r rune) rune {
		if r <= ' ' || r > '~' {
			return '_'
		}
		return r
	}, strings.ReplaceAll(name, "::", "__"))
	if strings.HasPrefix(base, ":") {
		base = "_" + base[1:]
	}
	if len(base) > most {
		base = base[:most]
	}
	out := base
	for n := 2; taken[out]; n++ {
		out = fmt.Sprintf("%s__%d", base, n)
	}
	taken[out] = true
	return out
}

// operation makes one tool callable. unusable returns why a schema cannot be used, "" if it can.
func (s *server) operation(t *tool, name string, unusable func(json.RawMessage) string) *catalog.Operation {
	title := t.Title
	if title == "" && t.Annotations != nil {
		title = t.Annotations.Title
	}
	input, output := usableInput(t.InputSchema, unusable), usableOutput(t.OutputSchema, unusable)
	op := &catalog.Operation{
		ID:    catalog.ID{Kind: catalog.KindUpstream, Owner: s.cfg.ID, Op: name},
		Title: plainText(title, 100), Summary: plainText(cmp.Or(t.Description, title, t.Name), maxDescription),
		Input: input, Output: anything(output), Effects: s.effects(t), Reach: catalog.ReachScript,
		Proven: true, // it is checked here, where a mismatch is the server's failure
	}
	op.Declared, op.Untrusted = s.declared(t), !s.cfg.Trust
	op.Handler = func(ctx context.Context, c catalog.Call) (json.RawMessage, error) {
		return s.call(ctx, &request{tool: t.Name, input: c.Input(), output: output, effects: op.Effects, call: c})
	}
	return op
}

// declared returns what a tool and its server are said to be, as far as the operation's own
// fields leave something out.
func (s *server) declared(t *tool) map[string]json.RawMessage {
	server, _ := json.Marshal([]any{s.cfg.Command, s.cfg.Dir, s.cfg.URL, s.cfg.Transport}) // texts, with references for secrets
	name, _ := json.Marshal(t.Name)
	description, _ := json.Marshal(t.Description)
	out := map[string]json.RawMessage{"server": server, "name": name, "description": description, "inputSchema": t.InputSchema, "annotations": t.rawAnnotations}
	maps.DeleteFunc(out, func(_ string, raw json.RawMessage) bool { return len(raw) == 0 })
	return out
}

// unknownEffects are those of a tool of which nothing is known that counts.
var unknownEffects = catalog.Effects{Outside: true, Destructive: true}

// effects returns the effects of a tool: the configured ones, or those that a trusted
// server declares, else the worst.
func (s *server) effects(t *tool) catalog.Effects {
	if e, ok := s.cfg.effectsOf(t.Name); ok {
		return e
	}
	if !s.cfg.Trust {
		return unknownEffects
	}
	a := t.Annotations
	if a == nil {
		a = &annotations{}
	}
	says := func(hint *bool, otherwise bool) bool {
		if hint == nil {
			return otherwise
		}
		return *hint
	}
	e := catalog.Effects{Outside: true, ReadOnly: says(a.ReadOnly, false)}
	e.Destructive = !e.ReadOnly && says(a.Destructive, true)
	e.Idempotent = e.ReadOnly || says(a.Idempotent, false)
	return e
}

// usableInput returns a tool's input schema, or one that accepts any object and says why.
func usableInput(raw json.RawMessage, unusable func(json.RawMessage) string) json.RawMessage {
	if absent(raw) {
		return json.RawMessage(`{"type":"object"}`)
	}
	if why := unusable(raw); why != "" {
		return describedAny("its schema cannot be used: " + why)
	}
	return raw
}

// usableOutput returns a tool's schema of its structured output, nil if it has none that
// can be used.
func usableOutput(raw json.RawMessage, unusable func(json.RawMessage) string) json.RawMessage {
	if absent(raw) || unusable(raw) != "" {
		return nil
	}
	return raw
}

func absent(raw json.RawMessage) bool { return len(raw) == 0 || string(raw) == "null" }

// anything returns a schema, or the one that accepts all values.
func anything(schema json.RawMessage) json.RawMessage {
	if schema == nil {
		return json.RawMessage("{}")
	}
	return schema
}

func describedAny(why string) json.RawMessage {
	text, _ := json.Marshal(cut(why, 300)) // a text always encodes
	return fmt.Appendf(nil, anyObject, text)
}

// unusable returns why a schema cannot be used, "" if it can, or is not there.
func unusable(raw json.RawMessage) string {
	if absent(raw) {
		return ""
	}
	if len(raw) > maxSchema {
		return fmt.Sprintf("it has %d bytes, and %d are the most", len(raw), maxSchema)
	}
	if deeper(raw, maxSchemaDepth) {
		return fmt.Sprintf("it is nested more than %d levels deep", maxSchemaDepth)
	}
	var object map[string]json.RawMessage
	if err := json.Unmarshal(raw, &object); err != nil {
		return "it is not an object"
	}
	var cache schema.Cache
	if err := cache.Compile(raw); err != nil {
		return plainText(ownName.ReplaceAllString(err.Error(), "it"), 200)
	}
	return ""
}

// deeper reports whether objects and lists of a JSON text are nested more than n levels deep.
func deeper(raw json.RawMessage, n int) bool {
	depth, inString := 0, false
	for i := 0; i < len(raw); i++ {
		switch c := raw[i]; {
		case inString && c == '\\':
			i++
		case c == '"':
			inString = !inString
		case inString:
		case c == '{' || c == '[':
			if depth++; depth > n {
				return true
			}
		case c == '}' || c == ']':
			depth--
		}
	}
	return false
}

// ownName is the validator's name of a schema without one.
var ownName = regexp.MustCompile(`"file://[^"]*/schema\.json#?"`)
