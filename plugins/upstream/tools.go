package upstream

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/koan-go/koan/framework/auth"
	"github.com/koan-go/koan/framework/catalog"
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
	odd            []string        // members that are not as the protocol has them
}

// UnmarshalJSON implements json.Unmarshaler. A member that is not as the protocol has it costs the tool
// nothing but that, unless it is the name.
func (t *tool) UnmarshalJSON(raw []byte) error {
	var members map[string]json.RawMessage
	if err := json.Unmarshal(raw, &members); err != nil {
		return err
	}
	if err := json.Unmarshal(members["name"], &t.Name); err != nil {
		return err
	}
	for name, to := range map[string]any{"title": &t.Title, "description": &t.Description, "annotations": &t.Annotations} {
		if value := members[name]; len(value) > 0 && json.Unmarshal(value, to) != nil {
			t.odd = append(t.odd, name)
		}
	}
	slices.Sort(t.odd)
	if slices.Contains(t.odd, "annotations") {
		t.Annotations = nil
	}
	t.InputSchema, t.OutputSchema, t.rawAnnotations = members["inputSchema"], members["outputSchema"], members["annotations"]
	return nil
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
	names      []string // of all tools that the server has, also of those that are not offered
	skipped    []string // tools that cannot be offered, with the reasons
	reduced    []string // tools whose schemas are not used as they are, with the reasons
}

// Bounds of a server's description of a tool, in bytes.
const (
	maxDescription = 2 << 10
	maxSchema      = 256 << 10
)

// newOffer makes operations from a listing. A tool that cannot be offered does not affect
// the others.
func newOffer(s *server, l *listing) *offer {
	l.check()
	o := &offer{byName: map[string]*catalog.Operation{}, owner: &catalog.Owner{
		Kind: catalog.KindUpstream, Name: s.cfg.ID, Version: l.About.Version,
		Description: cmp.Or(l.About.Description, "The MCP server "+s.cfg.ID+"."), Trouble: s.trouble, Unchecked: s.unchecked,
	}}
	taken := map[string]bool{catalog.AnyTool: true}
	for op := range serverFunctions {
		taken[op] = true
	}
	listed := map[string]bool{}
	for n, raw := range l.Tools {
		var t tool
		if err := json.Unmarshal(raw, &t); err != nil || t.Name == "" {
			o.skipped = append(o.skipped, fmt.Sprintf("tool %d of its list has no name, or cannot be read", n+1))
			continue
		}
		if listed[t.Name] { // which of them is called the server decides
			o.reduced = append(o.reduced, plainText(t.Name, 100)+" (listed again in another form; the first counts)")
			continue
		}
		listed[t.Name] = true
		o.names = append(o.names, t.Name)
		if s.cfg.Offers(t.Name) {
			op, notes := operations{s}.tool(&t, raw, operationName(t.Name, taken), l.unusable)
			o.operations, o.byName[t.Name] = append(o.operations, op), op
			if len(t.odd) > 0 {
				notes = append(notes, "its "+strings.Join(t.odd, " and its ")+" cannot be read")
			}
			if len(notes) > 0 {
				o.reduced = append(o.reduced, plainText(t.Name, 100)+" ("+strings.Join(notes, "; ")+")")
			}
		}
	}
	o.tools = len(o.operations)
	o.operations = append(o.operations, operations{s}.functions(l)...)
	return o
}

// operationName makes the last part of an operation's id from a tool's name: the name
// itself if an id can have it. Equal ones are numbered.
func operationName(name string, taken map[string]bool) string {
	const most = 200
	base := strings.Map(func(r rune) rune {
		if !catalog.ToolRune(r) || r == utf8.RuneError {
			return '_'
		}
		return r
	}, strings.ReplaceAll(strings.ToValidUTF8(name, "_"), "::", "__"))
	if strings.HasPrefix(base, ":") {
		base = "_" + base[1:]
	}
	if len(base) > most {
		base = strings.ToValidUTF8(base[:most], "") // a letter may have been cut
	}
	out := base
	for n := 2; taken[out]; n++ {
		out = fmt.Sprintf("%s__%d", base, n)
	}
	taken[out] = true
	return out
}

// tool makes one tool callable; raw is the tool as it was listed. unusable returns why a schema
// cannot be used as it is, "" if it can. The notes are what of the input schema cannot.
func (s operations) tool(t *tool, raw json.RawMessage, name string, unusable func(json.RawMessage) string) (op *catalog.Operation, notes []string) {
	title := t.Title
	if title == "" && t.Annotations != nil {
		title = t.Annotations.Title
	}
	input, none, notes := usableInput(t.InputSchema, unusable)
	output := usableOutput(t.OutputSchema, unusable)
	op = &catalog.Operation{
		ID: catalog.ID{Kind: catalog.KindUpstream, Owner: s.cfg.ID, Op: name},
		Contract: catalog.Contract{
			Input: input, NoSchema: none, Output: anything(output), Effects: s.cfg.EffectsOf(t.Name, t.effects),
			Proven: true,
		},
		Listing: catalog.Listing{
			Title: plainText(title, 100), Summary: plainText(cmp.Or(t.Description, title, t.Name), maxDescription), Reach: catalog.ReachScript,
		}, // it is checked here, where a mismatch is the server's failure
	}
	op.Declared, op.Untrusted = s.cfg.declared(t), !s.cfg.Trust
	call := func(ctx context.Context, c catalog.Call, agreed json.RawMessage) (json.RawMessage, error) {
		return s.call(ctx, &request{tool: t.Name, agreed: agreed, input: c.Input(), output: output, effects: op.Effects, call: c})
	}
	op.Handler = func(ctx context.Context, c catalog.Call) (json.RawMessage, error) { return call(ctx, c, nil) }
	op.Current = func(ctx context.Context, p auth.Principal) (*catalog.Operation, error) {
		now, err := s.lookAgain(ctx, p.Subject, t.Name, raw)
		if err != nil {
			return nil, err
		}
		is := *op
		if !bytes.Equal(now, raw) {
			changed, err := s.redefined(now, name)
			if err != nil {
				return nil, err
			}
			is = *changed
		}
		is.Handler = func(ctx context.Context, c catalog.Call) (json.RawMessage, error) { return call(ctx, c, now) }
		return &is, nil
	}
	return op, notes
}

// declared returns what a tool and its server are said to be, as far as the operation's own
// fields leave something out.
func (c *Config) declared(t *tool) map[string]json.RawMessage {
	server, _ := json.Marshal([]any{c.Command, c.Dir, c.URL, c.Transport}) // texts, with references for secrets
	name, _ := json.Marshal(t.Name)
	description, _ := json.Marshal(t.Description)
	out := map[string]json.RawMessage{"server": server, "name": name, "description": description, "inputSchema": t.InputSchema, "annotations": t.rawAnnotations}
	maps.DeleteFunc(out, func(_ string, raw json.RawMessage) bool { return len(raw) == 0 })
	return out
}

// effects returns the effects that a tool has by its annotations.
func (t *tool) effects() catalog.Effects {
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
