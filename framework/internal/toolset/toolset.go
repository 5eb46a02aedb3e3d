// Package toolset makes the list of tools that a client gets for a view, and resolves
// a call of one of them to an operation.
//
// What belongs here: names, texts and schemas of tools as lists show them, in a form
// that all clients accept and that costs few tokens; and the operation behind a call.
// Not here: a protocol, or rights. A call runs the same operation whichever tool
// it came by.
package toolset

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"sort"
	"strings"

	"github.com/koan-go/koan/framework/catalog"
)

// Style says how the operations of entities become tools.
type Style string

// The styles.
const (
	// Auto is PerEntity while the whole list has at most MaxTools tools and maxBytes
	// bytes, else Generic.
	Auto Style = "auto"
	// PerEntity is a tool for each entity and operation.
	PerEntity Style = "perEntity"
	// Generic is a tool for each operation, with the entity as an argument.
	Generic Style = "generic"
)

// Outputs says which tools are listed with a schema of their output.
type Outputs string

// The choices of output schemas.
const (
	OutputsAuto   Outputs = "auto"   // where the schema says more than the entity's declaration
	OutputsAlways Outputs = "always" // everywhere
	OutputsNever  Outputs = "never"  // nowhere
)

// Names says how lists spell tool names. Both spellings can always be called.
type Names string

// The spellings.
const (
	Underscore Names = "underscore" // "_" for ".", which several clients refuse
	Dotted     Names = "dotted"
)

// Bounds of what a client is shown unasked. maxBytes leaves room in 40,000 bytes for
// what a protocol puts around the list.
const (
	MaxTools = 40
	maxBytes = 39_000
)

// maxDescription bounds the description of a tool, in characters: clients cut what is
// longer. Code tools are exempt: their provider bounds them, and puts what matters into
// the first maxEssential characters.
const maxDescription = 2000

// maxEssential is how many characters of a text every client passes on to its model;
// Claude Code cuts at 2,048.
const maxEssential = 1900

// Options are how a list is made. Empty members are Auto, OutputsAuto, Underscore.
type Options struct {
	Style   Style
	Outputs Outputs
	Names   Names
}

// Configured returns the options that a configuration sets.
func Configured(v catalog.Values) Options {
	return Options{Style(v.String("tools.style")), Outputs(v.String("tools.outputSchemas")), Names(v.String("server.toolNames"))}
}

// Check returns an error that names every option with an unknown value.
func (o Options) Check() error {
	var wrong []error
	if !slices.Contains([]Style{"", Auto, PerEntity, Generic}, o.Style) {
		wrong = append(wrong, fmt.Errorf("unknown style of tools %q", o.Style))
	}
	if !slices.Contains([]Outputs{"", OutputsAuto, OutputsAlways, OutputsNever}, o.Outputs) {
		wrong = append(wrong, fmt.Errorf("unknown choice of output schemas %q", o.Outputs))
	}
	if !slices.Contains([]Names{"", Underscore, Dotted}, o.Names) {
		wrong = append(wrong, fmt.Errorf("unknown spelling of tool names %q", o.Names))
	}
	return errors.Join(wrong...)
}

// filled returns the options with defaults for empty members.
func (o Options) filled() Options {
	return Options{cmp.Or(o.Style, Auto), cmp.Or(o.Outputs, OutputsAuto), cmp.Or(o.Names, Underscore)}
}

// Row is one tool of a list.
type Row struct {
	Key  string // orders the list, and is stable while the tool exists
	JSON json.RawMessage
}

// tool is a row as clients read it, the members in the order of interest.
type tool struct {
	Name         string          `json:"name"`
	Title        string          `json:"title,omitempty"`
	Description  string          `json:"description,omitempty"`
	InputSchema  json.RawMessage `json:"inputSchema"`
	OutputSchema json.RawMessage `json:"outputSchema,omitempty"`
	Annotations  annotations     `json:"annotations"`

	id     catalog.ID
	isCode bool // its description may be cut to maxEssential characters
}

// annotations are set explicitly: the protocol's defaults are the dangerous ones, and some
// clients read destructiveHint of a tool that only reads. That it is idempotent goes without
// saying.
type annotations struct {
	ReadOnly    bool  `json:"readOnlyHint"`
	Destructive bool  `json:"destructiveHint"`
	Idempotent  *bool `json:"idempotentHint,omitempty"`
	OpenWorld   bool  `json:"openWorldHint"`
}

func annotate(e catalog.Effects) annotations {
	if e.ReadOnly {
		return annotations{ReadOnly: true, OpenWorld: e.Outside}
	}
	return annotations{Destructive: e.Destructive, Idempotent: &e.Idempotent, OpenWorld: e.Outside}
}

// List returns the tools of a view, ordered by key. It is computed once per view and
// options, and byte-identical for equal views.
func List(v *catalog.View, o Options) []Row {
	o = o.filled()
	return catalog.Memo(v, o, func() []Row { return list(v, o) })
}

// JSON returns List as one page of tools/list: {"tools":[...]}.
func JSON(v *catalog.View, o Options) json.RawMessage {
	rows := List(v, o)
	all := make([]json.RawMessage, len(rows))
	for i, r := range rows {
		all[i] = r.JSON
	}
	return encoded(map[string]any{"tools": all})
}

// list takes the first form that fits, or the last. Folded functions and actions stay
// reachable through tools.call, and what is cut from descriptions through koan.code.search. A
// configured style is kept even where the list does not fit.
func list(v *catalog.View, o Options) []Row {
	b := &builder{view: v, options: o}
	perEntity := []form{{perEntity: true}, {perEntity: true, lean: true}, {perEntity: true, lean: true, abridged: true}, {perEntity: true, lean: true, short: true}}
	generic := []form{{}, {abridged: true}, {short: true}, {folded: true}, {folded: true, abridged: true}, {folded: true, short: true}}
	forms := append(perEntity, generic...)
	switch o.Style {
	case PerEntity:
		forms = perEntity[:1]
	case Generic:
		forms = generic
	case Auto:
		if b.entityTools() > MaxTools {
			forms = generic
		}
	}
	for _, f := range forms {
		if rows := b.rows(f); fits(rows) || o.Style == PerEntity {
			return rows
		}
	}
	return b.withActions()
}

// entityTools returns how many tools the entities have in the shortest of the lists with a tool for
// each entity and operation.
func (b *builder) entityTools() (n int) {
	for _, op := range b.view.Tools() {
		if op.ID.Kind == catalog.KindEntity && op.Resource != "" && op.ListedBeside == nil && !op.Dispensable {
			n++
		}
	}
	return n
}

// withActions returns the list whose last actions are folded, as few of them as there have to be.
func (b *builder) withActions() []Row {
	actions := 0
	for _, op := range b.view.Tools() {
		if op.ID.Kind == catalog.KindAction {
			actions++
		}
	}
	return b.rows(form{folded: true, short: true, dropped: sort.Search(actions, func(n int) bool {
		return fits(b.rows(form{folded: true, short: true, dropped: n}))
	})})
}

// form is one way to show the same operations.
type form struct {
	perEntity bool
	folded    bool // plugin functions are called through one tool
	dropped   int  // so many of the last actions are called through it too
	lean      bool // without operations that a list can do without
	abridged  bool // descriptions of code tools have less in them
	short     bool // descriptions of code tools are cut to maxEssential characters
}

// rank is 0 for an action that is listed in every mode, else 1.
func rank(action *catalog.Operation) int {
	if action.ListedInCode {
		return 0
	}
	return 1
}

func fits(rows []Row) bool {
	size := 0
	for _, r := range rows {
		size += len(r.JSON) + 1
	}
	return len(rows) <= MaxTools && size <= maxBytes
}

// builder makes the tools of one view.
type builder struct {
	view    *catalog.View
	options Options
}

func (b *builder) rows(f form) []Row {
	var tools []*tool
	var entities, functions, actions []*catalog.Operation
	for _, op := range b.view.Tools() {
		switch {
		case op.ListedBeside != nil: // added with the tools that it is listed beside
		case op.Dispensable && f.lean: // can be called all the same
		case op.Resource != "" && op.ID.Kind == catalog.KindEntity:
			entities = append(entities, op)
		case op.ID.Kind == catalog.KindPlugin:
			functions = append(functions, op)
		case op.ID.Kind == catalog.KindAction:
			actions = append(actions, op)
		default:
			tools = append(tools, b.code(op, f))
		}
	}
	// Those that the app has in the lists of all clients stay longest.
	slices.SortStableFunc(actions, func(x, y *catalog.Operation) int { return cmp.Compare(rank(x), rank(y)) })
	shown := len(actions) - f.dropped
	for _, op := range actions[:shown] {
		tools = append(tools, b.single(op))
	}
	if f.perEntity {
		tools = append(tools, b.ofEntities(entities)...)
	} else {
		tools = append(tools, b.generic(entities)...)
	}
	if f.folded {
		tools = append(tools, b.folded(append(functions, actions[shown:]...))...)
	} else {
		for _, op := range functions {
			tools = append(tools, b.single(op))
		}
	}
	spell := b.speller()
	rows := make([]Row, len(tools))
	for i, t := range tools {
		t.Name = b.view.Snapshot().ToolName(t.id)
		if b.options.Names != Dotted {
			t.Name = catalog.Underscored(t.Name)
		}
		if t.Description = spell(t.Description); f.short && t.isCode {
			t.Description = essential(t.Description)
		}
		rows[i] = Row{t.id.String(), encoded(t)}
	}
	slices.SortFunc(rows, func(a, b Row) int { return strings.Compare(a.Key, b.Key) })
	return rows
}

// essential returns the beginning of a text, up to the end of a line.
func essential(text string) string {
	if len(text) <= maxEssential {
		return text
	}
	if end := strings.LastIndexByte(text[:maxEssential], '\n'); end > 0 {
		return text[:end]
	}
	return bounded(text, maxEssential)
}

// code returns the tool of a code operation.
func (b *builder) code(op *catalog.Operation, f form) *tool {
	t := b.single(op)
	if f.abridged && op.Abridge != nil {
		t.Description = op.Abridge(b.view)
	}
	return t
}

// single returns the tool of an operation that does not belong to an entity.
func (b *builder) single(op *catalog.Operation) *tool {
	t := &tool{
		id: op.ID, isCode: op.ID.Kind == catalog.KindCode, Title: op.Title, Description: op.Description(b.view),
		Annotations: annotate(b.view.Effects(op)),
	}
	if !t.isCode {
		t.Description = bounded(t.Description, maxDescription)
	}
	t.InputSchema = withExample(inputOf(op), op.Example)
	out := portableOutput(op.Output, Wraps(op))
	if members, _ := out["properties"].(object); b.options.Outputs == OutputsAlways || b.options.Outputs == OutputsAuto && len(members) > 0 {
		t.OutputSchema = encoded(out)
	}
	return t
}

func inputOf(op *catalog.Operation) json.RawMessage {
	if op.InputAsItIs {
		return op.Input
	}
	return encoded(portableInput(op.Input))
}

// withExample adds an example to a schema.
func withExample(schema, example json.RawMessage) json.RawMessage {
	if len(example) == 0 {
		return schema
	}
	rest := strings.TrimSuffix(strings.TrimSpace(string(schema)), "}")
	sep := ","
	if strings.TrimSpace(rest) == "{" {
		sep = ""
	}
	return json.RawMessage(rest + sep + `"examples":[` + string(example) + `]}`)
}

// Wraps reports whether structured content puts an operation's result under "result",
// because it is not an object.
func Wraps(op *catalog.Operation) bool {
	var s struct {
		Type json.RawMessage `json:"type"`
	}
	if json.Unmarshal(op.Output, &s) != nil {
		return true // the schema is true or false
	}
	return len(s.Type) > 0 && string(s.Type) != `"object"`
}

// Spelled returns a text with the names of code tools spelled as in lists.
func Spelled(v *catalog.View, o Options, text string) string {
	b := &builder{view: v, options: o.filled()}
	return b.speller()(text)
}

// speller returns the function that respells the dotted names of code tools in a text.
func (b *builder) speller() func(string) string {
	if b.options.Names == Dotted {
		return func(text string) string { return text }
	}
	replacer := catalog.Memo(b.view, spellerKey{}, func() *strings.Replacer {
		var pairs []string
		for _, op := range b.view.Tools() {
			if op.ID.Kind == catalog.KindCode {
				name := b.view.Snapshot().ToolName(op.ID)
				pairs = append(pairs, name, catalog.Underscored(name))
			}
		}
		return strings.NewReplacer(pairs...)
	})
	return func(text string) string { return replacer.Replace(text) }
}

type spellerKey struct{}
